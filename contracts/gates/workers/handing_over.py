"""Where the worker's means end: a result nobody can know goes to the named person, a wrong write is taken back."""

from typing import Any

from django.contrib.auth import get_user_model

from contracts.gates.beats import Turn, take_turn
from contracts.gates.notices import tell
from contracts.gates.rows import check_reason, not_open
from contracts.gates.workers.displaced import pause, settle_displaced, settle_lapsed
from contracts.gates.workers.fencing import is_live, live_owner, open_attempt
from contracts.gates.workers.ledger import load_operation, store_intention
from contracts.gates.workers.reconciling import ANSWERABLE, is_named, person_named
from contracts.models import Attempt, Operation, people_with
from contracts.rules.approving import same_name
from contracts.rules.granting import HELD
from contracts.rules.ledger import COMPENSATING
from contracts.rules.notices import Told
from contracts.rules.refusals import refusal
from contracts.rules.states import OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, AttemptEnd, Right


def escalate(
    *, contract_id: int, actor: Actor, operation_key: str, reason: str, generation: int | None = None
) -> Verdict:
    """Hand an operation of unknown result to the named person and the operators, and let the task go.

    By the live owner of `generation`; or by an operator (None), or by the named person where no owner is at work.
    The operation stays unknown, an attempt that is open ends and the task is paused. The outcome is the operation.
    """

    def body(turn: Turn) -> Verdict:
        operation = load_operation(turn, operation_key)
        if operation is None:
            return refusal("no_such_operation")
        owner = _stopped_by_person(turn, operation) if generation is None else _owner(turn, generation)
        if isinstance(owner, Verdict):
            return owner
        if operation.state != OperationState.UNKNOWN:
            return refusal("operation_not_unknown", outcome=operation)
        return check_reason(reason) or _hand_over(turn, owner, operation, reason.strip())

    return take_turn(
        contract_id=contract_id, actor=actor, act="escalate", part="operation", body=body, write_lock=True
    )


def compensate(
    *,
    contract_id: int,
    actor: Actor,
    generation: int,
    operation_key: str,
    tool: str,
    parameters: Any,
    target: str,
    expected: str,
) -> Verdict:
    """Intend the write that takes back a confirmed one whose tool names a compensation.

    It is an operation like any other, in the step `compensate:` and the step it takes back, for the same object.
    The outcome is the new operation.
    """

    def body(turn: Turn) -> Verdict:
        written = load_operation(turn, operation_key)
        if written is None:
            return refusal("no_such_operation")
        owner = live_owner(turn, generation, states=HELD)
        if isinstance(owner, Verdict):
            return owner
        if written.state != OperationState.CONFIRMED:
            return refusal("operation_not_confirmed", outcome=written)
        if not written.tool.compensation:
            return refusal("no_compensation", outcome=written)
        raw = {"tool": tool, "parameters": parameters, "target": target, "expected": expected}
        held = written.work_object.object_id if written.work_object else ""
        return store_intention(turn, raw | {"object": held, "step": f"{COMPENSATING}{written.step}"})

    return take_turn(contract_id=contract_id, actor=actor, act="compensate", part="operation", body=body)


def _owner(turn: Turn, generation: int) -> Attempt | Verdict:
    return live_owner(turn, generation, states=HELD)


def _stopped_by_person(turn: Turn, operation: Operation) -> Attempt | Verdict | None:
    """Return the live attempt that the person may stop, None where nobody is at work, or why it is refused."""
    operator = turn.actor.kind is ActorKind.OPERATOR
    if not operator and not is_named(turn, operation):
        return refusal("not_the_named_person")
    if turn.contract.state not in ANSWERABLE:
        return not_open(turn.contract)
    attempt = open_attempt(turn)
    if attempt is None or not is_live(turn, attempt):
        return None
    return attempt if operator else refusal("operator_only")


def _hand_over(turn: Turn, owner: Attempt | None, operation: Operation, reason: str) -> Verdict:
    if owner is None:
        settle_lapsed(turn)
    else:
        settle_displaced(turn, owner, AttemptEnd.RELEASED)
        pause(turn)
    turn.note("hand_over", "operation", operation.natural_key(), None, {"reason": reason})
    tell(turn, Told.HANDED_OVER, operation, _told(turn, operation), reason=reason)
    return allow(operation)


def _told(turn: Turn, operation: Operation) -> list[Any]:
    """Return the people the tool and the gate name, and the operators."""
    people = get_user_model().objects.filter(is_active=True)
    found = [*people_with(Right.OPERATE, turn.contract.pk)]
    for name in person_named(turn, operation):
        called = people.filter(username__iexact=name) | people.filter(first_name__iexact=name)
        found += [
            person
            for person in called
            if same_name(person.get_username(), name) or same_name(person.get_full_name(), name)
        ]
    return found

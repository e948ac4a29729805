"""Settling operations of unknown result: the target was asked, or the named person decides.

What was found out is stored with the operation. “Not found” alone lets nothing leave again; the rules of repeating
tell when it does.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.utils.translation import gettext

from contracts.gates.beats import Turn, take_turn
from contracts.gates.filling import follow_sources
from contracts.gates.rows import not_open
from contracts.gates.workers.certainty import outlook_of
from contracts.gates.workers.fencing import live_owner
from contracts.gates.workers.ledger import load_operation
from contracts.models import Approval, Operation, OwnerGate, WorkObject
from contracts.rules.approving import same_name
from contracts.rules.fields import Refused, check_field
from contracts.rules.granting import HELD
from contracts.rules.ledger import ASKED, DECIDED, AskedForm, asked_amiss, record_of
from contracts.rules.parts.records import OPERATION
from contracts.rules.refusals import refusal
from contracts.rules.repeating import Ahead, Outlook
from contracts.rules.resume_rows import read_asked
from contracts.rules.rows import Values, check_row
from contracts.rules.states import Act, ContractState, ObjectState, OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Acceptance, Actor, ActorKind
from contracts.rules.words import N_

# What became of a write may be told after the task was cancelled too: that continues nothing.
ANSWERABLE = HELD | {ContractState.PAUSED, ContractState.CANCELLED}
PEOPLE = (ActorKind.PERSON, ActorKind.OPERATOR)
RECORD = OPERATION.field("reconciliation")
ACCEPTED = N_("The target has what was accepted.")
NOT_ACCEPTED = N_("The target has it; it still waits to be accepted.")
NOT_WRITTEN = N_("Nothing of it was written; it begins anew.")


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The operation as it stands now, and what could be done with it before it was settled."""

    operation: Operation
    outlook: Outlook


def reconcile(
    *,
    contract_id: int,
    actor: Actor,
    operation_key: str,
    asked: AskedForm,
    generation: int | None = None,
) -> Verdict:
    """Store how the target was asked about an unknown operation, and settle it if that says enough.

    By the live owner of `generation`, or by a person (None) whose right the caller has checked. The write is
    confirmed if the target has it, pending again if it may be sent once more, and else stays unknown with the
    record. The outcome is a `Reconciled`.
    """

    def body(turn: Turn) -> Verdict:
        operation = load_operation(turn, operation_key)
        if operation is None:
            return refusal("no_such_operation")
        refused = _who(turn, asked, generation)
        if refused is not None:
            return refused
        if operation.state != OperationState.UNKNOWN:
            return refusal("operation_not_unknown", outcome=operation)
        return _ask(turn, operation, asked, generation)

    return take_turn(contract_id=contract_id, actor=actor, act="reconcile", part="operation", body=body)


def settle_by_person(
    *, contract_id: int, actor: Actor, operation_key: str, decision: str, evidence: str, reason: str
) -> Verdict:
    """Let the named person, or an operator, say what became of an unknown operation. The outcome is the row.

    `decision`: confirmed or rejected; `evidence`: where the proof of it lies.
    """

    def body(turn: Turn) -> Verdict:
        operation = load_operation(turn, operation_key)
        if operation is None:
            return refusal("no_such_operation")
        if turn.contract.state not in ANSWERABLE:
            return not_open(turn.contract)
        if actor.kind is not ActorKind.OPERATOR and not is_named(turn, operation):
            return refusal("not_the_named_person")
        if operation.state != OperationState.UNKNOWN:
            return refusal("operation_not_unknown", outcome=operation)
        raw = {"decision": decision, "evidence": evidence, "reason": reason}
        checked = check_row(DECIDED, raw)
        if checked.problems:
            return refusal("bad_values", problems=checked.problems)
        return _decide(turn, operation, checked.values)

    return take_turn(contract_id=contract_id, actor=actor, act="settle", part="operation", body=body)


def _who(turn: Turn, asked: AskedForm, generation: int | None) -> Verdict | None:
    person = turn.actor.kind in PEOPLE
    if asked.certify_dead and not person:
        return refusal("person_only")
    if generation is not None:
        owner = live_owner(turn, generation, states=HELD)
        return owner if isinstance(owner, Verdict) else None
    if not person:
        return refusal("operator_only")
    return None if turn.contract.state in ANSWERABLE else not_open(turn.contract)


def _ask(turn: Turn, operation: Operation, asked: AskedForm, generation: int | None) -> Verdict:
    checked = check_row(ASKED, asked.raw())
    if checked.problems:
        return refusal("bad_values", problems=checked.problems)
    since = operation.sent_at or operation.intended_at
    code = asked_amiss(checked.values, since=since, generation=turn.contract.generation, now=turn.now)
    if code:
        return refusal(code)
    certified = turn.now if asked.certify_dead else _certified(operation)
    record = record_of(
        checked.values, asked_by=turn.actor.name, generation=generation, certified_at=certified
    )
    try:
        check_field(RECORD, record, document=True)
    except Refused as refused:
        return refusal("bad_values", problems=(refused.problem,))
    before, operation.reconciliation = operation.facts(), record
    return _settle(turn, operation, before, checked.values)


def _certified(operation: Operation) -> datetime | None:
    """Return the certificate of an earlier asking: whoever was dead then is dead."""
    former = read_asked(operation.reconciliation)
    return former.certified_at if former else None


def _settle(turn: Turn, operation: Operation, before: dict[str, Any], values: Values) -> Verdict:
    seen = outlook_of(operation, now=turn.now)
    if seen.ahead is Ahead.CONFIRM:
        operation.target_reference = values["reference"] or operation.target_reference
        operation.settled_at = turn.now
        store_answer(turn, operation, before, OperationState.CONFIRMED, Act.RECONCILED)
    elif seen.ahead is Ahead.SEND_AGAIN and turn.contract.state != ContractState.CANCELLED:
        # `settled_at` stays until it is sent again: it tells when the former sender can have let it leave.
        store_answer(turn, operation, before, OperationState.PENDING, Act.CERTAINLY_ABSENT)
    else:
        store_answer(turn, operation, before, OperationState.UNKNOWN, "asked")
    return allow(Reconciled(operation, seen))


def _decide(turn: Turn, operation: Operation, values: Values) -> Verdict:
    before, after = operation.facts(), OperationState(values["decision"])
    operation.reconciliation = {
        **(operation.reconciliation or {}),
        "decision": after.value,
        "decided_by": turn.actor.name,
        "decided_at": turn.now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "evidence": values["evidence"],
        "reason": values["reason"],
    }
    operation.settled_at = turn.now
    store_answer(turn, operation, before, after, Act.RECONCILED)
    return allow(operation)


def store_answer(
    turn: Turn, operation: Operation, before: dict[str, Any], after: OperationState, act: str
) -> None:
    """Store the state that an answer leads to, and let go of the object if nothing of it is unknown any more."""
    turn.answer()
    operation.state = after.value
    operation.version += 1
    operation.save()
    turn.note(str(act), "operation", operation.natural_key(), before, operation.facts())
    if after is not OperationState.UNKNOWN:
        _release_object(turn, operation)


def _release_object(turn: Turn, operation: Operation) -> None:
    row = operation.work_object
    if row is None or row.state != ObjectState.UNKNOWN:
        return
    others = Operation.objects.filter(contract=turn.contract, work_object=row).exclude(pk=operation.pk)
    states = set(others.values_list("state", flat=True))
    if OperationState.UNKNOWN in states:
        return
    row = WorkObject.objects.joined().get(contract=turn.contract, pk=row.pk)
    before, confirmed = row.facts(), operation.state == OperationState.CONFIRMED
    open_yet = not states.isdisjoint({OperationState.PENDING, OperationState.SENDING})
    who = _accepted_by(turn, operation) if confirmed and not open_yet else ""
    row.state, row.attempt = ObjectState.PENDING.value, None
    row.note = gettext(NOT_ACCEPTED if confirmed else NOT_WRITTEN)
    if who:
        row.state, row.note = ObjectState.CONFIRMED.value, gettext(ACCEPTED)
        row.settled_by, row.settled_at = who, turn.now
    row.version += 1
    row.save()
    turn.note(Act.RECONCILED.value, "object", row.natural_key(), before, row.facts())
    if row.source is not None and not row.source.current:  # it changed while nobody knew
        follow_sources(turn, [row.source.source_id])


def _accepted_by(turn: Turn, operation: Operation) -> str:
    """Return whose word accepts what was written: who approved the call, or the worker where that is enough."""
    items = Approval.objects.filter(contract=turn.contract, operation=operation, consumed_at__isnull=False)
    item = items.order_by("consumed_at").last()
    if item is not None:
        return item.decided_by
    return turn.actor.name if turn.contract.acceptance == Acceptance.WORKER else ""


def is_named(turn: Turn, operation: Operation) -> bool:
    """Tell whether the person who acts is called as whom the tool, or else the owner gate, names."""
    person = get_user_model().objects.filter(username=turn.actor.name).first()
    if turn.actor.kind is not ActorKind.PERSON or person is None:
        return False
    names = person_named(turn, operation)
    return any(
        same_name(name, own) for name in names for own in (person.get_username(), person.get_full_name())
    )


def person_named(turn: Turn, operation: Operation) -> tuple[str, ...]:
    """Return whom the tool and the owner gate name for what cannot be known."""
    gates = OwnerGate.objects.filter(contract=turn.contract).values_list("named_person", flat=True)
    return tuple(name for name in (operation.tool.named_person, *gates) if name)

"""The ledger of external writes: intended before anything leaves, reported by whoever sent it, or given up.

One slot (object, step, round, tool) holds one operation, whatever its parameters: a model asked again words its
draft differently, and a second write must not slip through on that account.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import drop_operation, end_item, go_stale
from contracts.gates.filling import fill_in
from contracts.gates.references import References, plain_columns
from contracts.gates.rows import check_reason
from contracts.gates.sending import refuse_other_sender
from contracts.gates.workers import ledger_at_once
from contracts.gates.workers.caps import refuse_reached
from contracts.gates.workers.certainty import certainly_unsent
from contracts.gates.workers.fencing import holder, live_owner
from contracts.models import Approval, Attempt, Operation, ToolContract
from contracts.models.content import ContentQuerySet
from contracts.rules.approving import Difference
from contracts.rules.fingerprint import operation_key as key_of
from contracts.rules.granting import HELD
from contracts.rules.ledger import REPORT
from contracts.rules.parts.records import OPERATION
from contracts.rules.refusals import refusal
from contracts.rules.rows import Values, check_row
from contracts.rules.states import Act, ApprovalState, ContractState, OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor

ENDED = frozenset({OperationState.ABANDONED, OperationState.REJECTED})
SENT = frozenset({OperationState.CONFIRMED, OperationState.REJECTED, OperationState.UNKNOWN})
EVIDENCE_IF = frozenset({"task_cancelled", "not_open", "stale_generation", "deadline_passed"})


def intend(
    *,
    contract_id: int,
    actor: Actor,
    generation: int,
    tool: str,
    step: str,
    parameters: Any,
    target: str,
    expected: str,
    object_id: str = "",
    round: int | None = None,  # noqa: A002  # the word of the contract
) -> Verdict:
    """Store the intention of one write, before anything of it can leave. The outcome is the operation.

    `parameters`: a JSON object of at most 64 KiB. Without `round` the newest of the slot is meant. The same call
    again gives the stored operation (code `exists`), whatever became of it. Another call for a slot that is taken
    is refused, the stored operation being the outcome: `one_operation_per_slot`, or `new_round_needed` once that
    operation was given up or rejected.
    """
    raw = {
        "object": object_id,
        "tool": tool,
        "step": step,
        "round": round,
        "parameters": parameters,
        "target": target,
        "expected": expected,
    }

    quick = ledger_at_once.intend(contract_id, actor, generation, raw)
    if quick is not None:
        return quick

    def body(turn: Turn) -> Verdict:
        owner = live_owner(turn, generation, states=HELD)
        return owner if isinstance(owner, Verdict) else store_intention(turn, raw)

    return take_turn(contract_id=contract_id, actor=actor, act="intend", part="operation", body=body)


def report(
    *,
    contract_id: int,
    actor: Actor,
    generation: int,
    operation_key: str,
    result: str,
    reference: str = "",
    response_sha256: str = "",
    detail: str = "",
    by_proxy: bool = False,
) -> Verdict:
    """Store what became of an operation being sent, as the generation that sent it says. The outcome is the row.

    `result`: a word of `Reported`. The same report again is allowed (code `exists`), another is refused. A report
    of a displaced owner is refused with `late_report`, changes nothing and is kept as evidence in the events.
    `by_proxy`: the single write proxy tells it, under whose lock nobody can take over: a lease that ran out
    meanwhile takes nothing back.
    """
    raw = {
        "result": result,
        "reference": reference,
        "response_sha256": response_sha256,
        "detail": detail,
    }
    quick = None if by_proxy else ledger_at_once.report(contract_id, actor, generation, operation_key, raw)
    if quick is not None:
        return quick

    def body(turn: Turn) -> Verdict:
        operation = load_operation(turn, operation_key)
        if operation is None:
            return refusal("no_such_operation")
        checked = check_row(REPORT, raw)
        if checked.problems:
            return refusal("bad_values", problems=checked.problems)
        owner = (holder if by_proxy else live_owner)(turn, generation, states=HELD)
        if isinstance(owner, Verdict):
            return _keep_late(turn, operation, owner, {**checked.values, "generation": generation})
        other = refuse_other_sender(operation, by_proxy=by_proxy)
        return other or _report(turn, operation, generation, checked.values)

    return take_turn(contract_id=contract_id, actor=actor, act="report", part="operation", body=body)


def abandon(*, contract_id: int, actor: Actor, generation: int, operation_key: str, reason: str) -> Verdict:
    """Give up a pending operation that was certainly never sent. Whoever was asked about it need not decide.

    Giving up again is allowed (code `exists`). The outcome is the operation.
    """

    def body(turn: Turn) -> Verdict:
        operation = load_operation(turn, operation_key)
        if operation is None:
            return refusal("no_such_operation")
        owner = live_owner(turn, generation, states=HELD)
        if isinstance(owner, Verdict):
            return owner
        if operation.state == OperationState.ABANDONED:
            return allow(operation, code="exists")
        return _may_give_up(turn, operation) or check_reason(reason) or _give_up(turn, operation, reason)

    return take_turn(contract_id=contract_id, actor=actor, act="abandon", part="operation", body=body)


def load_operation(turn: Turn, operation_key: str) -> Operation | None:
    """Return the operation of the contract with this key; what is refused from now on is refused of it."""
    operation = Operation.objects.joined().filter(contract=turn.contract, key=operation_key).first()
    if operation is not None:
        operation.contract = turn.contract
        turn.subject = operation.natural_key()
    return operation


def store_intention(turn: Turn, raw: Mapping[str, Any]) -> Verdict:
    """Store the operation of the raw values, or say why not; the owner was found live. See `intend`."""
    if turn.contract.state == ContractState.PAUSE_REQUESTED:
        return refusal("pause_requested")
    checked = check_row(OPERATION, raw)
    if checked.problems:
        return refusal("bad_values", problems=checked.problems)
    values = checked.values
    turn.subject = f"{values['tool']} · {values['object'] or '–'} · {values['step']}"
    if not ToolContract.objects.filter(contract=turn.contract, tool=values["tool"]).exists():
        return refusal("unknown_tool")
    resolved, unknown = References(turn.contract.pk, Operation, [values]).resolve(values)
    if unknown:
        return refusal("bad_values", problems=tuple(unknown))
    row = Operation(contract=turn.contract, **plain_columns(Operation, values), **resolved)
    return _find_or_store(turn, row, given=raw.get("round") is not None)


def _find_or_store(turn: Turn, row: Operation, *, given: bool) -> Verdict:
    slot = _slot(row)
    newest = slot.order_by("-round").first()
    stored = slot.filter(round=row.round).first() if given else newest
    if stored is not None:
        return _same_call(turn, stored, row)
    if newest is not None or row.round > 1:
        return refusal("new_round_needed", outcome=newest)
    refused = refuse_reached(turn.contract)
    if refused is not None:
        return refused
    # Two of one time would be two orders of one ledger: the clock of the database may have been set back.
    turn.now = max(turn.now, turn.contract.revised_at + timedelta(microseconds=1))
    fill_in(turn, row, new=True)
    other = Operation.objects.joined().filter(contract=turn.contract, key=row.key).first()
    if other is not None:  # of another object: the parameters must tell the calls apart
        return refusal("operation_key_once", outcome=other)
    turn.answer()
    row.save()
    turn.note("intend", "operation", row.natural_key(), None, row.facts())
    return allow(row)


def _slot(row: Operation) -> ContentQuerySet[Operation]:
    rows = Operation.objects.filter(
        contract=row.contract, work_object=row.work_object, step=row.step, tool=row.tool
    )
    return rows.joined()


def _same_call(turn: Turn, stored: Operation, row: Operation) -> Verdict:
    key = key_of(turn.contract.task_id, row.step, stored.round, row.tool.tool, row.parameters)
    if (key, row.target) == (stored.key, stored.target):
        return allow(stored, code="exists")
    code = "new_round_needed" if stored.state in ENDED else "one_operation_per_slot"
    return refusal(code, outcome=stored)


def _report(turn: Turn, operation: Operation, generation: int, told: Values) -> Verdict:
    own = operation.generation == generation
    if own and operation.state in SENT:
        stands = (operation.state, operation.target_reference, operation.response_sha256)
        if stands == (told["result"], told["reference"], told["response_sha256"]):
            return allow(operation, code="exists")
        return refusal("report_stands", outcome=operation)
    if not own or operation.state != OperationState.SENDING:
        return refusal("operation_not_sending", outcome=operation)
    before = operation.facts()
    turn.answer()
    operation.state, operation.settled_at = told["result"], turn.now
    operation.target_reference, operation.response_sha256 = told["reference"], told["response_sha256"]
    operation.version += 1
    operation.save()
    after = operation.facts() | ({"detail": told["detail"]} if told["detail"] else {})
    turn.note(Act.REPORT.value, "operation", operation.natural_key(), before, after)
    return allow(operation)


def _keep_late(turn: Turn, operation: Operation, owner: Verdict, told: Values) -> Verdict:
    """Keep the report of an owner that is one no more, if the grant it speaks of was really its own."""
    grants = Attempt.objects.filter(contract=turn.contract, generation=told["generation"])
    if owner.code not in EVIDENCE_IF or not grants.filter(worker=turn.actor.name).exists():
        return owner
    turn.answer()
    turn.note("late_report", "operation", operation.natural_key(), None, told)
    turn.stands = True
    return refusal("late_report", outcome=operation)


def _may_give_up(turn: Turn, operation: Operation) -> Verdict | None:
    if operation.state != OperationState.PENDING:
        return refusal("operation_not_pending", outcome=operation)
    return None if certainly_unsent(operation, now=turn.now) else refusal("may_have_left", outcome=operation)


def _give_up(turn: Turn, operation: Operation, reason: str) -> Verdict:
    turn.answer()
    for item in Approval.objects.open().filter(contract=turn.contract, operation=operation).joined():
        if item.requester == turn.actor.name:
            before = {"state": item.state}
            end_item(turn, item, ApprovalState.WITHDRAWN, Act.WITHDRAW, before)
        else:
            go_stale(turn, item, Difference("operation_key", operation.key, ""))
    drop_operation(turn, operation)
    after = turn.entries[-1].after or {}
    turn.entries[-1].after = {**after, "reason": reason.strip()}
    return allow(operation)

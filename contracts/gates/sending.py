"""Letting one external write leave: the approval is used up in the very transaction that stores `sending`."""

from decimal import Decimal
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import Present, current_policy, go_stale, run_out
from contracts.gates.workers import ledger_at_once
from contracts.gates.workers.caps import entry_id, refuse_send
from contracts.gates.workers.certainty import may_leave_again
from contracts.gates.workers.fencing import live_owner
from contracts.models import Approval, Attempt, Operation, UsageEntry
from contracts.models.content import plain
from contracts.models.standing_rows import deciders_who_lost_it
from contracts.rules.approving import Difference, may_use, member_words
from contracts.rules.granting import HELD
from contracts.rules.refusals import refusal
from contracts.rules.repeating import may_use_again
from contracts.rules.states import Act, ApprovalState, ContractState, OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, Concurrency, Measure, StaleOwner


def dispatch(
    *, contract_id: int, actor: Actor, operation_key: str, generation: int, by_proxy: bool = False
) -> Verdict:
    """Store that a pending operation is being sent, before the call leaves. The outcome is the operation.

    The owner must be live in `generation`, no pause requested, no operation unknown, and no other call under way
    that the tool's rule excludes. The tool's attempt is counted against its cap, and where the tool needs it an
    approval of exactly this call is used, once and for good. A call that may have left before leaves again only
    while it cannot be written twice, under the approval it used if that still covers it; else it is unknown
    again. Only the single write proxy sends what its tool leaves to it (`by_proxy`).
    """
    quick = None if by_proxy else ledger_at_once.dispatch(contract_id, actor, generation, operation_key)
    if quick is not None:
        return quick

    def body(turn: Turn) -> Verdict:
        operation = Operation.objects.joined().filter(contract=turn.contract, key=operation_key).first()
        if operation is None:
            return refusal("no_such_operation")
        turn.subject = operation.natural_key()
        owner = live_owner(turn, generation, states=HELD)
        refused = owner if isinstance(owner, Verdict) else _ledger(turn, operation)
        refused = refused or refuse_other_sender(operation, by_proxy=by_proxy)
        refused = refused or refuse_send(operation) or _again(turn, operation)
        if refused is not None:
            return refused
        approval = _approval(turn, operation)
        if isinstance(approval, Verdict):
            return approval
        return _send(turn, operation, approval)

    return take_turn(contract_id=contract_id, actor=actor, act="dispatch", part="operation", body=body)


def refuse_other_sender(operation: Operation, *, by_proxy: bool) -> Verdict | None:
    """Refuse a worker that would itself send, or report, what the single write proxy sends."""
    proxied = operation.tool.stale_owner == StaleOwner.SINGLE_WRITE_PROXY
    return refusal("sent_by_proxy", outcome=operation) if proxied and not by_proxy else None


def _ledger(turn: Turn, operation: Operation) -> Verdict | None:
    if turn.contract.state == ContractState.PAUSE_REQUESTED:
        return refusal("pause_requested")
    if operation.state != OperationState.PENDING:
        return refusal("operation_not_pending", outcome=operation)
    unknown = Operation.objects.filter(contract=turn.contract, state=OperationState.UNKNOWN.value)
    return refusal("unknown_first") if unknown.exists() else _overlaps(turn, operation)


def _overlaps(turn: Turn, operation: Operation) -> Verdict | None:
    """Refuse a call that the rule of its tool does not let overlap with one under way."""
    rule = operation.tool.concurrency
    if rule == Concurrency.FREE:
        return None
    rows = Operation.objects.filter(contract=turn.contract, state=OperationState.SENDING.value)
    rows = rows.filter(tool=operation.tool)
    if rule == Concurrency.ONE_PER_OBJECT:
        rows = rows.filter(work_object=operation.work_object)
    busy = rows.first()
    return refusal("tool_busy", outcome=busy) if busy is not None else None


def _again(turn: Turn, operation: Operation) -> Verdict | None:
    """Refuse a call that may be written twice, and store that its result is unknown, as it is once more.

    It was let back to be sent because the target recognised its key; meanwhile the target has forgotten it.
    """
    if may_leave_again(operation, now=turn.now):
        return None
    turn.answer()
    before = operation.facts()
    operation.state = OperationState.UNKNOWN.value
    operation.version += 1
    operation.save()
    turn.note(Act.OWNER_LOST.value, "operation", operation.natural_key(), before, operation.facts())
    turn.stands = True
    return refusal("key_too_old", outcome=operation)


def _approval(turn: Turn, operation: Operation) -> Approval | Verdict | None:
    """Return the approval to use, None where the tool needs none, or why it cannot be used."""
    item = _newest(turn, operation)
    if item is None and not operation.tool.needs_approval:
        return None  # where somebody was asked, the answer counts whatever became of the tool's contract
    if current_policy(turn.contract) is None:
        return refusal("policy_unreadable")
    if item is None:
        return refusal("not_approved")
    difference, lost = Present(turn.contract, [item]).difference(item), _lost(item)
    again = operation.generation is not None  # it may have left before, and may be sent again
    code = (may_use_again if again else may_use)(
        item.item(), present=difference, now=turn.now, decider_still_may=not lost
    )
    return item if not code else _cannot_use(turn, item, code, difference, lost)


def covers_again(turn: Turn, operation: Operation) -> Approval | None:
    """Return the approval that an operation waiting to be sent again has used, if it covers it still."""
    item = _newest(turn, operation)
    if operation.generation is None or item is None or item.consumed_at is None:
        return None
    difference, lost = Present(turn.contract, [item]).difference(item), _lost(item)
    code = may_use_again(item.item(), present=difference, now=turn.now, decider_still_may=not lost)
    return None if code else item


def _newest(turn: Turn, operation: Operation) -> Approval | None:
    items = Approval.objects.joined().filter(contract=turn.contract, operation=operation)
    return items.order_by("asked_at").last()


def _cannot_use(
    turn: Turn, item: Approval, code: str, difference: Difference | None, lost: list[str]
) -> Verdict:
    """Store why an unused approval covers nothing any more; one that was used stays as it was."""
    differs = difference or Difference("decider", ", ".join(lost), "")
    unused = item.state == ApprovalState.APPROVED and item.consumed_at is None
    if unused and code == "approval_expired":
        run_out(turn, item)
    elif unused and code == "item_stale":
        go_stale(turn, item, differs)
    member: dict[str, Any] = {}
    if code == "item_stale":
        member = {"member": member_words(item.stale_member or differs.member)}
    return refusal(code, outcome=item, **member)


def _lost(item: Approval) -> list[str]:
    """Return whose yes counts but who may no longer decide."""
    return deciders_who_lost_it(item.contract_id, [item.pk]).get(item.pk, [])


def _send(turn: Turn, operation: Operation, approval: Approval | None) -> Verdict:
    before = operation.facts()
    turn.answer()
    if approval is not None:
        _use(turn, approval)
    operation.state, operation.sent_at = OperationState.SENDING.value, turn.now
    # What was found out of a former sending says nothing of this one; the events keep it.
    operation.settled_at, operation.reconciliation = None, None
    operation.generation = turn.contract.generation
    operation.tries += 1
    operation.version += 1
    operation.save()
    used = _count(turn, operation)
    after = {**operation.facts(), "usage": {used.measure: plain(used.amount)}}
    turn.note(Act.DISPATCH.value, "operation", operation.natural_key(), before, after)
    return allow(operation)


def _use(turn: Turn, approval: Approval) -> None:
    was = approval.facts()
    if approval.consumed_at is not None:  # the one sending it covered has certainly written nothing
        turn.note("use_again", "approval", approval.natural_key(), was, was)
        return
    approval.consumed_at, approval.consumed_generation = turn.now, turn.contract.generation
    approval.version += 1
    approval.save()
    turn.note("use", "approval", approval.natural_key(), was, approval.facts())


def _count(turn: Turn, operation: Operation) -> UsageEntry:
    """Count the try; as with a step, the event of what used something tells it."""
    entry = UsageEntry(
        contract=turn.contract,
        entry_id=entry_id(),
        measure=Measure.TOOL_ATTEMPTS.value,
        amount=Decimal(1),
        attempt=Attempt.objects.get(contract=turn.contract, generation=turn.contract.generation),
        step=operation.step,
        used_at=turn.now,
        evidence=f"operation:{operation.key}",
    )
    entry.save()
    return entry

"""Letting one external write leave: the approval is used up in the very transaction that stores `sending`."""

import secrets
from decimal import Decimal
from typing import Any

from django.contrib.auth import get_user_model

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import Present, current_policy, go_stale, run_out
from contracts.gates.rows import not_open
from contracts.models import Approval, ApprovalVote, Attempt, Limit, Operation, UsageEntry, rights_of
from contracts.rules.approving import Difference, may_use, member_words
from contracts.rules.refusals import refusal
from contracts.rules.states import Act, ApprovalState, ContractState, OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, Measure, Right

AT_WORK = frozenset({ContractState.RESUMING, ContractState.RUNNING})


def dispatch(*, contract_id: int, actor: Actor, operation_key: str, generation: int) -> Verdict:
    """Store that a pending operation is being sent, before the call leaves. The outcome is the operation.

    The owner must be live in `generation`, no operation may be unknown, the tool's attempt is counted
    against its cap, and where the tool needs it an approval of exactly this call is used, once and for good.
    """

    def body(turn: Turn) -> Verdict:
        operation = Operation.objects.joined().filter(contract=turn.contract, key=operation_key).first()
        if operation is None:
            return refusal("no_such_operation")
        turn.subject = operation.natural_key()
        refused = _owner(turn, generation) or _ledger(turn, operation) or _attempts(turn)
        if refused is not None:
            return refused
        approval = _approval(turn, operation)
        if isinstance(approval, Verdict):
            return approval
        return _send(turn, operation, approval)

    return take_turn(contract_id=contract_id, actor=actor, act="dispatch", part="operation", body=body)


def _owner(turn: Turn, generation: int) -> Verdict | None:
    """Refuse whoever is not the live owner of a contract at work."""
    contract = turn.contract
    if contract.state not in AT_WORK:
        return not_open(contract)
    if contract.deadline is not None and contract.deadline <= turn.now:
        return refusal("deadline_passed")
    live = Attempt.objects.filter(contract=contract, generation=generation, ended_at__isnull=True).first()
    if generation != contract.generation or live is None:
        return refusal("stale_generation", generation=contract.generation)
    if turn.actor.kind is ActorKind.WORKER and live.worker != turn.actor.name:
        return refusal("not_owner")
    return None if live.lease_end is not None and live.lease_end > turn.now else refusal("lease_lapsed")


def _ledger(turn: Turn, operation: Operation) -> Verdict | None:
    if operation.state != OperationState.PENDING:
        return refusal("operation_not_pending")
    unknown = Operation.objects.filter(contract=turn.contract, state=OperationState.UNKNOWN.value)
    return refusal("unknown_first") if unknown.exists() else None


def _attempts(turn: Turn) -> Verdict | None:
    measure = Measure.TOOL_ATTEMPTS.value
    cap = Limit.objects.filter(contract=turn.contract, measure=measure).values_list("cap", flat=True).first()
    used = UsageEntry.objects.filter(contract=turn.contract).totals().get(measure, Decimal(0))
    return refusal("cap_reached") if cap is not None and used + 1 > cap else None


def _approval(turn: Turn, operation: Operation) -> Approval | Verdict | None:
    """Return the approval to use, None where the tool needs none, or why it cannot be used."""
    items = Approval.objects.joined().filter(contract=turn.contract, operation=operation)
    item = items.order_by("asked_at").last()
    if item is None and not operation.tool.needs_approval:
        return None  # where somebody was asked, the answer counts whatever became of the tool's contract
    if current_policy(turn.contract) is None:
        return refusal("policy_unreadable")
    if item is None:
        return refusal("not_approved")
    difference, lost = Present(turn.contract, [item]).difference(item), _deciders_who_lost_it(item)
    code = may_use(item.item(), present=difference, now=turn.now, decider_still_may=not lost)
    if not code:
        return item
    if item.state == ApprovalState.APPROVED and code == "approval_expired":
        run_out(turn, item)
    elif item.state == ApprovalState.APPROVED and code == "item_stale":
        go_stale(turn, item, difference or Difference("decider", ", ".join(lost), ""))
    member: dict[str, Any] = {"member": member_words(item.stale_member)} if code == "item_stale" else {}
    return refusal(code, outcome=item, **member)


def _deciders_who_lost_it(item: Approval) -> list[str]:
    """Return whose yes counts but who may no longer decide."""
    votes = ApprovalVote.objects.filter(contract=item.contract_id, approval=item)
    names = set(votes.filter(decision=ApprovalState.APPROVED.value).values_list("decider", flat=True))
    people = get_user_model().objects.filter(username__in=names, is_active=True)
    still = {p.get_username() for p in people if Right.DECIDE in rights_of(p, item.contract_id)}
    return sorted(names - still)


def _send(turn: Turn, operation: Operation, approval: Approval | None) -> Verdict:
    before = operation.facts()
    turn.answer()
    if approval is not None:
        was = approval.facts()
        approval.consumed_at, approval.consumed_generation = turn.now, turn.contract.generation
        approval.version += 1
        approval.save()
        turn.note("use", "approval", approval.natural_key(), was, approval.facts())
    operation.state, operation.sent_at = OperationState.SENDING.value, turn.now
    operation.generation = turn.contract.generation
    operation.tries += 1
    operation.version += 1
    operation.save()
    turn.note(Act.DISPATCH.value, "operation", operation.natural_key(), before, operation.facts())
    _count(turn, operation)
    return allow(operation)


def _count(turn: Turn, operation: Operation) -> None:
    entry = UsageEntry(
        contract=turn.contract,
        entry_id=f"send-{secrets.token_hex(8)}",
        measure=Measure.TOOL_ATTEMPTS.value,
        amount=Decimal(1),
        attempt=Attempt.objects.get(contract=turn.contract, generation=turn.contract.generation),
        step=operation.step,
        used_at=turn.now,
        evidence=f"operation:{operation.key}",
    )
    entry.save()
    turn.note("add", "usage", entry.natural_key(), None, entry.facts())

"""Asking for a person's consent to one exact call, and deciding on it once."""

import secrets
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.rows import check_reason, not_open
from contracts.models import (
    Approval,
    ApprovalPolicy,
    ApprovalVote,
    Artefact,
    Contract,
    Event,
    Operation,
    rights_of,
)
from contracts.rules.approving import (
    MEMBERS,
    THIS_CALL,
    Bound,
    Decider,
    Difference,
    Policy,
    expiry,
    first_difference,
    may_decide,
    read_policy,
    tally,
)
from contracts.rules.fields import Refused, check_field
from contracts.rules.parts.records import APPROVAL
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.states import APPROVAL_MOVES, Act, ApprovalState, ContractState, OperationState, may_move
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor, Right

ASKABLE = frozenset(ContractState) - {ContractState.DRAFT, ContractState.COMPLETED, ContractState.CANCELLED}
DECISIONS = (ApprovalState.APPROVED, ApprovalState.REJECTED)


def request_approval(
    *,
    contract_id: int,
    actor: Actor,
    operation_key: str,
    reason: str,
    preview: str = "",
    draft_id: str = "",
    hours: int | None = None,
) -> Verdict:
    """Ask for consent to one pending operation; the whole tuple is copied in the same transaction.

    `draft_id` names the artefact the call publishes, in its current version. `hours`: how long the item
    waits, by the policy's default if not given, never beyond the deadline. The outcome is the item. One item
    waits per operation; an item that no longer fits gives way as stale.
    """

    def body(turn: Turn) -> Verdict:
        if turn.contract.state not in ASKABLE:
            return not_open(turn.contract)
        operation = Operation.objects.joined().filter(contract=turn.contract, key=operation_key).first()
        if operation is None:
            return refusal("no_such_operation")
        turn.subject = operation.natural_key()
        return _ask(turn, operation, reason=reason, preview=preview, draft_id=draft_id, hours=hours)

    return take_turn(contract_id=contract_id, actor=actor, act="request", part="approval", body=body)


def decide(
    *,
    contract_id: int,
    actor: Actor,
    user: Any,
    item_id: str,
    seen: str,
    decision: str,
    reason: str = "",
    confirmed_at: Any = None,
    second_factor: bool = False,
) -> Verdict:
    """Record one person's decision on one item, or tell why it cannot be.

    `seen` is the fingerprint the person was shown, `confirmed_at` when they last proved who they are. The
    first decision stands: on `already_decided` the outcome is the item as it was decided. An item found stale
    or out of time is stored as such together with the refusal.
    """

    def body(turn: Turn) -> Verdict:
        item = _load(turn, item_id)
        if item is None:
            return refusal("no_such_item")
        user.refresh_from_db()
        rights = rights_of(user, contract_id) if user.is_active else frozenset()
        decider = Decider(actor.name, actor.kind, Right.DECIDE in rights, confirmed_at, second_factor)
        return _judge(turn, item, decider, seen) or _vote(turn, item, decision, reason)

    return take_turn(
        contract_id=contract_id, actor=actor, act="decide", part="approval", subject=item_id[:40], body=body
    )


def withdraw(*, contract_id: int, actor: Actor, item_id: str, reason: str) -> Verdict:
    """Take back a request that was not used; only who asked can."""

    def body(turn: Turn) -> Verdict:
        item = _load(turn, item_id)
        if item is None:
            return refusal("no_such_item")
        if item.requester != actor.name:
            return refusal("requester_not_asking")
        if item.consumed_at or not may_move(
            APPROVAL_MOVES, item.state, ApprovalState.WITHDRAWN, Act.WITHDRAW
        ):
            return refusal("illegal_move", state=ApprovalState(item.state).label)
        return check_reason(reason) or end_item(turn, item, ApprovalState.WITHDRAWN, Act.WITHDRAW)

    return take_turn(contract_id=contract_id, actor=actor, act="withdraw", part="approval", body=body)


def current_policy(contract: Contract) -> Policy | None:
    """Return the policy in force; None closes the gate."""
    newest = ApprovalPolicy.objects.of(contract.pk).last()
    return read_policy(newest.facts() if newest is not None else None)


def present_bound(contract: Contract, item: Approval) -> Bound:
    """Return the tuple of an item as it stands now."""
    operation = Operation.objects.joined().get(pk=item.operation_id)
    draft = None
    if item.draft is not None:
        versions = Artefact.objects.of(contract.pk).filter(artefact_id=item.draft.artefact_id, current=True)
        draft = versions.first()
    newest = ApprovalPolicy.objects.of(contract.pk).last()
    return Bound(
        operation_key=operation.key,
        tool=operation.tool.tool,
        fingerprint=operation.fingerprint,
        draft=draft.artefact_id if draft else "",
        draft_version=draft.version_label if draft else "",
        draft_sha256=draft.sha256 if draft else "",
        target=operation.target,
        requester=item.requester,
        policy_number=newest.number if newest else 0,
        scope=THIS_CALL,
        task_deadline=contract.deadline,
    )


def _load(turn: Turn, item_id: str) -> Approval | None:
    return Approval.objects.joined().filter(contract=turn.contract, item_id=item_id).first()


def _ask(
    turn: Turn, operation: Operation, *, reason: str, preview: str, draft_id: str, hours: int | None
) -> Verdict:
    policy, deadline = current_policy(turn.contract), turn.contract.deadline
    drafts = Artefact.objects.of(turn.contract.pk).filter(artefact_id=draft_id, current=True)
    draft = drafts.first() if draft_id else None
    if operation.state != OperationState.PENDING:
        return refusal("operation_not_pending")
    if policy is None:
        return refusal("policy_unreadable")
    refused = _faults(reason, preview, draft_id, draft)
    if refused is not None:
        return refused
    until = expiry(policy, now=turn.now, hours=hours, deadline=deadline)
    if until is None or deadline is None:
        return refusal("expiry_out_of_range", hours=policy.longest_expiry_hours)
    waiting = Approval.objects.joined().filter(operation=operation, state=ApprovalState.PENDING.value)
    for former in waiting.filter(contract=turn.contract):
        if not _out_of_date(turn, former):
            return refusal("one_waiting_item_per_operation", outcome=former)
    item = _item(turn, operation, draft)
    item.reason, item.expires_at, item.task_deadline = reason.strip(), until, deadline
    item.policy_number, item.preview = policy.number, preview or (draft.inline_text if draft else "")
    turn.answer()
    item.save()
    turn.note("request", "approval", item.natural_key(), None, item.facts())
    return allow(item)


def _faults(reason: str, preview: str, draft_id: str, draft: Artefact | None) -> Verdict | None:
    problems = []
    for name, value in (("reason", reason), ("preview", preview)):
        try:
            check_field(APPROVAL.field(name), value)
        except Refused as refused:
            problems.append(refused.problem)
    if draft_id and draft is None:
        problems.append(Problem("draft", "unknown_reference", SENTENCES["unknown_reference"]))
    return refusal("bad_values", problems=tuple(problems)) if problems else None


def _item(turn: Turn, operation: Operation, draft: Artefact | None) -> Approval:
    """Copy every member of the tuple; what is copied is what will be compared."""
    return Approval(
        contract=turn.contract,
        item_id=f"item-{secrets.token_hex(8)}",
        operation=operation,
        operation_key=operation.key,
        tool=operation.tool.tool,
        parameters=operation.parameters,
        fingerprint=operation.fingerprint,
        draft=draft,
        draft_version=draft.version_label if draft else "",
        draft_sha256=draft.sha256 if draft else "",
        target=operation.target,
        requester=turn.actor.name,
        author=draft.author if draft else "",
        last_editor=_last_editor(turn.contract, draft),
        scope=THIS_CALL,
        asked_at=turn.now,
    )


def _last_editor(contract: Contract, draft: Artefact | None) -> str:
    """Return who stored the draft as it stands, by the chain of events."""
    if draft is None:
        return ""
    events = Event.objects.filter(contract=contract, part="artefact", subject=draft.natural_key(), refused="")
    return events.order_by("-sequence").values_list("actor", flat=True).first() or ""


def _judge(turn: Turn, item: Approval, decider: Decider, seen: str) -> Verdict | None:
    policy, present = current_policy(turn.contract), present_bound(turn.contract, item)
    code = may_decide(item.item(), decider, policy, present=present, now=turn.now, seen=seen)
    if not code and turn.contract.state not in ASKABLE:
        return not_open(turn.contract)
    if item.state == ApprovalState.PENDING and code in ("item_stale", "item_expired"):
        _out_of_date(turn, item)
    if code == "item_stale":
        return refusal(code, outcome=item, member=MEMBERS[item.stale_member])
    return refusal(code, outcome=item) if code else None


def _out_of_date(turn: Turn, item: Approval) -> bool:
    """Store a waiting item that no longer fits or whose time has run out as what it is."""
    difference = first_difference(item.bound(), present_bound(turn.contract, item))
    if difference is not None:
        end_item(turn, item, ApprovalState.STALE, Act.TUPLE_CHANGED, difference)
    elif item.expires_at <= turn.now:
        end_item(turn, item, ApprovalState.EXPIRED, Act.TIME_RAN_OUT)
    else:
        return False
    return True


def end_item(
    turn: Turn, item: Approval, after: ApprovalState, act: Act, difference: Difference | None = None
) -> Verdict:
    """Store that an item ended without a person's decision; that stands even where the act is refused."""
    turn.answer()
    before = {"state": item.state}
    if difference is not None:
        item.stale_member, item.stale_was, item.stale_now = difference.member, difference.was, difference.now
    item.state = after.value
    item.version += 1
    item.save()
    told = {
        name: value for name, value in item.facts().items() if name == "state" or name.startswith("stale_")
    }
    turn.note(act.value, "approval", item.natural_key(), before, told)
    turn.stands = True
    return allow(item)


def _vote(turn: Turn, item: Approval, decision: str, reason: str) -> Verdict:
    if decision not in set(DECISIONS):
        return refusal("unknown_decision")
    if decision == ApprovalState.REJECTED or reason.strip():
        refused = check_reason(reason)
        if refused is not None:
            return refused
    votes = ApprovalVote.objects.filter(contract=turn.contract, approval=item)
    given = dict(votes.values_list("decider", "decision"))
    if turn.actor.name in given:
        return refusal("one_vote_per_curator", outcome=item)
    vote = ApprovalVote(
        contract=turn.contract,
        approval=item,
        decider=turn.actor.name,
        decision=decision,
        reason=reason.strip(),
        at=turn.now,
    )
    turn.answer()
    vote.save()
    turn.note("vote", "vote", vote.natural_key(), None, vote.facts())
    policy = current_policy(turn.contract)
    after = tally([*given.values(), decision], policy.quorum if policy else 1)
    return allow(item) if after is ApprovalState.PENDING else _decided(turn, item, after, reason.strip())


def _decided(turn: Turn, item: Approval, after: ApprovalState, reason: str) -> Verdict:
    before = item.facts()
    item.state, item.decided_by, item.decided_at = after.value, turn.actor.name, turn.now
    item.decision_reason = reason
    item.version += 1
    item.save()
    turn.note(Act.DECIDE.value, "approval", item.natural_key(), before, item.facts())
    return allow(item)

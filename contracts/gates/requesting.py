"""Asking for a person's consent to one exact call, and taking the question back."""

from dataclasses import dataclass

from contracts.gates.beats import SUBJECT_MAX, Turn, take_turn
from contracts.gates.binding import (
    ASKED,
    Present,
    current_policy,
    drop_operation,
    end_item,
    new_item_id,
    out_of_date,
    store_item,
)
from contracts.gates.rows import VERSIONED, check_reason, not_open
from contracts.gates.sending import covers_again
from contracts.gates.workers.fencing import live_owner
from contracts.models import Approval, Artefact, Contract, Event, Operation
from contracts.rules.approving import THIS_CALL, Difference, expiry, mentions, names_other_version
from contracts.rules.fields import Refused, check_field
from contracts.rules.granting import HELD
from contracts.rules.parts.records import APPROVAL
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.states import APPROVAL_MOVES, Act, ApprovalState, ContractState, OperationState, may_move
from contracts.rules.text import clean_text
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind
from contracts.rules.words import N_

ASKABLE = frozenset(ContractState) - {ContractState.DRAFT, ContractState.COMPLETED, ContractState.CANCELLED}
WRITING = ("add", "edit", "correct")  # acts that store the content of an artefact


def request_approval(
    *,
    contract_id: int,
    actor: Actor,
    operation_key: str,
    reason: str,
    preview: str = "",
    draft_id: str = "",
    draft_seen: str = "",
    hours: int | None = None,
    generation: int | None = None,
) -> Verdict:
    """Ask for consent to one pending operation; the whole tuple is copied in the same transaction.

    `draft_id` names the artefact the call publishes, in its current version; `preview` is only shown where its
    text is not kept here, and `draft_seen` is the SHA-256 of the version a person was shown, if one was. `hours`:
    how long the item waits, by the policy's default if not given, never beyond the deadline. `generation`: asks
    as the live owner and is refused if it is not. The outcome is the item. One item waits per operation; an item
    that no longer fits gives way as stale.
    """

    def body(turn: Turn) -> Verdict:
        if turn.contract.state not in ASKABLE:
            return not_open(turn.contract)
        owner = None if generation is None else live_owner(turn, generation, states=HELD)
        if isinstance(owner, Verdict):
            return owner
        operation = Operation.objects.joined().filter(contract=turn.contract, key=operation_key).first()
        if operation is None:
            return refusal("no_such_operation")
        turn.subject = operation.natural_key()
        drafts = Artefact.objects.of(turn.contract.pk).filter(artefact_id=draft_id, current=True)
        draft = drafts.first() if draft_id else None
        if draft_seen and (draft is None or draft.sha256 != draft_seen):
            return refusal("draft_moved")
        refused = _faults(turn.actor.name, reason, preview, draft_id, draft)
        return refused or _ask(turn, operation, draft, reason=reason, preview=preview, hours=hours)

    return take_turn(contract_id=contract_id, actor=actor, act="request", part="approval", body=body)


def withdraw(*, contract_id: int, actor: Actor, item_id: str, reason: str) -> Verdict:
    """Take back a request that was not used; only who asked can."""

    def body(turn: Turn) -> Verdict:
        item = load_item(turn, item_id)
        if item is None:
            return refusal("no_such_item")
        if item.requester != actor.name or _asked_as(item) != (actor.kind is ActorKind.WORKER):
            return refusal("requester_not_asking")
        if item.consumed_at or not may_move(
            APPROVAL_MOVES, item.state, ApprovalState.WITHDRAWN, Act.WITHDRAW
        ):
            return refusal("illegal_move", state=ApprovalState(item.state).label)
        return check_reason(reason) or _withdraw(turn, item, reason.strip())

    return take_turn(
        contract_id=contract_id, actor=actor, act="withdraw", part="approval", subject=item_id[:40], body=body
    )


def _asked_as(item: Approval) -> bool:
    """Tell whether a worker asked: a person who is called as one did not."""
    asked = Event.objects.filter(
        contract=item.contract_id, part="approval", act__in=ASKED, subject=item.passed_from or item.item_id
    )
    return asked.values_list("actor_kind", flat=True).first() != ActorKind.PERSON


def load_item(turn: Turn, item_id: str) -> Approval | None:
    """Return the item of this contract, or None."""
    return Approval.objects.joined().filter(contract=turn.contract, item_id=item_id).first()


def _ask(
    turn: Turn, operation: Operation, draft: Artefact | None, *, reason: str, preview: str, hours: int | None
) -> Verdict:
    policy, deadline = current_policy(turn.contract), turn.contract.deadline
    if operation.state != OperationState.PENDING:
        return refusal("operation_not_pending")
    if policy is None:
        return refusal("policy_unreadable")
    refused = _shows_what_it_carries(turn.contract, operation, draft)
    if refused is not None:
        return refused
    until = expiry(policy, now=turn.now, hours=hours, deadline=deadline)
    if until is None or deadline is None:
        return refusal("expiry_out_of_range", hours=policy.longest_expiry_hours)
    for item in Approval.objects.open().filter(contract=turn.contract, operation=operation).joined():
        if not out_of_date(turn, item, _asked_by_another(turn, item) or _changed(turn, item)):
            waits = item.state == ApprovalState.PENDING
            return refusal("one_waiting_item_per_operation" if waits else "approval_stands", outcome=item)
    used = covers_again(turn, operation)
    if used is not None:
        return refusal("approval_stands", outcome=used)
    item = _item(turn, operation, draft)
    item.reason, item.expires_at, item.task_deadline = clean_text(reason).strip(), until, deadline
    item.policy_number = policy.number
    # A text kept here is what is shown: words of the requester's own could hide what the call publishes.
    item.preview = (draft.inline_text if draft else "") or clean_text(preview)
    return store_item(turn, item, "request")


def _shows_what_it_carries(
    contract: Contract, operation: Operation, draft: Artefact | None
) -> Verdict | None:
    """Refuse a call that names drafts kept here other than the one, and the version, that a person would see."""
    named = {mention.artefact for mention in mentions(operation.parameters)}
    kept = Artefact.objects.filter(contract=contract, artefact_id__in=named)
    known = set(kept.values_list("artefact_id", flat=True))
    if known and (draft is None or draft.artefact_id not in known):
        return refusal("draft_not_shown", names=", ".join(sorted(known)))
    shown = (draft.artefact_id, draft.version_label, draft.sha256) if draft else None
    other = shown is not None and names_other_version(operation.parameters, *shown)
    return refusal("other_version_named") if other else None


def _asked_by_another(turn: Turn, item: Approval) -> Difference | None:
    """Tell that somebody else asks for the same call: the former request gives way to who asks now."""
    if item.requester == turn.actor.name or item.state != ApprovalState.PENDING:
        return None
    return Difference("requester", item.requester, turn.actor.name)


def _changed(turn: Turn, item: Approval) -> Difference | None:
    return Present(turn.contract, [item]).difference(item)


def _faults(
    requester: str, reason: str, preview: str, draft_id: str, draft: Artefact | None
) -> Verdict | None:
    problems = []
    if not requester.strip():
        problems.append(Problem("requester", "missing", N_("A request names who asks.")))
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
    who = writers_of(turn.contract, draft).names if draft else ("",)
    return Approval(
        contract=turn.contract,
        item_id=new_item_id(),
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
        author=(draft.author if draft else "") or who[0],
        last_editor=who[-1],
        scope=THIS_CALL,
        asked_at=turn.now,
    )


@dataclass(frozen=True, slots=True)
class Writers:
    """Who stored the content of one version of a draft, by the chain of events, in order of time.

    `came_along`: a document brought it along with the contract, and nobody changed it since.
    """

    names: tuple[str, ...]
    came_along: bool


def writers_of(contract: Contract, draft: Artefact) -> Writers:
    """Return who stored this version of the draft and who changed its content (one query).

    What a document brought along was stored by who created the contract. A note, or another name for the author,
    is no change of the content: else it would hide who wrote it.
    """
    written = _written(contract, draft)
    here = tuple(actor for actor, _ in written)
    added_here = bool(written) and written[0][1]
    return Writers(here if added_here else (contract.created_by, *here), came_along=not written)


def _written(contract: Contract, draft: Artefact) -> list[tuple[str, bool]]:
    """Return who changed the content of this version here, in order of time, and whether that added it."""
    written = Event.objects.filter(
        contract=contract,
        part="artefact",
        subject=draft.natural_key()[:SUBJECT_MAX],
        act__in=WRITING,
        refused="",
    ).order_by("sequence")
    return [
        (actor, before is None)
        for actor, before, after in written.values_list("actor", "before", "after")
        if any((before or {}).get(name) != (after or {}).get(name) for name in VERSIONED)
    ]


def _withdraw(turn: Turn, item: Approval, reason: str) -> Verdict:
    before = {"state": item.state}
    end_item(turn, item, ApprovalState.WITHDRAWN, Act.WITHDRAW, before)
    turn.entries[-1].after = {**(turn.entries[-1].after or {}), "reason": reason}
    drop_operation(turn, Operation.objects.joined().get(pk=item.operation_id, contract=turn.contract))
    return allow(item)

"""What an approval item is bound to as things stand now, and how an item ends that nobody decided.

Whatever changes a member of the tuple lets the open items go stale in its own transaction; deciding and using
look once more.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from contracts.gates.beats import Turn
from contracts.gates.notices import tell, who_is_concerned, who_may_decide
from contracts.gates.workers.certainty import certainly_unsent
from contracts.models import Approval, ApprovalPolicy, Artefact, Contract, Event, Operation
from contracts.rules.approving import (
    MEMBERS,
    Bound,
    Difference,
    Policy,
    first_difference,
    names_other_version,
    passes_on,
    read_policy,
)
from contracts.rules.notices import Told
from contracts.rules.states import Act, ApprovalState, ContractState, OperationState
from contracts.rules.verdict import Verdict, allow

# Changes of these parts can change what an open item is bound to.
BINDING = frozenset({"artefact", "policy", "identity", "operation", "tool", "contract"})
ASKED = ("request", "pass_on")
DRAFT_MEMBERS = frozenset({"draft", "draft_version", "draft_sha256"})


def current_policy(contract: Contract) -> Policy | None:
    """Return the policy in force; None closes the gate."""
    newest = ApprovalPolicy.objects.of(contract.pk).last()
    return read_policy(newest.facts() if newest is not None else None)


class Present:
    """How the calls of some items of one contract stand now; a constant number of queries for all of them."""

    def __init__(self, contract: Contract, items: Sequence[Approval], *, read_whole: bool = False) -> None:
        """Read how the calls stand. `read_whole`: the items came with operation and draft a moment ago."""
        self.contract = contract
        newest = ApprovalPolicy.objects.of(contract.pk).last()
        self.policy = read_policy(newest.facts() if newest is not None else None)
        self.policy_number = newest.number if newest else 0
        known = {item.operation_id: item.operation for item in items} if read_whole else {}
        self._operations = known or _operations_of(items)
        own = [item.draft for item in items if item.draft and item.draft.current] if read_whole else []
        self._drafts = {draft.artefact_id: draft for draft in own}
        self._drafts |= _current_drafts(contract, items, self._drafts)
        told = Event.objects.filter(
            contract=contract, part="approval", act__in=ASKED, subject__in=[item.item_id for item in items]
        )
        self._asked: dict[str, Any] = {}
        self.asked_by: dict[str, str] = {}  # what kind of actor asked for each item
        for subject, after, kind in told.order_by("sequence").values_list("subject", "after", "actor_kind"):
            self._asked[subject] = after
            self.asked_by.setdefault(subject, kind)

    def difference(self, item: Approval) -> Difference | None:
        """Return the first member of the item's tuple that is not what it was when it was asked for.

        Requester, scope and the draft's name are compared with the chain of events: the row cannot vouch for them.
        """
        if self.contract.state == ContractState.CANCELLED:
            return Difference("cancelled", "", f"{self.contract.cancelled_by}: {self.contract.cancel_reason}")
        bound, asked = item.bound(), self._asked.get(item.item_id) or {}
        was = replace(
            bound,
            requester=asked.get("requester", bound.requester),
            draft=asked.get("draft", bound.draft) or "",
            scope=asked.get("scope", bound.scope),
        )
        return _prolonged(item, asked) or first_difference(was, self._bound(item, bound))

    def _bound(self, item: Approval, bound: Bound) -> Bound:
        operation = self._operations[item.operation_id]
        draft = self._drafts.get(item.draft.artefact_id) if item.draft else None
        return replace(
            bound,
            operation_key=operation.key,
            tool=operation.tool.tool,
            fingerprint=operation.fingerprint,
            draft=draft.artefact_id if draft else "",
            draft_version=draft.version_label if draft else "",
            draft_sha256=draft.sha256 if draft else "",
            target=operation.target,
            policy_number=self.policy_number,
            task_deadline=self.contract.deadline,
        )


def _operations_of(items: Iterable[Approval]) -> dict[int, Operation]:
    found = Operation.objects.joined().filter(pk__in={item.operation_id for item in items})
    return {operation.pk: operation for operation in found}


def _current_drafts(
    contract: Contract, items: Iterable[Approval], known: Mapping[str, Artefact]
) -> dict[str, Artefact]:
    """Return the current version of every draft of `items` that is not among the `known` ones."""
    names = {item.draft.artefact_id for item in items if item.draft} - known.keys()
    found = Artefact.objects.of(contract.pk).filter(artefact_id__in=names, current=True) if names else ()
    return {draft.artefact_id: draft for draft in found}


def _prolonged(item: Approval, asked: Mapping[str, Any]) -> Difference | None:
    """Find an item that waits longer than it was asked to; the clock looks after one that waits less."""
    until = datetime.fromisoformat(asked["expires_at"]) if asked.get("expires_at") else item.expires_at
    longer = item.expires_at > until
    return Difference("expires_at", until.isoformat(), item.expires_at.isoformat()) if longer else None


def stale_items(turn: Turn) -> None:
    """Let every open item of the contract go stale that no longer fits what this turn has written."""
    items = list(Approval.objects.open().filter(contract=turn.contract).joined())
    if not items:
        return
    present = Present(turn.contract, items)
    for item in items:
        difference = present.difference(item)
        if difference is not None:
            go_stale(turn, item, difference)


def go_stale(turn: Turn, item: Approval, difference: Difference) -> None:
    """Store which member changed, and tell those concerned."""
    before = {"state": item.state}
    item.stale_member, item.stale_was, item.stale_now = difference.member, difference.was, difference.now
    end_item(turn, item, ApprovalState.STALE, Act.TUPLE_CHANGED, before)
    if difference.member in DRAFT_MEMBERS:
        _drop_if_it_names_the_former_draft(turn, item)
    tell(turn, Told.STALE, item, who_is_concerned(item), member=MEMBERS[difference.member])


def _drop_if_it_names_the_former_draft(turn: Turn, item: Approval) -> None:
    """Abandon a call that carries the version that is no longer shown; with the current one it is another call."""
    operation = Operation.objects.joined().get(pk=item.operation_id, contract=turn.contract)
    draft_id = item.draft.artefact_id if item.draft else ""
    current = Artefact.objects.of(turn.contract.pk).filter(artefact_id=draft_id, current=True).first()
    shown = (current.version_label, current.sha256) if current else ("", "")
    if names_other_version(operation.parameters, draft_id, *shown):
        drop_operation(turn, operation)


def out_of_date(turn: Turn, item: Approval, difference: Difference | None) -> bool:
    """Store a waiting item that no longer fits or whose time has run out as what it is."""
    if difference is not None:
        go_stale(turn, item, difference)
    elif item.expires_at <= turn.now:
        run_out(turn, item)
    else:
        return False
    return True


def run_out(turn: Turn, item: Approval) -> Approval | None:
    """Store that the item's time has run out; where the policy passes it on, return the item that follows."""
    policy = current_policy(turn.contract)
    on = passes_on(item.item(), policy, item.passed_from)
    end_item(turn, item, ApprovalState.EXPIRED, Act.TIME_RAN_OUT, {"state": item.state})
    if not on or policy is None or not _may_go_on(turn, item):
        tell(turn, Told.LAPSED if item.decided_by else Told.EXPIRED, item, who_is_concerned(item))
        return None
    return _pass_on(turn, item, policy)


def end_item(turn: Turn, item: Approval, after: ApprovalState, act: Act, before: dict[str, Any]) -> None:
    """Store that an item ended without a person's decision; that stands even where the act is refused."""
    turn.answer()
    item.state, item.ended_at = after.value, turn.now
    item.version += 1
    item.save()
    told = {
        name: value for name, value in item.facts().items() if name == "state" or name.startswith("stale_")
    }
    turn.note(act.value, "approval", item.natural_key(), before, told)
    turn.stands = True


def drop_operation(turn: Turn, operation: Operation) -> None:
    """Abandon an intention that was certainly never sent; the next try is another round.

    One that may have left before is unknown once more instead.
    """
    if operation.state != OperationState.PENDING:
        return
    before = operation.facts()
    if certainly_unsent(operation, now=turn.now):
        operation.state, operation.settled_at = OperationState.ABANDONED.value, turn.now
        act = Act.DROPPED
    else:  # it waited to be sent again under a key the target knows: it may have been written the first time
        operation.state, act = OperationState.UNKNOWN.value, Act.OWNER_LOST
    operation.version += 1
    operation.save()
    turn.note(act.value, "operation", operation.natural_key(), before, operation.facts())


def store_item(turn: Turn, item: Approval, act: str) -> Verdict:
    """Store a new item and tell those whose decision it waits for."""
    turn.answer()
    item.save()
    turn.note(act, "approval", item.natural_key(), None, item.facts())
    kind = Told.PASSED_ON if item.passed_from else Told.WAITING
    words = {"person": item.requester, "reason": item.reason, "until": item.expires_at.isoformat()}
    tell(turn, kind, item, who_may_decide(item, current_policy(turn.contract)), **words)
    return allow(item)


def new_item_id() -> str:
    """Return an id no item has had before."""
    return f"item-{secrets.token_hex(8)}"


def _may_go_on(turn: Turn, item: Approval) -> bool:
    pending = Operation.objects.filter(
        contract=turn.contract, pk=item.operation_id, state=OperationState.PENDING.value
    )
    return item.task_deadline > turn.now and pending.exists()


def _pass_on(turn: Turn, item: Approval, policy: Policy) -> Approval:
    hours = timedelta(hours=policy.pass_on_hours or policy.default_expiry_hours)
    item_id, former = new_item_id(), item.item_id
    following = Approval.objects.joined().get(pk=item.pk, contract=turn.contract)
    following.pk, following._state.adding = None, True
    following.item_id, following.passed_from, following.passed_to = item_id, former, policy.pass_on_to
    following.state, following.asked_at, following.version = ApprovalState.PENDING.value, turn.now, 1
    following.expires_at = min(turn.now + hours, item.task_deadline)
    following.warned_at = following.alarmed_at = following.ended_at = None
    store_item(turn, following, "pass_on")
    return following


def touches_a_binding(parts: Iterable[str]) -> bool:
    """Tell whether changes of `parts` can make an open item stale."""
    return not BINDING.isdisjoint(parts)

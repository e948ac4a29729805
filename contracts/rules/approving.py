"""Whether one person may decide on one exact call, and whether a decision still covers it.

An approval is bound to the whole tuple of what would be done. Nothing wider exists: a changed member makes it
stale, and the next item starts from nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from contracts.rules.parts.plan import POLICY
from contracts.rules.rows import check_row
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import ActorKind
from contracts.rules.words import N_

THIS_CALL = "this_call"


@dataclass(frozen=True, slots=True)
class Bound:
    """What one approval is bound to, member by member; two calls are the same call if all of it is equal.

    Digests are 64 hexadecimal digits, `task_deadline` is a point in time, `policy_number` counts from 1.
    """

    operation_key: str
    tool: str
    fingerprint: str
    draft: str
    draft_version: str
    draft_sha256: str
    target: str
    requester: str
    policy_number: int
    scope: str
    task_deadline: datetime | None


MEMBERS: Mapping[str, str] = {
    "operation_key": N_("Operation key"),
    "tool": N_("Tool"),
    "fingerprint": N_("Parameter fingerprint"),
    "draft": N_("Draft"),
    "draft_version": N_("Draft version"),
    "draft_sha256": N_("SHA-256 of the draft"),
    "target": N_("Target"),
    "requester": N_("Requester"),
    "policy_number": N_("Policy version"),
    "scope": N_("Scope"),
    "task_deadline": N_("Deadline of the task"),
    # No members of the tuple: what else can take an approval away before it is used.
    "decider": N_("Right of who decided"),
    "origin": N_("Where it was decided"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The first member of the tuple that differs, with both values as text."""

    member: str
    was: str
    now: str


def first_difference(was: Bound, now: Bound) -> Difference | None:
    """Return the member that changed between asking and now, or None while the approval still fits."""
    for member in fields(Bound):
        before, after = getattr(was, member.name), getattr(now, member.name)
        if before != after:
            return Difference(member.name, _said(before), _said(after))
    return None


def _said(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value if value is not None else "")


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of deciding in force. Times are in hours, freshness of a login in seconds."""

    number: int
    quorum: int
    author_may_decide: bool
    default_expiry_hours: int
    longest_expiry_hours: int
    login_fresh_seconds: int
    second_factor: bool
    on_timeout: str
    pass_on_to: str
    pass_on_hours: int | None


def read_policy(facts: Mapping[str, Any] | None) -> Policy | None:
    """Return the policy, or None if it does not parse: then the gate is closed."""
    if facts is None:
        return None
    checked = check_row(POLICY, facts, document=True)
    if checked.problems:
        return None
    return Policy(**{member.name: checked.values[member.name] for member in fields(Policy)})


def expiry(policy: Policy, *, now: datetime, hours: int | None, deadline: datetime | None) -> datetime | None:
    """Return when an item expires; None if it cannot wait that long, or no longer at all.

    The policy bounds the hours, and no item outlives the deadline of its task.
    """
    wanted = policy.default_expiry_hours if hours is None else hours
    if not 0 < wanted <= policy.longest_expiry_hours or deadline is None or deadline <= now:
        return None
    return min(now + timedelta(hours=wanted), deadline)


@dataclass(frozen=True, slots=True)
class Item:
    """The stored facts of one approval item that deciding and using look at."""

    state: str
    bound: Bound
    author: str
    last_editor: str
    expires_at: datetime
    consumed: bool = False
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class Decider:
    """Who wants to decide: the login name, the kind of actor, the right, and how the login was confirmed.

    `confirmed_at`: when this person last proved who they are; `second_factor`: whether with two factors.
    """

    name: str
    kind: ActorKind
    may_decide: bool
    confirmed_at: datetime | None
    second_factor: bool = False


def may_decide(
    item: Item, decider: Decider, policy: Policy | None, *, present: Bound, now: datetime, seen: str
) -> str:
    """Return the code of what forbids this decision, or an empty text.

    `present` is the tuple as it stands now, `seen` the fingerprint that the decider was shown. Separation
    of duties comes before and apart from permissions: no right overrides it.
    """
    return (
        _wrong_person(item, decider, policy)
        or _not_sure_who(decider, policy, now)
        or _not_open(item, present=present, now=now)
        or ("fingerprint_differs" if seen != item.bound.fingerprint else "")
    )


def _wrong_person(item: Item, decider: Decider, policy: Policy | None) -> str:
    if decider.kind not in (ActorKind.PERSON, ActorKind.OPERATOR):
        return "workers_never_decide"
    if decider.name == item.bound.requester:
        return "own_request"
    if policy is None:
        return "policy_unreadable"
    if decider.name in (item.author, item.last_editor) and not policy.author_may_decide:
        return "own_draft"
    return "" if decider.may_decide else "no_right_to_decide"


def _not_sure_who(decider: Decider, policy: Policy | None, now: datetime) -> str:
    assert policy is not None  # noqa: S101  # an unreadable policy was refused before
    fresh = timedelta(seconds=policy.login_fresh_seconds)
    if decider.confirmed_at is None or now - decider.confirmed_at > fresh:
        return "login_not_fresh"
    return "second_factor_missing" if policy.second_factor and not decider.second_factor else ""


def _not_open(item: Item, *, present: Bound, now: datetime) -> str:
    if item.state != ApprovalState.PENDING:
        return "already_decided" if item.decided_by else f"item_{item.state}"
    if first_difference(item.bound, present) is not None:
        return "item_stale"
    return "item_expired" if item.expires_at <= now else ""


def may_use(item: Item, *, present: Bound, now: datetime, decider_still_may: bool) -> str:
    """Return the code of what forbids sending under this approval, or an empty text."""
    if item.consumed:
        return "approval_used"
    if item.state != ApprovalState.APPROVED:
        return "not_approved"
    if first_difference(item.bound, present) is not None or not decider_still_may:
        return "item_stale"
    return "item_expired" if item.expires_at <= now else ""


def tally(votes: Sequence[str], quorum: int) -> ApprovalState:
    """Return what the votes come to: one no is a no, `quorum` times yes is a yes, else it goes on waiting."""
    if ApprovalState.REJECTED in votes:
        return ApprovalState.REJECTED
    yes = sum(vote == ApprovalState.APPROVED for vote in votes)
    return ApprovalState.APPROVED if yes >= quorum else ApprovalState.PENDING

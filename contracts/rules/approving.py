"""Whether one person may decide on one exact call, and whether a decision still covers it.

An approval is bound to the whole tuple of what would be done. Nothing wider exists: a changed member makes it
stale, and the next item starts from nothing.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from contracts.rules.parts.plan import POLICY
from contracts.rules.rows import check_row
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import LINE_MAX, ActorKind, OnTimeout
from contracts.rules.words import N_

THIS_CALL = "this_call"
ITEM_ID = r"(?!(?:ask|mark)$)[A-Za-z0-9][A-Za-z0-9._:-]{0,39}"  # in addresses, beside `ask` and `mark`


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
    "cancelled": N_("Cancellation of the task"),
    "rolled_back": N_("Return to an earlier checkpoint"),
    "expires_at": N_("Expires at"),
}


def member_words(member: str) -> str:
    """Return the words for a stale item's member; a name that only a document knows stands for itself."""
    return MEMBERS.get(member, member)


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
    passed_to: str = ""
    writers: frozenset[str] = frozenset()  # everybody who stored the content of the draft


@dataclass(frozen=True, slots=True)
class Decider:
    """Who wants to decide: the login name, the kind of actor, the right, and how the login was confirmed.

    `confirmed_at`: when this person last proved who they are; `second_factor_at`: when by a second factor.
    `known_as` are further names the person goes by (the full name); `roles` those held in the team.
    """

    name: str
    kind: ActorKind
    may_decide: bool
    confirmed_at: datetime | None
    second_factor_at: datetime | None = None
    known_as: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def is_called(self, name: str) -> bool:
        """Tell whether `name`, as somebody wrote it, is this person."""
        return any(same_name(name, own) for own in (self.name, *self.known_as))


def same_name(one: str, other: str) -> bool:
    """Tell whether two names as people write them are the same; nobody has the empty one."""
    return bool(one.strip()) and one.strip().casefold() == other.strip().casefold()


def may_decide(
    item: Item,
    decider: Decider,
    policy: Policy | None,
    *,
    present: Difference | None,
    now: datetime,
    seen: str,
) -> str:
    """Return the code of what forbids this decision, or an empty text.

    `present` is what changed since it was asked, `seen` the fingerprint that the decider was shown. Separation
    of duties comes before and apart from permissions: no right overrides it.
    """
    return (
        who_may_not(item, decider, policy)
        or _not_open(item, present=present, now=now)
        or not_sure_who(decider, policy, now)
        or ("fingerprint_differs" if seen != item.bound.fingerprint else "")
    )


def who_may_not(item: Item, decider: Decider, policy: Policy | None) -> str:
    """Return the code of why this person is not the one to decide on this item, or an empty text."""
    if decider.kind not in (ActorKind.PERSON, ActorKind.OPERATOR):
        return "workers_never_decide"
    if decider.is_called(item.bound.requester):
        return "own_request"
    if policy is None:
        return "policy_unreadable"
    wrote = any(decider.is_called(name) for name in (item.author, item.last_editor, *item.writers))
    if wrote and not policy.author_may_decide:
        return "own_draft"
    if not decider.may_decide:
        return "no_right_to_decide"
    elsewhere = (
        item.passed_to and not decider.is_called(item.passed_to) and item.passed_to not in decider.roles
    )
    return "passed_to_another" if elsewhere else ""


def not_sure_who(decider: Decider, policy: Policy | None, now: datetime) -> str:
    """Return the code of what is missing to be sure who decides, or an empty text.

    Where the policy asks for a second factor, it is the second factor that must be fresh.
    """
    if policy is None:
        return "policy_unreadable"
    fresh = timedelta(seconds=policy.login_fresh_seconds)
    if decider.confirmed_at is None or now - decider.confirmed_at > fresh:
        return "login_not_fresh"
    if not policy.second_factor:
        return ""
    second = decider.second_factor_at
    return "second_factor_missing" if second is None or now - second > fresh else ""


def _not_open(item: Item, *, present: Difference | None, now: datetime) -> str:
    if item.state != ApprovalState.PENDING:
        return "already_decided" if item.decided_by else f"item_{item.state}"
    if present is not None:
        return "item_stale"
    return "item_expired" if item.expires_at <= now else ""


def may_use(item: Item, *, present: Difference | None, now: datetime, decider_still_may: bool) -> str:
    """Return the code of what forbids sending under this approval, or an empty text."""
    if item.consumed:
        return "approval_used"
    if item.state == ApprovalState.STALE:
        return "item_stale"
    if item.state == ApprovalState.EXPIRED:
        return "approval_expired" if item.decided_by else "item_expired"
    if item.state != ApprovalState.APPROVED:
        return "not_approved"
    if present is not None or not decider_still_may:
        return "item_stale"
    return "approval_expired" if item.expires_at <= now else ""


def tally(votes: Sequence[str], quorum: int) -> ApprovalState:
    """Return what the votes come to: one no is a no, `quorum` times yes is a yes, else it goes on waiting."""
    if ApprovalState.REJECTED in votes:
        return ApprovalState.REJECTED
    yes = sum(vote == ApprovalState.APPROVED for vote in votes)
    return ApprovalState.APPROVED if yes >= quorum else ApprovalState.PENDING


def passes_on(item: Item, policy: Policy | None, passed_from: str) -> bool:
    """Tell whether an item whose time has run out is passed on; that happens once, then nobody decided."""
    waited = item.state == ApprovalState.PENDING and not passed_from
    return waited and policy is not None and policy.on_timeout == OnTimeout.PASS_ON


@dataclass(frozen=True, slots=True)
class Mention:
    """A draft that a call names, with the version and checksum it names, None where it names none."""

    artefact: str
    version: Any
    sha256: Any


def mentions(parameters: Any) -> list[Mention]:
    """Return every draft that the parameters of a call name: each object that has `artefact`."""
    if isinstance(parameters, Mapping):
        named = parameters.get("artefact")
        own = (
            [Mention(named, parameters.get("version"), parameters.get("sha256"))]
            if isinstance(named, str)
            else []
        )
        return own + [mention for value in parameters.values() for mention in mentions(value)]
    if isinstance(parameters, list):
        return [mention for value in parameters for mention in mentions(value)]
    return []


def names_other_version(parameters: Any, draft: str, version: str, sha256: str) -> bool:
    """Tell whether a call names another version of `draft` than the one that is shown for it.

    An object anywhere in the parameters that has `artefact` with the draft's id must agree in `version` and
    `sha256` where it has them: else a person would see one text and the call would carry another.
    """
    return any(
        mention.artefact == draft
        and (mention.version not in (None, version) or mention.sha256 not in (None, sha256))
        for mention in mentions(parameters)
    )


def rebound(parameters: Any, draft: str, version: str, sha256: str) -> Any:
    """Return the parameters of a call with each mention of `draft` changed to this version of it."""
    if isinstance(parameters, Mapping):
        changed = {key: rebound(value, draft, version, sha256) for key, value in parameters.items()}
        if changed.get("artefact") == draft:
            changed |= {key: new for key, new in (("version", version), ("sha256", sha256)) if key in changed}
        return changed
    if isinstance(parameters, list):
        return [rebound(value, draft, version, sha256) for value in parameters]
    return parameters


def next_label(label: str, taken: Collection[str]) -> str:
    """Return the label of the version after `label`: its last number raised, else a number added."""
    match = re.search(r"\d{1,18}$", label)
    stem, number = (label[: match.start()], int(match.group())) if match else (f"{label}-", 1)
    numbers = (str(number + step) for step in count(1))
    following = (f"{stem[: LINE_MAX - len(digits)]}{digits}" for digits in numbers)
    return next(name for name in following if name not in taken)

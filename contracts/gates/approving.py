"""Deciding on one exact call, once: the first decision stands."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import Present, current_policy, drop_operation, out_of_date
from contracts.gates.form_keys import check_form_key, form_key_digest
from contracts.gates.notices import tell, who_is_concerned
from contracts.gates.requesting import ASKABLE, load_item, writers_of
from contracts.gates.rows import check_reason, not_open
from contracts.models import Approval, ApprovalVote, Contract, Operation, rights_of, roles_of
from contracts.rules.approving import Decider, may_decide, member_words, tally
from contracts.rules.notices import Told
from contracts.rules.refusals import refusal
from contracts.rules.states import Act, ApprovalState
from contracts.rules.text import clean_text
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, Right

DECISIONS = (ApprovalState.APPROVED, ApprovalState.REJECTED)


def decide(
    *,
    contract_id: int,
    actor: Actor,
    user: Any,
    item_id: str,
    seen: str,
    decision: str,
    form_key: str,
    reason: str = "",
    confirmed_at: datetime | None = None,
    second_factor_at: datetime | None = None,
) -> Verdict:
    """Record one person's decision on one item, or tell why it cannot be.

    `seen` is the fingerprint the person was shown, `form_key` the one-time key of the form it came by (see
    `form_keys`), `confirmed_at` when the person last proved who they are, `second_factor_at` when by a second
    factor. The first decision stands: on `already_decided` the outcome is the item as it was decided. An item
    found stale or out of time is stored as such together with the refusal.
    """

    named = "" if "\0" in item_id else item_id  # no text in the database holds a NUL

    def body(turn: Turn) -> Verdict:
        item = load_item(turn, named)
        if item is None:
            return refusal("no_such_item")
        decider = read_decider(turn.contract, turn.actor, user, confirmed_at, second_factor_at)
        return (
            judge(turn, item, decider, seen)
            or _check_key(turn, item, user, form_key)
            or _vote(turn, item, decision, reason, form_key)
        )

    return take_turn(
        contract_id=contract_id, actor=actor, act="decide", part="approval", subject=named[:40], body=body
    )


def record_refusal(*, contract_id: int, actor: Actor, item_id: str, verdict: Verdict) -> Verdict:
    """Record that a post was refused for its shape, before anything of it was read."""
    return take_turn(
        contract_id=contract_id,
        actor=actor,
        act="decide",
        part="approval",
        subject=item_id[:40],
        body=lambda _turn: verdict,
    )


def read_decider(
    contract: Contract,
    actor: Actor,
    user: Any,
    confirmed_at: datetime | None,
    second_factor_at: datetime | None,
) -> Decider:
    """Read a person and their rights afresh; inside a gate, in the transaction that decides."""
    user.refresh_from_db()
    rights = rights_of(user, contract.pk) if user.is_active else frozenset()
    return Decider(
        name=actor.name,
        kind=actor.kind,
        may_decide=Right.DECIDE in rights,
        confirmed_at=confirmed_at,
        second_factor_at=second_factor_at,
        known_as=frozenset({user.get_username(), user.get_full_name()}),
        roles=roles_of(user, contract.team_id),
    )


def judge(turn: Turn, item: Approval, decider: Decider, seen: str) -> Verdict | None:
    """Return why this person cannot decide on this item now, or None.

    An item found stale or out of time is stored as such.
    """
    policy = current_policy(turn.contract)
    waits = item.state == ApprovalState.PENDING
    difference = Present(turn.contract, [item]).difference(item) if waits else None
    asked = item.item()
    if waits and item.draft is not None:
        asked = replace(asked, writers=frozenset(writers_of(turn.contract, item.draft).names))
    code = may_decide(asked, decider, policy, present=difference, now=turn.now, seen=seen)
    if not code and turn.contract.state not in ASKABLE:
        return not_open(turn.contract)
    if waits and code in ("item_stale", "item_expired"):
        out_of_date(turn, item, difference)
    if code == "item_stale":
        return refusal(code, outcome=item, member=member_words(item.stale_member))
    return refusal(code, outcome=item) if code else None


def _check_key(turn: Turn, item: Approval, user: Any, form_key: str) -> Verdict | None:
    """Refuse a form that was made for another item or person, or that was sent before."""
    code = check_form_key(form_key, item, user)
    votes = ApprovalVote.objects.filter(contract=turn.contract, form_key=form_key_digest(form_key))
    return refusal(code) if code else refusal("form_key_once", outcome=item) if votes.exists() else None


def _vote(turn: Turn, item: Approval, decision: str, reason: str, form_key: str) -> Verdict:
    if decision not in set(DECISIONS):
        return refusal("unknown_decision")
    reason = clean_text(reason)  # browsers send line ends as CR LF
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
        form_key=form_key_digest(form_key),
    )
    turn.answer()
    vote.save()
    turn.note("vote", "vote", vote.natural_key(), None, vote.facts())
    policy = current_policy(turn.contract)
    after = tally([*given.values(), decision], policy.quorum if policy else 1)
    if after is ApprovalState.PENDING:  # the page of everyone who waits shows the count
        item.version += 1
        item.save()
        return allow(item)
    return _decided(turn, item, after, reason.strip())


def _decided(turn: Turn, item: Approval, after: ApprovalState, reason: str) -> Verdict:
    before = item.facts()
    item.state, item.decided_by, item.decided_at = after.value, turn.actor.name, turn.now
    item.ended_at = turn.now
    item.decision_reason = reason
    item.version += 1
    item.save()
    turn.note(Act.DECIDE.value, "approval", item.natural_key(), before, item.facts())
    if after is ApprovalState.REJECTED:
        drop_operation(turn, Operation.objects.joined().get(pk=item.operation_id, contract=turn.contract))
    kind = Told.APPROVED if after is ApprovalState.APPROVED else Told.SENT_BACK
    tell(turn, kind, item, who_is_concerned(item), reason=reason)
    return allow(item)

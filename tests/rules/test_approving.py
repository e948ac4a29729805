import dataclasses
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from contracts.rules.approving import (
    MEMBERS,
    THIS_CALL,
    Bound,
    Decider,
    Item,
    expiry,
    first_difference,
    may_decide,
    may_use,
    read_policy,
    tally,
)
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import ActorKind

NOW = datetime(2030, 5, 1, 9, tzinfo=UTC)
BOUND = Bound(
    operation_key="a" * 64,
    tool="cms.publish_label",
    fingerprint="b" * 64,
    draft="label-7",
    draft_version="7",
    draft_sha256="c" * 64,
    target="cms:site/case-7/label",
    requester="label-writer",
    policy_number=3,
    scope=THIS_CALL,
    task_deadline=NOW + timedelta(days=7),
)
ITEM = Item(ApprovalState.PENDING, BOUND, "ada", "bea", NOW + timedelta(hours=24))
CURATOR = Decider("cleo", ActorKind.PERSON, may_decide=True, confirmed_at=NOW - timedelta(seconds=20))
POLICY = read_policy({"number": 3, "on_timeout": "refuse"})
OTHER = {"policy_number": 4, "task_deadline": NOW + timedelta(days=8)}


def decided(item=ITEM, *, decider=CURATOR, policy=POLICY, present=BOUND, seen=BOUND.fingerprint):
    return may_decide(item, decider, policy, present=present, now=NOW, seen=seen)


def but(thing, **changes):
    return dataclasses.replace(thing, **changes)


def test_a_curator_decides_on_what_waits():
    assert decided() == ""


@pytest.mark.parametrize("member", [field.name for field in dataclasses.fields(Bound)])
def test_each_member_of_the_tuple_makes_it_stale_and_is_named(member):
    present = but(BOUND, **{member: OTHER.get(member, "other")})
    difference = first_difference(BOUND, present)
    assert difference.member == member
    assert difference.was != difference.now
    assert decided(present=present) == "item_stale"
    assert may_use(
        but(ITEM, state=ApprovalState.APPROVED), present=present, now=NOW, decider_still_may=True
    ) == ("item_stale")
    assert member in MEMBERS


def test_every_member_has_its_word():
    assert list(MEMBERS) == [*(field.name for field in dataclasses.fields(Bound)), "decider", "origin"]


def test_the_same_tuple_is_no_difference():
    assert first_difference(BOUND, but(BOUND)) is None
    assert first_difference(but(BOUND, task_deadline=None), BOUND).was == ""


@pytest.mark.parametrize(
    ("name", "code"), [("label-writer", "own_request"), ("ada", "own_draft"), ("bea", "own_draft")]
)
def test_it_refuses_own_request_and_own_draft_whatever_the_right(name, code):
    assert decided(decider=but(CURATOR, name=name)) == code
    assert decided(decider=but(CURATOR, name=name, may_decide=False)) == code


def test_the_policy_may_let_the_author_decide_but_never_the_requester():
    policy = but(POLICY, author_may_decide=True)
    assert decided(decider=but(CURATOR, name="ada"), policy=policy) == ""
    assert decided(decider=but(CURATOR, name="label-writer"), policy=policy) == "own_request"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ActorKind.PERSON, ""),
        (ActorKind.OPERATOR, ""),
        (ActorKind.WORKER, "workers_never_decide"),
        (ActorKind.SYSTEM, "workers_never_decide"),
    ],
)
def test_only_people_decide(kind, code):
    assert decided(decider=but(CURATOR, kind=kind)) == code


def test_without_the_right_nobody_decides():
    assert decided(decider=but(CURATOR, may_decide=False)) == "no_right_to_decide"


@pytest.mark.parametrize(
    ("age", "code"),
    [(timedelta(seconds=300), ""), (timedelta(seconds=301), "login_not_fresh"), (None, "login_not_fresh")],
)
def test_the_login_must_be_fresh(age, code):
    assert decided(decider=but(CURATOR, confirmed_at=None if age is None else NOW - age)) == code


@pytest.mark.parametrize(("asked", "given"), list(product([True, False], repeat=2)))
def test_a_second_factor_is_asked_for_by_policy(asked, given):
    code = decided(decider=but(CURATOR, second_factor=given), policy=but(POLICY, second_factor=asked))
    assert code == ("second_factor_missing" if asked and not given else "")


@pytest.mark.parametrize("state", [state for state in ApprovalState if state is not ApprovalState.PENDING])
def test_nothing_is_decided_twice(state):
    assert decided(but(ITEM, state=state)) == f"item_{state}"
    assert decided(but(ITEM, state=state, decided_by="dora")) == "already_decided"


@pytest.mark.parametrize(("left", "code"), [(1, ""), (0, "item_expired"), (-1, "item_expired")])
def test_an_expired_item_is_not_decided(left, code):
    assert decided(but(ITEM, expires_at=NOW + timedelta(seconds=left))) == code


def test_what_was_shown_must_be_what_is_decided():
    assert decided(seen="d" * 64) == "fingerprint_differs"


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {"number": 1, "on_timeout": "aprove"},
        {"number": 1, "quorum": 0},
        {"number": 1, "on_timeout": "pass_on"},
        {"number": 1, "default_expiry_hours": 80, "longest_expiry_hours": 72},
        {"number": 1, "decisions": []},
    ],
)
def test_a_policy_that_does_not_parse_closes_the_gate(facts):
    assert read_policy(facts) is None
    assert decided(policy=read_policy(facts)) == "policy_unreadable"


@pytest.mark.parametrize(
    ("hours", "wanted"), [(None, 24), (1, 1), (72, 72), (73, None), (0, None), (-1, None)]
)
def test_an_item_expires_within_the_policy(hours, wanted):
    when = expiry(POLICY, now=NOW, hours=hours, deadline=NOW + timedelta(days=30))
    assert when == (None if wanted is None else NOW + timedelta(hours=wanted))


def test_no_item_outlives_the_deadline():
    deadline = NOW + timedelta(hours=2)
    assert expiry(POLICY, now=NOW, hours=None, deadline=deadline) == deadline


@pytest.mark.parametrize(
    ("changes", "still", "code"),
    [
        ({}, True, ""),
        ({"consumed": True}, True, "approval_used"),
        ({"state": ApprovalState.REJECTED}, True, "not_approved"),
        ({"state": ApprovalState.PENDING}, True, "not_approved"),
        ({"expires_at": NOW}, True, "item_expired"),
        ({}, False, "item_stale"),
    ],
)
def test_an_approval_is_used_once_and_only_while_everything_holds(changes, still, code):
    item = but(but(ITEM, state=ApprovalState.APPROVED), **changes)
    assert may_use(item, present=BOUND, now=NOW, decider_still_may=still) == code


@pytest.mark.parametrize(
    ("votes", "quorum", "state"),
    [
        ([], 1, "pending"),
        (["approved"], 1, "approved"),
        (["approved"], 2, "pending"),
        (["approved", "approved"], 2, "approved"),
        (["approved", "approved", "rejected"], 2, "rejected"),
        (["rejected"], 2, "rejected"),
    ],
)
def test_a_no_always_wins_and_a_yes_needs_its_quorum(votes, quorum, state):
    assert tally(votes, quorum) == state


@pytest.mark.parametrize("deadline", [None, NOW, NOW - timedelta(hours=1)])
def test_without_time_left_nothing_can_be_asked(deadline):
    assert expiry(POLICY, now=NOW, hours=1, deadline=deadline) is None

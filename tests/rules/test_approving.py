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
    names_other_version,
    next_label,
    not_sure_who,
    passes_on,
    read_policy,
    rebound,
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
    changed = first_difference(item.bound, present)
    return may_decide(item, decider, policy, present=changed, now=NOW, seen=seen)


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
        but(ITEM, state=ApprovalState.APPROVED), present=difference, now=NOW, decider_still_may=True
    ) == ("item_stale")
    assert member in MEMBERS


def test_every_member_has_its_word():
    assert list(MEMBERS) == [
        *(field.name for field in dataclasses.fields(Bound)),
        "decider",
        "origin",
        "cancelled",
        "rolled_back",
        "expires_at",
    ]


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
    person = but(CURATOR, second_factor_at=NOW if given else None)
    code = decided(decider=person, policy=but(POLICY, second_factor=asked))
    assert code == ("second_factor_missing" if asked and not given else "")


def test_a_second_factor_is_as_fresh_as_the_login():
    policy = but(POLICY, second_factor=True)
    aged = [but(CURATOR, second_factor_at=NOW - timedelta(seconds=age)) for age in (300, 301)]
    assert [decided(decider=person, policy=policy) for person in aged] == ["", "second_factor_missing"]


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
        ({"expires_at": NOW}, True, "approval_expired"),
        ({"state": ApprovalState.EXPIRED}, True, "item_expired"),
        ({"state": ApprovalState.EXPIRED, "decided_by": "dora"}, True, "approval_expired"),
        ({"state": ApprovalState.STALE}, True, "item_stale"),
        ({}, False, "item_stale"),
    ],
)
def test_an_approval_is_used_once_and_only_while_everything_holds(changes, still, code):
    item = but(but(ITEM, state=ApprovalState.APPROVED), **changes)
    assert may_use(item, present=None, now=NOW, decider_still_may=still) == code


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


@pytest.mark.parametrize("name", ["Ada", " ada ", "Cleo Writer"])
def test_a_name_as_people_write_it_is_still_the_author(name):
    person = but(CURATOR, name="ada", known_as=frozenset({"cleo writer", ""}))
    assert decided(but(ITEM, author=name, last_editor=""), decider=person) == "own_draft"


def test_nobody_has_the_empty_name():
    assert (
        decided(but(ITEM, author="", last_editor=" "), decider=but(CURATOR, known_as=frozenset({""}))) == ""
    )


@pytest.mark.parametrize(
    ("to", "roles", "code"),
    [
        ("cleo", (), ""),
        ("operator", ("operator",), ""),
        ("operator", ("curator",), "passed_to_another"),
        ("dora", (), "passed_to_another"),
    ],
)
def test_what_was_passed_on_waits_for_that_person_or_role_alone(to, roles, code):
    assert decided(but(ITEM, passed_to=to), decider=but(CURATOR, roles=frozenset(roles))) == code


@pytest.mark.parametrize(
    ("state", "on_timeout", "passed_from", "passed"),
    [
        ("pending", "pass_on", "", True),
        ("pending", "pass_on", "item-1", False),
        ("pending", "refuse", "", False),
        ("approved", "pass_on", "", False),
    ],
)
def test_an_item_is_passed_on_once(state, on_timeout, passed_from, passed):
    assert passes_on(but(ITEM, state=state), but(POLICY, on_timeout=on_timeout), passed_from) is passed
    assert not passes_on(ITEM, None, "")


SUM, OTHER_SUM = "c" * 64, "d" * 64


@pytest.mark.parametrize(
    ("parameters", "other"),
    [
        ({"page": "case-7"}, False),
        ({"label": {"artefact": "L-1", "version": "7", "sha256": SUM}}, False),
        ({"label": {"artefact": "L-1"}}, False),
        ({"label": {"artefact": "L-2", "version": "6"}}, False),
        ({"label": {"artefact": "L-1", "version": "6"}}, True),
        ({"labels": [1, {"artefact": "L-1", "sha256": OTHER_SUM}]}, True),
    ],
)
def test_a_call_that_names_another_version_than_the_one_shown_is_found(parameters, other):
    assert names_other_version(parameters, "L-1", "7", SUM) is other
    assert not names_other_version(rebound(parameters, "L-1", "7", SUM), "L-1", "7", SUM)


def test_rebinding_changes_the_mention_alone():
    before = {"labels": [{"artefact": "L-1", "version": "6", "lang": "en"}], "page": 7}
    after = {"labels": [{"artefact": "L-1", "version": "7", "lang": "en"}], "page": 7}
    assert rebound(before, "L-1", "7", SUM) == after


@pytest.mark.parametrize(
    ("label", "taken", "following"),
    [
        ("7", (), "8"),
        ("v7", (), "v8"),
        ("v7", ("v8", "v9"), "v10"),
        ("final", (), "final-2"),
        ("2026-9", (), "2026-10"),
        ("w" * 200, (), "w" * 199 + "2"),
        ("9" * 200, (), "9" * 181 + "1" + "0" * 18),
    ],
)
def test_the_next_version_has_the_next_label(label, taken, following):
    assert next_label(label, taken) == following


def test_an_unreadable_policy_is_sure_of_nobody():
    assert not_sure_who(CURATOR, None, NOW) == "policy_unreadable"

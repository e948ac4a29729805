from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.approving import THIS_CALL, Bound, Difference, Item
from contracts.rules.repeating import (
    Ahead,
    Answer,
    Asked,
    Certainty,
    Operation,
    Tool,
    absence,
    key_may_be_resent,
    may_repeat_step,
    may_use_again,
    object_after_loss,
    operation_after_loss,
    outlook,
)
from contracts.rules.states import (
    OBJECT_MOVES,
    OPERATION_MOVES,
    Act,
    ApprovalState,
    ObjectState,
    OperationState,
    may_move,
)
from contracts.rules.vocabulary import Effect, StaleOwner, StepKind

NOW = datetime(2030, 5, 1, 9, tzinfo=UTC)
WRITE, P = Effect.NON_IDEMPOTENT_WRITE, OperationState


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


TOOL = Tool("cms.publish", WRITE, query_path="cms://pages", settle_seconds=60)
SENT = Operation(
    "a" * 64, "cms.publish", "publish", P.UNKNOWN, ago(900), generation=1, tries=1, sent_at=ago(600),
    last_send=ago(500),
)  # fmt: skip
ABSENT = Asked(Answer.ABSENT, ago(10))
# What the record must say for each way in which a displaced owner is kept out.
TOLD = {"announced": 2, "announced_at": ago(200)}


def found(asked, tool=TOOL, operation=SENT):
    return absence(tool, replace(operation, asked=asked), now=NOW)


def ahead(asked, tool=TOOL, operation=SENT):
    return outlook(tool, replace(operation, asked=asked), now=NOW).ahead


KEEPS_OUT = {
    "same_sender": ({"generation": 1}, {}),
    "proxy": ({}, {"stale_owner": StaleOwner.SINGLE_WRITE_PROXY}),
    "told_first": (TOLD, {"stale_owner": StaleOwner.TARGET_CHECKS_GENERATION}),
    "certified_dead": ({"certified_at": ago(200)}, {}),
}


@pytest.mark.parametrize("way", KEEPS_OUT)
def test_each_way_of_keeping_the_former_owner_out_makes_absence_certain(way):
    record, tool = KEEPS_OUT[way]
    assert found(replace(ABSENT, **record), replace(TOOL, **tool)).certainty is Certainty.CERTAIN
    assert ahead(replace(ABSENT, **record), replace(TOOL, **tool)) is Ahead.SEND_AGAIN


@pytest.mark.parametrize("stale_owner", list(StaleOwner))
def test_without_any_of_them_absence_is_never_certain(stale_owner):
    if stale_owner is StaleOwner.SINGLE_WRITE_PROXY:
        return
    asked = replace(ABSENT, generation=2)
    assert found(asked, replace(TOOL, stale_owner=stale_owner)).certainty is Certainty.OWNER_MAY_SEND


CHECKS_GENERATION = replace(TOOL, stale_owner=StaleOwner.TARGET_CHECKS_GENERATION)


@pytest.mark.parametrize(
    ("told", "certain"),
    [
        ({"announced": 2, "announced_at": ago(200)}, True),
        ({"announced": 1, "announced_at": ago(200)}, False),  # the sender's own generation bars nobody
        ({"announced": None, "announced_at": ago(200)}, False),
        ({"announced": 2, "announced_at": None}, False),
        ({"announced": 2, "announced_at": ago(10)}, False),  # told while asking is not told before
        ({"announced": 2, "announced_at": ago(5)}, False),
    ],
)
def test_the_target_must_be_told_the_new_generation_before_it_is_asked(told, certain):
    assert (found(replace(ABSENT, **told), CHECKS_GENERATION).certainty is Certainty.CERTAIN) is certain


def test_a_target_that_checks_generations_is_told_and_asked_again():
    assert ahead(replace(ABSENT, generation=2), CHECKS_GENERATION) is Ahead.ASK
    assert ahead(replace(ABSENT, generation=2)) is Ahead.PERSON


def test_a_generation_nobody_knows_cannot_be_barred():
    unknown_sender = replace(SENT, generation=None)
    asked = replace(ABSENT, **TOLD, generation=None)
    assert found(asked, CHECKS_GENERATION, unknown_sender).certainty is Certainty.OWNER_MAY_SEND


@pytest.mark.parametrize(
    ("certified", "certain"),
    [(ago(200), True), (ago(700), False), (ago(5), False), (None, False)],
)
def test_a_certificate_counts_from_the_sending_until_the_asking(certified, certain):
    asked = replace(ABSENT, certified_at=certified)
    assert (found(asked).certainty is Certainty.CERTAIN) is certain


@pytest.mark.parametrize("way", KEEPS_OUT)
@pytest.mark.parametrize(("settle", "certain"), [(0, True), (190, True), (191, False), (600, False)])
def test_the_settle_time_runs_from_the_last_possible_send(way, settle, certain):
    record, tool = KEEPS_OUT[way]
    last = replace(SENT, sent_at=ago(300), last_send=ago(200))
    seen = found(replace(ABSENT, **record), replace(TOOL, settle_seconds=settle, **tool), last)
    assert (seen.certainty is Certainty.CERTAIN) is certain
    assert seen.until == (None if certain else ago(200) + timedelta(seconds=settle))


def test_while_settling_it_waits_and_then_asks_again():
    asked = Asked(Answer.ABSENT, ago(490), generation=1)
    assert ahead(asked, replace(TOOL, settle_seconds=60)) is Ahead.ASK
    seen = outlook(replace(TOOL, settle_seconds=501), replace(SENT, asked=asked), now=NOW)
    assert (seen.ahead, seen.until) == (Ahead.WAIT, ago(-1))


def test_a_record_of_before_the_last_sending_does_not_count():
    again = replace(SENT, tries=2, sent_at=ago(5), last_send=ago(5))
    assert found(replace(ABSENT, generation=1), operation=again).certainty is Certainty.SETTLING
    never_told = replace(again, sent_at=ago(5), last_send=None)
    for way, (record, tool) in KEEPS_OUT.items():
        certainty = found(replace(ABSENT, **record), replace(TOOL, **tool), never_told).certainty
        assert certainty is not Certainty.CERTAIN, way


def test_a_sending_that_nobody_bounded_never_settles_for_its_own_sender():
    endless = replace(SENT, last_send=None)
    assert found(replace(ABSENT, generation=1), operation=endless).certainty is Certainty.OWNER_MAY_SEND


@pytest.mark.parametrize(
    ("asked", "certainty", "next_act"),
    [
        (None, Certainty.NOT_ASKED, Ahead.ASK),
        (replace(ABSENT, at=ago(-1)), Certainty.NOT_ASKED, Ahead.ASK),
        (Asked(Answer.FOUND, ago(10)), Certainty.FOUND, Ahead.CONFIRM),
        (Asked(Answer.UNCLEAR, ago(10)), Certainty.UNCLEAR, Ahead.PERSON),
    ],
)
def test_each_answer_of_the_target_has_its_way(asked, certainty, next_act):
    assert found(asked).certainty is certainty
    assert ahead(asked) is next_act


def test_without_a_settle_time_not_found_is_never_certain():
    tool = replace(TOOL, settle_seconds=None)
    assert found(replace(ABSENT, generation=1), tool).certainty is Certainty.NO_SETTLE_TIME
    assert ahead(replace(ABSENT, generation=1), tool) is Ahead.PERSON


def test_without_a_query_the_named_person_decides_unless_somebody_looked():
    tool = replace(TOOL, query_path="")
    assert ahead(None, tool) is Ahead.PERSON
    assert ahead(replace(ABSENT, certified_at=ago(200)), tool) is Ahead.SEND_AGAIN


KEYED = replace(TOOL, key_supported=True, key_memory_hours=24)


@pytest.mark.parametrize(
    ("changes", "hours", "may"),
    [
        ({}, 23, True),
        ({}, 24, False),
        ({}, 26, False),
        ({"key_memory_hours": None}, 1, False),
        ({"key_supported": False, "key_memory_hours": None}, 1, False),
        ({"stale_owner": StaleOwner.TARGET_DEDUPLICATES, "key_supported": False}, 1, False),
    ],
)
def test_t68_a_key_older_than_the_targets_memory_is_not_resent(changes, hours, may):
    sent = replace(SENT, intended_at=ago(200_000), sent_at=NOW - timedelta(hours=hours))
    tool = replace(KEYED, **changes)
    assert key_may_be_resent(tool, sent, now=NOW) is may
    assert (ahead(None, tool, sent) is Ahead.SEND_AGAIN) is may


def test_after_several_sendings_the_age_counts_from_the_intention():
    twice = replace(SENT, tries=2, intended_at=NOW - timedelta(hours=30), sent_at=ago(10))
    assert not key_may_be_resent(KEYED, twice, now=NOW)
    assert key_may_be_resent(KEYED, replace(twice, tries=1), now=NOW)
    assert not key_may_be_resent(KEYED, replace(twice, tries=0, sent_at=None), now=NOW)


def test_what_was_found_is_never_sent_again_whatever_the_key():
    assert ahead(Asked(Answer.FOUND, ago(10)), KEYED) is Ahead.CONFIRM


moments = st.integers(0, 2_000).map(ago)
maybe = st.one_of(st.none(), moments)
numbers = st.one_of(st.none(), st.integers(1, 3))
records = st.builds(
    Asked, st.sampled_from(Answer), moments, generation=numbers, announced=numbers, announced_at=maybe,
    certified_at=maybe,
)  # fmt: skip
tools = st.builds(
    Tool, st.just("t"), st.just(WRITE), query_path=st.sampled_from(["", "q:"]),
    settle_seconds=st.one_of(st.none(), st.integers(0, 900)), stale_owner=st.sampled_from(StaleOwner),
)  # fmt: skip
sendings = st.builds(
    replace, st.just(SENT), generation=numbers, sent_at=maybe, last_send=maybe, intended_at=moments
)


@given(tools, sendings, st.one_of(st.none(), records))
def test_nothing_goes_out_again_unless_absence_is_certain(tool, operation, asked):
    operation = replace(operation, asked=asked)
    certainty = absence(tool, operation, now=NOW).certainty
    again = outlook(tool, operation, now=NOW).ahead is Ahead.SEND_AGAIN
    assert again == (certainty is Certainty.CERTAIN)
    if again:
        assert asked.answer is Answer.ABSENT
        settled = asked.at - timedelta(seconds=tool.settle_seconds)
        assert all(moment <= settled for moment in (operation.sent_at, operation.last_send) if moment)
        same, proxied = (
            asked.generation == operation.generation,
            tool.stale_owner is StaleOwner.SINGLE_WRITE_PROXY,
        )
        told = (
            tool.stale_owner is StaleOwner.TARGET_CHECKS_GENERATION
            and asked.announced
            and asked.announced_at < asked.at
        )
        assert same or proxied or told or asked.certified_at


@given(tools, sendings, records, st.integers(0, 5_000))
def test_a_certain_absence_stays_certain(tool, operation, asked, seconds):
    operation = replace(operation, asked=asked)
    if absence(tool, operation, now=NOW).certainty is Certainty.CERTAIN:
        assert absence(tool, operation, now=NOW + timedelta(seconds=seconds)).certainty is Certainty.CERTAIN


BOUND = Bound("k", "t", "f", "d", "1", "s", "x", "w", 1, THIS_CALL, None)
USED = Item(ApprovalState.APPROVED, BOUND, "ada", "", ago(-60), consumed=True, decided_by="cleo")


@pytest.mark.parametrize(
    ("changes", "present", "still", "code"),
    [
        ({}, None, True, ""),
        ({"expires_at": NOW}, None, True, "approval_expired"),
        ({}, Difference("draft_version", "1", "2"), True, "item_stale"),
        ({}, None, False, "item_stale"),
        ({"state": ApprovalState.REJECTED}, None, True, "not_approved"),
    ],
)
def test_a_used_approval_covers_the_same_call_again_only_while_all_of_it_holds(changes, present, still, code):
    item = replace(USED, **changes)
    assert may_use_again(item, present=present, now=NOW, decider_still_may=still) == code


@pytest.mark.parametrize(
    ("kind", "effect", "state"), list(product(StepKind, [None, *Effect], [None, *OperationState]))
)
def test_a_step_found_begun_runs_again_only_if_nothing_can_happen_twice(kind, effect, state):
    free = kind is not StepKind.TOOL_CALL or effect in (Effect.READ_ONLY, Effect.IDEMPOTENT_WRITE)
    decided = state not in (P.SENDING, P.UNKNOWN, P.CONFIRMED)
    assert may_repeat_step(kind, effect, [state] if state else []) is (free or decided)


@pytest.mark.parametrize(("state", "synchronous"), list(product(OperationState, [True, False])))
def test_what_may_have_left_becomes_unknown_when_its_owner_is_lost(state, synchronous):
    after = operation_after_loss(state, synchronous=synchronous)
    may_have_left = state is P.SENDING or (state is P.PENDING and not synchronous)
    assert after is (P.UNKNOWN if may_have_left else state)
    assert after is state or may_move(OPERATION_MOVES, state, after, Act.OWNER_LOST)


@pytest.mark.parametrize(("state", "operation"), list(product(ObjectState, [None, *OperationState])))
def test_an_object_in_progress_follows_its_write_or_begins_anew(state, operation):
    after = object_after_loss(state, [operation] if operation else [])
    if state is not ObjectState.IN_PROGRESS:
        assert after is state
        return
    left = operation in (P.SENDING, P.UNKNOWN)
    act = Act.OWNER_LOST if left else Act.NEVER_LEFT
    assert after is (ObjectState.UNKNOWN if left else ObjectState.PENDING)
    assert may_move(OBJECT_MOVES, state, after, act)


def test_an_operation_without_an_object_shows_a_dash():
    assert SENT.shown == "cms.publish · – · publish · 1"

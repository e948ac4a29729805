from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from contracts.rules.recovering import Way, way_of_object, way_of_operation, way_of_step, ways_back
from contracts.rules.repeating import Answer, Asked, Operation, Tool
from contracts.rules.resume_facts import Begun, Facts, Holder, ObjectRow, OpenWrite, Task
from contracts.rules.states import ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import Effect, StepKind

NOW = datetime(2030, 5, 1, 9, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
P, Obj = OperationState, ObjectState
TOOL = Tool(
    "cms.publish", Effect.NON_IDEMPOTENT_WRITE, query_path="cms:", settle_seconds=5, compensation="Delete."
)
SENT = Operation(
    "a" * 64, "cms.publish", "publish", P.UNKNOWN, EARLIER, generation=1, tries=1, sent_at=EARLIER, last_send=EARLIER
)  # fmt: skip


def way(state=P.UNKNOWN, *, tool=TOOL, asked=None, **more):
    choice = way_of_operation(tool, replace(SENT, state=state, asked=asked), now=NOW, **more)
    assert choice.sentence
    assert choice.part == "operation"
    return choice.way, choice.ask_first


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (P.PENDING, Way.REPLAY),
        (P.CONFIRMED, Way.SKIP),
        (P.REJECTED, Way.ESCALATE),
        (P.ABANDONED, Way.SKIP),
    ],
)
def test_a_settled_operation_has_its_way(state, expected):
    assert way(state) == (expected, False)


@pytest.mark.parametrize("state", [P.SENDING, P.UNKNOWN])
@pytest.mark.parametrize(
    ("tool", "asked", "expected"),
    [
        (TOOL, None, (Way.REPLAY, True)),
        (TOOL, Asked(Answer.FOUND, NOW), (Way.SKIP, False)),
        (TOOL, Asked(Answer.ABSENT, NOW, generation=1), (Way.REPLAY, False)),
        (TOOL, Asked(Answer.ABSENT, NOW, generation=2), (Way.ESCALATE, False)),
        (TOOL, Asked(Answer.UNCLEAR, NOW), (Way.ESCALATE, False)),
        (replace(TOOL, settle_seconds=7_200), Asked(Answer.ABSENT, NOW, generation=1), (Way.REPLAY, True)),
        (replace(TOOL, key_supported=True, key_memory_hours=24), None, (Way.REPLAY, False)),
        (replace(TOOL, query_path=""), None, (Way.ESCALATE, False)),
    ],
)
def test_what_may_have_left_is_asked_about_before_it_is_replayed(state, tool, asked, expected):
    assert way(state, tool=tool, asked=asked) == expected


def test_what_the_present_owner_is_sending_is_left_to_it():
    assert way(P.SENDING, live=True) == (Way.SKIP, False)
    assert way(P.UNKNOWN, live=True) == (Way.REPLAY, True)


@pytest.mark.parametrize(("state", "drifted"), list(product([None, *ObjectState], [True, False])))
@pytest.mark.parametrize("compensation", ["Delete the page.", ""])
def test_a_write_from_what_has_changed_is_taken_back_or_handed_over(state, drifted, compensation):
    tool = replace(TOOL, compensation=compensation)
    rests_on_nothing = drifted or state is Obj.RECHECK
    back = Way.COMPENSATE if compensation else Way.ESCALATE
    chosen, _ = way(P.CONFIRMED, tool=tool, object_state=state, drifted=drifted)
    assert chosen is (back if rests_on_nothing else Way.SKIP)


@pytest.mark.parametrize(("count", "back"), [(None, Way.SKIP), (1, Way.SKIP), (2, Way.COMPENSATE)])
def test_a_second_page_is_taken_back(count, back):
    assert way(asked=Asked(Answer.FOUND, NOW, count=count)) == (back, False)


@pytest.mark.parametrize(
    ("row", "expected", "ask_first"),
    [
        (ObjectRow("O", Obj.PENDING), Way.REPLAY, False),
        (ObjectRow("O", Obj.IN_PROGRESS), Way.REPLAY, False),
        (ObjectRow("O", Obj.IN_PROGRESS, operations=(P.ABANDONED,)), Way.REPLAY, False),
        (ObjectRow("O", Obj.IN_PROGRESS, operations=(P.SENDING,)), Way.REPLAY, True),
        (ObjectRow("O", Obj.CONFIRMED), Way.SKIP, False),
        (ObjectRow("O", Obj.CONFIRMED, drifted=True), Way.REPLAY, False),
        (ObjectRow("O", Obj.UNKNOWN), Way.ESCALATE, False),
        (ObjectRow("O", Obj.UNKNOWN, operations=(P.CONFIRMED,)), Way.ESCALATE, False),
        (ObjectRow("O", Obj.UNKNOWN, operations=(P.CONFIRMED, P.UNKNOWN)), Way.REPLAY, True),
        (ObjectRow("O", Obj.RECHECK), Way.REPLAY, False),
        (ObjectRow("O", Obj.SKIPPED), Way.SKIP, False),
    ],
)
def test_each_object_has_its_way(row, expected, ask_first):
    choice = way_of_object(row)
    assert (choice.way, choice.ask_first, choice.part, choice.key) == (expected, ask_first, "object", "O")


@pytest.mark.parametrize(
    ("step", "expected", "ask_first"),
    [
        (Begun("s", StepKind.MODEL_TURN), Way.REPLAY, False),
        (Begun("s", StepKind.TOOL_CALL, Effect.READ_ONLY, (P.UNKNOWN,)), Way.REPLAY, False),
        (Begun("s", StepKind.TOOL_CALL, Effect.NON_IDEMPOTENT_WRITE, (P.UNKNOWN,)), Way.REPLAY, True),
        (Begun("s", StepKind.TOOL_CALL, Effect.NON_IDEMPOTENT_WRITE, (P.CONFIRMED,)), Way.SKIP, False),
        (Begun("s", StepKind.TOOL_CALL, None, (P.PENDING,)), Way.REPLAY, False),
    ],
)
def test_each_step_found_begun_has_its_way(step, expected, ask_first):
    choice = way_of_step(step)
    assert (choice.way, choice.ask_first, choice.part, choice.key) == (expected, ask_first, "step", "s")


@pytest.mark.parametrize(
    ("lease_end", "expected"), [(NOW + timedelta(seconds=1), Way.SKIP), (NOW, Way.REPLAY), (None, Way.REPLAY)]
)
def test_all_ways_come_together(lease_end, expected):
    task = Task("label", ContractState.RUNNING, None, 1, "", "", 1, frozenset(), "", "")
    facts = Facts(
        task,
        None,
        holder=Holder(1, "A1", 1, "w", lease_end),
        tools={"cms.publish": TOOL},
        operations=(OpenWrite(replace(SENT, state=P.SENDING)),),
        rows=(ObjectRow("O", Obj.RECHECK),),
        begun=(Begun("s", StepKind.DECISION),),
    )
    choices = ways_back(facts, now=NOW)
    assert [choice.part for choice in choices] == ["operation", "object", "step"]
    assert choices[0].way is expected

"""The way back for each operation, object and step: replay, skip, compensate, or hand to a person."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contracts.rules.repeating import Ahead, Answer, Operation, Tool, may_repeat_step, outlook
from contracts.rules.resume_facts import Begun, Facts, ObjectRow, OpenWrite
from contracts.rules.states import ObjectState, OperationState
from contracts.rules.words import N_, Labelled

UNSURE = frozenset({OperationState.SENDING, OperationState.UNKNOWN})
REDONE = frozenset({ObjectState.RECHECK})


class Way(Labelled):
    """The four ways back."""

    REPLAY = "replay", N_("Replay")
    SKIP = "skip", N_("Skip")
    COMPENSATE = "compensate", N_("Compensate")
    ESCALATE = "escalate", N_("Hand to a person")


@dataclass(frozen=True, slots=True)
class Choice:
    """The way back for one thing and why.

    `ask_first`: the target must have been asked before the way is gone; if it has the write, the way is to skip.
    """

    part: str
    key: str
    way: Way
    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict)
    ask_first: bool = False


def ways_back(facts: Facts, *, now: datetime) -> tuple[Choice, ...]:
    """Return the way for every open operation, every object row and every step found begun, in that order."""
    return (
        *(_of_open(facts, write, now) for write in facts.operations),
        *(way_of_object(row) for row in facts.rows),
        *(way_of_step(step) for step in facts.begun),
    )


def _of_open(facts: Facts, write: OpenWrite, now: datetime) -> Choice:
    operation = write.operation
    live = facts.holder is not None and facts.holder.is_live(now)
    return way_of_operation(facts.tools[operation.tool], operation, live=live, now=now)


def way_of_operation(
    tool: Tool,
    operation: Operation,
    *,
    object_state: ObjectState | None = None,
    drifted: bool = False,
    live: bool = False,
    now: datetime,
) -> Choice:
    """Return the way for one operation.

    `object_state`, `drifted`: how its object stands. `live`: its owner's lease runs, so what is being sent is
    the owner's own affair.
    """
    state = operation.state
    if _surplus(operation):
        return _taken_back(
            tool, operation, N_("The target holds it more than once: the surplus is taken back.")
        )
    if state is OperationState.CONFIRMED and (drifted or object_state in REDONE):
        sentence = N_(
            "It was written from what has changed since: take it back if the recheck does not hold."
        )
        return _taken_back(tool, operation, sentence)
    if state is OperationState.SENDING and live:
        return _choice(operation, Way.SKIP, N_("Its owner is sending it; nobody else does."))
    if state in UNSURE:
        return _of_unknown(tool, operation, now)
    way, sentence = SETTLED[state]
    return _choice(operation, way, sentence)


SETTLED: Mapping[OperationState, tuple[Way, str]] = {
    OperationState.PENDING: (Way.REPLAY, N_("It was never sent: it is sent once everything allows it.")),
    OperationState.CONFIRMED: (Way.SKIP, N_("The target has it: it is never sent again.")),
    OperationState.REJECTED: (
        Way.ESCALATE,
        N_("The target rejected it; somebody opens a new round, or lets it be."),
    ),
    OperationState.ABANDONED: (Way.SKIP, N_("It was dropped before it was sent.")),
}


def _surplus(operation: Operation) -> bool:
    asked = operation.asked
    return asked is not None and asked.answer is Answer.FOUND and (asked.count or 0) > 1


def _of_unknown(tool: Tool, operation: Operation, now: datetime) -> Choice:
    ahead = outlook(tool, operation, now=now)
    way = WAYS_AHEAD[ahead.ahead]
    return _choice(operation, way, ahead.sentence, ask_first=ahead.ahead in (Ahead.ASK, Ahead.WAIT))


WAYS_AHEAD: Mapping[Ahead, Way] = {
    Ahead.CONFIRM: Way.SKIP,
    Ahead.SEND_AGAIN: Way.REPLAY,
    Ahead.ASK: Way.REPLAY,
    Ahead.WAIT: Way.REPLAY,
    Ahead.PERSON: Way.ESCALATE,
}


def _taken_back(tool: Tool, operation: Operation, sentence: str) -> Choice:
    if tool.compensation:
        return _choice(operation, Way.COMPENSATE, sentence)
    return _choice(operation, Way.ESCALATE, N_("It should be taken back, and no way to do so is stated."))


def _choice(operation: Operation, way: Way, sentence: str, *, ask_first: bool = False) -> Choice:
    return Choice("operation", operation.shown, way, sentence, ask_first=ask_first)


def way_of_object(row: ObjectRow) -> Choice:
    """Return the way for one object."""
    if row.state is ObjectState.CONFIRMED and row.drifted:
        sentence = N_("What it was made from has changed: this object alone is rechecked.")
        return Choice("object", row.object_id, Way.REPLAY, sentence)
    uncertain = bool(UNSURE & set(row.operations))
    if row.state in (ObjectState.IN_PROGRESS, ObjectState.UNKNOWN) and uncertain:
        sentence = N_("A write of it may have happened: the target is asked first.")
        return Choice("object", row.object_id, Way.REPLAY, sentence, ask_first=True)
    way, sentence = OBJECT_WAYS[row.state]
    return Choice("object", row.object_id, way, sentence)


OBJECT_WAYS: Mapping[ObjectState, tuple[Way, str]] = {
    ObjectState.PENDING: (Way.REPLAY, N_("It was not begun.")),
    ObjectState.IN_PROGRESS: (Way.REPLAY, N_("Half a draft is not a draft: it begins anew.")),
    ObjectState.CONFIRMED: (Way.SKIP, N_("It was accepted: it is not handed out again.")),
    ObjectState.UNKNOWN: (
        Way.ESCALATE,
        N_("Its result is unknown, and no write of it is left to ask about: somebody looks."),
    ),
    ObjectState.RECHECK: (Way.REPLAY, N_("It is to be rechecked; no other object is.")),
    ObjectState.SKIPPED: (Way.SKIP, N_("A person skipped it.")),
}


def way_of_step(step: Begun) -> Choice:
    """Return the way for a journal step that was found begun."""
    if may_repeat_step(step.kind, step.effect, step.operations):
        sentence = N_("It can be run again without a second effect.")
        return Choice("step", step.key, Way.REPLAY, sentence)
    if UNSURE & set(step.operations):
        sentence = N_("Its write may have happened: the operation decides.")
        return Choice("step", step.key, Way.REPLAY, sentence, ask_first=True)
    return Choice("step", step.key, Way.SKIP, N_("Its write is confirmed: the stored result stands for it."))

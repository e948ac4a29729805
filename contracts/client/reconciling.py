"""Finding out what became of a write nobody knows of, by the target's own record."""

import time
from dataclasses import dataclass
from typing import Any

from contracts.client.exceptions import Unknown, WorkStopped
from contracts.client.lease import Hold
from contracts.client.shapes import Call, Operation, Outlook, Seen, Tool
from contracts.rules.repeating import Ahead
from contracts.rules.states import OperationState

MOST_QUESTIONS = 20
PAUSE = 0.5
BEFORE_ASKING = 0.002  # so that “told before it was asked” is true to the microsecond


@dataclass(frozen=True, slots=True)
class Told:
    """The generation a target was told, and when, on the monotonic clock."""

    generation: int
    at: float


class Reconciler:
    """Asks targets about operations, and stores each answer. It never sends and never guesses."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._told: dict[str, Told] = {}  # tool → what its target was told

    def settle(self, operation: Operation, tool: Tool, *, patience: float) -> Operation:
        """Ask until the result is known, or certainly absent (then it is pending again).

        Waits out the settle time, `patience` seconds at most. Raises Unknown if it stays unknown; where only a
        person can decide, the task was handed over to the person and is paused.
        """
        end = time.monotonic() + patience
        for _ in range(MOST_QUESTIONS):
            outlook = operation.outlook
            self._wait(operation, outlook, end)
            if not _may_ask(tool, outlook):
                raise self._hand_over(operation, outlook)
            try:
                operation = self._ask(operation, tool)
            except WorkStopped:
                raise
            except Exception as error:  # the target gave no answer: that says nothing of the write
                if time.monotonic() >= end:
                    raise Unknown(operation, outlook) from error
                self._hold.lease.lost.wait(PAUSE)
                continue
            if operation.state is not OperationState.UNKNOWN:
                return operation
        raise Unknown(operation, operation.outlook)

    def _wait(self, operation: Operation, outlook: Outlook | None, end: float) -> None:
        """Wait until the target has settled, unless that is longer than the worker wants to."""
        if outlook is None or outlook.until is None:
            return
        clock, lease = self._hold.lease.clock, self._hold.lease
        if time.monotonic() + clock.until(outlook.until) > end:
            raise Unknown(operation, outlook)
        while (left := clock.until(outlook.until)) > 0:
            if lease.lost.wait(min(left + BEFORE_ASKING, PAUSE)):
                break
            lease.require()

    def _ask(self, operation: Operation, tool: Tool) -> Operation:
        told = self._announce(tool)
        asked = time.monotonic()
        seen = self._answer(operation, tool)
        clock = self._hold.lease.clock
        body: dict[str, Any] = {
            "answer": seen.answer.value,
            "asked_at": clock.at(asked).isoformat(),
            "path": seen.path or operation.query_path or operation.target,
            "reference": seen.reference,
            "note": seen.note,
        }
        if seen.count is not None:
            body["count"] = seen.count
        if told is not None:
            body |= {"announced_generation": told.generation, "announced_at": clock.at(told.at).isoformat()}
        return Operation.read(self._hold.post(f"operations/{operation.key}/reconcile", body))

    def _announce(self, tool: Tool) -> Told | None:
        """Tell the target who owns the task now, once: the settle time counts from when it was told."""
        if tool.announce is None:
            return None
        if tool.name not in self._told:
            generation = self._hold.attempt.generation
            tool.announce(generation)
            self._told[tool.name] = Told(generation, time.monotonic())
            time.sleep(BEFORE_ASKING)
        return self._told[tool.name]

    def _answer(self, operation: Operation, tool: Tool) -> Seen:
        if tool.query is None:
            return Seen.unclear("The target was not asked; it recognises the key.")
        generation = self._hold.attempt.generation
        call = Call(operation.key, generation, operation.tool, operation.parameters, operation.target)
        return tool.query(call)

    def _hand_over(self, operation: Operation, outlook: Outlook | None) -> Unknown:
        if outlook is not None and outlook.ahead is Ahead.PERSON:
            self._hold.post(f"operations/{operation.key}/escalate", {"reason": outlook.sentence})
            self._hold.ended = True
        return Unknown(operation, outlook)


def _may_ask(tool: Tool, outlook: Outlook | None) -> bool:
    """Tell whether asking can help: there is somebody to ask, or the target recognises the key anyway."""
    ahead = outlook.ahead if outlook is not None else Ahead.ASK
    if ahead is Ahead.PERSON:
        return False
    return tool.query is not None or ahead is Ahead.SEND_AGAIN

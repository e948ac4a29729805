"""Counts after a repetition: what the target holds, and what the workers said. It judges nothing."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from contracts.client.examples.content_record import FORMER
from contracts.drills.adapter import FIRST_VERSION, NEXT_VERSION, OBJECTS, VICTIM, Keeper
from contracts.drills.marks import LEAVING
from contracts.drills.processes import Line
from contracts.drills.provoking import CHANGE, FAULT
from contracts.rules.drilling import Counters
from contracts.rules.windows import Window

RUNNER = "runner"
AT_WORK = ("model ", "committed ", "sent ", "waiting ", "reached drafted ", "reached leaving ")


def count(
    window: Window, record: dict[str, list[dict[str, Any]]], lines: Sequence[Line], keeper: Keeper
) -> Counters:
    """Return the counters of one repetition; `record` is what the target itself says."""
    pages, requests = record["pages"], record["requests"]
    times = Counter(page["name"] for page in pages)
    lost = {name for name in OBJECTS if not times[name]}
    held = keeper.held()
    return Counters(
        repeat=1,
        expected=len(OBJECTS),
        in_target=len(pages),
        lost=len(lost),
        left_open=len(lost & keeper.unfinished()) if held else 0,
        duplicated=sum(times[name] - 1 for name in OBJECTS if times[name]),
        unexpected=sum(not _fits(page, window) for page in pages),
        repeated_steps=repeated_steps(lines),
        unknown_held=held,
        stale_refused=sum(row["outcome"] == FORMER for row in requests) + keeper.refused(),
        attempted=len(requests),
        acknowledged=sum(bool(row["answered"]) for row in requests),
        recovered=keeper.recovered(),
        seconds_to_resume=seconds_to_resume(window, lines),
    )


def _fits(page: dict[str, Any], window: Window) -> bool:
    """Tell whether a page was expected, and rests on the version of its source that is in force."""
    changed = window is Window.CHANGED_WHILE_PAUSED and page["name"] == VICTIM
    source = page["content"].get("source") if isinstance(page["content"], dict) else None
    return page["name"] in OBJECTS and source == (NEXT_VERSION if changed else FIRST_VERSION)


def repeated_steps(lines: Sequence[Line]) -> int:
    """Return how often the model was asked for an object whose draft was stored already.

    An object whose source was replaced has to be drafted anew.
    """
    stored: set[str] = set()
    repeated = 0
    for line in lines:
        word, _, name = line.text.partition(" ")
        if line.who == RUNNER:
            stored -= {VICTIM} if line.text == CHANGE else set()
        elif word == "committed":
            stored.add(name)
        elif word == "model" and name in stored:
            repeated += 1
    return repeated


def seconds_to_resume(window: Window, lines: Sequence[Line]) -> Decimal:
    """Return the seconds from the fault to the first sign of work behind it; 0 if there is none.

    Where a receipt is lost, from the request that left to the receipt of that object.
    """
    if window is Window.RECEIPT_LOST:
        left = _first(lines, lambda line: line.text == f"reached {LEAVING} {VICTIM}")
        back = _first(lines, lambda line: line.text == f"sent {VICTIM}")
    else:
        left = _first(lines, lambda line: line.who == RUNNER and line.text == FAULT)
        before = {line.who for line in lines if left is not None and line.seconds < left}
        if window is Window.TWO_RESUMES:
            before = {"worker 1"}
        back = _first(
            lines,
            lambda line: (
                left is not None
                and line.seconds > left
                and line.who not in {*before, RUNNER}
                and line.text.startswith(AT_WORK)
            ),
        )
    if left is None or back is None or back < left:
        return Decimal(0)
    return Decimal(str(round(back - left, 3)))


def _first(lines: Sequence[Line], fits: Any) -> float | None:
    return next((line.seconds for line in lines if fits(line)), None)

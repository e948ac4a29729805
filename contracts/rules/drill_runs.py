"""The life of one run of drills, and how what it found is written into a contract's grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.rules.drilling import Counters, Target
from contracts.rules.verdict import Problem
from contracts.rules.windows import Window, WindowVerdict
from contracts.rules.words import N_, Labelled

REPEAT_MAX = 1_000
REPEAT_MAX_ON_PAGE = 10  # longer runs belong to the console, where somebody watches the machine
ADAPTER_MAX = 60


class RunState(Labelled):
    """Where a run stands."""

    QUEUED = "queued", N_("Waiting for its turn")
    RUNNING = "running", N_("Running")
    STOPPING = "stopping", N_("Being stopped")
    DONE = "done", N_("Done")
    STOPPED = "stopped", N_("Stopped")
    FAILED = "failed", N_("Broken off")


class RunEnd(Labelled):
    """Why a run ended."""

    COMPLETED = "completed", N_("Every cell was run.")
    ASKED = "asked", N_("Somebody stopped it; cells that were finished by then stay.")
    RUNNER_ENDED = "runner_ended", N_("The workbench was shut down; cells that were finished by then stay.")
    RUNNER_GONE = "runner_gone", N_("The process that ran it died; cells that were finished by then stay.")
    PARTS_MISSING = "parts_missing", N_("What this worker needs is not installed here.")
    FAULT = "fault", N_("The runner itself failed, so this says nothing about the worker.")


OPEN = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.STOPPING})
# How a run stands after it ended for a reason.
AFTER: Mapping[RunEnd, RunState] = {
    RunEnd.COMPLETED: RunState.DONE,
    RunEnd.ASKED: RunState.STOPPED,
    RunEnd.RUNNER_ENDED: RunState.STOPPED,
    RunEnd.RUNNER_GONE: RunState.FAILED,
    RunEnd.PARTS_MISSING: RunState.FAILED,
    RunEnd.FAULT: RunState.FAILED,
}
_NO_WINDOW = N_("Choose at least one window.")
_NO_TARGET = N_("Choose how the target behaves.")
_NO_ADAPTER = N_("Choose a worker.")
OUT_OF_RANGE = N_("A number from 1 to %(most)d.")
SETTING = N_(
    "Worker %(adapter)s, target “%(target)s”, repetitions %(repeat)s: %(in_target)s pages for %(expected)s "
    "objects, %(lost)s missing."
)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run."""

    adapter: str
    target: Target
    windows: tuple[Window, ...]
    repeat: int


def check_order(
    adapter: str, target: str, windows: Sequence[str], repeat: int, *, most: int = REPEAT_MAX
) -> Order | tuple[Problem, ...]:
    """Return what is to be run, its windows once each and in the order of the grid, or everything wrong with it."""
    problems = []
    if not adapter or len(adapter) > ADAPTER_MAX:
        problems.append(Problem("adapter", "missing", _NO_ADAPTER))
    if target not in set(Target):
        problems.append(Problem("target", "not_a_choice", _NO_TARGET))
    if not windows or not set(windows) <= set(Window):
        problems.append(Problem("windows", "not_a_choice" if windows else "missing", _NO_WINDOW))
    if not 1 <= repeat <= most:
        problems.append(Problem("repeat", "out_of_range", OUT_OF_RANGE, {"most": most}))
    if problems:
        return tuple(problems)
    return Order(adapter, Target(target), tuple(one for one in Window if one in set(windows)), repeat)


def is_outdated(version_of_run: str, version_of_contract: str) -> bool:
    """Tell whether a run drilled another version of the workflow than the contract is about now."""
    return version_of_run != version_of_contract


def grid_facts(verdict: WindowVerdict | None, counters: Counters) -> dict[str, Any]:
    """Return the numbers of a cell as the grid holds them; nothing was counted where nothing could be run."""
    word = verdict.value if verdict else ""
    if verdict in (None, WindowVerdict.NOT_EXPRESSIBLE):
        return {"counted": None, "repeated": None, "verdict": word}
    return {"counted": counters.in_target, "repeated": counters.repeated_steps > 0, "verdict": word}

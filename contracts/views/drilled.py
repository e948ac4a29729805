"""What pages show of drills: results in words, the run behind a cell of the grid, whether a run may begin."""

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext
from procrastinate.contrib.django.models import ProcrastinateWorker

from contracts.drills.adapter import Adapter
from contracts.drills.adapters import all_adapters
from contracts.drills.storing import LOG
from contracts.models import ContentRow, Contract, DrillResult, DrillRun, WindowRow
from contracts.models.drills import OPEN_STATES
from contracts.rules.drill_runs import RunState
from contracts.rules.drilling import Target
from contracts.rules.parts.part import ALIVE
from contracts.rules.refusals import refusal
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.windows import Window, WindowVerdict

ADDRESS = re.compile(r"/drills/(D-[0-9a-f]{10})/$")
LOG_LINES, LOG_BYTES = 60, 24_000  # of the log, from its end
SILENT = timedelta(seconds=60)  # since the last sign of life, and no background worker is taken to be there
COUNTED = ("in_target", "lost", "duplicated", "repeated_steps", "unknown_held", "stale_refused")


@dataclass(frozen=True, slots=True)
class ShownResult:
    """What one window came to, in words. `counted`: label and number of what people look at first."""

    result: DrillResult
    window: str
    verdict: str
    word: str
    told: str
    counted: list[tuple[str, Any]]
    others: list[tuple[str, Any]]

    @property
    def brief(self) -> list[tuple[str, Any]]:
        """Return the same numbers for a narrow cell: what is nothing is left out, but for what a reader looks for."""
        told = self.result.counters
        short = {
            "in_target": gettext("pages for %(expected)s objects") % {"expected": told.get("expected")},
            "lost": gettext("missing"),
            "duplicated": gettext("doubled"),
            "repeated_steps": gettext("steps run again"),
            "unexpected": gettext("of what was replaced"),
            "unknown_held": gettext("held for a person"),
            "stale_refused": gettext("late writes refused"),
        }
        always = ("in_target", "lost", "duplicated")
        return [
            (label, told.get(name, 0))
            for name, label in (short.items() if self.counted else ())
            if name in always or told.get(name)
        ]


def shown_result(result: DrillResult) -> ShownResult:
    """Return a result in the reader's language."""
    verdict = WindowVerdict(result.verdict) if result.verdict else None
    runnable = verdict not in (None, WindowVerdict.NOT_EXPRESSIBLE)
    words = _counter_words() if runnable else {}
    numbers = [(name, words[name], result.counters.get(name)) for name in words]
    return ShownResult(
        result,
        gettext(Window(result.window).label),
        verdict.value if verdict else "not_run",
        gettext(verdict.label) if verdict else gettext("Not run"),
        gettext(result.sentence) % result.values,
        [(label, value) for name, label, value in numbers if name in COUNTED],
        [(label, value) for name, label, value in numbers if name not in COUNTED],
    )


def _counter_words() -> dict[str, str]:
    return {
        "in_target": gettext("Pages in the target"),
        "expected": gettext("Pages expected"),
        "lost": gettext("Missing"),
        "duplicated": gettext("Doubled"),
        "repeated_steps": gettext("Finished steps run again"),
        "unknown_held": gettext("Unknown, held"),
        "stale_refused": gettext("Late writes refused"),
        "unexpected": gettext("Resting on what was replaced"),
        "left_open": gettext("Missing, and known as open"),
        "attempted": gettext("Requests to write"),
        "acknowledged": gettext("Receipts that arrived"),
        "recovered": gettext("Settled by asking the target"),
        "repeat": gettext("Repetitions"),
        "seconds_to_resume": gettext("Longest time to resume (seconds)"),
    }


def runs_behind(rows: Iterable[ContentRow]) -> dict[int, DrillRun]:
    """Return the run that filled each row of a grid, by the row's key; one query."""
    named = {row.pk: found[1] for row in rows if isinstance(row, WindowRow) and (found := _address(row))}
    if not named:
        return {}
    runs = DrillRun.objects.filter(run_id__in=set(named.values())).select_related("contract")
    known = {(run.run_id, run.contract_id): run for run in runs}
    keys = {row.pk: row.contract_id for row in rows}
    return {pk: known[name, keys[pk]] for pk, name in named.items() if (name, keys[pk]) in known}


def _address(row: WindowRow) -> re.Match[str] | None:
    return ADDRESS.search(row.evidence) if row.verdict else None


@dataclass(frozen=True, slots=True)
class DrillOffer:
    """Whether a drill of this contract may be started now, and the run that is under way, if any."""

    refusal: Verdict | None
    under_way: DrillRun | None
    runs: int


def drill_offer(contract: Contract, now: datetime) -> DrillOffer:
    """Return what the grid of a contract offers: the refusal is the one the gate would give."""
    runs = DrillRun.objects.of(contract.pk)
    under_way = runs.open().first()
    refused = None
    if not settings.WORKBENCH_DRILLS:
        refused = refusal("drills_forbidden")
    elif contract.state not in ALIVE:
        refused = refusal("not_open", state=ContractState(contract.state).label)
    elif contract.state != ContractState.DRAFT and contract.deadline and contract.deadline <= now:
        refused = refusal("deadline_passed")
    elif under_way is not None:
        refused = refusal("one_open_run_per_contract")
    return DrillOffer(refused, under_way, runs.count())


def lacking() -> Mapping[str, Adapter]:
    """Return the adapters whose parts are missing here, by name."""
    return {adapter.name: adapter for adapter in all_adapters() if adapter.missing()}


def titles() -> dict[str, str]:
    """Return the title of each adapter."""
    return {adapter.name: gettext(adapter.title) for adapter in all_adapters()}


def title_of(run: DrillRun) -> str:
    """Return what the adapter of a run is called; one that is no longer there by its name."""
    return titles().get(run.adapter, run.adapter)


def target_words(run: DrillRun) -> str:
    """Return how the target behaved."""
    return gettext(Target(run.target).label)


def nobody_works(now: datetime) -> bool:
    """Tell whether no background worker has given a sign of life lately."""
    return not ProcrastinateWorker.objects.filter(last_heartbeat__gt=now - SILENT).exists()


def log_of(run: DrillRun) -> tuple[str, bool]:
    """Return the end of a run's log, and whether it lies on this machine at all."""
    file = Path(run.folder) / LOG
    if not run.folder or run.host != socket.gethostname() or not file.is_file():
        return "", False
    with file.open("rb") as lines:
        lines.seek(0, 2)
        lines.seek(max(0, lines.tell() - LOG_BYTES))
        found = lines.read().decode("utf-8", "replace").splitlines()
    return "\n".join(found[-LOG_LINES:]), True


def waits_behind(run: DrillRun) -> int:
    """Return how many runs are before one that waits."""
    if run.state != RunState.QUEUED:
        return 0
    return DrillRun.objects.filter(state__in=OPEN_STATES, pk__lt=run.pk).count()

"""Runs cells: one adapter, one window, one target, so many repetitions; each with everything made anew."""

import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, Environment, FileKeeper, Setting
from contracts.drills.counting import count
from contracts.drills.processes import DrillStopped, Log, Started, clean_up, recorded
from contracts.drills.provoking import WINDOWS, NotProvoked, Stage
from contracts.drills.surroundings import drop_databases, own_database, postgres_version, target_system
from contracts.rules.drilling import SPELLED, Counters, Target, judge, tell
from contracts.rules.windows import Window, WindowVerdict
from contracts.rules.words import N_

Progress = Callable[[Window, int, int, str], object]  # window, repetition, of how many, what was said
Keep = Callable[["CellResult"], object]  # told of each cell as soon as it is whole
FIXED_PORT = "DRILL_TARGET_PORT"  # what services give whose workers can reach the target at one port only
SECONDS_TO_LAND = 0.3  # for a request that left as its sender ended
ADAPTER_MISSES = N_("%(adapter)s needs what is not here: %(missing)s. Install it: %(install)s")


class DrillRefused(Exception):
    """The drill cannot begin. `sentence` is a message id."""

    def __init__(self, sentence: str, **values: str) -> None:
        super().__init__(sentence % values)
        self.sentence, self.values = sentence, values


@dataclass(frozen=True, slots=True)
class CellResult:
    """What came of one window at one target. `verdict` is None where the window could not be provoked.

    `sentence`, a message id, and `values` say what happened, or why nothing did. `log`: all lines of all
    repetitions; `evidence`: the folder in which workers and target left what they had.
    """

    window: Window
    target: Target
    counters: Counters
    verdict: WindowVerdict | None
    sentence: str
    values: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    evidence: Path | None = None

    @property
    def reason(self) -> str:
        """Return why there are no counters, in English; empty where there are."""
        counted = self.verdict not in (None, WindowVerdict.NOT_EXPRESSIBLE)
        return "" if counted else self.sentence % self.values

    def plain(self) -> dict[str, Any]:
        """Return the cell as the console's JSON has it."""
        counted = asdict(self.counters)
        seconds = float(counted.pop("seconds_to_resume"))
        told = {"window": self.window.value, **counted, "seconds_to_resume": seconds}
        reason = {"reason": self.reason} if self.reason else {}
        return {**told, "verdict": SPELLED[self.verdict], "sentence": self.sentence % self.values, **reason}


def records_folder() -> Path:
    """Return where runners record what they have started."""
    from django.conf import settings

    return Path(settings.WORKBENCH_DATA) / "drills" / "running"


def runs_folder() -> Path:
    """Return where the evidence of all runs lies."""
    return records_folder().parent


def clean_up_after_killed() -> int:
    """End the processes and drop the databases that killed runners have left; return how many processes."""
    ended, databases = clean_up(records_folder())
    if databases:
        drop_databases(databases)
    return ended


def versions_of(adapter: Adapter) -> dict[str, str]:
    """Return the versions of everything a result of this adapter depends on."""
    return {**adapter.versions(), "postgresql": postgres_version()}


def require_parts(adapter: Adapter) -> None:
    """Raise DrillRefused, saying what to install, if the adapter's parts are missing."""
    if missing := adapter.missing():
        raise DrillRefused(
            ADAPTER_MISSES, adapter=adapter.title, missing=", ".join(missing), install=adapter.install
        )


def run_cells(
    adapter: Adapter,
    windows: Sequence[Window],
    target: Target,
    repeat: int,
    *,
    folder: Path,
    progress: Progress,
    stop: threading.Event,
    keep: Keep = lambda _: None,
) -> list[CellResult]:
    """Run these windows one after the other and return a result for each; `keep` is given each at once.

    `folder` keeps the evidence; it is made if it is not there. `progress` is called for every line. `stop`, set by
    anybody, ends everything within seconds: DrillStopped is raised and nothing is a result. Raises DrillRefused if
    parts of the adapter are missing. First of all, what a killed runner has left is ended.
    """
    require_parts(adapter)
    clean_up_after_killed()
    folder.mkdir(parents=True, exist_ok=True)
    with recorded(records_folder()) as started:
        run = Run(adapter, target, repeat, folder, progress, stop, started)
        if not any(not adapter.why_not(window, target) for window in windows):
            return [_kept(run.cell(window, {}), keep) for window in windows]
        with adapter.services(folder) as services:
            return [_kept(run.cell(window, services), keep) for window in windows]


def _kept(cell: CellResult, keep: Keep) -> CellResult:
    keep(cell)
    return cell


@dataclass(frozen=True, slots=True)
class Run:
    """The cells of one call."""

    adapter: Adapter
    target: Target
    repeat: int
    folder: Path
    progress: Progress
    stop: threading.Event
    started: Started
    token: str = field(default_factory=lambda: secrets.token_hex(5))

    def cell(self, window: Window, services: Environment) -> CellResult:
        """Run one window so many times."""
        if why := self.adapter.why_not(window, self.target):
            self.progress(window, 0, self.repeat, why)
            return CellResult(window, self.target, Counters(), WindowVerdict.NOT_EXPRESSIBLE, why)
        place = self.folder / f"{self.target.value}-{window.value}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        summed, known = Counters(), {"log": place / "log.txt", "evidence": place}
        for number in range(1, self.repeat + 1):
            try:
                summed += self._repetition(window, number, place, services)
            except NotProvoked as no:
                return CellResult(window, self.target, summed, None, no.sentence, no.values, **known)
        sentence, values = tell(window, summed)
        return CellResult(window, self.target, summed, judge(summed), sentence, values, **known)

    def _repetition(self, window: Window, number: int, place: Path, services: Environment) -> Counters:
        part, folder = f"{self.token}-{window.value}-{number}", place / str(number)
        for name in ("target", "worker"):
            folder.joinpath(name).mkdir(parents=True)
        with ExitStack() as stack:
            stack.callback(self.started.end, part)
            log = stack.enter_context(self._log(window, number, place / "log.txt"))
            port = int(services.get(FIXED_PORT, "0"))
            pages = stack.enter_context(
                target_system(
                    self.started, folder / "target", self.target, window, part=f"target-{part}", port=port
                )
            )
            stack.callback(self.started.end, f"target-{part}")
            if self.adapter.database:
                services = {**services, "DRILL_DATABASE": stack.enter_context(own_database(self.started))}
            FileKeeper(folder / "worker")  # the sources are files for everyone
            setting = Setting(
                window, self.target, f"drill-{part}", folder / "worker", pages.address, services
            )
            keeper = stack.enter_context(self.adapter.keeper(setting))
            stage = Stage(self.adapter, setting, keeper, log, self.started, part, pages.announce)
            WINDOWS[window](stage)
            self.started.end(part)
            log.pause(SECONDS_TO_LAND)
            record = pages.record()
            counters = count(window, record, log.lines, keeper)
            evidence = json.dumps({"record": record, "counters": _plain(counters)}, indent=1)
            folder.joinpath("counted.json").write_text(evidence, "utf-8")
            log.add("runner", _short(counters))
            return counters

    @contextmanager
    def _log(self, window: Window, number: int, file: Path) -> Iterator[Log]:
        def tell_line(who: str, text: str) -> None:
            self.progress(window, number, self.repeat, f"{who}: {text}")

        log = Log(file, self.stop, tell_line)
        log.add("runner", f"repetition {number} of {self.repeat}: {window.value} at {self.target.value}")
        try:
            yield log
        except DrillStopped:
            log.add("runner", "stopped; this repetition counts for nothing")
            raise
        finally:
            log.close()


def _plain(counters: Counters) -> dict[str, Any]:
    return {name: str(value) for name, value in asdict(counters).items()}


def _short(counters: Counters) -> str:
    told = asdict(counters)
    return "counted " + ", ".join(f"{name} {value}" for name, value in told.items() if value)


def own_command(words: Sequence[str], name: str = "own") -> Adapter:
    """Return the adapter of a user's own command line, which speaks the protocol of `marks`.

    Each worker is started in the workbench's folder; relative paths are looked for in the present one.
    """
    found = [str(Path(word).resolve()) if "/" in word or Path(word).exists() else word for word in words]
    program = shutil.which(words[0]) or found[0]
    missing = () if os.access(program, os.X_OK) else (words[0],)
    return Adapter(
        name=name,
        title=" ".join(words),
        command=(program, *found[1:]),
        lacks=lambda: missing,
        install=words[0],
        cannot={Target.PROXY: PROXY_IS_OURS},
    )

"""One run from its beginning to its end, stored as it goes: for the background worker and for the console alike."""

import contextlib
import os
import socket
import threading
import traceback
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from time import monotonic

import psutil
from django.db import connections

from contracts.drills.adapter import Adapter
from contracts.drills.adapters import find_adapter
from contracts.drills.processes import DrillStopped
from contracts.drills.running import (
    CellResult,
    DrillRefused,
    Keep,
    Progress,
    clean_up_after_killed,
    require_parts,
    run_cells,
    runs_folder,
    versions_of,
)
from contracts.gates.beats import database_now
from contracts.gates.drilling import (
    Found,
    Runner,
    ask_for_run,
    begin_run,
    end_run,
    goes_on,
    keep_result,
    note_progress,
    notice_alive,
)
from contracts.models import Contract, DrillRun
from contracts.rules.credentials import find_credential
from contracts.rules.drill_runs import RunEnd, RunState
from contracts.rules.drilling import Target
from contracts.rules.vocabulary import Actor, ActorKind
from contracts.rules.windows import Window

LOOK_EVERY = 0.5  # seconds between two looks whether somebody asked the run to stop
SIGN_EVERY = 10.0  # seconds between two signs of life
GIVE_UP = timedelta(minutes=2)  # without a sign of life, for a run on a machine that cannot be looked at
LOG = "run.log"


def carry_out(run_id: str, *, stop: threading.Event, progress: Progress = lambda *_: None) -> DrillRun:
    """Carry out a run that waits, and return it as it ended; one that does not wait is returned as it is.

    `stop`: set by whoever ends this process; it is set here too when somebody stops the run from the page. Each cell
    is stored, and filled into the contract's grid, as soon as its last repetition was counted; half a cell is never
    stored. `progress` is called as by `run_cells`.
    """
    run = DrillRun.objects.select_related("contract").get(run_id=run_id)
    with contextlib.suppress(DrillStopped, DrillRefused), _carried(run) as folder:
        if folder is not None:
            _run(run, find_adapter(run.adapter), folder, stop, progress, keep=lambda cell: _keep(run, cell))
    run.refresh_from_db()
    return run


def run_and_store(
    adapter: Adapter,
    windows: Sequence[Window],
    target: Target,
    repeat: int,
    *,
    by: str,
    stop: threading.Event,
    progress: Progress,
    contract: Contract | None = None,
    language: str = "",
) -> tuple[DrillRun, list[CellResult]]:
    """Run these windows in this very process and store the run; return it with its results. For `manage.py drill`.

    The results are stored, and filled into the grid of `contract`, once all of them are there: of a run that was
    stopped only that it was stopped. `by`: who runs it. Raises DrillRefused where it may not begin or parts are
    missing, DrillStopped where `stop` was set, and whatever else ended it.
    """
    verdict = ask_for_run(
        actor=Actor(by, ActorKind.OPERATOR),
        adapter=adapter.name,
        target=target.value,
        windows=[window.value for window in windows],
        repeat=repeat,
        contract_id=contract.pk if contract else None,
        language=language,
        queued=False,
    )
    if not verdict.allowed:
        raise DrillRefused(verdict.sentence, **{name: str(value) for name, value in verdict.values.items()})
    run: DrillRun = verdict.outcome
    cells: list[CellResult] = []
    with _carried(run) as folder:
        if folder is not None:
            cells = _run(run, adapter, folder, stop, progress)
            for cell in cells:
                _keep(run, cell)
    run.refresh_from_db()
    return run, cells


@contextlib.contextmanager
def _carried(run: DrillRun) -> Iterator[Path | None]:
    """Begin the run for what the block does, and end it with the block, whatever happens; None if it does not wait."""
    folder = runs_folder() / run.run_id
    if not begin_run(run_id=run.run_id, runner=_this_process(folder)):
        yield None
        return
    reason, fault = RunEnd.FAULT, ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        reason = RunEnd.COMPLETED
    except DrillStopped:
        reason = RunEnd.RUNNER_ENDED if goes_on(run_id=run.run_id) else RunEnd.ASKED
        raise
    except KeyboardInterrupt:
        reason = RunEnd.ASKED
        raise
    except DrillRefused as refused:
        reason, fault = RunEnd.PARTS_MISSING, str(refused)
        raise
    except Exception as error:
        folder.joinpath("fault.txt").write_text(traceback.format_exc(), "utf-8")
        fault = _in_short(error)
        raise
    finally:
        end_run(run_id=run.run_id, reason=reason, fault=fault)


def _in_short(error: Exception) -> str:
    """Return what to tell people of a fault: its kind and, if no secret is in it, the first line of its words."""
    first = str(error).strip().split("\n", 1)[0][:300]
    kind = type(error).__name__
    return kind if not first or find_credential(first) else f"{kind}: {first}"


def _run(
    run: DrillRun,
    adapter: Adapter,
    folder: Path,
    stop: threading.Event,
    progress: Progress,
    *,
    keep: Keep = lambda _: None,
) -> list[CellResult]:
    with _watched(run.run_id, stop), Teller(run, folder, progress) as teller:
        require_parts(adapter)
        notice_alive(run_id=run.run_id, versions=versions_of(adapter))
        windows, target = [Window(name) for name in run.windows], Target(run.target)
        return run_cells(
            adapter,
            windows,
            target,
            run.repeat,
            folder=folder,
            progress=teller.tell,
            stop=stop,
            keep=keep,
        )


def _keep(run: DrillRun, cell: CellResult) -> None:
    keep_result(run=run, found=found_in(cell))


def found_in(cell: CellResult) -> Found:
    """Return a cell as the gate stores it."""
    return Found(
        window=cell.window.value,
        verdict=cell.verdict,
        counters=cell.counters,
        sentence=cell.sentence,
        values=cell.values,
        evidence=str(cell.evidence or ""),
    )


class Teller:
    """Writes the log of a run, and stores how far it is whenever a repetition begins."""

    def __init__(self, run: DrillRun, folder: Path, progress: Progress) -> None:
        self._run_id, self._repeat, self._progress = run.run_id, run.repeat, progress
        self._windows = [Window(name) for name in run.windows]
        self._at: tuple[Window, int] | None = None
        self._out = folder.joinpath(LOG).open("a", encoding="utf-8", buffering=1)

    def __enter__(self) -> "Teller":
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()

    def tell(self, window: Window, number: int, repeat: int, said: str) -> None:
        """Take note of one line; see `running.Progress`."""
        self._out.write(f"{window.value} {number}/{repeat} {said}\n")
        if self._at != (window, number):
            self._at = (window, number)
            done = self._windows.index(window) * self._repeat + max(number - 1, 0)
            note_progress(run_id=self._run_id, window=window.value, repetitions_done=done)
        self._progress(window, number, repeat, said)


@contextlib.contextmanager
def _watched(run_id: str, stop: threading.Event) -> Iterator[None]:
    """Set `stop` when somebody stops the run, and store a sign of life now and then."""
    over = threading.Event()

    def watch() -> None:
        signed = monotonic()
        try:
            while not over.wait(LOOK_EVERY):
                if not goes_on(run_id=run_id):
                    stop.set()
                    return
                if monotonic() - signed > SIGN_EVERY:
                    signed = monotonic()
                    notice_alive(run_id=run_id)
        finally:
            connections.close_all()

    watcher = threading.Thread(target=watch, name=f"watch {run_id}", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def bury_dead() -> list[str]:
    """End the runs whose process died, with all it had started; return their ids.

    On this machine a process is looked at; on another only its signs of life are.
    """
    found = [run for run in DrillRun.objects.open().exclude(state=RunState.QUEUED.value) if not lives(run)]
    buried = [run.run_id for run in found if end_run(run_id=run.run_id, reason=RunEnd.RUNNER_GONE)]
    if buried:
        clean_up_after_killed()
    return buried


def lives(run: DrillRun) -> bool:
    """Tell whether the process that carries the run out is still there, as far as can be known from here."""
    if run.host != socket.gethostname():
        return run.seen_at is not None and database_now() - run.seen_at < GIVE_UP
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(run.pid)
        same = abs(process.create_time() - (run.pid_began or 0)) < 2  # the clock may have been set meanwhile
        return same and process.status() != psutil.STATUS_ZOMBIE
    return False


def _this_process(folder: Path) -> Runner:
    began = psutil.Process().create_time()
    return Runner(host=socket.gethostname(), pid=os.getpid(), began=began, folder=str(folder))

"""The processes of a drill: started, listened to, killed, frozen, and never left behind.

Everything a runner starts bears the runner's mark in its environment and is recorded by id and creation time. A
runner that was itself killed leaves its record; whoever starts next ends what that record names.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

ROOT = Path(__file__).resolve().parents[2]
MARK = "DRILL_MARK"
OUR_OWN = ("WORKBENCH_", "DATABASE_URL", "PG")
LOOK_EVERY = 0.1  # seconds between two looks whether to stop
GRACE = 5.0  # seconds that a service has to end by itself


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a program that is drilled may know: nothing of how the workbench itself is run.

    Its settings hold the key of sessions, the login of the database and that of the mail server.
    """
    return {name: value for name, value in environment.items() if not name.startswith(OUR_OWN)}


class DrillStopped(Exception):
    """Somebody asked for the end; everything that was started is gone, and the repetition counts for nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line that a process printed, at `seconds` since the repetition began."""

    seconds: float
    who: str
    text: str


class Log:
    """All lines of one repetition in the order in which they came, also written to a file at once."""

    def __init__(self, file: Path, stop: threading.Event, tell: Callable[[str, str], object]) -> None:
        self.file = file
        self._tell = tell
        self.stop = stop
        self.lines: list[Line] = []
        self.changed = threading.Condition()
        self._begun = time.monotonic()
        self._out = file.open("a", encoding="utf-8", buffering=1)

    def add(self, who: str, text: str) -> None:
        """Take note of one line; `who` is `runner` or the name of a process."""
        with self.changed:
            line = Line(time.monotonic() - self._begun, who, text)
            self.lines.append(line)
            if not self._out.closed:
                self._out.write(f"{line.seconds:8.3f} {who}: {text}\n")
            self.changed.notify_all()
        self._tell(who, text)

    def now(self) -> float:
        """Return the seconds since the repetition began."""
        return time.monotonic() - self._begun

    def pause(self, seconds: float) -> None:
        """Wait; raises DrillStopped as soon as somebody asks for the end."""
        if self.stop.wait(seconds):
            raise DrillStopped

    def close(self) -> None:
        """Close the file."""
        with self.changed:
            self._out.close()


_present: "list[Started]" = []


def present() -> "Started":
    """Return the record of the runner at work in this process, by which services start what they need."""
    return _present[-1]


class Worker:
    """One started worker. `who` is its name in the log."""

    def __init__(self, process: "subprocess.Popen[str]", who: str, log: Log, folder: Path) -> None:
        self.process, self.who = process, who
        self._log, self._folder = log, folder
        self._listener = threading.Thread(target=self._listen, daemon=True, name=f"listener of {who}")
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None  # noqa: S101
        with self.process.stdout as lines, contextlib.suppress(ValueError, OSError):
            for line in lines:
                self._log.add(self.who, line.rstrip("\n"))

    def said(self, text: str) -> bool:
        """Tell whether it has printed this very line."""
        return any(line.who == self.who and line.text == text for line in self._log.lines)

    def wait_reached(self, point: str, work_object: str, seconds: float) -> bool:
        """Wait until it says that it is at a crash point; False if it ended, or was not there in time."""
        file = self._place(point, work_object)
        words = f"reached {point} {work_object}"
        return self._wait(lambda: self.said(words) or file.exists(), seconds)

    def wait_said(self, text: str, seconds: float) -> bool:
        """Wait until it prints this very line; False if it ended before, or was too slow."""
        return self._wait(lambda: self.said(text), seconds)

    def wait_end(self, seconds: float) -> int | None:
        """Return the exit code (below zero: ended by that signal), or None if it still runs after so long."""
        end = time.monotonic() + seconds
        while (code := self.process.poll()) is None and time.monotonic() < end:
            self._log.pause(0.02)
        if code is not None:
            self._listener.join(timeout=2)
            self._log.add("runner", f"{self.who} ended: {code}")
        return code

    def go_on(self) -> None:
        """Let it go on from the crash point it waits at."""
        for file in self._folder.glob("reached-*"):
            file.unlink(missing_ok=True)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.write("\n")
                self.process.stdin.flush()

    def kill(self, *, group: bool = False) -> None:
        """End it as by `kill -9`, with its whole process group if asked; returns when it is gone."""
        self._log.add("runner", f"SIGKILL to {'the process group of ' if group else ''}{self.who}")
        _end(self.process, group=group)
        self._listener.join(timeout=2)

    def freeze(self) -> None:
        """Stop it as by SIGSTOP, with its process group."""
        self._log.add("runner", f"SIGSTOP to {self.who}")
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it run again, as if nothing had happened."""
        self._log.add("runner", f"SIGCONT to {self.who}")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGCONT)

    def _place(self, point: str, work_object: str) -> Path:
        return self._folder / f"reached-{point}-{work_object}"

    def _wait(self, seen: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while True:
            if seen():
                return True
            if self._log.stop.is_set():
                raise DrillStopped
            if self.process.poll() is not None:
                self._listener.join(timeout=2)
                return bool(seen())
            if time.monotonic() >= end:
                return False
            with self._log.changed:
                self._log.changed.wait(LOOK_EVERY / 2)


class Started:
    """Everything this runner has started, recorded in a file of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.mark = secrets.token_hex(8)
        self.databases: list[str] = []
        own = psutil.Process()
        self._runner = [own.pid, own.create_time()]
        self._file = folder / f"{own.pid}-{self.mark}.json"
        self._recorded: list[list[float]] = []
        self._processes: list[subprocess.Popen[str]] = []
        self.write()

    def start(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        part: str = "service",
        out: IO[str] | None = None,
    ) -> "subprocess.Popen[str]":
        """Start a program as the leader of a session of its own; its lines come together, at `stdout` or in `out`."""
        process = subprocess.Popen(
            list(words),
            cwd=ROOT,
            env={**harmless(os.environ), **environment, MARK: f"{self.mark}.{part}."},
            stdin=subprocess.PIPE,
            stdout=out or subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C at the terminal is for the runner, which ends the others
        )
        self._processes.append(process)
        with contextlib.suppress(psutil.Error):
            self._recorded.append([process.pid, psutil.Process(process.pid).create_time()])
        self.write()
        return process

    def write(self) -> None:
        """Store what was started, in one piece."""
        told = {
            "runner": self._runner,
            "mark": self.mark,
            "processes": self._recorded,
            "databases": self.databases,
        }
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(told), "utf-8")
        fresh.replace(self._file)

    def end(self, part: str = "") -> None:
        """End what bears the mark of `part`, or all; returns when it is gone."""
        for process in self._processes:
            if not part:
                _end(process, group=True)
        sweep(f"{self.mark}.{part}." if part else self.mark)
        for process in self._processes:
            if process.poll() is not None:
                _close(process)
        self._processes = [process for process in self._processes if process.poll() is None]
        left = {process.pid for process in self._processes}
        self._recorded = [row for row in self._recorded if row[0] in left]
        self.write()

    def forget(self) -> None:
        """Remove the record: nothing is left."""
        self._file.unlink(missing_ok=True)


@contextmanager
def recorded(folder: Path) -> Iterator[Started]:
    """Keep the record of what is started in this block, and end all of it at the end of the block."""
    started = Started(folder)
    before = os.environ.get(MARK)
    os.environ[MARK] = f"{started.mark}.adapter."  # whatever an adapter starts by itself bears it too
    _present.append(started)
    try:
        yield started
    finally:
        started.end()
        _present.remove(started)
        os.environ.pop(MARK, None)
        if before is not None:
            os.environ[MARK] = before
        if not started.databases:
            started.forget()


def clean_up(folder: Path) -> tuple[int, list[str]]:
    """End what runners that are no more have left; return how many processes, and the names of their databases."""
    ended, databases = 0, []
    for file in sorted(folder.glob("*.json")) if folder.exists() else ():
        try:
            told = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if _lives(*told["runner"]):
            continue
        ended += sum(_end_recorded(pid, born) for pid, born in told["processes"]) + sweep(told["mark"])
        databases += told["databases"]
        file.unlink(missing_ok=True)
    return ended, databases


def sweep(mark: str) -> int:
    """End every process whose environment bears a mark that begins so; return how many there were."""
    own, found = os.getpid(), []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != own and process.environ().get(MARK, "").startswith(mark):
                process.kill()
                found.append(process)
    psutil.wait_procs(found, timeout=GRACE)
    return len(found)


def _end_recorded(pid: float, born: float) -> bool:
    """End a process if it is the very one that was recorded: ids are used again."""
    if not _lives(pid, born):
        return False
    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        os.killpg(int(pid), signal.SIGKILL)  # it leads a group of its own
        psutil.Process(int(pid)).wait(timeout=GRACE)
    return True


def _lives(pid: float, born: float) -> bool:
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(int(pid))
        return bool(found.create_time() == born and found.status() != psutil.STATUS_ZOMBIE)
    return False


def _end(process: "subprocess.Popen[str]", *, group: bool) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            if group:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    process.wait()


def _close(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()

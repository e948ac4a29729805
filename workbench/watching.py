"""Commands that run beside `manage.py up` as its children: started again when they die, never outliving it."""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess

log = logging.getLogger(__name__)
RESTARTS = 5
LONG = 600.0  # seconds; whoever ran for so long may be started again as often as at first
PAUSE = 1.0
PATIENCE = 10.0  # seconds for what is on its way when `up` ends: a mail, the end of a drill


@dataclass(frozen=True, slots=True)
class Beside:
    """One `manage.py` command; `name` and `without` are what the log says of it and of doing without it."""

    command: str
    name: str
    without: str


WATCH = Beside("watch", "the watch", "no mail leaves")
DRILLS = Beside("run_drills", "the worker of drills", "no drill is carried out")


@contextlib.contextmanager
def running_beside(*commands: Beside) -> Iterator[None]:
    """Run the commands beside what the block does, and end them at the end of the block."""
    keepers = [Keeper(command) for command in commands]
    try:
        yield
    finally:
        for keeper in keepers:
            keeper.ask_to_end()
        for keeper in keepers:
            keeper.end()


class Keeper:
    """One child process, and the thread that starts it again."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self._ending = threading.Event()
        self._child = _start(beside.command)
        self._keeper = threading.Thread(target=self._keep, name=f"keep-{beside.command}", daemon=True)
        self._keeper.start()

    def ask_to_end(self) -> None:
        """Let the child end by itself, and start none again."""
        self._ending.set()
        self._child.terminate()

    def end(self) -> None:
        """End the child and return when it is gone."""
        self.ask_to_end()
        self._keeper.join(PATIENCE)
        if self._child.is_alive():
            self._child.kill()
            self._keeper.join()

    def _keep(self) -> None:
        restarts, begun = 0, time.monotonic()
        while not self._ending.is_set():
            self._child.join()
            if time.monotonic() - begun > LONG:
                restarts = 0
            # Zero is its own answer to a signal: whoever ended it wants it to have ended.
            if self._child.exitcode == 0 or self._ending.wait(PAUSE):
                return
            restarts += 1
            if restarts > RESTARTS:
                log.error(
                    "%s ended %d times and is not started again: %s",
                    self._beside.name,
                    restarts,
                    self._beside.without,
                )
                return
            log.warning("%s ended with %s and is started again", self._beside.name, self._child.exitcode)
            begun = time.monotonic()
            child = _start(self._beside.command)
            self._child = child
            if self._ending.is_set():  # `end` may have met the one before
                child.terminate()
        self._child.join()


def _start(command: str) -> BaseProcess:
    # Not fork: a forked child would inherit locks and threads in the middle of what they do.
    child = multiprocessing.get_context("spawn").Process(
        target=_call, args=(command,), name=command, daemon=True
    )
    child.start()
    return child


def _call(command: str) -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        # A terminal sends these to everybody in it; what is still starting would die of them and be started again.
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, name="leave-with-parent", daemon=True).start()
    import django
    from django.core.management import call_command

    django.setup()
    call_command(command)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Ends when the parent does, kill -9 included. An orphan would mail on from a workbench nobody runs.
        parent.join()
        os._exit(1)

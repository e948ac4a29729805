"""`manage.py watch` as a child of `manage.py up`: it is started again when it dies, and never outlives its parent."""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess

log = logging.getLogger(__name__)
RESTARTS = 5
LONG = 600.0  # seconds; whoever ran for so long may be started again as often as at first
PAUSE = 1.0
PATIENCE = 10.0  # seconds for the mail that is on its way when `up` ends


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Run `manage.py watch` beside what the block does, and end it at the end of the block."""
    watcher = Watcher()
    try:
        yield
    finally:
        watcher.end()


class Watcher:
    """The child process, and the thread that starts it again."""

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._child = _start()
        self._keeper = threading.Thread(target=self._keep, name="keep-watching", daemon=True)
        self._keeper.start()

    def end(self) -> None:
        """End the child and return when it is gone."""
        self._ending.set()
        self._child.terminate()
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
                log.error("the watch ended %d times and is not started again: no mail leaves", restarts)
                return
            log.warning("the watch ended with %s and is started again", self._child.exitcode)
            begun = time.monotonic()
            child = _start()
            self._child = child
            if self._ending.is_set():  # `end` may have met the one before
                child.terminate()
        self._child.join()


def _start() -> BaseProcess:
    # Not fork: a forked child would inherit locks and threads in the middle of what they do.
    child = multiprocessing.get_context("spawn").Process(target=_watch, name="watch", daemon=True)
    child.start()
    return child


def _watch() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        # A terminal sends these to everybody in it; what is still starting would die of them and be started again.
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, name="leave-with-parent", daemon=True).start()
    import django
    from django.core.management import call_command

    django.setup()
    call_command("watch")


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Ends when the parent does, kill -9 included. An orphan would mail on from a workbench nobody runs.
        parent.join()
        os._exit(1)

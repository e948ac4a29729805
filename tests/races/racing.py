"""Real threads with connections of their own, let go together by one barrier."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection


def race(*calls: Callable[[], Any]) -> list[Any]:
    """Run every call in its own thread, all let go at once; return their answers in the order of the calls.

    An exception in a thread is raised here.
    """
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=60)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result(timeout=300) for future in [threads.submit(run, call) for call in calls]]


def say(line: str) -> None:
    """Print one line of figures; it is read with `pytest -rP` or `-s`."""
    sys.stdout.write(line + "\n")


def codes(verdicts: list[Any]) -> list[str]:
    """Return the codes of `verdicts`, sorted."""
    return sorted(verdict.code for verdict in verdicts)

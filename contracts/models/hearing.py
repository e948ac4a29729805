"""What this process hears of other processes: who was told something, the moment it is committed.

One connection a process listens (PostgreSQL's LISTEN/NOTIFY); what waits for news holds none.
"""

import threading
from collections import Counter
from typing import Any

import psycopg
from django.db import connection

CHANNEL = "workbench_notices"
RETRY_SECONDS = 3.0  # after the line was cut
LOOK_UP_SECONDS = 1.0  # between two looks whether to cease


class Ear:
    """Counts for each person how often something was told to them since this process began to listen."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._told: Counter[int] = Counter()
        self._gaps = 0  # how often the line was cut: whatever was told meanwhile, nobody here has heard
        self._listener: threading.Thread | None = None
        self._closed = threading.Event()

    def heard(self, person_id: int) -> int:
        """Return a number that grows whenever `person_id` may have been told something; begins to listen."""
        with self._news:
            if self._listener is None:
                told = {**connection.get_connection_params(), "autocommit": True}
                self._listener = threading.Thread(target=self._listen, args=(told,), daemon=True)
                self._listener.start()
            return self._told[person_id] + self._gaps

    def wait(self, person_id: int, heard: int, seconds: float) -> int:
        """Return the number as soon as it is another than `heard`, at the latest after `seconds`."""
        with self._news:
            self._news.wait_for(lambda: self._told[person_id] + self._gaps != heard, seconds)
            return self._told[person_id] + self._gaps

    def close(self) -> None:
        """Cease to listen, for good; returns when the connection is closed."""
        self._closed.set()
        if self._listener is not None:
            self._listener.join()

    def _listen(self, told: dict[str, Any]) -> None:
        while not self._closed.is_set():
            try:
                with psycopg.connect(**told) as line:
                    line.execute(f"LISTEN {CHANNEL}")
                    self._count(None)
                    self._hear(line)
            except psycopg.OperationalError:
                self._closed.wait(RETRY_SECONDS)

    def _hear(self, line: psycopg.Connection[Any]) -> None:
        while not self._closed.is_set():
            for notify in line.notifies(timeout=LOOK_UP_SECONDS):
                self._count(int(notify.payload))

    def _count(self, person_id: int | None) -> None:
        with self._news:
            if person_id is None:
                self._gaps += 1
            else:
                self._told[person_id] += 1
            self._news.notify_all()


EAR = Ear()

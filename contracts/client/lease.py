"""Holding the task: renewed in the background, and given up at once when it is lost."""

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from contracts.client.exceptions import LeaseLost, Refused, Unreachable
from contracts.client.line import Line, Reply
from contracts.client.shapes import Attempt
from contracts.rules.states import ContractState

SHORTEST_PATIENCE = 2.0
LAPSED = "lease_lapsed"
DOUBTFUL = frozenset({LAPSED, "not_open", "deadline_passed"})


class ServerClock:
    """What time the workbench has, as far as a worker can tell from answers. It never runs ahead of it.

    The record of when a target was asked must fit the workbench's own times, whatever the clock of this machine.
    """

    def __init__(self, seen: datetime) -> None:
        self._ahead = seen - _point(time.monotonic())

    def seen(self, moment: datetime | None) -> None:
        """Take note of a time that the workbench had before now."""
        if moment is not None:
            self._ahead = max(self._ahead, moment - _point(time.monotonic()))

    def at(self, local: float) -> datetime:
        """Return the workbench's time at a point on this machine's monotonic clock, in seconds."""
        return _point(local) + self._ahead

    def until(self, moment: datetime) -> float:
        """Return how many seconds are left until `moment`; below zero once it has passed."""
        return (moment - self.at(time.monotonic())).total_seconds()


def _point(local: float) -> datetime:
    return datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=local)


class Lease:
    """The grant of one attempt. `lost` is set when it is held no longer, and stays set.

    A renewal that comes late is taken by the workbench as long as nobody took over: whoever was stopped for a
    while asks before it goes on.
    """

    def __init__(self, line: Line, path: str, attempt: Attempt, asked: float) -> None:
        """`asked`: when the grant was asked for, on the monotonic clock; the lease is no longer than from there."""
        self.lost = threading.Event()
        self.pause_requested = threading.Event()
        self.clock = ServerClock(attempt.lease_end - timedelta(seconds=attempt.lease_seconds))
        self._line, self._path, self._attempt = line, path, attempt
        self._until = asked + attempt.lease_seconds
        self._why: Refused | None = None
        self._stopped = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._thread = threading.Thread(target=self._keep_up, name=f"lease of {path}", daemon=True)

    def start(self) -> None:
        """Begin to renew in the background."""
        self._thread.start()

    def stop(self) -> None:
        """End renewing; the lease then lapses by itself."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=SHORTEST_PATIENCE)

    def require(self) -> None:
        """Return while the task is held; else raise LeaseLost."""
        if not self.lost.is_set() and time.monotonic() >= self._until:
            self._renew()
        if self.lost.is_set():
            why = self._why
            raise LeaseLost(
                why.code if why else LAPSED,
                why.sentence if why else "The lease ran out while the workbench could not be reached.",
                problem=why.problem if why else None,
            )

    def renew(self) -> None:
        """Renew now. Raises nothing: whoever is refused finds `lost` set."""
        self._renew(early=True)

    def lose(self, why: Refused | None) -> None:
        """Take note that the task is held no longer."""
        if not self.lost.is_set():
            self._why = why
            self.lost.set()

    def _keep_up(self) -> None:
        while not self._stopped.wait(self._pause()):
            self._renew(early=True)
            if self.lost.is_set():
                return

    def _pause(self) -> float:
        left = self._until - time.monotonic()
        return max(0.0, min(self._attempt.renew_seconds, left / 2))

    def _renew(self, *, early: bool = False) -> None:
        """Renew, unless somebody just did. Whoever is refused, or reaches nobody in time, has lost the lease."""
        with self._one_at_a_time:
            now = time.monotonic()
            if self.lost.is_set() or (not early and now < self._until):
                return
            body = {"generation": self._attempt.generation}
            patience = max(self._until - now, SHORTEST_PATIENCE)
            try:
                reply = self._line.post(f"{self._path}/renew", body, patience=patience, unless=self._stopped)
            except Refused as refused:
                self.lose(refused)
            except Unreachable:
                if time.monotonic() >= self._until and not self._stopped.is_set():
                    self.lose(None)
            else:
                self._until = now + self._attempt.lease_seconds
                self._note(str(reply.content.get("state", "")))

    def _note(self, state: str) -> None:
        if state == ContractState.PAUSE_REQUESTED:
            self.pause_requested.set()


class Hold:
    """One attempt's way to the workbench: every call bears its generation, and none is made without the lease."""

    def __init__(self, line: Line, path: str, attempt: Attempt, asked: float) -> None:
        self.lease = Lease(line, path, attempt, asked)
        self.attempt = attempt
        self.ended = False  # by the workbench, so that there is nothing left to release
        self._line, self._path = line, path

    def post(
        self, path: str, body: Mapping[str, Any], *, patience: float | None = None, fenced: bool = True
    ) -> Mapping[str, Any]:
        """Carry out one call in the name of the attempt. A lease found lapsed is renewed, if nobody took over.

        `fenced`: whether the call bears the generation; almost all do.
        """
        if fenced:
            body = {"generation": self.attempt.generation, **body}
        self.lease.require()
        try:
            return self._post(path, body, patience)
        except LeaseLost as lost:
            self.lease.lose(lost)
            raise
        except Refused as refused:
            if refused.code in DOUBTFUL:  # paused under its hands, cancelled, taken over: a renewal tells
                self.lease.renew()
                self.lease.require()
            if refused.code != LAPSED:
                raise
        return self._post(path, body, patience)

    def get(
        self, path: str, *, params: Mapping[str, Any] | None = None, wait: float = 0, etag: str = ""
    ) -> Reply:
        """Read something of the task; an empty `path` is the contract itself."""
        self.lease.require()
        place = f"{self._path}/{path}" if path else self._path
        return self._line.get(place, params=params, wait=wait, etag=etag, unless=self.lease.lost)

    def _post(self, path: str, body: Mapping[str, Any], patience: float | None) -> Mapping[str, Any]:
        place = f"{self._path}/{path}"
        return self._line.post(place, body, patience=patience, unless=self.lease.lost).content

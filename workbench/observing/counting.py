"""What is counted while the workbench runs. Each process counts for itself; `metrics` adds them up.

Imported only where figures are asked for: the library decides at its import whether it counts for one process or
for several. What is measured waits in memory and is written down together, once a second: to write each single
figure would cost a seventh of what a step costs.
"""

import atexit
import threading
import time
from bisect import bisect_left
from collections import Counter as Tally
from collections import defaultdict, deque
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram

from contracts.gates.witnesses import witnesses
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import AttemptEnd

COUNTED = CollectorRegistry()
SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
WRITE_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
BYTES = (256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 8_388_608, 67_108_864)

_requests = Histogram(
    "workbench_request_seconds",
    "How long requests take, by the pattern of their address.",
    ("method", "route", "status"),
    buckets=SECONDS,
    registry=COUNTED,
)
_writes = Histogram(
    "workbench_checkpoint_write_seconds",
    "How long the gate takes to commit a checkpoint.",
    buckets=WRITE_SECONDS,
    registry=COUNTED,
)
_sizes = Histogram(
    "workbench_checkpoint_bytes",
    "How large the state of a checkpoint is, wherever it is kept.",
    buckets=BYTES,
    registry=COUNTED,
)
WRITE_EVERY = 1.0  # seconds
Place = tuple[Histogram, tuple[str, ...]]
_waiting: deque[tuple[Place, float]] = deque()
_begun = threading.Event()
_writing = threading.Lock()
_refusals = Counter("workbench_refusals", "What gates and the API refused.", ("code",), registry=COUNTED)
_lapses = Counter(
    "workbench_lease_lapses", "Owners that were settled because their lease had lapsed.", registry=COUNTED
)


def request_answered(method: str, route: str, status: int, seconds: float) -> None:
    """Count one request."""
    _measured(_requests, (method, route, str(status)), seconds)


class Counts:
    """The witness that counts."""

    def answered(self, _act: str, verdict: Verdict, recorded: Sequence[str]) -> None:
        """Count a refusal by its code, and a lease that had lapsed."""
        if not verdict.allowed:
            _refusals.labels(verdict.code).inc()
        if AttemptEnd.LEASE_LAPSED.value in recorded:
            _lapses.inc()

    def checkpoint_written(self, seconds: float, size_bytes: int) -> None:
        """Count the time and the size of a checkpoint."""
        _measured(_writes, (), seconds)
        _measured(_sizes, (), size_bytes)


def begin_counting() -> None:
    """Let the gates tell their counts from now on."""
    if not any(isinstance(witness, Counts) for witness in witnesses):
        witnesses.append(Counts())


def _measured(histogram: Histogram, labels: tuple[str, ...], amount: float) -> None:
    _waiting.append(((histogram, labels), amount))
    if not _begun.is_set():
        _begun.set()
        threading.Thread(target=_write_on, name="write-figures", daemon=True).start()
        atexit.register(write_down)


def _write_on() -> None:
    while True:
        time.sleep(WRITE_EVERY)
        write_down()


def write_down() -> None:
    """Write down what was measured since the last time, each figure of a place once."""
    amounts: dict[Place, list[float]] = defaultdict(list)
    with _writing:
        while _waiting:
            place, amount = _waiting.popleft()
            amounts[place].append(amount)
        for (histogram, labels), found in amounts.items():
            _observe_all(histogram.labels(*labels) if labels else histogram, found)


def _observe_all(histogram: Histogram, amounts: list[float]) -> None:
    """Do what `observe` does, for many at once: the library has no way of its own."""
    limits, buckets = histogram._upper_bounds, histogram._buckets
    for bucket, count in Tally(bisect_left(limits, amount) for amount in amounts).items():
        buckets[bucket].inc(count)
    histogram._sum.inc(sum(amounts))

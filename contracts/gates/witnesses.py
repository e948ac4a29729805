"""Who is told what the gates did, once it is committed: counters and the like. They change nothing.

The running application puts its witnesses here when it starts; nothing reachable over HTTP can.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from contracts.rules.verdict import Verdict

log = logging.getLogger(__name__)


class Witness(Protocol):
    """What can be told; every call comes after the commit and outside of the gate's transaction."""

    def answered(self, act: str, verdict: Verdict, recorded: Sequence[str]) -> None:
        """Hear the verdict on `act`, and the acts that were recorded with it, such as a lapsed lease."""

    def checkpoint_written(self, seconds: float, size_bytes: int) -> None:
        """Hear how long the gate took to commit a checkpoint, and how large the state is that it stands for."""


witnesses: list[Witness] = []


def answered(act: str, verdict: Verdict, recorded: Sequence[str] = ()) -> None:
    """Tell every witness of a verdict."""
    _tell(lambda witness: witness.answered(act, verdict, recorded))


def checkpoint_written(seconds: float, size_bytes: int) -> None:
    """Tell every witness of a checkpoint."""
    _tell(lambda witness: witness.checkpoint_written(seconds, size_bytes))


def _tell(call: Callable[[Witness], None]) -> None:
    for witness in witnesses:
        try:
            call(witness)
        except Exception:  # what was committed is answered, whatever becomes of those who count it
            log.exception("a witness failed")

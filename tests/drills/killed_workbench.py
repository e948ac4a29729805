"""The workbench, with a process that kills itself once at a seam of a gate: KILL_AT is `SEAM GATE MARKER-FILE`."""

import os
import signal
from pathlib import Path

from workbench.wsgi import application

__all__ = ["application"]
seam, gate, marker = os.environ["KILL_AT"].split()
AFTER = 3  # not at the first, when little has been stored
passed = []


def die(reached, by):
    """Die as by a power cut, once for all processes there will be."""
    if (reached, by) != (seam, gate) or Path(marker).exists():
        return
    passed.append(reached)
    if len(passed) == AFTER:
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def install():
    """Listen; Django is there once the application is."""
    from contracts.gates import beats

    beats.listeners.append(die)


install()

"""That a stop was asked for, so that whoever sends requests here stops sending them while the last are answered.

The serving process says so in a file, because its workers are processes of their own. The file names the process:
one that was left behind by somebody else says nothing.
"""

import os
from pathlib import Path

from django.conf import settings


def announce_stop() -> None:
    """Say that this process, which serves, is going to stop."""
    _place().write_text(str(os.getpid()), "ascii")


def forget_stop() -> None:
    """Take back what was said; nothing is left of a stop once there is nobody to be asked."""
    _place().unlink(missing_ok=True)


def is_announced() -> bool:
    """Tell whether this process, which serves, has said that it is going to stop."""
    return _is_said_of(os.getpid())


def is_stopping() -> bool:
    """Tell whether the process whose worker this is was asked to stop."""
    return _is_said_of(os.getppid())


def _is_said_of(process: int) -> bool:
    try:
        return _place().read_text("ascii") == str(process)
    except (OSError, UnicodeDecodeError):
        return False


def _place() -> Path:
    return Path(settings.WORKBENCH_DATA) / "stopping"

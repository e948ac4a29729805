"""The folder into which every process of a workbench counts."""

import os
from pathlib import Path

from django.conf import settings

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the library's own variable


def share_counts() -> None:
    """Let the processes that this one starts count into files of one folder, which is empty at first.

    Does nothing where no figures are asked for, or where a folder is given.
    """
    if not settings.METRICS_TOKEN or os.environ.get(FOLDER):
        return
    folder = Path(settings.WORKBENCH_DATA) / "metrics"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in folder.glob("*.db"):
        path.unlink()
    os.environ[FOLDER] = str(folder)

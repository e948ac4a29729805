"""The background worker of drills as a process of its own, on the database of the test."""

import contextlib
import os
import subprocess
import sys
import time

from contracts.drills.processes import ROOT
from contracts.drills.surroundings import database_url

PATIENCE = 120


@contextlib.contextmanager
def background_worker(folder):
    """Run `manage.py run_drills` until the end of the block, in a data folder of its own."""
    environment = os.environ | {"DATABASE_URL": database_url(), "WORKBENCH_DATA": str(folder)}
    with folder.joinpath("worker.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_drills"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
                process.wait()


def until(seen):
    """Wait for what `seen` returns, once it is something."""
    end = time.monotonic() + PATIENCE
    while not (found := seen()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found

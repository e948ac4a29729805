"""The workbench as it is really served: several web processes of their own, on the database of the test."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import connection

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import sys, django
django.setup()
from workbench.serving import serve
from workbench.static import collect_if_changed
collect_if_changed()
serve(sys.argv[1], int(sys.argv[2]))
"""


@contextlib.contextmanager
def served(folder: Path, *, workers: int = 2) -> Iterator[str]:
    """Serve on a free port until the end of the block; gives the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-c", PROGRAM, address, str(port)]
    with (folder / "served.log").open("w") as log:
        process = subprocess.Popen(words, cwd=ROOT, env=_environment(folder, workers), stdout=log, stderr=log)
        try:
            _wait(address, process, folder / "served.log")
            yield address
        finally:
            process.terminate()
            process.wait(timeout=60)


def _environment(folder: Path, workers: int) -> dict[str, str]:
    settings: dict[str, Any] = connection.settings_dict
    place = (
        f"{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
    )
    if settings["HOST"].startswith("/"):
        place = (
            f"{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}&port={settings['PORT'] or 5432}"
        )
    return os.environ | {
        "DATABASE_URL": f"postgresql://{place}",
        "WORKBENCH_DATA": str(folder),
        "WORKBENCH_WORKERS": str(workers),
        "WORKBENCH_POOL": "8",
        "PYTHONPATH": str(ROOT),
    }


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text())

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

import psutil
from django.db import connection

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import sys, django
django.setup()
from workbench.serving import serve
from workbench.static import collect_if_changed
collect_if_changed()
# before
serve(sys.argv[1], int(sys.argv[2]))
"""


@contextlib.contextmanager
def served(folder: Path, *, workers: int = 2, **environment: str) -> Iterator[str]:
    """Serve on a free port until the end of the block; gives the address. `environment`: further variables."""
    with serving(folder, workers=workers, **environment) as (address, _):
        yield address


@contextlib.contextmanager
def serving(
    folder: Path, *, workers: int = 2, before: str = "", **environment: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Serve on a free port until the end of the block; gives the address and the process.

    `before`: Python that the process runs before it serves.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-c", PROGRAM.replace("# before", before), address, str(port)]
    known = _environment(folder, workers) | environment
    with (folder / "served.log").open("w") as log:
        process = subprocess.Popen(words, cwd=ROOT, env=known, stdout=log, stderr=log)
        try:
            _wait(address, process, folder / "served.log")
            yield address, process
        finally:
            process.terminate()
            process.wait(timeout=60)


def web_processes(address: str) -> list[psutil.Process]:
    """Return the processes that answer requests at `address`, the oldest first, whoever looks after them left out."""
    (server,) = (
        child for child in psutil.Process().children() if child.is_running() and address in _words(child)
    )
    found = [child for child in server.children() if any("spawn_main" in word for word in _words(child))]
    return sorted(found, key=psutil.Process.create_time)


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _environment(folder: Path, workers: int) -> dict[str, str]:
    return os.environ | {
        "DATABASE_URL": address_of_database(),
        "WORKBENCH_DATA": str(folder),
        "WORKBENCH_WORKERS": str(workers),
        "WORKBENCH_POOL": "8",
        "PYTHONPATH": str(ROOT),
    }


def address_of_database() -> str:
    """Return the address of the database of the test, for a process of its own."""
    settings: dict[str, Any] = connection.settings_dict
    place = (
        f"{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
    )
    if settings["HOST"].startswith("/"):
        place = (
            f"{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}&port={settings['PORT'] or 5432}"
        )
    return f"postgresql://{place}"


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text())

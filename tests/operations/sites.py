"""The workbench as an operator serves it: granian before `workbench.wsgi`, on any loopback address and database."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import psycopg
import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0


def address_of_database(user: str = "", **parts: str) -> str:
    """Return the address of the test's own database, as `user` if named; `parts` replace host, port or name."""
    settings = connection.settings_dict
    place = {"host": settings["HOST"], "port": str(settings["PORT"] or 5432), **parts}
    name = place.pop("name", settings["NAME"])
    secret = f":{settings['PASSWORD']}" if settings["PASSWORD"] and not user else ""
    return f"postgresql://{user or settings['USER']}{secret}@/{name}?{urlencode(place)}"


@contextlib.contextmanager
def as_administrator() -> Iterator[psycopg.Connection]:
    """Connect to the database of the test as the superuser of the throw-away server; skips on a server of others."""
    given = parse_qs(urlsplit(os.environ["DATABASE_URL"]).query)
    host = given.get("host", [""])[0]
    if not host.startswith("/"):
        pytest.skip("Unset DATABASE_URL: roles are made on the throw-away server of the tests alone.")
    name = connection.settings_dict["NAME"]
    with psycopg.connect(host=host, user="postgres", dbname=name, autocommit=True) as server:
        yield server


def a_port(host: str = "127.0.0.1") -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def served_at(folder: Path, database_url: str, *, host: str = "127.0.0.1", **settings: str) -> Iterator[str]:
    """Serve with one process until the end of the block; gives the address."""
    port = a_port(host)
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "workbench.settings",
        "PYTHONPATH": str(ROOT),
        "WORKBENCH_DATA": str(folder),
        "WORKBENCH_HOSTS": host if host != "127.0.0.1" else "",
        "WORKBENCH_POOL": "4",
        **settings,
    }
    _collect(environment)
    words = ["--interface", "wsgi", "--host", host, "--port", str(port), "--workers", "1"]
    words += ["--blocking-threads", "4", "--no-log", "workbench.wsgi:application"]
    log = folder / f"served-{port}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "granian", *words], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            wait_until(f"http://{host}:{port}/healthz", process, log)
            yield f"http://{host}:{port}"
        finally:
            process.terminate()
            process.wait(timeout=60)


def wait_until(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once `url` answers; fails with the log if the process dies first."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def _collect(environment: dict[str, str]) -> None:
    program = (
        "import django; django.setup(); from workbench.static import collect_if_changed; collect_if_changed()"
    )
    subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, capture_output=True
    )

"""What stands around the workers of a drill: the target system, the workbench they talk to, databases."""

import secrets
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlunsplit

import httpx
import psycopg
from psycopg import sql

from contracts.client.examples.content_system import Pages
from contracts.drills.adapter import VICTIM
from contracts.drills.processes import Started
from contracts.rules.drilling import Target
from contracts.rules.windows import Window

KEY_REMEMBERED = 3_600  # seconds; longer than any drill
SWITCHES = {
    Target.PLAIN: (),
    Target.DEDUPLICATES: (f"deduplicates:{KEY_REMEMBERED}",),
    Target.CHECKS_GENERATION: ("checks-generation",),
    Target.PROXY: (),
}
SECONDS_TO_START = 60
OWN = "127.0.0.1"  # nothing of a drill is reached from another machine
DATABASE = "drill_"
LIBPQ = frozenset({"sslmode", "sslcert", "sslkey", "sslrootcert", "passfile", "connect_timeout"})


@contextmanager
def target_system(
    started: Started, folder: Path, target: Target, window: Window, *, part: str, port: int = 0
) -> Iterator[Pages]:
    """Run the content system as this target, failing where the window wants it; gives the way to it."""
    words = [sys.executable, "-m", "contracts.client.examples.content_system", str(folder), *SWITCHES[target]]
    words += [f"lose-a-receipt:{VICTIM}"] if window is Window.RECEIPT_LOST else []
    words += [f"port:{port}"] if port else []
    process = started.start(words, {}, part=part)
    assert process.stdout is not None  # noqa: S101
    address = process.stdout.readline().strip()
    if not address.startswith(f"http://{OWN}:"):
        raise RuntimeError(f"the content system did not start: {address}")
    with closing(Pages(address)) as pages:
        yield pages


@contextmanager
def served_workbench(
    started: Started, folder: Path, environment: Mapping[str, str], application: str = ""
) -> Iterator[str]:
    """Serve this very application on a free port of this machine, on the same database; gives its address.

    `application`: another one that wraps it, as `module:name`. A process of it that dies is started again.
    """
    from django.conf import settings

    port = free_port()
    address = f"http://{OWN}:{port}"
    application = application or ":".join(settings.WSGI_APPLICATION.rsplit(".", 1))
    words = [sys.executable, "-m", "granian", application, "--interface", "wsgi", "--host", OWN]
    words += ["--port", str(port), "--workers", "1", "--blocking-threads", "8", "--log-level", "error"]
    words += ["--respawn-failed-workers"]
    own = {
        "DATABASE_URL": database_url(),
        "WORKBENCH_DATA": str(settings.WORKBENCH_DATA),
        "WORKBENCH_SECRET_KEY": settings.SECRET_KEY,
        "WORKBENCH_POOL": "8",
        "WORKBENCH_METRICS_TOKEN": "",  # what a drill provokes is no figure of the workbench that ran it
        **environment,
    }
    with (folder / "workbench.log").open("a", encoding="utf-8") as log:
        process = started.start(words, own, out=log)
        for _ in range(SECONDS_TO_START * 10):
            if process.poll() is not None:
                raise RuntimeError(f"the workbench did not start, see {log.name}")
            if _answers(address):
                break
            time.sleep(0.1)
        else:
            raise RuntimeError(f"the workbench did not answer, see {log.name}")
        yield address


def free_port() -> int:
    """Return a port of this machine that nothing listens at now."""
    with socket.socket() as probe:
        probe.bind((OWN, 0))
        return int(probe.getsockname()[1])


END_CONNECTIONS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND usename = current_user
"""


@contextmanager
def own_database(started: Started) -> Iterator[str]:
    """Make a database in the workbench's own server, and drop it at the end; gives its address."""
    name = DATABASE + secrets.token_hex(6)
    started.databases.append(name)
    started.write()
    with psycopg.connect(database_url(), autocommit=True) as line:
        line.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield database_url(name)
    finally:
        drop_databases([name])
        started.databases.remove(name)
        started.write()


def drop_databases(names: list[str]) -> None:
    """Drop databases that drills have made, whoever of the same role is connected to them.

    Not by FORCE: for an ordinary role that fails while autovacuum is at work there, which a plain DROP sends away.
    """
    with psycopg.connect(database_url(), autocommit=True) as line:
        for name in names:
            if name.startswith(DATABASE):  # never another
                line.execute(END_CONNECTIONS, [name])
                line.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def postgres_version() -> str:
    """Return the version of the database server."""
    with psycopg.connect(database_url()) as line:
        return str(line.info.parameter_status("server_version"))


def database_url(name: str = "") -> str:
    """Return the address of the workbench's database, or of another in the same server."""
    from django.db import connection

    settings: dict[str, Any] = connection.settings_dict
    user = quote(settings["USER"] or "", safe="")
    user += f":{quote(settings['PASSWORD'], safe='')}" if settings["PASSWORD"] else ""
    host, port = settings["HOST"] or "", str(settings["PORT"] or "")
    query = {key: value for key, value in settings["OPTIONS"].items() if key in LIBPQ}
    place = "" if host.startswith("/") else host + (f":{port}" if port else "")
    if host.startswith("/"):
        query |= {"host": host, **({"port": port} if port else {})}
    netloc = f"{user}@{place}" if user else place
    path = f"/{quote(name or settings['NAME'])}"
    return str(urlunsplit(("postgresql", netloc, path, urlencode(query), "")))


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/healthz", timeout=5).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False

"""pgbouncer in transaction mode before the database of the test, with so few sessions that everybody shares them."""

import contextlib
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection

from tests.operations.sites import a_port

SESSIONS = 2


def program() -> str:
    """Return the path of pgbouncer; skips where it is not installed."""
    found = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not found:
        pytest.skip("Install pgbouncer (Debian: apt-get install pgbouncer).")
    return found


@contextlib.contextmanager
def pooled(folder: Path) -> Iterator[str]:
    """Run pgbouncer until the end of the block; gives the address of the database through it."""
    path, port, settings = program(), a_port(), connection.settings_dict
    (folder / "users").write_text(f'"{settings["USER"]}" ""\n')
    (folder / "pgbouncer.ini").write_text(_configuration(folder, port))
    words = [path, "-q", *_as_whoever_may(settings["HOST"]), str(folder / "pgbouncer.ini")]
    for one in (folder, *folder.iterdir()):  # it reads them as somebody else where we are root
        one.chmod(0o755 if one.is_dir() else 0o644)
    url = f"postgresql://{quote(settings['USER'])}@127.0.0.1:{port}/{settings['NAME']}"
    with (folder / "pgbouncer.log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd="/")
        try:
            _wait(url, process, folder / "pgbouncer.log")
            yield url
        finally:
            process.terminate()
            process.wait(timeout=30)


def _configuration(folder: Path, port: int) -> str:
    settings = connection.settings_dict
    return f"""
[databases]
* = host={settings["HOST"]} port={settings["PORT"] or 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {SESSIONS}
min_pool_size = {SESSIONS}
server_round_robin = 1
max_client_conn = 100
ignore_startup_parameters = extra_float_digits
"""


def _as_whoever_may(socket: str) -> list[str]:
    """pgbouncer refuses to be root, and only its owner may enter the socket's folder of a throw-away server."""
    if os.geteuid() != 0:
        return []
    owner = Path(socket).stat().st_uid if socket.startswith("/") else pwd.getpwnam("nobody").pw_uid
    return ["-u", pwd.getpwuid(owner).pw_name]


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=2):
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text())

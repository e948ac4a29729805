import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from workbench.folder import StartRefused
from workbench.postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    _socket_folder,
    embedded_url,
    throw_away,
)

ROOT = Path(__file__).resolve().parents[2]
USER_OF_THE_SERVER = """
import sys, time
from pathlib import Path
from workbench.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1]), durable=False) as url:
    print(url, flush=True)
    time.sleep(600)
"""

THROW_AWAY = """
import time
from workbench.postgres import throw_away
with throw_away() as url:
    print(url, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def folder(server_folder):
    return server_folder


def start_user(folder):
    command = [sys.executable, "-c", USER_OF_THE_SERVER, str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def kill(process):
    process.kill()
    process.wait()
    process.stdout.close()


def runs(folder):
    return EmbeddedPostgres(folder).postmaster() is not None


def ask(url, question):
    with psycopg.connect(url) as connection:
        return connection.execute(question).fetchone()[0]


def test_it_starts_with_its_first_user_and_stops_with_its_last(folder):
    first, second = EmbeddedPostgres(folder, durable=False), EmbeddedPostgres(folder, durable=False)
    url = first.attach()
    assert second.attach() == url == embedded_url(folder)
    first.detach()
    assert ask(url, "SELECT 1") == 1
    second.detach()
    assert not runs(folder)
    second.detach()


def test_it_is_private_checked_and_in_utf8(folder):
    server = EmbeddedPostgres(folder, durable=False)
    with server as url:
        assert ask(url, "SHOW listen_addresses") == ""
        assert ask(url, "SHOW data_checksums") == "on"
        assert ask(url, "SHOW server_encoding") == "UTF8"
        assert ask(url, "SELECT datlocale FROM pg_database WHERE datname = 'workbench'") == "C.UTF-8"
        assert ask(url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        assert stat.S_IMODE(server.database_folder.stat().st_mode) == 0o700
        assert not [
            c for c in server.postmaster().net_connections() if c.status == "LISTEN" and c.family != 1
        ]


def test_it_survives_kill_9_of_its_parent_and_is_found_again(folder):
    process = start_user(folder)
    before = EmbeddedPostgres(folder).postmaster()
    kill(process)
    assert before.is_running()
    server = EmbeddedPostgres(folder, durable=False)
    with server as url:
        assert server.postmaster().pid == before.pid
        assert ask(url, "SELECT 1") == 1
    assert not runs(folder)


def test_a_second_user_keeps_it_alive(folder):
    process = start_user(folder)
    try:
        with EmbeddedPostgres(folder, durable=False):
            pass
        assert runs(folder)
    finally:
        kill(process)


def test_ctrl_c_in_the_terminal_does_not_reach_it(folder):
    with EmbeddedPostgres(folder, durable=False):
        assert os.getsid(EmbeddedPostgres(folder).postmaster().pid) != os.getsid(0)


def test_a_stale_pid_file_with_a_reused_number_does_not_fool_it(folder):
    server = EmbeddedPostgres(folder, durable=False)
    server.attach()
    lines = (server.database_folder / "postmaster.pid").read_text().split("\n")
    server.detach()
    # The number of a living process of the server's own user is what PostgreSQL itself would fall for.
    sleeper = subprocess.Popen(["sleep", "600"], **as_server_user(server))
    try:
        reused = "\n".join([str(sleeper.pid), *lines[1:]])
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (server.database_folder / name).write_text(reused)
        with server as url:
            assert ask(url, "SELECT 1") == 1
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def as_server_user(server):
    user = server._server_user()
    return {} if user is None else {"user": user[0], "group": user[1], "extra_groups": []}


def test_it_recovers_when_the_server_itself_was_killed(folder):
    server = EmbeddedPostgres(folder, durable=False)
    server.attach()
    postmaster = server.postmaster()
    postmaster.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while server.postmaster() is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    with EmbeddedPostgres(folder, durable=False) as url:
        assert ask(url, "SELECT 1") == 1
        server.detach()


def test_a_path_too_long_for_a_socket_gets_a_short_one(folder):
    deep = Path("/tmp") / ("x" * 120)
    assert len(str(_socket_folder(deep))) < 60
    assert _socket_folder(deep) != _socket_folder(Path("/tmp") / ("y" * 120))
    assert _socket_folder(folder) == folder / "postgres"


def test_a_folder_of_another_version_is_refused(tmp_path):
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedPostgresError, match=r"PostgreSQL 16.*PostgreSQL 18.*WORKBENCH_DATA"):
        EmbeddedPostgres(tmp_path).attach()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StartRefused, match=r"cannot be written.*WORKBENCH_DATA"):
        EmbeddedPostgres(tmp_path / "file" / "folder").attach()


def test_a_failed_start_names_the_log(folder):
    server = EmbeddedPostgres(folder, durable=False)
    with server:
        pass
    configuration = server.database_folder / "postgresql.conf"
    sound = configuration.read_text()
    try:
        configuration.write_text(sound + "\nnonsense = 1\n")
        with pytest.raises(EmbeddedPostgresError, match=r"server\.log"):
            server.attach()
    finally:
        configuration.write_text(sound)
        server.detach()


def test_no_second_server_starts_beside_what_a_killed_one_left_at_work(folder):
    """Whoever is in the middle of a long computation does not notice at once that its server was killed."""
    with EmbeddedPostgres(folder, durable=False) as url:
        line = psycopg.connect(url, autocommit=True)
        left = psutil.Process(line.info.backend_pid)
        line.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 60000000)")
        EmbeddedPostgres(folder).postmaster().kill()
        was_at_work = works(left)
        with EmbeddedPostgres(folder, durable=False) as again:
            assert not works(left)
            assert ask(again, "SELECT 1") == 1
        assert was_at_work
        line.close()


def works(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_throw_away_server_leaves_nothing_even_after_kill_9():
    process = subprocess.Popen(
        [sys.executable, "-c", THROW_AWAY], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    url = process.stdout.readline().strip()
    assert ask(url, "SHOW fsync") == "off"
    socket = Path(psycopg.conninfo.conninfo_to_dict(url)["host"])
    kill(process)
    deadline = time.monotonic() + 15
    while socket.parent.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not socket.parent.exists()
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(socket) in (p.info["cmdline"] or [])]


def test_a_throw_away_server_ends_with_its_context():
    with throw_away() as url:
        socket = Path(psycopg.conninfo.conninfo_to_dict(url)["host"])
        assert ask(url, "SELECT current_user") == "workbench"
    assert not socket.parent.exists()

"""PostgreSQL is stopped at once, again and again, under eight processes that commit through the gates."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest
from django.db import connection

from tests.races.racing import say
from tests.storms.counting import Counters
from tests.storms.writing import WRITERS
from workbench.postgres import EmbeddedPostgres, _programs, throw_away

pytestmark = pytest.mark.django_db  # for the tables that are copied; what is stopped is another server
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120


class Server:
    """A PostgreSQL that syncs to disk, to be stopped from outside."""

    def __init__(self, url):
        self.url = url
        self.held = EmbeddedPostgres(Path(parse_qs(urlsplit(url).query)["host"][0]).parent)

    def order(self, statement):
        """Have the server's own role carry out one statement, and let it count at once."""
        url = urlsplit(self.url)
        with psycopg.connect(url._replace(netloc="postgres@").geturl(), autocommit=True) as postgres:
            postgres.execute(statement)
            postgres.execute("SELECT pg_reload_conf()")

    def stop_at_once(self):
        """`pg_ctl stop -m immediate`: no checkpoint, nothing is finished."""
        self.held.stop("immediate")

    def kill(self):
        """kill -9 of the postmaster; the processes that serve connections then end by themselves."""
        postmaster = self.held.postmaster()
        served = postmaster.children(recursive=True)
        postmaster.kill()
        _, left = psutil.wait_procs(served, timeout=30)
        assert not left

    def start(self):
        self.held.attach()
        self.held.detach()


@pytest.fixture(scope="module")
def server(django_db_setup, django_db_blocker, tmp_path_factory):
    """A server of its own, which no other test uses, with the tables of the workbench."""
    tables = tmp_path_factory.mktemp("tables") / "dump.sql"
    with django_db_blocker.unblock():  # migrating once more would take many times as long as copying
        _run("pg_dump", "--no-owner", "-f", str(tables), "-d", _place())
    with throw_away(durable=True) as url:
        _run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-o", os.devnull, "-f", str(tables), "-d", url)
        yield Server(url)


def _place():
    """Return the address of the database of the tests."""
    return urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + connection.settings_dict["NAME"]).geturl()


def _run(program, *words):
    subprocess.run([str(_programs() / program), *words], check=True)


class Writers:
    """The eight processes; see `tests.storms.writing`."""

    def __init__(self, server, folder, shape):
        folder.mkdir()
        self.files = [folder / str(number) for number in range(WRITERS)]
        words = [sys.executable, "-m", "tests.storms.writing", folder.name, str(folder), shape]
        environment = os.environ | {"DATABASE_URL": server.url}
        self.process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert json.loads(self.process.stdout.readline()) == "ready"

    def done(self):
        """Return how many writes each was told to be committed, so far."""
        texts = [file.read_text() if file.exists() else "" for file in self.files]
        return [sum(text.count(word) for word in ("acknowledged ", "anew ", "stood ")) for text in texts]

    def go_on(self, writes):
        """Return once so many more writes are acknowledged, and each of the eight had some of them."""
        before, deadline = self.done(), time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            grown = [now - then for now, then in zip(self.done(), before, strict=True)]
            if sum(grown) >= writes and min(grown) > 0:
                return
            assert self.process.poll() is None
            time.sleep(0.02)
        raise AssertionError(self.done())

    def counted(self):
        """Let them end, and return what they and the database say afterwards."""
        found, _ = self.process.communicate("enough\n", timeout=PATIENCE)
        assert self.process.returncode == 0
        return json.loads(found)

    def end(self):
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self.process.pid).children():
                process.kill()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def writers(server, tmp_path):
    """Start writers; they end with the test."""
    with contextlib.ExitStack() as started:

        def start(name, shape):
            made = Writers(server, tmp_path / name, shape)
            started.callback(made.end)
            return made

        yield start


def test_of_what_was_acknowledged_nothing_is_lost_however_the_server_is_stopped(server, writers, whole):
    times, writes = (15, 1_500) if whole else (2, 300)
    eight = writers("stopped", "settle")
    for turn in range(times):
        eight.go_on(writes)
        server.kill() if turn % 2 else server.stop_at_once()
        server.start()
    eight.go_on(writes // 4)
    found = eight.counted()
    counters = Counters(**found["counters"])
    counters.tell(f"PostgreSQL stopped at once × {times} under {WRITERS} writers")
    say(f"of {counters.unknown} answers that never came {found['stood']} had been committed after all")
    assert counters.whole, counters
    assert counters.unknown >= times  # else it was not stopped while they wrote
    assert counters.acknowledged == counters.attempted >= times * writes
    assert found["breaks"] == 0


def test_control_a_server_that_acknowledges_before_it_syncs_loses_what_was_acknowledged(server, writers):
    server.order("ALTER SYSTEM SET synchronous_commit = off")
    server.order(
        "ALTER SYSTEM SET wal_writer_delay = 10000"
    )  # how long an acknowledged write may stay in memory
    try:
        eight = writers("unsynced", "leave")
        eight.go_on(300)
        server.kill()
        server.start()
        counters = Counters(**eight.counted()["counters"])
    finally:
        server.order("ALTER SYSTEM RESET ALL")
    counters.tell(f"control, synchronous_commit off, {WRITERS} writers")
    assert counters.lost > 0

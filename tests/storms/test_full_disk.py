"""No room left on the disk of the database: said clearly, nothing half stored, and going on once there is room.

Two tables of the test's database are moved onto a file system in memory that holds a megabyte. Making one needs the
right to mount, and the tables a server of our own.
"""

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest
from django.db import connection

from contracts.models import Artefact, Checkpoint, Event, StoredAnswer
from tests import builders, people
from tests.client.targets import a_task, a_token
from tests.races.test_approval_http import TOKEN, cookies_of
from tests.serving import served
from tests.storms.counting import Counters
from tests.views.visiting import address

pytestmark = pytest.mark.django_db(transaction=True)
TABLES = ("contracts_checkpoint", "contracts_artefact")
SMALL, LARGE = "1m", "64m"


def mounted(folder, size, *options):
    words = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "tmpfs", str(folder)]
    return subprocess.run(words, capture_output=True, text=True)


@pytest.fixture
def room():
    """Put the tables where there is hardly any; gives the function that makes more of it."""
    socket = Path(parse_qs(urlsplit(os.environ["DATABASE_URL"]).query).get("host", ["/"])[0])
    if not (socket / "PG_VERSION").exists() and not list(socket.glob("postmaster.pid")):
        pytest.skip("the database of the tests is not ours to move")
    folder = Path(tempfile.mkdtemp(prefix="workbench-full-"))
    with contextlib.ExitStack() as undone:
        undone.callback(shutil.rmtree, folder)
        owner = socket.stat()
        made = mounted(folder, SMALL, f"uid={owner.st_uid}", f"gid={owner.st_gid}", "mode=0700")
        if made.returncode:
            pytest.skip(f"mounting is not allowed here: {made.stderr.strip()}")
        undone.callback(subprocess.run, ["umount", str(folder)], check=True)
        name = f"full_{secrets.token_hex(4)}"
        _order(socket, "postgres", f"CREATE TABLESPACE {name} LOCATION '{folder}'")
        undone.callback(_order, socket, "postgres", f"DROP TABLESPACE {name}")
        _move(socket, name)
        undone.callback(_move, socket, "pg_default")
        yield lambda: mounted(folder, f"{LARGE},remount").check_returncode()


def _move(socket, place):
    connection.close()
    for table in TABLES:
        _order(socket, connection.settings_dict["NAME"], f"ALTER TABLE {table} SET TABLESPACE {place}")


def _order(socket, database, statement):
    with psycopg.connect(host=str(socket), user="postgres", dbname=database, autocommit=True) as server:
        server.execute(statement)


def noise(characters):
    """Return a text that no compression makes much smaller."""
    return " ".join(secrets.token_hex(4) for _ in range(characters // 9))


class Visitor:
    """A worker by its token and a reviewer by the browser, of one task."""

    def __init__(self, url):
        self.contract = a_task()
        self.draft = builders.a_complete_draft(self.contract.team)  # people fill it in; the other is at work
        self.root = f"{url}/api/v1/contracts/{self.contract.task_id}"
        self.headers = {"Authorization": f"Bearer {a_token(self.contract)}"}
        self.cookies = cookies_of(people.owner(self.contract.team))
        self.url = url
        self.generation = self.post("/resume", {}, "resume").json()["attempt"]["generation"]

    def post(self, path, body, key):
        headers = self.headers | {"Idempotency-Key": key}
        return httpx.post(self.root + path, json=body, headers=headers, timeout=60)

    def decision(self):
        return httpx.get(f"{self.root}/decision", headers=self.headers, timeout=60)

    def commit(self, number, state):
        point = {"checkpoint_id": f"C-{number}", "sequence": number, "next_step": "draft"}
        point |= {"schema_version": 2, "durability": "sync", "inline_state": {"noise": state}}
        body = {"generation": self.generation, "checkpoint": point}
        return self.post("/steps/commit", body, f"commit-{number}")

    def page(self):
        return httpx.get(
            self.url + address("overview", self.contract.task_id),
            headers={"Cookie": self.cookies},
            timeout=60,
        )

    def add(self, number, text):
        values = {"artefact_id": f"L-{number}", "version_label": "1", "inline_text": text, "source": "P-1"}
        values = {f"artefact-new-{name}": value for name, value in values.items()}
        return httpx.post(
            self.url + address("row_add", self.draft.task_id, "artefact"),
            data=values | {"csrfmiddlewaretoken": TOKEN},
            headers={"Cookie": self.cookies},
            timeout=60,
        )

    def stored(self):
        found = [Checkpoint.objects.count(), Artefact.objects.count()]
        for contract in (self.contract, self.draft):
            contract.refresh_from_db()
            assert Event.objects.first_break(contract) is None
            found += [contract.event_count, contract.revision]
        return tuple(found)


def test_a_full_disk_is_told_stores_nothing_by_half_and_is_over_once_there_is_room(tmp_path, room):
    counters = Counters()
    with served(tmp_path, workers=1) as url:
        visitor = Visitor(url)
        number, states = 0, {}
        while counters.unknown == 0:
            number += 1
            states[number] = noise(60_000)
            answer = visitor.commit(number, states[number])
            counters.attempted += 1
            counters.acknowledged += answer.status_code == 201
            counters.unknown += answer.status_code != 201
            assert number < 100
        before = visitor.stored()
        assert (answer.status_code, answer.json()["code"]) == (503, "database_full")
        assert int(answer.headers["Retry-After"]) > 0
        page = visitor.add(1, noise(60_000))
        assert page.status_code == 503
        assert re.search('data-code="database_full"', page.text)
        assert (visitor.decision().status_code, visitor.page().status_code) == (200, 200)  # reading goes on
        assert visitor.stored() == before
        assert before[0] == counters.acknowledged > 0  # the control: with room the same was stored
        assert not StoredAnswer.objects.filter(key=f"commit-{number}").exists()
        room()
        assert visitor.commit(number, states[number]).status_code == 201  # the very same request
        assert visitor.add(1, noise(60_000)).status_code == 302
        counters.recovered += 1
        points, artefacts, *_ = visitor.stored()
        counters.lost = number - points
        counters.tell("disk full")
        assert (points, artefacts) == (number, 1)

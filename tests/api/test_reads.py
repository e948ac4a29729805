import hashlib
import json
import threading
import time

import pytest
from django.db import connection

from contracts.api import reads
from contracts.exports.json_form import json_sha256
from contracts.exports.snapshot import open_snapshot
from contracts.gates.approving import decide
from tests import builders, people
from tests.api.bearing import Worker

pytestmark = pytest.mark.django_db


def test_the_contract_comes_as_its_export_and_its_etag_is_the_revision():
    worker = Worker(builders.a_paused())
    answer = worker.get()
    worker.contract.refresh_from_db()
    etag = f'"{worker.contract.revision}"'
    assert (answer.status_code, answer["ETag"], answer["Content-Type"]) == (200, etag, "application/json")
    assert json.loads(answer.whole)["task_id"] == worker.contract.task_id
    with open_snapshot(worker.contract.pk) as snapshot:
        assert hashlib.sha256(answer.whole).hexdigest() == json_sha256(snapshot)
    same = worker.get("", **{"If-None-Match": etag})
    assert (same.status_code, same["ETag"], same.content) == (304, etag, b"")
    worker.resume()
    assert worker.get("", **{"If-None-Match": etag}).status_code == 200


def test_the_decision_is_told_without_changing_anything():
    worker = Worker(builders.a_paused())
    before = worker.get()["ETag"]
    told = worker.get("/decision?workflow=labels&workflow_version=4&schema_version=2").json()
    assert (told["verdict"], told["may_resume"]) == ("continue", True)
    assert [check["name"] for check in told["checks"]][:3] == ["access", "life", "integrity"]
    assert worker.get()["ETag"] == before
    other = worker.get("/decision?workflow=labels&schema_version=3").json()
    assert (other["verdict"], other["may_resume"]) == ("migrate", False)
    blocked = [check for check in other["checks"] if check["standing"] == "blocked"]
    assert [(check["name"], check["leads_to"]) for check in blocked] == [("versions", "migrate")]


def test_an_item_that_waits_is_told_at_once_without_a_wait():
    item = builders.a_waiting_item()
    worker = Worker(item.contract)
    told = worker.get(f"/approvals/{item.item_id}").json()
    assert (told["item_id"], told["state"], told["operation_key"]) == (
        item.item_id,
        "pending",
        item.operation_key,
    )


def test_beyond_the_number_of_waiters_the_answer_comes_at_once(monkeypatch):
    item = builders.a_waiting_item()
    monkeypatch.setattr(reads, "_waiters", threading.BoundedSemaphore(1))
    assert reads._waiters.acquire(blocking=False)
    answer = Worker(item.contract).get(f"/approvals/{item.item_id}?wait=30")
    assert (answer.json()["state"], answer["Retry-After"]) == ("pending", "2")


@pytest.mark.django_db(transaction=True)
def test_a_decision_ends_the_wait_and_no_connection_is_held_meanwhile(monkeypatch):
    item = builders.a_waiting_item()
    worker, carla = Worker(item.contract), people.curator(item.contract.team)
    held = []

    def sleep(_seconds):
        held.append(connection.connection is not None)
        threading.Thread(target=decided).start() if len(held) == 1 else None
        pause(0.05)

    def decided():
        try:
            builders.done(decide(contract_id=item.contract_id, **builders.word(item, carla)))
        finally:
            connection.close()

    pause = time.sleep
    monkeypatch.setattr(reads.time, "sleep", sleep)
    told = worker.get(f"/approvals/{item.item_id}?wait=30").json()
    assert (told["state"], told["decided_by"]) == ("approved", "carla")
    assert held
    assert not any(held)


@pytest.mark.django_db(transaction=True)
def test_a_wait_ends_by_itself():
    item = builders.a_waiting_item()
    told = Worker(item.contract).get(f"/approvals/{item.item_id}?wait=1").json()
    assert told["state"] == "pending"

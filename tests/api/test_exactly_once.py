import pytest

from contracts.models import Attempt, Checkpoint, Event, StoredAnswer
from tests import builders
from tests.api.bearing import Worker, a_step

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker():
    return Worker(builders.a_paused())


def test_t31_the_same_request_is_answered_with_the_same_bytes(worker):
    first = worker.post("/resume", {"framework": "none"}, key="once")
    again = worker.post("/resume", {"framework": "none"}, key="once")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert first["Content-Type"] == again["Content-Type"]
    assert again["Idempotency-Replayed"] == "true"
    assert Attempt.objects.filter(contract=worker.contract).count() == 1


def test_a_refusal_is_kept_like_any_answer(worker):
    first = worker.post("/renew", {"generation": 1}, key="refused")
    worker.resume()
    again = worker.post("/renew", {"generation": 1}, key="refused")
    assert first.status_code == again.status_code == 409
    assert first.content == again.content
    assert Event.objects.of(worker.contract.pk).filter(refused="not_open").count() == 1


def test_t31_another_body_under_the_same_key_is_refused(worker):
    worker.post("/resume", {}, key="once")
    answer = worker.post("/resume", {"framework": "other"}, key="once")
    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")
    answer = worker.post("/renew", {}, key="once")
    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")


def test_a_key_belongs_to_one_worker_and_one_contract(worker):
    other = Worker(worker.contract, worker="another")
    assert worker.post("/resume", {}, key="k").status_code == 201
    assert other.post("/resume", {}, key="k").json()["code"] == "resume_wait"
    elsewhere = Worker(builders.a_paused())
    assert elsewhere.post("/resume", {}, key="k").status_code == 201


def test_a_body_that_could_not_be_read_uses_up_its_key_too(worker):
    first = worker.post("/renew", {"generation": "x"}, key="bad")
    again = worker.post("/renew", {"generation": "x"}, key="bad")
    assert first.content == again.content
    assert Event.objects.of(worker.contract.pk).filter(act="turn_away").count() == 1


def test_what_a_gate_stored_and_its_answer_stand_together(worker):
    generation = worker.resume()
    answer = worker.post("/steps/commit", a_step(1, generation), key="step-1")
    stored = StoredAnswer.objects.get(contract=worker.contract, key="step-1")
    assert (bytes(stored.body), stored.status, stored.worker) == (answer.content, 201, "label-writer")
    assert Checkpoint.objects.filter(contract=worker.contract).count() == 1
    again = worker.post("/steps/commit", a_step(1, generation), key="step-1")
    assert again.content == answer.content


def test_a_fault_in_the_middle_stores_neither(worker, monkeypatch):
    from contracts.gates import beats

    monkeypatch.setattr(beats, "append_events", lambda *_: 1 / 0)
    answer = worker.post("/resume", {}, key="broken")
    assert (answer.status_code, answer.json()["code"]) == (500, "server_error")
    assert not StoredAnswer.objects.filter(key="broken").exists()
    assert not Attempt.objects.filter(contract=worker.contract).exists()
    monkeypatch.undo()
    assert worker.post("/resume", {}, key="broken").status_code == 201

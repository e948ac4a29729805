import pytest

from contracts.models import Attempt, Checkpoint, Event, JournalStep, WorkObject
from tests import builders
from tests.api.bearing import Worker, a_step

pytestmark = pytest.mark.django_db


def keys(**identity):
    whole = builders.complete_keys()["identity"]
    return {"identity": {**whole, "acceptance": "worker", **identity}}


def a_worker(**more):
    return Worker(builders.a_paused(**keys()), **more)


def test_it_takes_a_task_and_is_told_what_to_do():
    worker = a_worker()
    answer = worker.post(
        "/resume", {"workflow": "labels", "framework": "langgraph", "framework_handle": "t-1"}
    )
    told = answer.json()
    assert answer.status_code == 201
    assert told["attempt"]["number"] == 1
    assert told["attempt"]["generation"] == 1
    assert (told["attempt"]["lease_seconds"], told["attempt"]["renew_seconds"]) == (120, 30)
    assert told["decision"]["verdict"] == "continue"
    assert len(told["decision"]["checks"]) == 10
    assert told["decision"]["work"]["to_do"] == 1
    attempt = Attempt.objects.get(contract=worker.contract)
    assert (attempt.framework_handle, attempt.worker) == ("t-1", "label-writer")


def test_whoever_comes_second_is_told_who_holds_the_task():
    first = a_worker()
    first.resume()
    answer = Worker(first.contract, worker="another").post("/resume")
    told = answer.json()
    assert (answer.status_code, told["code"]) == (409, "resume_wait")
    assert told["attempt"]["worker"] == "label-writer"
    assert told["decision"]["verdict"] == "wait"
    assert answer["Content-Type"] == "application/problem+json"


def test_it_renews_and_lets_go():
    worker = a_worker()
    generation = worker.resume()
    renewed = worker.post("/renew", {"generation": generation})
    assert (renewed.status_code, renewed.json()["state"]) == (200, "resuming")
    released = worker.post("/release", {"generation": generation, "reason": "given_up", "note": "Tired."})
    assert (released.status_code, released.json()) == (200, {"state": "paused"})
    assert worker.post("/renew", {"generation": generation}).json()["code"] == "not_open"


def test_it_works_through_a_task_to_its_end():
    worker = a_worker()
    generation = worker.resume()
    taken = worker.post("/objects/take", {"generation": generation, "count": 5}).json()["objects"]
    assert [(row["object_id"], row["source"]["source_id"]) for row in taken] == [("O-1", "P-1")]
    begun = worker.post("/steps/begin", {"generation": generation, "key": "draft:O-1", "kind": "model_turn"})
    assert begun.json() == {
        "key": "draft:O-1",
        "state": "started",
        "first": True,
        "result": None,
        "result_location": "",
        "result_sha256": "",
    }
    step = a_step(
        1,
        generation,
        step={"key": "draft:O-1", "kind": "model_turn", "result": {"text": "Fired clay."}},
        artefacts=[
            {"artefact_id": "L-1", "version_label": "1", "inline_text": "Fired clay.", "source": "P-1"}
        ],
        objects=[{"object_id": "O-1", "accept": True, "artefact": {"artefact_id": "L-1"}}],
        usage={"tokens": "20", "model_turns": "1"},
    )
    committed = worker.post("/steps/commit", step)
    assert (committed.status_code, committed.json()) == (201, {"sequence": 1, "checkpoint_id": "C-1"})
    again = worker.post("/steps/begin", {"generation": generation, "key": "draft:O-1", "kind": "model_turn"})
    assert (again.json()["state"], again.json()["result"]) == ("done", {"text": "Fired clay."})
    assert WorkObject.objects.get(contract=worker.contract).state == "confirmed"
    done = worker.post("/release", {"generation": generation, "reason": "finished"})
    assert done.json() == {"state": "completed"}


def test_the_same_step_sent_once_more_changes_nothing():
    worker = a_worker()
    generation = worker.resume()
    step = a_step(1, generation, step={"key": "k", "kind": "decision", "result": 1})
    first = worker.post("/steps/commit", step)
    assert first.status_code == 201, first.content
    again = worker.post("/steps/commit", step)
    assert (again.status_code, again.json()) == (200, {"sequence": 1, "checkpoint_id": "C-1"})
    assert Checkpoint.objects.filter(contract=worker.contract).count() == 1
    assert JournalStep.objects.filter(contract=worker.contract).count() == 1


def test_objects_go_back_unfinished():
    worker = a_worker()
    generation = worker.resume()
    worker.post("/objects/take", {"generation": generation})
    back = worker.post(
        "/objects/return", {"generation": generation, "object_ids": ["O-1"], "note": "Not mine."}
    )
    assert back.json() == {"returned": 1}
    assert WorkObject.objects.get(contract=worker.contract).state == "pending"


def test_a_pause_is_asked_for():
    worker = a_worker()
    generation = worker.resume()
    answer = worker.post("/pause", {"generation": generation, "reason": "The lights go out."})
    assert answer.json() == {"state": "pause_requested"}
    taken = worker.post("/objects/take", {"generation": generation})
    assert (taken.status_code, taken.json()["code"]) == (409, "pause_requested")


def test_another_version_of_a_source_is_told():
    worker = a_worker()
    worker.resume()
    source = {"source_id": "P-1", "version_label": "2", "sha256": "d" * 64, "location": "archive://p/1"}
    answer = worker.post("/sources", source)
    assert (answer.status_code, answer.json()["current"]) == (201, True)
    assert worker.post("/sources", source).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/take-over", {"reason": "I want it."}),
        ("/roll-back", {"reason": "I want it.", "checkpoint_id": "C-1"}),
        ("/caps", {"reason": "I want more.", "measure": "cost", "cap": "1000"}),
    ],
)
def test_what_operators_do_is_refused_to_workers_and_recorded(path, body):
    worker = a_worker()
    answer = worker.post(path, body)
    assert (answer.status_code, answer.json()["code"]) == (403, "operator_only")
    event = Event.objects.of(worker.contract.pk).last()
    assert (event.refused, event.actor, event.actor_kind) == ("operator_only", "label-writer", "worker")


def test_a_stale_generation_is_refused_by_every_act_of_an_owner():
    worker = a_worker()
    worker.resume()
    other = {"generation": 7}
    for path, body in (
        ("/renew", {}),
        ("/complete", {}),
        ("/release", {"reason": "given_up"}),
        ("/objects/take", {"count": 1}),
        ("/objects/return", {"object_ids": ["O-1"]}),
        ("/steps/begin", {"key": "k", "kind": "decision"}),
        ("/steps/commit", a_step(1, 7)),
        ("/pause", {"reason": "No."}),
    ):
        answer = worker.post(path, {**body, **other})
        assert (path, answer.status_code, answer.json()["code"]) == (path, 409, "stale_generation")

import pytest

from contracts.gates.approving import decide
from contracts.models import Approval, Event, Operation
from contracts.rules.fingerprint import fingerprint
from tests import builders, people
from tests.api.bearing import Worker

pytestmark = pytest.mark.django_db
KNOWN = {"tool": "cms.publish", "step": "publish", "target": "cms://pages/label-1", "expected": "one page"}
CALL = {**KNOWN, "parameters": {"page": "label-1"}, "object": "O-1"}


def a_worker(**tool):
    keys = {
        "tools": [{**builders.EXAMPLES["tool"], "settle_seconds": 0, **tool}],
        "policies": [{"number": 1}],
    }
    worker = Worker(builders.a_paused(**keys))
    worker.generation = worker.resume()
    return worker


def intended(worker, **more):
    answer = worker.post("/operations", {"generation": worker.generation, **CALL, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_the_same_call_is_one_operation():
    worker = a_worker()
    operation = intended(worker)
    assert operation["state"] == "pending"
    assert operation["fingerprint"] == fingerprint(CALL["parameters"])
    assert operation["tool_contract"]["query_path"] == "cms://pages"
    again = worker.post("/operations", {"generation": worker.generation, **CALL})
    assert (again.status_code, again.json()["key"]) == (200, operation["key"])
    assert worker.get(f"/operations/{operation['key']}").json() == again.json()


def test_another_call_for_a_taken_slot_is_shown_what_stands():
    worker = a_worker()
    operation = intended(worker)
    other = worker.post(
        "/operations", {"generation": worker.generation, **CALL, "parameters": {"page": "label-2"}}
    )
    told = other.json()
    assert (other.status_code, told["code"]) == (409, "one_operation_per_slot")
    assert told["operation"]["key"] == operation["key"]


def test_it_sends_and_reports():
    worker = a_worker()
    place = f"/operations/{intended(worker)['key']}"
    sent = worker.post(f"{place}/dispatch", {"generation": worker.generation}).json()
    assert (sent["state"], sent["tries"], sent["generation"]) == ("sending", 1, worker.generation)
    told = {"generation": worker.generation, "result": "confirmed", "reference": "cms://pages/7"}
    done = worker.post(f"{place}/report", told)
    assert (done.status_code, done.json()["state"]) == (200, "confirmed")
    assert done.json()["target_reference"] == "cms://pages/7"


def test_what_may_have_left_is_unknown_until_the_target_was_asked():
    worker = a_worker()
    place = f"/operations/{intended(worker)['key']}"
    worker.post(f"{place}/dispatch", {"generation": worker.generation})
    unknown = worker.post(f"{place}/report", {"generation": worker.generation, "result": "unknown"}).json()
    assert (unknown["state"], unknown["outlook"]["ahead"]) == ("unknown", "ask")
    asked = {
        "generation": worker.generation,
        "answer": "found",
        "asked_at": unknown["settled_at"],
        "path": "cms://pages?key=1",
        "reference": "cms://pages/7",
        "count": 1,
    }
    found = worker.post(f"{place}/reconcile", asked)
    assert (found.status_code, found.json()["state"]) == (200, "confirmed"), found.content


def test_it_asks_and_is_given_what_stands():
    worker = a_worker(needs_approval=True)
    place = f"/operations/{intended(worker)['key']}"
    body = {"generation": worker.generation, "reason": "The label is due."}
    first = worker.post(f"{place}/ask", body)
    assert first.status_code == 201, first.content
    again = worker.post(f"{place}/ask", body)
    assert (again.status_code, again.json()["item_id"]) == (200, first.json()["item_id"])
    refused = worker.post(f"{place}/dispatch", {"generation": worker.generation})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_approved")
    assert refused.json()["item"]["item_id"] == first.json()["item_id"]
    item = Approval.objects.get(item_id=first.json()["item_id"])
    carla = people.curator(worker.contract.team)
    builders.done(decide(contract_id=worker.contract.pk, **builders.word(item, carla)))
    told = worker.get(f"/approvals/{item.item_id}?wait=30").json()
    assert (told["state"], told["decided_by"], told["consumed"]) == ("approved", "carla", False)
    sent = worker.post(f"{place}/dispatch", {"generation": worker.generation}).json()
    assert (sent["state"], sent["approval"]["consumed"]) == ("sending", True)


@pytest.mark.parametrize("name", ["decided_by", "decider", "approver", "decision", "state"])
def test_t09_a_body_that_names_a_decider_is_refused(name):
    worker = a_worker(needs_approval=True)
    place = f"/operations/{intended(worker)['key']}"
    body = {"generation": worker.generation, "reason": "The label is due.", name: "carla"}
    answer = worker.post(f"{place}/ask", body)
    told = answer.json()
    assert (answer.status_code, [(one["field"], one["code"]) for one in told["problems"]]) == (
        422,
        [(name, "unknown_field")],
    )
    assert not Approval.objects.filter(contract=worker.contract).exists()
    assert Event.objects.of(worker.contract.pk).last().refused == "bad_values"


def test_an_operation_is_given_up_and_a_further_round_opened():
    worker = a_worker()
    operation = intended(worker)
    place = f"/operations/{operation['key']}"
    body = {"generation": worker.generation, "reason": "Worded badly."}
    assert worker.post(f"{place}/abandon", body).json()["state"] == "abandoned"
    new = worker.post(f"{place}/round", {"parameters": {"page": "label-1", "lang": "zh"}})
    assert (new.status_code, new.json()["round"]) == (201, 2)
    assert new.json()["parameters"] == {"page": "label-1", "lang": "zh"}


def test_a_further_round_keeps_the_parameters_unless_others_are_given():
    worker = a_worker()
    operation = intended(worker)
    place = f"/operations/{operation['key']}"
    worker.post(f"{place}/abandon", {"generation": worker.generation, "reason": "Not now."})
    assert worker.post(f"{place}/round").json()["parameters"] == operation["parameters"]


def test_what_nobody_can_know_is_handed_over():
    worker = a_worker()
    place = f"/operations/{intended(worker)['key']}"
    worker.post(f"{place}/dispatch", {"generation": worker.generation})
    worker.post(f"{place}/report", {"generation": worker.generation, "result": "unknown"})
    answer = worker.post(f"{place}/escalate", {"generation": worker.generation, "reason": "No answer."})
    assert (answer.status_code, answer.json()["state"]) == (200, "unknown")
    worker.contract.refresh_from_db()
    assert worker.contract.state == "paused"


def test_a_confirmed_call_is_taken_back_by_another():
    worker = a_worker(compensation="cms.unpublish takes it down")
    place = f"/operations/{intended(worker)['key']}"
    worker.post(f"{place}/dispatch", {"generation": worker.generation})
    worker.post(f"{place}/report", {"generation": worker.generation, "result": "confirmed"})
    body = {"generation": worker.generation, **KNOWN, "parameters": {"page": "label-1"}}
    del body["step"]
    answer = worker.post(f"{place}/compensate", body)
    assert (answer.status_code, answer.json()["step"]) == (201, "compensate:publish"), answer.content


def test_what_is_not_there_is_told_by_its_own_code():
    worker = a_worker()
    missing = "0" * 64
    assert worker.get(f"/operations/{missing}").json()["code"] == "no_such_operation"
    assert (
        worker.post(f"/operations/{missing}/dispatch", {"generation": 1}).json()["code"]
        == "no_such_operation"
    )
    assert worker.post(f"/operations/{missing}/round").json()["code"] == "no_such_operation"
    assert worker.get("/approvals/item-1").json()["code"] == "no_such_item"
    assert Operation.objects.filter(contract=worker.contract).count() == 0


@pytest.mark.django_db(transaction=True)
def test_the_proxy_sends_only_what_is_left_to_it():
    worker = a_worker()
    place = f"/operations/{intended(worker)['key']}"
    answer = worker.post(f"{place}/send", {"generation": worker.generation}, key="send")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_proxied"), answer.content
    again = worker.post(f"{place}/send", {"generation": worker.generation}, key="send")
    assert again.content == answer.content

"""Every address of the API is closed by token, and a token opens only what it reaches."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from contracts.api.addresses import api
from contracts.gates.beats import database_now
from contracts.gates.tokens import revoke_token
from contracts.models import Contract, Event, WorkerToken, workers
from contracts.models.prepared import run
from contracts.rules.tokens import make_token
from tests import builders, people
from tests.api.bearing import Worker, a_key, a_step, issued
from tests.gates.watching import snapshot
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db
KEY = "0" * 64
OPERATION = {"tool": "t", "parameters": {}, "target": "a://b", "expected": "x"}
SOURCE = {"source_id": "P-1", "version_label": "2", "sha256": KEY, "location": "archive://p/1"}
ASKED = {"answer": "absent", "asked_at": "2030-01-01T00:00:00Z", "path": "a://b"}
# Name of the address that changes something → a body it can read.
POSTS = {
    "resume": {},
    "renew": {"generation": 1},
    "release": {"generation": 1, "reason": "given_up"},
    "complete": {"generation": 1},
    "pause": {"reason": "Later."},
    "begin_step": {"generation": 1, "key": "k", "kind": "decision"},
    "commit_step": a_step(1, 1),
    "take": {"generation": 1, "count": 1},
    "give_back": {"generation": 1, "object_ids": ["O-1"]},
    "change_source": SOURCE,
    "intend": {"generation": 1, "step": "s", **OPERATION},
    "ask_approval": {"reason": "Please."},
    "dispatch": {"generation": 1},
    "report": {"generation": 1, "result": "unknown"},
    "reconcile_operation": {"generation": 1, **ASKED},
    "abandon": {"generation": 1, "reason": "Not needed."},
    "escalate": {"generation": 1, "reason": "Nobody knows."},
    "compensate": {"generation": 1, **OPERATION},
    "open_round": {},
    "send": {"generation": 1},
    "take_over": {"reason": "Mine."},
    "roll_back": {"reason": "Back.", "checkpoint_id": "C-1"},
    "raise_cap": {"reason": "More.", "measure": "cost", "cap": "5"},
}
GETS = ("contracts", "contract", "decision", "operation", "item")
PAGES = ("reference", "problems", "openapi")


def names():
    """Return the names of every address below /api/v1/."""
    for one in get_resolver().url_patterns[-1].url_patterns:
        if getattr(one, "namespace", None) == "api":
            yield from (pattern.name for pattern in one.url_patterns)


def where(name, task_id="some-task"):
    given = {"operation": {"key": KEY}, "item": {"item_id": "item-1"}}.get(name, {})
    given = given or ({"key": KEY} if name in OF_AN_OPERATION else {})
    if name not in ("contracts", *PAGES):
        given = {"task_id": task_id, **given}
    if name == "nowhere":
        return "/api/v1/there/is/nothing"
    return reverse(f"contracts:api:{name}", kwargs=given)


OF_AN_OPERATION = {
    "ask_approval",
    "dispatch",
    "report",
    "reconcile_operation",
    "abandon",
    "escalate",
    "compensate",
    "open_round",
    "send",
}


def test_every_address_is_in_the_tables_of_this_file():
    assert set(names()) == {*POSTS, *GETS, *PAGES, "nowhere"}


def test_no_address_decides_an_approval():
    paths = api.get_openapi_schema()["paths"]
    assert not [path for path in paths if path.endswith(("/decide", "/approve", "/reject"))]
    bodies = api.get_openapi_schema()["components"]["schemas"]
    asked = [one["post"]["requestBody"] for one in paths.values() if "post" in one]
    read = [
        bodies[body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]["properties"]
        for body in asked
    ]
    assert len(read) == len(POSTS)
    assert not [name for body in read for name in body if "decid" in name or "decision" in name]


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete", "options", "head"])
def test_without_a_token_every_address_answers_401(method):
    client = Client()
    for name in names():
        if name in PAGES and method not in ("get", "head"):
            continue  # pages take no other method, whoever asks
        answer = getattr(client, method)(where(name))
        assert (name, answer.status_code) == (name, 401)
        assert answer["WWW-Authenticate"].startswith("Bearer")
        if method != "head":
            assert answer.json()["code"] == "token_missing"


def test_a_login_is_no_token():
    team = builders.a_team()
    contract = builders.a_paused(team)
    client = visitor(people.owner(team))
    for name in names():
        status = client.get(where(name, contract.task_id)).status_code
        assert (name, status) == (name, 200 if name in PAGES else 401)


@pytest.mark.parametrize("spoilt", ["rsw_", "rsw_" + "a" * 39, "Basic x", ""])
def test_a_token_nobody_issued_opens_nothing(spoilt):
    worker = Worker(builders.a_paused(), token=spoilt or "x")
    answer = worker.client.get(
        "/api/v1/contracts", headers={"Authorization": f"Bearer {spoilt}".encode().decode("latin-1")}
    )
    assert (answer.status_code, answer.json()["code"]) == (401, "token_unknown")
    assert spoilt[:8] not in answer.content.decode() or len(spoilt) < 8


def test_a_well_formed_token_that_is_not_stored_opens_nothing():
    answer = Worker(builders.a_paused(), token=make_token(b"x" * 20)).get()
    assert (answer.status_code, answer.json()["code"]) == (401, "token_unknown")


def test_a_revoked_token_opens_nothing_from_that_moment():
    contract = builders.a_paused()
    token = issued(contract)
    worker = Worker(contract, token=token.token)
    assert worker.get().status_code == 200
    revoke_token(actor=people.acting(people.owner(contract.team)), token_id=token.row.token_id)
    answer = worker.get()
    assert (answer.status_code, answer.json()["code"]) == (401, "token_revoked")


def test_an_expired_token_opens_nothing():
    contract = builders.a_paused()
    token = issued(contract)
    now = database_now()
    WorkerToken.objects.filter(pk=token.row.pk).update(made_at=now.replace(year=2020), expires_at=now)
    answer = Worker(contract, token=token.token).post("/resume")
    assert (answer.status_code, answer.json()["code"]) == (401, "token_expired")
    assert not Event.objects.of(contract.pk).filter(act="resume").exists()


def test_a_token_reaches_its_contracts_and_no_others():
    mine, other = builders.a_paused(), builders.a_paused()
    worker = Worker(mine)
    told = worker.client.get("/api/v1/contracts", headers={"Authorization": f"Bearer {worker.token}"}).json()
    assert [row["task_id"] for row in told["contracts"]] == [mine.task_id]
    worker.contract = other
    before = snapshot(other)
    for name in (*POSTS, *GETS[1:]):
        place = where(name, other.task_id).removeprefix(worker.place)
        answer = worker.post(place, POSTS[name]) if name in POSTS else worker.get(place)
        assert (name, answer.status_code, answer.json()["code"]) == (name, 404, "no_such_contract")
    assert snapshot(other) == before
    assert not Event.objects.of(other.pk).filter(actor="label-writer").exists()


def test_what_is_not_there_is_answered_like_what_may_not_be_seen():
    worker = Worker(builders.a_paused())
    worker.contract = Contract(task_id="never-made")
    assert worker.get().json()["code"] == "no_such_contract"


def test_every_post_needs_a_key():
    contract = builders.a_paused()
    worker = Worker(contract)
    before = snapshot(contract)
    for name, body in POSTS.items():
        place = where(name, contract.task_id).removeprefix(worker.place)
        for key in ("", "with space", "k" * 201, "schlüssel"):
            headers = {"Idempotency-Key": key.encode().decode("latin-1")} if key else {}
            answer = (
                worker.post(place, body, key="", **headers)
                if not key
                else worker.client.post(
                    worker.place + place,
                    body,
                    content_type="application/json",
                    headers={"Authorization": f"Bearer {worker.token}", **headers},
                )
            )
            assert (name, answer.status_code, answer.json()["code"]) == (name, 400, "key_missing")
    assert snapshot(contract) == before


def test_another_method_is_refused_by_its_own_code():
    worker = Worker(builders.a_paused())
    answer = worker.get("/resume")
    assert (answer.status_code, answer.json()["code"], answer["Allow"]) == (405, "method_not_allowed", "POST")


def test_an_address_that_nobody_made_is_refused_by_its_own_code():
    worker = Worker(builders.a_paused())
    answer = worker.post("/approvals/item-1/decide", {"decision": "approved"}, key=a_key())
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_address")


def test_the_last_use_is_noted_to_the_minute():
    contract = builders.a_paused()
    token = issued(contract)
    worker = Worker(contract, token=token.token)
    worker.get()
    first = WorkerToken.objects.get(pk=token.row.pk).last_used_at
    assert first is not None
    worker.get()
    assert WorkerToken.objects.get(pk=token.row.pk).last_used_at == first


def test_a_browser_without_login_is_sent_to_the_login_page():
    answer = Client().get("/api/v1/", headers={"Accept": "text/html"})
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/api/v1/")


def test_checking_a_token_and_what_it_reaches_is_one_query(django_assert_num_queries, monkeypatch):
    asked = []
    monkeypatch.setattr(workers, "run", lambda *told: asked.append(told) or run(*told))
    worker = Worker(builders.a_paused())
    worker.get("/nothing-here")
    asked.clear()
    with django_assert_num_queries(0):  # one beside them
        worker.get("/nothing-here")
    assert len(asked) == 1


@pytest.mark.parametrize("place", ["/nowhere", "/a%0Ab", "/contracts/x%0A/y"])
def test_whatever_stands_in_an_address_the_answer_is_a_problem(place):
    answer = Worker(builders.a_paused()).get(place)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")

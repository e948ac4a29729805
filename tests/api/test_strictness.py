"""What is sent must be exactly what is meant: everything else is refused by name, recorded, and changes nothing."""

import json

import pytest

from contracts.api.reading import BODY_MAX_BYTES
from contracts.models import Event, StoredAnswer
from contracts.rules.tokens import make_token
from tests import builders
from tests.api.bearing import Worker, a_step
from tests.gates.watching import snapshot

pytestmark = pytest.mark.django_db
LARGE = b'{"generation": 1, "note": "' + b"x" * BODY_MAX_BYTES + b'"}'
DEEP = b'{"a":' * 60 + b"1" + b"}" * 60
UNREADABLE = {
    "empty": (b"", 422, "bad_values", "missing"),
    "blank": (b"  ", 400, "bad_json", "missing"),
    "no json": (b"{generation: 1}", 400, "bad_json", "bad_json"),
    "cut": (b'{"generation": 1', 400, "bad_json", "bad_json"),
    "two": (b'{"generation": 1} {}', 400, "bad_json", "trailing_content"),
    "invalid utf-8": (b'{"generation": "\xff"}', 400, "bad_json", "bad_unicode"),
    "byte order mark": (b'\xef\xbb\xbf{"generation": 1}', 400, "bad_json", "byte_order_mark"),
    "twice": (b'{"generation": 1, "generation": 2}', 422, "bad_values", "duplicate_key"),
    "nan": (b'{"generation": NaN}', 422, "bad_values", "not_finite"),
    "infinity": (b'{"generation": -Infinity}', 422, "bad_values", "not_finite"),
    "beyond 2^53": (b'{"generation": 9007199254740993}', 422, "bad_values", "number_out_of_range"),
    "zero character": (b'{"generation": "\\u0000"}', 422, "bad_values", "control_character"),
    "half a character": (b'{"generation": "\\ud800"}', 400, "bad_json", "bad_unicode"),
    "deep": (DEEP, 422, "bad_values", "too_deep"),
    "list": (b"[]", 422, "bad_values", "wrong_type"),
    "null": (b"null", 422, "bad_values", "wrong_type"),
    "text": (b'"x"', 422, "bad_values", "wrong_type"),
}
VALUES = {
    "missing": ({}, "generation", "missing"),
    "null": ({"generation": None}, "generation", "null"),
    "text for a number": ({"generation": "1"}, "generation", "wrong_type"),
    "fraction": ({"generation": 1.5}, "generation", "wrong_type"),
    "true for a number": ({"generation": True}, "generation", "wrong_type"),
    "zero": ({"generation": 0}, "generation", "out_of_range"),
    "negative": ({"generation": -1}, "generation", "out_of_range"),
    "huge": ({"generation": 2**52}, "generation", "out_of_range"),
    "list": ({"generation": [1]}, "generation", "wrong_type"),
    "unknown": ({"generation": 1, "force": True}, "force", "unknown_field"),
    "decider": ({"generation": 1, "decided_by": "carla"}, "decided_by", "unknown_field"),
}


@pytest.fixture
def worker():
    return Worker(builders.a_paused())


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_body_that_cannot_be_taken_is_refused_by_its_own_code(worker, case):
    body, status, code, problem = UNREADABLE[case]
    before = snapshot(worker.contract)
    answer = worker.post("/renew", body)
    told = answer.json()
    assert (answer.status_code, told["code"], [one["code"] for one in told["problems"]]) == (
        status,
        code,
        [problem],
    )
    assert told["what_to_do"]
    assert snapshot(worker.contract) == before
    event = Event.objects.of(worker.contract.pk).last()
    assert (event.act, event.subject, event.refused, event.actor) == (
        "turn_away",
        "renew",
        code,
        "label-writer",
    )


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_makes_no_sense_is_refused_at_its_field(worker, case):
    body, field, code = VALUES[case]
    before = snapshot(worker.contract)
    answer = worker.post("/complete", body)
    told = answer.json()
    assert (answer.status_code, told["code"]) == (422, "bad_values")
    assert [(one["field"], one["code"]) for one in told["problems"]] == [(field, code)]
    assert snapshot(worker.contract) == before


def test_a_body_too_large_is_refused_and_the_limit_named(worker):
    answer = worker.post("/release", LARGE)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert str(BODY_MAX_BYTES) in answer.json()["detail"]
    answer = worker.post("/release", b"[" + b" " * (9 * 1024 * 1024) + b"]")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_another_media_type_is_refused(worker, kind):
    answer = worker.post("/resume", b"{}", **{"Content-Type": kind or "x"})
    assert (answer.status_code, answer.json()["code"]) == (415, "not_json")


def test_a_secret_is_refused_and_not_told_back(worker):
    secret = make_token(b"s" * 20)
    body = {"generation": 1, "reason": "given_up", "note": f"The token is {secret}"}
    answer = worker.post("/release", body)
    assert answer.json()["problems"][0]["code"] == "credential"
    known = "ghp_" + "A1b2C3d4E5" * 4
    other = worker.post("/renew", {"generation": 1, known: "x"})
    whole = (
        answer.content + other.content + json.dumps(list(Event.objects.values("subject", "after"))).encode()
    )
    whole += b"".join(bytes(row.body) for row in StoredAnswer.objects.all())
    assert secret.encode() not in whole
    assert known.encode() not in whole


def test_problems_within_a_step_name_their_place(worker):
    step = a_step(
        1,
        1,
        objects=[{"object_id": "O-1"}, {"object_id": "O-1\u202e", "accept": "yes"}],
        artefacts=[{"artefact_id": "L-1", "version_label": "1"}],
        usage={"tokens": "-1", "miles": "4"},
        step={"key": "k", "kind": "dream"},
    )
    step["checkpoint"]["inline_state"] = {"password": "hunter2hunter2"}
    step["checkpoint"]["schema_version"] = "two"
    told = worker.post("/steps/commit", step).json()
    found = {one["field"]: one["code"] for one in told["problems"]}
    assert found["checkpoint/inline_state"] == "credential"
    assert found["checkpoint/schema_version"] == "wrong_type"
    assert found["step/kind"] == "unknown_word"
    assert found["objects/1/accept"] == "wrong_type"
    assert "objects/1/object_id" in found
    assert found["usage/tokens"] == "out_of_range"
    assert "hunter2" not in json.dumps(told)


def test_rules_across_fields_are_told_at_their_field(worker):
    step = a_step(1, 1, artefacts=[{"artefact_id": "L-1", "version_label": "1"}], usage={"miles": "4"})
    assert worker.post("/steps/commit", step).json()["problems"][0]["field"] == "usage"
    del step["usage"]
    told = worker.post("/steps/commit", step).json()
    assert [(one["field"], one["code"]) for one in told["problems"]] == [
        ("artefacts/0/location", "location_or_inline")
    ]
    many = a_step(1, 1, objects=[{"object_id": f"O-{n}"} for n in range(501)])
    assert worker.post("/steps/commit", many).json()["problems"][0]["code"] == "too_many"


def test_null_stands_only_where_any_json_is_taken(worker):
    step = a_step(1, 1, step=None)
    told = worker.post("/steps/commit", step).json()
    assert [(one["field"], one["code"]) for one in told["problems"]] == [("step", "null")]


def test_sentences_come_in_the_language_asked_for(worker):
    english = worker.post("/renew", {"generation": 1}, **{"Accept-Language": "en"}).json()
    chinese = worker.post("/renew", {"generation": 1}, **{"Accept-Language": "zh-hans"}).json()
    assert english["code"] == chinese["code"]
    assert english["detail"] != chinese["detail"]


@pytest.mark.parametrize("wait", ["-1", "31", "x", "1.5", ""])
def test_a_wait_out_of_range_is_refused(worker, wait):
    answer = worker.get(f"/approvals/item-1?wait={wait}")
    assert (answer.status_code, answer.json()["problems"][0]["field"]) == (422, "wait")
    assert answer.json()["code"] == "bad_values"


def test_an_unknown_name_in_a_query_is_refused(worker):
    answer = worker.get("/decision?workflow=labels&colour=blue")
    assert [(one["field"], one["code"]) for one in answer.json()["problems"]] == [("colour", "unknown_field")]

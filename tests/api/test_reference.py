import json

import pytest
from django.test import Client

from contracts.api import wording
from contracts.api.outages import SENTENCES as OUTAGES
from contracts.api.reference import document
from contracts.api.statuses import STATUSES, status_of
from contracts.rules.refusals import SENTENCES
from contracts.rules.remedies import WHAT_TO_DO
from tests import builders, people
from tests.api.bearing import Worker
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db


def reader():
    return visitor(people.viewer(builders.a_team()))


def test_every_refusal_has_a_status_of_a_refusal():
    assert {code: status_of(code) for code in SENTENCES if not 400 <= status_of(code) < 500} == {}


def test_the_tables_name_no_code_that_nobody_gives():
    assert set(STATUSES) - set(SENTENCES) == set()
    assert set(WHAT_TO_DO) - set(SENTENCES) == set()


def test_every_refusal_is_on_the_page_of_refusals_and_in_the_openapi_document():
    client = reader()
    page = client.get("/api/v1/problems").content.decode()
    listed = client.get("/api/v1/openapi.json").json()["components"]["schemas"]["Refused"]["properties"][
        "code"
    ]["examples"]
    for code in SENTENCES:
        assert f'id="{code}"' in page
        assert code in listed
    for code in ("server_error", *OUTAGES):  # no refusals, but problem documents lead here from them too
        assert f'id="{code}"' in page


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_reference_names_every_address_and_loads_nothing_from_elsewhere(language):
    client = reader()
    client.cookies["workbench_language"] = language
    page = client.get("/api/v1/").content.decode()
    for path in client.get("/api/v1/openapi.json").json()["paths"]:
        assert f" {path.removeprefix('/api/v1')}</code>" in page
    assert "cdn" not in page.lower()
    assert "https://" not in page.replace("https://www.w3.org", "")


def test_every_post_in_the_document_names_its_key_and_its_refusals():
    for path, methods in reader().get("/api/v1/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            assert operation["security"] == [{"Bearer": []}]
            assert operation["description"], path
            if method == "post":
                assert [one["in"] for one in operation["parameters"] if one["name"] == "Idempotency-Key"] == [
                    "header"
                ]
                assert "application/problem+json" in operation["responses"]["409"]["content"]


def test_a_worker_reads_the_document_with_its_token():
    worker = Worker(builders.a_paused())
    headers = {"Authorization": f"Bearer {worker.token}"}
    assert Client().get("/api/v1/openapi.json", headers=headers).status_code == 200
    assert json.loads(Client().get("/api/v1/openapi.json").content)["code"] == "token_missing"


def test_every_sentence_of_the_reference_is_marked_for_translation():
    told = [one for methods in document()["paths"].values() for one in methods.values()]
    assert {one["description"] for one in told} == {*wording.DEEDS}
    assert {one["tags"][0] for one in told} == {*wording.GROUPS}

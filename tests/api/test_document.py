"""schemathesis asks the served workbench what its OpenAPI document allows, and much that it does not."""

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from contracts.models import Event
from tests import builders
from tests.api.bearing import a_key, issued
from tests.api.generating import teach
from tests.races.racing import say
from tests.serving import served

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES, WHOLE_EXAMPLES = 3, 100
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(autouse=True)
def generating(monkeypatch):
    teach(monkeypatch)


def test_the_served_api_keeps_to_its_document(tmp_path, whole):
    contract = builders.a_paused()
    token = issued(contract).token
    headers = {"Authorization": f"Bearer {token}"}
    asked = 0

    def send(case):
        case.path_parameters = {**(case.path_parameters or {}), "task_id": contract.task_id}
        case.headers = {}
        key = {"Idempotency-Key": a_key()} if case.method == "POST" else {}
        return case.call(session=session, headers=headers | key)

    with served(tmp_path, workers=1) as address, requests.Session() as session:
        schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", headers=headers)
        for result in schema.get_all_operations():
            operation = result.ok()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                asked += ask(operation, mode, WHOLE_EXAMPLES if whole else EXAMPLES, send)
    say(f"schemathesis: {asked} requests")
    assert asked > 100
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None


def ask(operation, mode, examples, send):
    asked = []

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def probe(case):
        answer = send(case)
        asked.append(answer.status_code)
        case.validate_response(answer, checks=CHECKS)
        body = case.meta.components.get(ParameterLocation.BODY) if case.meta else None
        if body is not None and body.mode is GenerationMode.NEGATIVE:
            assert 400 <= answer.status_code < 500, (case.body, answer.text)

    try:
        probe()
    except schemathesis.core.errors.SchemathesisError as error:
        if mode is GenerationMode.POSITIVE:
            raise
        say(f"{operation.label}: {error}")  # nothing about it can be wrong
    return len(asked)

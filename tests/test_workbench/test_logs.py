"""Lines of JSON: one for each request, and in none of them anything that somebody typed."""

import io
import json
import logging

import pytest
from django.db import DatabaseError, OperationalError, connection
from django.test import Client

from contracts.models.workers import WorkerToken
from contracts.rules.tokens import token_digest
from tests import builders, people
from tests.api.bearing import Worker
from tests.gates.workers.owners import a_held
from tests.views.visiting import visitor
from workbench.logs import JsonLines
from workbench.observing import requests

SECRET = "hunter22"
CREDENTIAL = "rsw_" + "a" * 39
pytestmark = pytest.mark.django_db


class Lines(io.StringIO):
    """What a program would read."""

    def told(self):
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def of_requests(self):
        return [line for line in self.told() if line["logger"] == requests.log.name]


@pytest.fixture
def lines(monkeypatch):
    written = Lines()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [handler])
    monkeypatch.setattr(root, "level", logging.INFO)
    monkeypatch.setattr(requests.log, "level", logging.INFO)
    logging.getLogger().manager._clear_cache()  # whether a level is wanted is remembered
    yield written
    logging.getLogger().manager._clear_cache()


def test_each_request_has_one_line_with_its_route_and_not_its_path(lines):
    contract = builders.a_draft()
    owner = people.owner(contract.team)
    answer = visitor(owner).get(f"/contracts/{contract.task_id}/?q={SECRET}")
    (line,) = lines.of_requests()
    assert answer.headers["X-Request-ID"] == line["request_id"]
    assert line["ms"] > 0
    told = {name: line[name] for name in ("method", "route", "status", "user", "level")}
    assert told == {
        "method": "GET",
        "route": "contracts/<task:task_id>/",
        "status": 200,
        "user": owner.pk,
        "level": "INFO",
    }
    assert contract.task_id not in lines.getvalue()


def test_a_worker_is_named_by_what_people_call_its_token(lines):
    worker = Worker(a_held())
    assert worker.get("/decision").status_code == 200
    (line,) = lines.of_requests()
    assert line["token"] == WorkerToken.objects.get(digest=token_digest(worker.token)).token_id
    assert "user" not in line
    assert worker.token not in lines.getvalue()


@pytest.mark.parametrize("given", ["a", "x" * 64, "7f3.A_b-c"])
def test_a_harmless_id_is_kept_from_proxy_to_log(client, lines, given):
    answer = client.get("/livez", headers={"X-Request-ID": given})
    assert answer.headers["X-Request-ID"] == given
    assert [line["request_id"] for line in lines.of_requests()] == [given]


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\nb", "ä", "a;b", CREDENTIAL])
def test_any_other_id_is_replaced(client, lines, given):
    made = client.get("/livez", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    again = client.get("/livez", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert made != again
    assert requests.HARMLESS.fullmatch(made)
    if given:
        assert given not in lines.getvalue()


def everywhere(client, path):
    """Ask with a secret in every place a request has."""
    client.cookies["workbench_session"] = client.cookies["other"] = SECRET
    names = ("Authorization", "User-Agent", "Referer", "Origin", "X-Anything", "Idempotency-Key")
    headers = dict.fromkeys(names, SECRET)
    place = f"{path}?{SECRET}={SECRET}"
    return [
        client.get(place, headers=headers),
        client.post(place, {SECRET: SECRET}, headers=headers),
        client.post(place, f'{{"{SECRET}": "{SECRET}"', content_type="application/json", headers=headers),
        client.generic(SECRET, place, headers=headers),
    ]


@pytest.mark.parametrize(
    "path", ["/", "/login/", "/livez", "/worksheet/", f"/nothing/{SECRET}/", f"/api/v1/contracts/{SECRET}"]
)
def test_no_secret_of_a_request_is_in_any_line(lines, path):
    answers = everywhere(Client(enforce_csrf_checks=True), path)
    assert len(lines.of_requests()) == len(answers)
    assert SECRET not in lines.getvalue()


def test_no_secret_of_a_request_that_breaks_is_in_any_line(lines, monkeypatch):
    def break_with_what_was_typed(request, *_, **__):
        raise ValueError(f"{request.body!r} {request.META['QUERY_STRING']} {SECRET}")

    monkeypatch.setattr("contracts.views.glossary.render", break_with_what_was_typed)
    for client in (Client(raise_request_exception=False), Client(raise_request_exception=False)):
        assert client.get(f"/glossary/?q={SECRET}").status_code == 500
    assert SECRET not in lines.getvalue()
    broken = [line for line in lines.told() if line["logger"] == "django.request"]
    assert [line["message"] for line in broken] == ["500 glossary/"] * 2
    assert {line["request_id"] for line in broken} == {line["request_id"] for line in lines.of_requests()}
    assert "break_with_what_was_typed" in broken[0]["traceback"]  # where
    assert broken[0]["traceback"].endswith("builtins.ValueError")  # and of which kind


def test_no_secret_of_a_broken_call_of_the_api_is_in_any_line(lines, monkeypatch):
    def break_with_what_was_typed(*_, **__):
        raise ValueError(SECRET)

    worker = Worker(a_held())
    monkeypatch.setattr("contracts.api.reads.decide", break_with_what_was_typed)
    assert worker.get(f"/decision?build={SECRET}").status_code == 422
    assert worker.get("/decision").status_code == 500
    assert SECRET not in lines.getvalue()
    assert worker.contract.task_id not in lines.getvalue()


def test_a_host_that_nobody_serves_is_not_repeated(client, lines):
    assert client.get("/glossary/", headers={"Host": f"{SECRET}.example"}).status_code == 400
    assert SECRET not in lines.getvalue()


def test_the_database_shows_no_row_in_a_line(lines):
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT %s::text::integer", [SECRET])
    try:
        raise DatabaseError(f'invalid input: "{SECRET}"')
    except DatabaseError:
        logging.getLogger("x").exception("it broke\nDETAIL:  Key (a)=(%s) exists.", SECRET)
    assert SECRET not in lines.getvalue()
    (line,) = lines.told()
    assert line["message"] == "it broke"
    assert line["traceback"].endswith("django.db.utils.DatabaseError")


def test_what_speaks_of_the_machine_is_told(lines):
    try:
        try:
            raise OSError("no route to host")
        except OSError as error:
            raise OperationalError(f"connection failed\nDETAIL:  {SECRET}") from error
    except OperationalError:
        logging.getLogger("x").exception("it broke")
    trace = lines.told()[0]["traceback"]
    assert "django.db.utils.OperationalError: connection failed" in trace
    assert "builtins.OSError: no route to host" in trace
    assert SECRET not in trace


def test_nothing_that_comes_with_a_record_is_told_unless_it_is_named(lines):
    logging.getLogger("x").info("said", extra={"body": SECRET, "status": 200})
    (line,) = lines.told()
    assert line["status"] == 200
    assert set(line) == {"time", "level", "logger", "message", "status"}


def test_a_line_holds_one_object_whatever_is_said(lines):
    logging.getLogger("x").info('one\ntwo "three" 展览')
    assert lines.getvalue().count("\n") == 1
    assert lines.told()[0]["message"] == 'one\ntwo "three" 展览'

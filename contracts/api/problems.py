"""Refusals as problem documents (RFC 9457): the stable code, the sentence, and what to do about it."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import gettext

from contracts.api.statuses import status_of
from contracts.forms.words import said
from contracts.gates.answers import Answer
from contracts.gates.witnesses import answered
from contracts.rules.refusals import refusal
from contracts.rules.remedies import what_to_do
from contracts.rules.verdict import Problem, Verdict
from contracts.rules.words import N_

JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"
API = "/api/v1/"
# What is no refusal: the program or the database failed, and nobody was asked.
FAULT = N_("Something went wrong here; whether it was done is not known.")
AGAIN = N_("Send the same request again with the same key.")


class Turned(Exception):
    """A request that no gate is asked about; `verdict` says why, `headers` what else the answer bears."""

    def __init__(self, code: str, *, headers: Mapping[str, str] | None = None, **values: Any) -> None:
        super().__init__(code)
        self.verdict = refusal(code, **values)
        self.headers = dict(headers or {})


def as_json(document: Mapping[str, Any]) -> bytes:
    """Return the document in UTF-8, closed by a line end; the same document gives the same bytes."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def problem_document(
    verdict: Verdict, status: int, outcome: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the problem document of a refusal; `outcome` is what stands instead, under names of its own."""
    return {
        "type": f"{settings.WORKBENCH_ADDRESS}{API}problems#{verdict.code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": said(verdict),
        "code": verdict.code,
        "what_to_do": gettext(what_to_do(verdict.code)),
        "problems": [_shown(problem) for problem in verdict.problems],
        **(outcome or {}),
    }


def problem_answer(verdict: Verdict, outcome: Mapping[str, Any] | None = None) -> Answer:
    """Return what a refusal is answered."""
    status = status_of(verdict.code)
    return Answer(status, PROBLEM_TYPE, as_json(problem_document(verdict, status, outcome)))


def respond(answer: Answer, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the HTTP response of an answer; no cache keeps it."""
    response = HttpResponse(answer.body, status=answer.status, content_type=answer.content_type)
    response["Cache-Control"] = "no-store"
    for name, value in (headers or {}).items():
        response[name] = value
    return response


def turned_away(turned: Turned) -> HttpResponse:
    """Return the response to a request that no gate was asked about."""
    headers = dict(turned.headers)
    answered("ask", turned.verdict)
    if status_of(turned.verdict.code) == HTTPStatus.UNAUTHORIZED:
        known = turned.verdict.code != "token_missing"
        headers["WWW-Authenticate"] = 'Bearer realm="workbench"' + (
            ', error="invalid_token"' if known else ""
        )
    return respond(problem_answer(turned.verdict), headers)


def broken() -> HttpResponse:
    """Return the response to a fault of the program; nothing of it is told."""
    document = {
        "type": f"{settings.WORKBENCH_ADDRESS}{API}problems#server_error",
        "title": HTTPStatus.INTERNAL_SERVER_ERROR.phrase,
        "status": 500,
        "detail": gettext(FAULT),
        "code": "server_error",
        "what_to_do": gettext(AGAIN),
        "problems": [],
    }
    return respond(Answer(500, PROBLEM_TYPE, as_json(document)))


def _shown(problem: Problem) -> dict[str, Any]:
    return {"field": problem.field, "code": problem.code, "sentence": said(problem)}

"""The reference of the API for people and programs: one page, one list of refusals, one OpenAPI document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from contracts.api.closing import read_bearer
from contracts.api.outages import SENTENCES as OUTAGES
from contracts.api.problems import AGAIN, FAULT, Turned, turned_away
from contracts.api.statuses import status_of
from contracts.rules.refusals import SENTENCES
from contracts.rules.remedies import what_to_do

REF = "#/components/schemas/"
PLACE = re.compile(r"%\((\w+)\)[sd]")  # where a sentence names the value it is about


@dataclass(frozen=True, slots=True)
class FieldLine:
    """One field of a body: its name, its type in words, whether it must be there."""

    name: str
    kind: str
    label: str
    required: bool


@dataclass(frozen=True, slots=True)
class RouteLine:
    """One address with its method, what it does, what it takes and what it gives."""

    anchor: str
    method: str
    path: str
    text: str
    query: list[FieldLine]
    body: list[FieldLine]
    answers: list[tuple[int, str, list[FieldLine]]]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One refusal: code, status, sentence, and what to do."""

    code: str
    status: int
    sentence: str
    remedy: str


# Marked: who has neither a login nor a token is answered 401, as everywhere below this address; a browser is sent to
# the login page instead.
@login_not_required
@require_safe
def reference_page(request: HttpRequest) -> HttpResponse:
    """Show every address with what it takes and gives."""
    return _shut(request) or render(request, "api/reference.html", {"groups": _groups(), "shapes": _shapes()})


@login_not_required
@require_safe
def problem_list(request: HttpRequest) -> HttpResponse:
    """Show every refusal, with an address of its own for each code."""
    return _shut(request) or render(request, "api/problems.html", {"codes": _codes()})


@login_not_required
@require_safe
def openapi_document(request: HttpRequest) -> HttpResponse:
    """Give the OpenAPI document, from which programs are made and tested."""
    shut = _shut(request)
    if shut is not None:
        return shut
    response = JsonResponse(document(), json_dumps_params={"ensure_ascii": False})
    response["Cache-Control"] = "private, no-cache"
    return response


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document; the refusals' codes are listed in it."""
    from contracts.api.addresses import api  # it lists the pages of this file among its addresses

    found: dict[str, Any] = api.get_openapi_schema()
    found["components"]["schemas"]["Refused"]["properties"]["code"]["examples"] = sorted(SENTENCES)
    return found


def _shut(request: HttpRequest) -> HttpResponse | None:
    if request.user.is_authenticated:
        return None
    try:
        read_bearer(request)
    except Turned as turned:
        if "text/html" in request.headers.get("Accept", "") and turned.verdict.code == "token_missing":
            return redirect_to_login(request.get_full_path())
        return turned_away(turned)
    return None


def _groups() -> list[tuple[str, list[RouteLine]]]:
    groups: dict[str, list[RouteLine]] = {}
    for place, methods in document()["paths"].items():
        for method, operation in methods.items():
            line = _route(place, method, operation)
            groups.setdefault(gettext(operation["tags"][0]), []).append(line)
    return list(groups.items())


def _shapes() -> list[tuple[str, list[FieldLine]]]:
    return [(name, _fields({"$ref": REF + name})) for name in sorted(document()["components"]["schemas"])]


def _route(place: str, method: str, operation: Mapping[str, Any]) -> RouteLine:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    query = [
        FieldLine(one["name"], _kind(one["schema"]), gettext(one["schema"]["description"]), one["required"])
        for one in operation["parameters"]
        if one["in"] == "query"
    ]
    answers = [
        (int(status), _name(_schema(answer)), _fields(_schema(answer)))
        for status, answer in operation["responses"].items()
        if int(status) < 400
    ]
    return RouteLine(
        anchor=operation["operationId"],
        method=method.upper(),
        path=place,
        text=gettext(operation["description"]),
        query=query,
        body=_fields(body),
        answers=answers,
    )


def _schema(answer: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, dict[str, Any]] = answer.get("content", {})
    for one in content.values():
        schema: dict[str, Any] = one["schema"]
        return schema
    return {}


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).removeprefix(REF)


def _fields(schema: Mapping[str, Any]) -> list[FieldLine]:
    if name := _name(schema):
        schema = document()["components"]["schemas"][name]
    needed = set(schema.get("required", ()))
    return [
        FieldLine(name, _kind(one), gettext(one.get("description", "") or "–"), name in needed)
        for name, one in schema.get("properties", {}).items()
    ]


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words short enough for a table."""
    if "enum" in schema:
        return " | ".join(word for word in schema["enum"] if word)
    if name := _name(schema):
        return name
    if several := schema.get("anyOf") or schema.get("allOf"):
        return " | ".join(_kind(one) for one in several)
    if schema.get("type") == "array":
        return f"[{_kind(schema.get('items', {}))}]"
    return str(schema.get("type", "JSON"))


def _codes() -> list[CodeLine]:
    refusals = [
        CodeLine(code, status_of(code), PLACE.sub(r"{\1}", gettext(sentence)), gettext(what_to_do(code)))
        for code, sentence in SENTENCES.items()
    ]
    faults = [CodeLine("server_error", 500, gettext(FAULT), gettext(AGAIN))]
    faults += [CodeLine(code, 503, gettext(sentence), gettext(AGAIN)) for code, sentence in OUTAGES.items()]
    return sorted(refusals + faults, key=lambda line: line.code)

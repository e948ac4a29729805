"""Every address of the API, version 1, and what is answered where something goes wrong."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from contracts.api.asking import refuse_unread
from contracts.api.closing import Bearer, closed, nowhere
from contracts.api.ledger import operations
from contracts.api.outages import outage_of, unavailable
from contracts.api.problems import (
    JSON_TYPE,
    PROBLEM_TYPE,
    Turned,
    broken,
    problem_answer,
    respond,
    turned_away,
)
from contracts.api.reading import NOT_READ, StrictParser, refusal_of
from contracts.api.reads import reads
from contracts.api.reference import openapi_document, problem_list, reference_page
from contracts.api.work import operators, work

log = logging.getLogger(__name__)
KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "Another one for each request; the same one only to send the very same request again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]{1,200}$"},
}


class WorkbenchAPI(NinjaAPI):
    """The API, and the document that describes it."""

    def get_openapi_schema(self, **_: Any) -> OpenAPISchema:
        """Return the OpenAPI document: refusals are problem documents, and every POST needs its key."""
        document = super().get_openapi_schema(path_prefix="/api/v1")
        for methods in document["paths"].values():
            for method, operation in methods.items():
                if method == "post":
                    operation["parameters"].append(KEY_PARAMETER)
                for status, answer in operation["responses"].items():
                    if int(status) >= 400 and JSON_TYPE in answer.get("content", {}):
                        answer["content"][PROBLEM_TYPE] = answer["content"].pop(JSON_TYPE)
        return document

    def get_openapi_operation_id(self, operation: Any) -> str:
        """Return the name of the function that answers."""
        name: str = operation.view_func.__name__
        return name


api = WorkbenchAPI(
    title="Resume-state workbench",
    version="1",
    description="What a worker may do with a task, decided by the server.",
    auth=Bearer(),
    parser=StrictParser(),
    docs_url=None,  # its pages load from elsewhere; the reference page is our own
    openapi_url=None,
    urls_namespace="api",
)
for router in (reads, work, operations, operators):
    api.add_router("", router)


def _turned(_request: HttpRequest, error: Any) -> HttpResponse:
    return turned_away(error)


def _not_read(request: HttpRequest, error: Any) -> HttpResponse:
    """Refuse what could not be read; a request that would change something is recorded in its contract."""
    try:
        verdict = refusal_of(error)
        match = request.resolver_match
        if request.method == "POST" and match is not None:
            name = (match.url_name or "")[:60]
            return refuse_unread(request, str(match.kwargs["task_id"]), name, verdict)
    except Turned as turned:
        return turned_away(turned)
    return respond(problem_answer(verdict))


def _broken(request: HttpRequest, error: Any) -> HttpResponse:
    match = request.resolver_match
    log.error("%s %s failed", request.method, match.route if match else "", exc_info=error)
    code = outage_of(error)
    return unavailable(code) if code else broken()


api.add_exception_handler(Turned, _turned)
for kind in NOT_READ:
    api.add_exception_handler(kind, _not_read)
api.add_exception_handler(Exception, _broken)


def addresses() -> list[URLPattern]:
    """Return the addresses below /api/v1/: people read the reference, everything else needs a token."""
    found = [
        path("", reference_page, name="reference"),
        path("problems", problem_list, name="problems"),
        path("openapi.json", openapi_document, name="openapi"),
    ]
    for pattern in api.urls[0]:
        if isinstance(pattern, URLPattern) and pattern.name != "api-root":
            pattern.callback = closed(pattern.callback)
            found.append(pattern)
    found.append(re_path(r"^[\s\S]*$", closed(nowhere), name="nowhere"))
    return found

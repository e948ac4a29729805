"""The body of a request, read strictly, and what is wrong with it as problems by field."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from contracts.api.problems import JSON_TYPE, Turned
from contracts.rules import strictjson
from contracts.rules.credentials import safe_pointer
from contracts.rules.refusals import refusal
from contracts.rules.strictjson import BadJson
from contracts.rules.verdict import Problem, Verdict
from contracts.rules.words import N_

BODY_MAX_BYTES = 2 * 1024 * 1024
BODY_DEPTH, BODY_ITEMS = 40, 10_000
# What no reader of JSON can take for an object; anything else is a matter of single fields.
UNREADABLE = frozenset({"missing", "bad_unicode", "byte_order_mark", "bad_json", "trailing_content"})
UNKNOWN_FIELD = ("unknown_field", N_("There is no such field here."))
_KNOWN: Mapping[str, tuple[str, str]] = {
    "missing": ("missing", N_("This must be filled in.")),
    "extra_forbidden": UNKNOWN_FIELD,
    "model_type": ("wrong_type", N_("This must be a JSON object: names and values.")),
    "model_attributes_type": ("wrong_type", N_("This must be a JSON object: names and values.")),
    "dict_type": ("wrong_type", N_("This must be a JSON object: names and values.")),
    "list_type": ("wrong_type", N_("This must be a list.")),
    "int_parsing": ("wrong_type", N_("This must be a whole number.")),
    "int_from_float": ("wrong_type", N_("This must be a whole number.")),
    "int_type": ("wrong_type", N_("This must be a whole number.")),
}
_OUT_OF_RANGE = ("out_of_range", N_("This lies outside what the reference page says."))


class StrictParser(Parser):
    """Reads the body as I-JSON of limited size."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the value of the body; raises BadJson or Turned, which ninja wraps into an HttpError."""
        if request.content_type != JSON_TYPE:
            raise Turned("not_json")
        if len(request.body) > BODY_MAX_BYTES:
            raise too_large()
        return strictjson.parse(request.body, BODY_MAX_BYTES, BODY_DEPTH, BODY_ITEMS)


def too_large() -> Turned:
    """Return the refusal of a body that is too large; it names the limit."""
    return Turned("too_large", limit=BODY_MAX_BYTES)


def refusal_of(error: Exception) -> Verdict:
    """Return what stands in the way of a request that ninja could not read; raises Turned."""
    if isinstance(error, RequestDataTooBig):
        raise too_large()
    if isinstance(error, HttpError):
        cause = error.__cause__
        if isinstance(cause, BadJson):
            code = "bad_json" if cause.problem.code in UNREADABLE else "bad_values"
            return refusal(code, problems=(cause.problem,))
        raise cause if isinstance(cause, Turned) else error
    problems = [_problem(found) for found in getattr(error, "errors", ())]
    return refusal("bad_values", problems=tuple(problems))


def _problem(found: Mapping[str, Any]) -> Problem:
    """Return the problem of one error of pydantic; what was sent is never in it."""
    # The first part says body, query or path, the second is the name of the parameter that holds the body.
    source, *place = found["loc"]
    field = safe_pointer(place[1:] if source == "body" else place).removeprefix("/")
    kind = found["type"]
    if kind in _KNOWN:
        return Problem(field, *_KNOWN[kind])
    if kind in _PYDANTIC:
        return Problem(field, *_OUT_OF_RANGE)
    return Problem(field, kind, found["msg"], found.get("ctx", {}))


_PYDANTIC = frozenset({"greater_than_equal", "less_than_equal", "int_parsing_size"})
NOT_READ = (HttpError, ValidationError, RequestDataTooBig)

"""The door: a worker is who its token says, and sees the contracts its token reaches and no others."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from ninja.security import HttpBearer

from contracts.api.problems import Turned, turned_away
from contracts.gates.tokens import note_use
from contracts.models.workers import Bearing, find_bearing
from contracts.rules.tokens import is_token, token_digest

View = Callable[..., Any]
SCHEME = "bearer "


class Bearer(HttpBearer):
    """A worker's token in the header `Authorization: Bearer rsw_…`."""

    def __call__(self, request: HttpRequest) -> Bearing:
        """Return the token; `closed` has looked at it already."""
        bearer: Bearing = request.bearer  # type: ignore[attr-defined]
        return bearer

    def authenticate(self, request: HttpRequest, token: str) -> Any:  # noqa: ARG002  # the base class's shape
        """Return the same, for whoever comes by the way of the base class."""
        return self(request)


def read_bearer(request: HttpRequest, task_id: str = "") -> Bearing:
    """Return the live token the request bears, and what it reaches of `task_id` (one query); raises Turned."""
    header = request.headers.get("Authorization", "")
    if header[: len(SCHEME)].lower() != SCHEME:
        raise Turned("token_missing")
    token = header[len(SCHEME) :].strip()
    found = find_bearing(token_digest(token), task_id) if is_token(token) else None
    if found is None or found.closed:
        raise Turned(found.closed if found else "token_unknown")
    if found.unnoted:
        note_use(found.pk)
    return found


def closed(view: View) -> View:
    """Let `view` be reached with a token only, whatever the method; a login is no token."""

    # Marked: workers have no login. A cookie is never looked at, so that no other page can post here.
    @login_not_required
    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            request.bearer = read_bearer(request, kwargs.get("task_id", ""))  # type: ignore[attr-defined]
            response: HttpResponseBase = view(request, *args, **kwargs)
            if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
                allowed = response.headers.get("Allow", "")
                raise Turned("method_not_allowed", headers={"Allow": allowed}, methods=allowed)
        except Turned as turned:
            return turned_away(turned)
        return response

    return guarded


def nowhere(_request: HttpRequest, **_: Any) -> HttpResponseBase:
    """Answer what stands at no address of the API."""
    raise Turned("no_such_address")

"""Each request gets an id, one line in the log and one measurement; nothing of what it holds is told."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from contracts.rules.credentials import find_credential

log = logging.getLogger(__name__)
HEADER = "X-Request-ID"
HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
Answer = Callable[[HttpRequest], HttpResponseBase]
_current: ContextVar[str] = ContextVar("request_id", default="")


def current_id() -> str:
    """Return the id of the request that is being answered, or an empty string."""
    return _current.get()


class Observed:
    """The outermost middleware: whatever the others answer is seen."""

    def __init__(self, get_response: Answer) -> None:
        self._answer = get_response
        self._measure = _measurement()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, and tell of it."""
        begun = time.perf_counter()
        given = request.request_id = _id_of(request)  # type: ignore[attr-defined]
        token = _current.set(given)
        try:
            response = self._answer(request)
            response.headers[HEADER] = given
            self._tell(request, response.status_code, time.perf_counter() - begun)
        finally:
            _current.reset(token)
        return response

    def _tell(self, request: HttpRequest, status: int, seconds: float) -> None:
        method = request.method if request.method in METHODS else "OTHER"
        # The pattern, not the path: a path names a task, and may hold whatever somebody typed into it.
        route = request.resolver_match.route if request.resolver_match else ""
        if self._measure is not None:
            self._measure(str(method), route, status, seconds)
        if log.isEnabledFor(logging.INFO):
            told = {"method": method, "route": route, "status": status, "ms": round(1_000 * seconds, 1)}
            log.info("request", extra=told | _who(request))


def _measurement() -> Callable[[str, str, int, float], None] | None:
    if not settings.METRICS_TOKEN:
        return None
    from workbench.observing.counting import request_answered

    return request_answered


def _id_of(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    # A program that mixes up its headers would have its token written down everywhere.
    if HARMLESS.fullmatch(given) and find_credential(given) is None:
        return given
    return uuid.uuid4().hex


def _who(request: HttpRequest) -> dict[str, Any]:
    """Return who asked, as far as that was found out anyway: no question is put to the database for it."""
    bearer = getattr(request, "bearer", None)
    if bearer is not None:
        return {"token": bearer.token_id}
    person = getattr(request, "_cached_user", None)
    return {"user": person.pk} if person is not None and person.pk else {}

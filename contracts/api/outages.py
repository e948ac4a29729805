"""When the database cannot serve just now: which outage it is, and what a worker is told."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpResponse
from django.utils.translation import gettext
from psycopg import errors
from psycopg_pool import PoolTimeout

from contracts.api.problems import AGAIN, API, PROBLEM_TYPE, as_json, respond
from contracts.gates.answers import Answer
from contracts.rules.words import N_

RETRY_AFTER = "2"  # seconds; a client that repeats doubles its pauses by itself
AWAY = "database_away"
SENTENCES = {
    "database_busy": N_("All connections to the database are in use, so nothing was done."),
    "database_full": N_("The database has no room left, so nothing was stored. Reading still works."),
    AWAY: N_("The database does not answer; whether this was done is not known."),
}
_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (PoolTimeout, "database_busy"),
    (errors.TooManyConnections, "database_busy"),
    (errors.DiskFull, "database_full"),
)


def outage_of(error: BaseException | None) -> str:
    """Return the code of the outage that `error` stands for; an empty text if it is a fault of the program."""
    if not isinstance(error, OperationalError | InterfaceError):
        return ""
    return next((code for kind, code in _CAUSES if isinstance(error.__cause__, kind)), AWAY)


def unavailable(code: str) -> HttpResponse:
    """Return the problem document of an outage: 503, and when to come again."""
    status = HTTPStatus.SERVICE_UNAVAILABLE
    document: dict[str, Any] = {
        "type": f"{settings.WORKBENCH_ADDRESS}{API}problems#{code}",
        "title": status.phrase,
        "status": status.value,
        "detail": gettext(SENTENCES[code]),
        "code": code,
        "what_to_do": gettext(AGAIN),
        "problems": [],
    }
    answer = Answer(status.value, PROBLEM_TYPE, as_json(document))
    return respond(answer, {"Retry-After": RETRY_AFTER})

"""What machines ask that keep the workbench running: does it live, does it answer, should it be sent requests."""

from collections.abc import Callable
from functools import cache

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from workbench.stopping import is_stopping

Question = Callable[[HttpRequest], HttpResponse]


def asked_by_machines(question: Question) -> Question:
    """Let `question` be asked by whoever has no account; its answers reveal nothing else and are never kept."""
    return login_not_required(never_cache(require_safe(question)))


@asked_by_machines
def livez(_request: HttpRequest) -> HttpResponse:
    """Answer 200 "ok": this process answers. A database that is away is no reason to start it again."""
    return _well()


@asked_by_machines
def healthz(_request: HttpRequest) -> HttpResponse:
    """Answer 200 "ok" once the database answers, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return _unwell("the database does not answer")
    return _well()


@asked_by_machines
def readyz(_request: HttpRequest) -> HttpResponse:
    """Answer 200 "ok" while requests are welcome, else 503.

    They are where nobody asked for a stop, the database answers, and it has every migration of this program.
    """
    if is_stopping():
        return _unwell("stopping")
    try:
        migrated = _is_migrated()
    except DatabaseError:
        return _unwell("the database does not answer")
    return _well() if migrated else _unwell("the database is not migrated")


def _is_migrated() -> bool:
    applied = set(MigrationRecorder(connection).applied_migrations())
    return all(name in applied or (parts and parts <= applied) for name, parts in _known_migrations().items())


@cache
def _known_migrations() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return the migrations of this program, read once, and which former ones each of them stands for."""
    loader = MigrationLoader(None)
    return {name: {*loader.disk_migrations[name].replaces} for name in loader.graph.nodes}


def _well() -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def _unwell(why: str) -> HttpResponse:
    return HttpResponse(f"{why}\n", status=503, content_type="text/plain")

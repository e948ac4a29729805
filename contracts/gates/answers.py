"""Exactly once: a request that changes something is answered in the very transaction of what it did.

Whoever answers requests puts the call of a gate into `answering`; the beats claim the request's key before
anything is read and keep the answer before the commit. A twin that comes meanwhile is told that the key is
running; one that comes later is given the stored answer and changes nothing. (After the Idempotency-Key header
of the IETF's HTTPAPI working group.)
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import psycopg
from django.db import IntegrityError, connection, transaction

from contracts.models import StoredAnswer
from contracts.rules.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered: HTTP status, media type, and the body to the byte."""

    status: int
    content_type: str
    body: bytes


@dataclass(slots=True)
class Asked:
    """The request that is being answered; `render` says how a verdict is told.

    `held`: one lock is held for the whole request, so that its turns neither claim nor keep (see `answering`).
    `written`: the answer that the transaction at hand stores; `kept`: that it was committed.
    """

    contract_id: int
    worker: str
    key: str
    request_sha256: str
    render: Callable[[Verdict], Answer]
    held: bool = False
    written: Answer | None = None
    kept: Answer | None = None


class KeyRunning(Exception):
    """Another request with this key is being carried out at this moment."""


class KeyAnswered(Exception):
    """This key was answered before; `stored` is that answer."""

    def __init__(self, stored: StoredAnswer) -> None:
        super().__init__(stored.key)
        self.stored = stored


_asked: ContextVar[Asked | None] = ContextVar("asked", default=None)


def asked() -> Asked | None:
    """Return the request that is being answered, or None where a gate is called by a page or a command.

    For the one statement that writes without beats: it stores `render(verdict)` by itself and then sets `kept`.
    """
    return _asked.get()


@contextmanager
def answering(request: Asked) -> Iterator[Asked]:
    """Answer `request` inside the block; raises KeyRunning or KeyAnswered out of the gate that was called.

    A gate that takes several turns, with something slow between them, needs `held=True`: then the key is locked
    for the whole block, and the answer is stored by `settle_answer` at its end.
    """
    token = _asked.set(request)
    try:
        if request.held:
            with _held(request):
                yield request
        else:
            yield request
    finally:
        _asked.reset(token)


def claim() -> None:
    """Take the key of the request at hand for this transaction; raises KeyRunning or KeyAnswered."""
    request = _asked.get()
    if request is None or request.held or request.kept is not None:
        return
    request.written = None  # a transaction that was rolled back stored nothing
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_number(request)])
        if not cursor.fetchone()[0]:
            raise KeyRunning
    # A statement of its own: the one that locked may have looked before the former holder had committed.
    _refuse_answered(request)


def keep(verdict: Verdict) -> None:
    """Store the answer to the request at hand, whatever the verdict; the caller commits."""
    request = _asked.get()
    if request is not None and not request.held and request.kept is None:
        request.written = _store(request, verdict)


def committed() -> None:
    """Remember that the transaction that stored the answer was committed."""
    request = _asked.get()
    if request is not None:
        request.kept = request.kept or request.written


def settle_answer(request: Asked, verdict: Verdict) -> Answer:
    """Return the answer to `request`, stored now unless the gate's own transaction has stored it.

    To be called inside its `answering`.
    """
    if request.kept is not None:
        return request.kept
    if verdict.code == "contract_gone":  # nothing is left that could keep the answer
        return request.render(verdict)
    try:
        with transaction.atomic(durable=True):
            claim()
            request.kept = _store(request, verdict)
    except IntegrityError:
        _refuse_answered(request)  # a twin was quicker: what it was told is what both are told
        raise
    return request.kept


@contextmanager
def _held(request: Asked) -> Iterator[None]:
    # In a transaction of its own: between two of ours a pooler may give the session to somebody else, and with it
    # whatever a session has locked.
    with connection.wrap_database_errors, psycopg.connect(**connection.get_connection_params()) as own:
        own.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        (got,) = own.execute("SELECT pg_try_advisory_xact_lock(%s)", [_number(request)]).fetchone() or (
            False,
        )
        if not got:
            raise KeyRunning
        _refuse_answered(request)
        yield


def _refuse_answered(request: Asked) -> None:
    stored = StoredAnswer.objects.filter(
        contract_id=request.contract_id, worker=request.worker, key=request.key
    ).first()
    if stored is not None:
        raise KeyAnswered(stored)


def _store(request: Asked, verdict: Verdict) -> Answer:
    answer = request.render(verdict)
    StoredAnswer.objects.create(
        contract_id=request.contract_id,
        worker=request.worker,
        key=request.key,
        request_sha256=request.request_sha256,
        status=answer.status,
        content_type=answer.content_type,
        body=answer.body,
    )
    return answer


def _number(request: Asked) -> int:
    """Return the number of the advisory lock under which this key is carried out."""
    name = f"{request.contract_id}\n{request.worker}\n{request.key}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True)

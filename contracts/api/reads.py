"""What a worker may look at: its contracts, the resume decision, one operation, one approval item."""

import threading
import time
from collections.abc import Mapping
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.db import connection
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from ninja import Query, Router

from contracts.api.asking import reach
from contracts.api.bodies import Body, Digest, ItemId, Stated, TaskId, Waiting
from contracts.api.problems import JSON_TYPE, Turned, as_json, respond
from contracts.api.reading import UNKNOWN_FIELD
from contracts.api.shapes import READING, DecisionShape, ItemShape, OperationShape, ReachesShape, Refused
from contracts.api.telling import tell_decision, tell_item, tell_operation, tell_reach
from contracts.exports.json_form import stream_json
from contracts.exports.snapshot import open_snapshot
from contracts.exports.writing import write_pieces
from contracts.gates.answers import Answer
from contracts.gates.beats import database_now
from contracts.models import Approval, Contract, Operation
from contracts.models.standing import gather_facts, one_moment
from contracts.rules.granting import Offer, caller_of
from contracts.rules.resuming import decide
from contracts.rules.rows import safe_name
from contracts.rules.states import ApprovalState
from contracts.rules.verdict import Problem

reads = Router(tags=["Reading"])
KEPT_IN_MEMORY = 2 * 1024 * 1024
LOOK_EVERY = 0.5  # seconds
# Each waiter holds a thread of this process: some must be left for everybody else.
WAITERS = max(1, getattr(settings, "THREADS", 8) // 2)
_waiters = threading.BoundedSemaphore(WAITERS)


@reads.get("/contracts", response={200: ReachesShape, 401: Refused}, url_name="contracts")
def contracts(request: HttpRequest) -> HttpResponse:
    """Return every contract within reach of the token."""
    rows = Contract.objects.reached_by(request.auth).order_by("task_id")  # type: ignore[attr-defined]
    return _answer({"contracts": [tell_reach(row) for row in rows]})


@reads.get(
    "/contracts/{task:task_id}", response={200: dict[str, Any], 304: None, **READING}, url_name="contract"
)
def contract(request: HttpRequest, task_id: TaskId) -> HttpResponseBase:
    """Return the whole contract as exported JSON; its ETag is the revision."""
    found = reach(request, task_id).read()
    unchanged = get_conditional_response(request, _etag(found))
    if unchanged is not None:
        unchanged["ETag"] = _etag(found)
        return unchanged
    file: IO[bytes] = SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115  # the response closes it
    with open_snapshot(found.pk) as snapshot:
        write_pieces(stream_json(snapshot), file)
        etag = _etag(snapshot.contract)
    length = file.tell()
    file.seek(0)
    response = FileResponse(file, content_type=JSON_TYPE)
    response["Content-Length"] = str(length)
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    return response


@reads.get(
    "/contracts/{task:task_id}/decision", response={200: DecisionShape, **READING}, url_name="decision"
)
def decision(request: HttpRequest, task_id: TaskId, offer: Query[Stated]) -> HttpResponse:
    """Return the resume decision for this worker, with all ten checks; nothing is changed by asking."""
    _only_known(request, Stated)
    with one_moment():
        reached = reach(request, task_id)
        facts, now = gather_facts(reached.read()), database_now()
    caller = caller_of(reached.actor, Offer(**offer.model_dump()))
    return _answer(tell_decision(decide(facts, caller, now)))


@reads.get(
    "/contracts/{task:task_id}/operations/{sha256:key}",
    response={200: OperationShape, **READING},
    url_name="operation",
)
def operation(request: HttpRequest, task_id: TaskId, key: Digest) -> HttpResponse:
    """Return one operation of the ledger, with its newest approval item and what may be done with it."""
    reached = reach(request, task_id)
    row = Operation.objects.joined().filter(contract_id=reached.contract_id, key=key).first()
    if row is None:
        raise Turned("no_such_operation")
    return _answer(tell_operation(row))


@reads.get(
    "/contracts/{task:task_id}/approvals/{item:item_id}",
    response={200: ItemShape, **READING},
    url_name="item",
)
def item(request: HttpRequest, task_id: TaskId, item_id: ItemId, given: Query[Waiting]) -> HttpResponse:
    """Return one approval item; `wait` holds the answer until it is decided, at most so many seconds."""
    _only_known(request, Waiting)
    reached, wait = reach(request, task_id), given.wait
    found = _item(reached.contract_id, item_id)
    if not wait or found.state != ApprovalState.PENDING:
        return _answer(tell_item(found))
    if not _waiters.acquire(blocking=False):
        return _answer(tell_item(found), {"Retry-After": "2"})
    try:
        return _answer(tell_item(_decided(reached.contract_id, item_id, wait)))
    finally:
        _waiters.release()


def _decided(contract_id: int, item_id: str, wait: int) -> Approval:
    """Return the item once it is no longer pending, or at the end of `wait` seconds.

    Between two looks no connection to the database is held: with the pool it goes back to others.
    """
    until = time.monotonic() + wait
    while True:
        connection.close()
        time.sleep(max(0.0, min(LOOK_EVERY, until - time.monotonic())))
        found = _item(contract_id, item_id)
        over = time.monotonic() >= until or settings.STOPPING()
        if over or found.state != ApprovalState.PENDING:
            return found


def _item(contract_id: int, item_id: str) -> Approval:
    found = Approval.objects.filter(contract=contract_id, item_id=item_id).first()
    if found is None:
        raise Turned("no_such_item")
    return found


def _only_known(request: HttpRequest, shape: type[Body]) -> None:
    """Refuse names in the query that nobody would look at."""
    strange = [name for name in request.GET if name not in shape.model_fields]
    if strange:
        problems = tuple(Problem(safe_name(name), *UNKNOWN_FIELD) for name in strange)
        raise Turned("bad_values", problems=problems)


def _answer(document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> HttpResponse:
    return respond(Answer(200, JSON_TYPE, as_json(document)), headers)


def _etag(contract: Contract) -> str:
    return f'"{contract.revision}"'

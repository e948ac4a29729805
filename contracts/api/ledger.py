"""External writes as a worker does them: intend, ask, dispatch, report, find out, give up, take back."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from contracts.api import bodies
from contracts.api.asking import Reached, change
from contracts.api.bodies import Digest, TaskId
from contracts.api.shapes import CHANGING, ItemShape, OperationShape
from contracts.api.telling import tell_item, tell_operation
from contracts.gates.requesting import request_approval
from contracts.gates.rounds import open_round
from contracts.gates.sending import dispatch
from contracts.gates.workers import handing_over, ledger, proxying, reconciling
from contracts.models import Operation
from contracts.rules.ledger import AskedForm
from contracts.rules.verdict import Verdict

operations = Router(tags=["Operations and approvals"])
ALL = "/contracts/{task:task_id}/operations"
ONE = f"{ALL}/{{sha256:key}}"
KNOWN = {200: OperationShape, **CHANGING}
NEW_OR_KNOWN = {201: OperationShape, **KNOWN}
STANDING = frozenset({"one_waiting_item_per_operation", "approval_stands"})


@operations.post(ALL, response=NEW_OR_KNOWN, url_name="intend")
def intend(request: HttpRequest, task_id: TaskId, body: bodies.Intend) -> HttpResponse:
    """Store the intention of one write. The same call again gives what is stored."""
    given = body.model_dump()
    given["object_id"] = given.pop("object")
    return change(request, task_id, lambda reached: ledger.intend(**reached.of, **given), _new)


@operations.post(f"{ONE}/ask", response={200: ItemShape, 201: ItemShape, **CHANGING}, url_name="ask_approval")
def ask(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.Ask) -> HttpResponse:
    """Ask for a person's consent to this very call; an item that waits or is approved is given back as it is."""

    def told(verdict: Verdict) -> tuple[int, dict[str, Any]]:
        return 201 if verdict.allowed else 200, {**tell_item(verdict.outcome)}

    def gate(reached: Reached) -> Verdict:
        return request_approval(**reached.of, operation_key=key, **body.model_dump())

    return change(request, task_id, gate, told, good=STANDING)


@operations.post(f"{ONE}/dispatch", response=KNOWN, url_name="dispatch")
def send_off(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.OfOwner) -> HttpResponse:
    """Store that the call is about to leave; its approval is used up. Only then send it."""

    def gate(reached: Reached) -> Verdict:
        return dispatch(**reached.of, operation_key=key, generation=body.generation)

    return change(request, task_id, gate, _told)


@operations.post(f"{ONE}/report", response=KNOWN, url_name="report")
def report(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.Report) -> HttpResponse:
    """Store what became of the call. A time-out or a cut line is `unknown`, never a success."""

    def gate(reached: Reached) -> Verdict:
        return ledger.report(**reached.of, operation_key=key, **body.model_dump())

    return change(request, task_id, gate, _told)


@operations.post(f"{ONE}/reconcile", response=KNOWN, url_name="reconcile_operation")
def reconcile(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.Reconcile) -> HttpResponse:
    """Store how the target was asked about a call of unknown result; the answer says what may be done next."""
    asked = AskedForm(**body.model_dump(exclude={"generation"}))

    def gate(reached: Reached) -> Verdict:
        return reconciling.reconcile(**reached.of, operation_key=key, asked=asked, generation=body.generation)

    return change(
        request, task_id, gate, lambda verdict: (200, {**tell_operation(verdict.outcome.operation)})
    )


@operations.post(f"{ONE}/abandon", response=KNOWN, url_name="abandon")
def abandon(
    request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.OfOwnerWithReason
) -> HttpResponse:
    """Give up a pending call that was certainly never sent."""

    def gate(reached: Reached) -> Verdict:
        return ledger.abandon(**reached.of, operation_key=key, **body.model_dump())

    return change(request, task_id, gate, _told)


@operations.post(f"{ONE}/escalate", response=KNOWN, url_name="escalate")
def escalate(
    request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.OfOwnerWithReason
) -> HttpResponse:
    """Hand a call nobody can know about to the named person; the task is paused and no longer owned."""

    def gate(reached: Reached) -> Verdict:
        return handing_over.escalate(**reached.of, operation_key=key, **body.model_dump())

    return change(request, task_id, gate, _told)


@operations.post(f"{ONE}/compensate", response=NEW_OR_KNOWN, url_name="compensate")
def compensate(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.Compensate) -> HttpResponse:
    """Intend the call that takes a confirmed one back, where its tool names one."""

    def gate(reached: Reached) -> Verdict:
        return handing_over.compensate(**reached.of, operation_key=key, **body.model_dump())

    return change(request, task_id, gate, _new)


@operations.post(f"{ONE}/round", response={201: OperationShape, **CHANGING}, url_name="open_round")
def another_round(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.Round) -> HttpResponse:
    """Open the next round of a call that was rejected or given up: another operation, asked for anew."""

    def gate(reached: Reached) -> Verdict:
        parameters = body.parameters
        if parameters is None:
            former = Operation.objects.filter(contract_id=reached.contract_id, key=key)
            parameters = former.values_list("parameters", flat=True).first() or {}
        return open_round(**reached.of, operation_key=key, parameters=parameters)

    return change(request, task_id, gate, _new)


@operations.post(f"{ONE}/send", response=KNOWN, url_name="send")
def send(request: HttpRequest, task_id: TaskId, key: Digest, body: bodies.OfOwner) -> HttpResponse:
    """Let the single write proxy send the call, and get what became of it."""

    def gate(reached: Reached) -> Verdict:
        return proxying.send_by_proxy(**reached.of, operation_key=key, generation=body.generation)

    return change(request, task_id, gate, _told, held=True)


def _told(verdict: Verdict) -> tuple[int, dict[str, Any]]:
    return 200, {**tell_operation(verdict.outcome)}


def _new(verdict: Verdict) -> tuple[int, dict[str, Any]]:
    return 200 if verdict.code == "exists" else 201, {**tell_operation(verdict.outcome)}

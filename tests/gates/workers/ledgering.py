"""A worker that owns a task, and operations in every state, for the tests of the ledger."""

from datetime import timedelta
from typing import Any

from contracts.gates.beats import database_now
from contracts.gates.sending import dispatch
from contracts.gates.workers.ledger import intend
from contracts.models import Contract, Operation, ToolContract
from contracts.rules.ledger import AskedForm
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders
from tests.gates.watching import own

WORKER = builders.WORKER
OTHER = Actor("other-worker", ActorKind.WORKER)
OPERATOR = Actor("otto", ActorKind.OPERATOR)
CALL = {
    "tool": "cms.publish",
    "step": "publish",
    "object_id": "O-1",
    "parameters": {"page": "label-1"},
    "target": "cms://pages/label-1",
    "expected": "one page",
}


def a_task(tool: dict[str, Any] | None = None, **keys: Any) -> Contract:
    """Return a contract at work, owned by the worker; `tool` changes what its tool contract says."""
    known = {**builders.EXAMPLES["tool"], "concurrency": "free", **(tool or {})}
    return own(builders.a_paused(tools=[known], **keys))


def by(contract: Contract, **given: Any) -> dict[str, Any]:
    """Return what every act of the owner is told."""
    return {"actor": WORKER, "generation": contract.generation, **given}


def call(contract: Contract, **given: Any) -> dict[str, Any]:
    """Return what `intend` is told."""
    return by(contract, **CALL) | given


def intended(contract: Contract, **given: Any) -> Operation:
    """Return a pending operation."""
    operation: Operation = builders.done(intend(contract_id=contract.pk, **call(contract, **given)))
    return operation


def sending(contract: Contract, **given: Any) -> Operation:
    """Return an operation that is being sent."""
    operation = intended(contract, **given)
    known = by(contract, operation_key=operation.key)
    row: Operation = builders.done(dispatch(contract_id=contract.pk, **known))
    return row


def unknown(contract: Contract, *, ago: int = 600, **given: Any) -> Operation:
    """Return an operation of unknown result, sent `ago` seconds ago, of which its sender reported nothing since."""
    operation = sending(contract, **given)
    at = database_now() - timedelta(seconds=ago)
    rows = Operation.objects.filter(pk=operation.pk)
    rows.update(state="unknown", intended_at=at, sent_at=at, settled_at=at)
    operation.refresh_from_db()
    return operation


def asked(answer: str = "found", **given: Any) -> AskedForm:
    """Return how the target was asked, just now."""
    known = {"asked_at": database_now(), "path": "cms://pages?key=1", "reference": "cms://pages/label-1"}
    return AskedForm(**{"answer": answer, **known, **given})


def describe(contract: Contract, **columns: Any) -> None:
    """Let the tool's contract say something else."""
    ToolContract.objects.filter(contract=contract).update(**columns)

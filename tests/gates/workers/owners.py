"""Workers that hold a task, by the gate that grants it; time alone is moved by hand."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from contracts.gates.beats import database_now
from contracts.gates.workers.owning import Grant, resume
from contracts.models import Attempt, Checkpoint, Contract, Limit, WorkObject
from contracts.rules.granting import Offer
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders
from tests.gates.watching import force

WORKER = builders.WORKER
OTHER = Actor("second-writer", ActorKind.WORKER)
OPERATOR = Actor("otto", ActorKind.OPERATOR)
WHY = "The lamp is out."


def a_task(*objects: dict[str, Any], **keys: Any) -> Contract:
    """Return a paused contract with one object, or with `objects`."""
    if objects:
        keys["objects"] = list(objects)
    return builders.a_paused(**keys)


def granted(contract: Contract, actor: Actor = WORKER, **offer: Any) -> Grant:
    """Let `actor` resume, which must be granted; the contract is read again."""
    verdict = resume(contract_id=contract.pk, actor=actor, offer=Offer(**offer))
    grant: Grant = builders.done(verdict)
    contract.refresh_from_db()
    return grant


def a_held(*objects: dict[str, Any], running: bool = True, **keys: Any) -> Contract:
    """Return a contract that the worker holds; `running`: it has committed its first step."""
    contract = a_task(*objects, **keys)
    granted(contract)
    return force(contract, ContractState.RUNNING) if running else contract


def lapse(contract: Contract, *, seconds: int = 1, active: int | None = None) -> Attempt:
    """Let the lease of the open attempt have ended `seconds` ago, `active` seconds after its start."""
    attempt = Attempt.objects.get(contract=contract, ended_at__isnull=True)
    attempt.lease_end = database_now() - timedelta(seconds=seconds)
    if active is not None:
        attempt.started_at = attempt.lease_end - timedelta(seconds=active)
    attempt.save()
    return attempt


def began(contract: Contract, *, seconds: int) -> Attempt:
    """Let the open attempt have begun `seconds` ago."""
    attempt = Attempt.objects.get(contract=contract, ended_at__isnull=True)
    attempt.started_at = database_now() - timedelta(seconds=seconds)
    attempt.save()
    return attempt


def taken(contract: Contract, *object_ids: str) -> None:
    """Put objects into the hands of the open attempt."""
    attempt = Attempt.objects.get(contract=contract, ended_at__isnull=True)
    rows = WorkObject.objects.filter(contract=contract, object_id__in=object_ids)
    rows.update(state="in_progress", attempt=attempt)


def settled(contract: Contract) -> None:
    """Let every object have been accepted."""
    WorkObject.objects.filter(contract=contract).update(
        state="confirmed", settled_by="rita", settled_at=database_now()
    )


def cap(contract: Contract, measure: str, amount: str | None) -> None:
    """Let the cap of one measure be `amount`."""
    Limit.objects.filter(contract=contract, measure=measure).update(
        cap=None if amount is None else Decimal(amount)
    )


def a_checkpoint(contract: Contract, number: int, next_step: str = "publish") -> Checkpoint:
    """Commit a checkpoint of the open attempt."""
    attempt = Attempt.objects.get(contract=contract, ended_at__isnull=True)
    point: Checkpoint = Checkpoint.objects.create(
        contract=contract,
        sequence=number,
        checkpoint_id=f"C-{number}",
        attempt=attempt,
        generation=attempt.generation,
        durability="sync",
        next_step=next_step,
        schema_version=2,
        location=f"store://{number}",
        sha256="a" * 64,
        size_bytes=1,
        committed_at=database_now(),
    )
    return point

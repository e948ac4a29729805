"""Workers at work, and steps to commit, for the tests of stepping."""

from decimal import Decimal
from typing import Any

from contracts.models import Attempt, Contract, Limit, UsageEntry, WorkObject
from contracts.rules.step_reading import read_step
from contracts.rules.stepping import Step
from contracts.rules.vocabulary import Measure
from tests import builders
from tests.gates.watching import own

WORKER = builders.WORKER


def at_work(objects: int = 2, **identity: Any) -> Contract:
    """Return a contract whose worker owns it; objects O-1 … stand at their beginning."""
    keys = builders.complete_keys()
    keys["identity"] |= identity
    keys["objects"] = [{"object_id": f"O-{n}", "source": "P-1"} for n in range(1, objects + 1)]
    return own(builders.a_paused(**keys))


def holding(contract: Contract, *names: str) -> Contract:
    """Let the live attempt hold these objects, or all that are pending."""
    rows = WorkObject.objects.filter(contract=contract, state="pending")
    rows = rows.filter(object_id__in=names) if names else rows
    rows.update(state="in_progress", attempt=live(contract))
    return contract


def live(contract: Contract) -> Attempt:
    return Attempt.objects.get(contract=contract, ended_at__isnull=True)


def a_step(number: int = 1, *, sequence: int | None = None, **parts: Any) -> Step:
    """Return a step with checkpoint `C-<number>`; `parts` as a worker sends them, `checkpoint` changes its own."""
    point = {
        "checkpoint_id": f"C-{number}",
        "next_step": "draft",
        "schema_version": 2,
        "durability": "sync",
        "inline_state": {"photo": number},
        **({"sequence": sequence} if sequence else {}),
        **parts.pop("checkpoint", {}),
    }
    step, problems = read_step({"checkpoint": point, **parts})
    assert step is not None, problems
    return step


def told(contract: Contract, step: Step, **given: Any) -> dict[str, Any]:
    """Return what `commit_step` is told."""
    known = {"actor": WORKER, "generation": contract.generation, "step": step}
    return known | given


def cap(contract: Contract, measure: Measure, amount: int | None) -> None:
    Limit.objects.filter(contract=contract, measure=measure.value).update(cap=amount)


def use(contract: Contract, measure: Measure, amount: int) -> None:
    UsageEntry(
        contract=contract,
        entry_id=f"used-{measure.value}-{UsageEntry.objects.count()}",
        measure=measure.value,
        amount=Decimal(amount),
        used_at=contract.created_at,
    ).save()

"""What the model of the ledger knows of writes, workers and requests, and the scene in which it is walked."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F

from contracts.models import Attempt, Contract, Operation
from contracts.rules.vocabulary import Actor, ActorKind, Measure

WRITES = range(3)
SETTLE = timedelta(hours=1)
# How a target keeps a second page out: what it is started with, and what its tool contract says of it.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("", {"stale_owner": "none"}),
    "generation": (",checks-generation", {"stale_owner": "target_checks_generation"}),
    "key": (
        ",deduplicates",
        {"stale_owner": "target_deduplicates", "key_supported": True, "key_memory_hours": 100_000},
    ),
}
CAPS = [
    {"measure": measure.value, "cap": "1000000000", "currency": "EUR" if measure is Measure.COST else ""}
    for measure in Measure
]


class Request(NamedTuple):
    """One request on its way to the target."""

    write: int
    generation: int
    number: int


@dataclass
class Write:
    """What the model knows of one operation.

    `settled`: the settle time has passed since it can last have left. `handed_over`: only a person can tell.
    """

    key: str = ""
    state: str = ""
    sender: int = 0
    settled: bool = False
    handed_over: bool = False
    pages: int = 0


@dataclass
class Worker:
    """One generation's process. `may_send`: stored as being sent, not yet sent. `waiting`: write → request's number.

    `told`: when it told the target its generation. `told_settled`: the settle time has passed since.
    """

    generation: int
    alive: bool = True
    may_send: set[int] = field(default_factory=set)
    waiting: dict[int, int] = field(default_factory=dict)
    told: datetime | None = None
    told_settled: bool = False

    @property
    def actor(self) -> Actor:
        """Who it is to the gates."""
        return Actor(f"writer-{self.generation}", ActorKind.WORKER)

    def busy(self, write: int) -> bool:
        """Tell whether it is in the middle of sending this write."""
        return write in self.may_send or write in self.waiting


def a_call(number: int) -> dict[str, Any]:
    return {
        "tool": "cms.publish",
        "step": f"publish-{number}",
        "parameters": {"page": f"label-{number}"},
        "target": f"cms://pages/label-{number}",
        "expected": "one page",
    }


def shift(contract: Contract, by: timedelta) -> None:
    """Let everything that was done on the task have been done so much earlier."""
    moments = ("intended_at", "sent_at", "settled_at")
    Operation.objects.filter(contract=contract).update(**{name: F(name) - by for name in moments})
    names = ("started_at", "renewed_at", "progressed_at", "lease_end", "ended_at")
    Attempt.objects.filter(contract=contract).update(**{name: F(name) - by for name in names})
    for row in Operation.objects.filter(contract=contract, reconciliation__isnull=False):
        told = {
            name: _earlier(value, by) if name.endswith("_at") else value
            for name, value in row.reconciliation.items()
        }
        Operation.objects.filter(pk=row.pk).update(reconciliation=told)


def _earlier(moment: str | None, by: timedelta) -> str | None:
    return moment and (datetime.fromisoformat(moment) - by).isoformat(timespec="microseconds").replace(
        "+00:00", "Z"
    )

"""Who holds a contract just now: owner, generation and lease by the server's clock, and what is overdue."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django_htmx.http import reswap, retarget

from contracts.gates.beats import database_now
from contracts.gates.clock import UNUSED
from contracts.models import Approval, Attempt, Contract, OwnerGate
from contracts.rules.granting import HELD
from contracts.rules.states import ApprovalState, ContractState
from contracts.views.decision import ShownDecision, decide_for
from contracts.views.loading import Asked, Loaded, load_contract

QUIET_LEASES = 3  # whole leases without progress before people are told


@dataclass(frozen=True, slots=True)
class Holding:
    """The attempt that has not ended, how its lease stands, and what waits longer than was agreed."""

    attempt: Attempt | None
    generation: int
    lease_seconds: int
    now: datetime
    in_use: bool  # neither a draft nor ended: somebody holds it, or may take it up
    overdue: int
    unused: int

    @property
    def live(self) -> bool:
        """Tell whether somebody holds the contract: the lease still runs."""
        return self.attempt is not None and self._end is not None and self._end > self.now

    @property
    def lapsed(self) -> bool:
        """Tell whether the lease of an attempt that nobody ended has run out: there is no owner."""
        return self.attempt is not None and not self.live

    @property
    def _end(self) -> datetime | None:
        return self.attempt.lease_end if self.attempt else None

    @property
    def quiet_since(self) -> datetime | None:
        """Return the last progress of the open attempt, if that is longer ago than three leases."""
        if self.attempt is None:
            return None
        last = self.attempt.progressed_at or self.attempt.started_at
        return last if self.now - last > timedelta(seconds=QUIET_LEASES * self.lease_seconds) else None

    @property
    def seconds_left(self) -> int:
        """Return what is left of the lease."""
        return int((self._end - self.now).total_seconds()) if self.live and self._end else 0

    @property
    def share_left(self) -> int:
        """Return what is left of the lease in per cent of a whole one."""
        return min(100, 100 * self.seconds_left // max(1, self.lease_seconds))


def read_holding(contract: Contract, now: datetime) -> Holding:
    """Return who holds `contract` at `now`, in three queries."""
    gate = OwnerGate.objects.of(contract.pk).last()
    late = Q(state=ApprovalState.PENDING.value, expires_at__lte=now)
    unused = Q(state=ApprovalState.APPROVED.value, consumed_at__isnull=True, decided_at__lte=now - UNUSED)
    waits = list(
        Approval.objects.filter(late | unused, contract=contract, expires_at__isnull=False).values_list(
            "state", flat=True
        )
    )
    return Holding(
        attempt=Attempt.objects.of(contract.pk).filter(ended_at__isnull=True).first(),
        generation=contract.generation,
        lease_seconds=gate.lease_seconds if gate else 0,
        now=now,
        in_use=contract.state in HELD | {ContractState.PAUSED},
        overdue=waits.count(ApprovalState.PENDING.value),
        unused=waits.count(ApprovalState.APPROVED.value),
    )


@require_safe
def holder(request: Asked, task_id: str) -> HttpResponse:
    """Answer the live part of a page; the whole decision instead, if it is another than the page shows."""
    loaded = load_contract(request, task_id)
    now = database_now()
    seen = request.GET.get("mark", "")
    context = holding_context(loaded, now)
    if seen and loaded.contract.state != ContractState.DRAFT:
        shown = decide_for(loaded, now)
        if seen != shown.mark:
            return _anew(request, context, shown, seen)
        context["shown"] = shown
    return render(request, "contracts/decision.html#holder", context)


def _anew(request: Asked, context: dict[str, Any], shown: ShownDecision, seen: str) -> HttpResponse:
    verdict = seen.partition(".")[0]
    told = {"shown": shown, "announce": verdict != shown.verdict.value}
    response = render(request, "contracts/decision.html#decision", context | told)
    return reswap(retarget(response, "#decision"), "outerHTML")


def holding_context(loaded: Loaded, now: datetime) -> dict[str, Any]:
    """Return what the live part shows."""
    contract = loaded.contract
    return {"contract": contract, "holding": read_holding(contract, now), "now": now}

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from contracts.models import (
    Approval,
    Attempt,
    Contract,
    Event,
    Limit,
    Operation,
    PlaneRow,
    UsageEntry,
    WindowRow,
    WorkObject,
)
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import PLANE_QUESTIONS, Measure, Plane, Right, Section
from contracts.rules.windows import Window, WindowVerdict
from contracts.views.history import told
from contracts.views.life import ENDED, missing_by_section, offers
from contracts.views.loading import Loaded, contract_context, load_contract

RECENT_EVENTS, RECENT_ATTEMPTS = 10, 5
PER_STEP = (Measure.TRIES_PER_STEP, Measure.FAILED_RECOVERIES)
# The colour and shape of a drill's result; the word stands beside it.
DRILLED = {
    WindowVerdict.HELD: "confirmed",
    WindowVerdict.FAILED: "rejected",
    WindowVerdict.NOT_EXPRESSIBLE: "skipped",
}


@dataclass(frozen=True, slots=True)
class Gauge:
    """One measure: what was used over all attempts, and the cap if there is one."""

    label: str
    used: str
    cap: str
    share: int  # per cent of the cap, at most 100
    unit: str
    over: bool


@dataclass(frozen=True, slots=True)
class GridLine:
    """One failure window; `state` stays empty until it was really run."""

    title: str
    state: str
    word: str
    run_at: datetime | None
    run_by: str


@require_safe
def overview(request: HttpRequest, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    contract, now = loaded.contract, timezone.now()
    context = contract_context(loaded, "overview")
    expired = contract.deadline is not None and contract.deadline <= now and contract.state not in ENDED
    context |= {
        "now": now,
        "expired": expired,
        "is_draft": contract.state == ContractState.DRAFT,
        "lacking": missing_by_section(contract, context["missing"]) if loaded.may(Right.VIEW) else [],
        "offers": offers(loaded, context["missing"], now),
        "planes": _planes(contract),
        **_work(loaded, now),
        "gauges": _gauges(contract),
        "grid": _grid(contract),
        "attempts": Attempt.objects.of(contract.pk).order_by("-number")[:RECENT_ATTEMPTS],
        "events": [told(event) for event in _recent(contract)],
    }
    return render(request, "contracts/overview.html", context)


def _recent(contract: Contract) -> Any:
    return Event.objects.of(contract.pk).order_by("-sequence")[:RECENT_EVENTS]


def _planes(contract: Contract) -> list[tuple[str, str, PlaneRow]]:
    rows = {row.plane: row for row in PlaneRow.objects.of(contract.pk)}
    return [
        (gettext(plane.label), gettext(PLANE_QUESTIONS[plane]), rows[plane.value])
        for plane in Plane
        if plane.value in rows
    ]


def _work(loaded: Loaded, now: datetime) -> dict[str, Any]:
    """Return how far objects, operations and approvals are, by counts of the database."""
    contract = loaded.contract
    objects = _by_state(WorkObject.objects.of(contract.pk))
    operations = _by_state(Operation.objects.of(contract.pk))
    settled = objects[ObjectState.CONFIRMED.value] + objects[ObjectState.SKIPPED.value]
    waiting = Approval.objects.filter(
        contract=contract, state=ApprovalState.PENDING.value, expires_at__gt=now
    )
    return {
        "object_bar": [(state, objects[state.value]) for state in ObjectState],
        "object_count": objects.total(),
        "objects_left": objects.total() - settled,
        "operation_bar": [(state, operations[state.value]) for state in OperationState],
        "operation_count": operations.total(),
        "unknown_count": operations[OperationState.UNKNOWN.value],
        "waiting_count": waiting.count(),
        "waiting_url": _waiting_url(loaded, list(waiting.values_list("item_id", flat=True)[:2])),
    }


def _waiting_url(loaded: Loaded, item_ids: list[str]) -> str:
    """Return where to look at what waits: the only item itself, the queue of who decides, else the section."""
    task_id = loaded.contract.task_id
    if len(item_ids) == 1:
        try:
            return reverse("contracts:approval", args=[task_id, item_ids[0]])
        except NoReverseMatch:  # an imported item may have an id of its own kind
            pass
    elif item_ids and loaded.may(Right.DECIDE):
        return reverse("contracts:approvals")
    return reverse("contracts:section", args=[task_id, Section.APPROVALS.value])


def _by_state(rows: Any) -> Counter[str]:
    return Counter(dict(rows.order_by().values_list("state").annotate(count=Count("pk"))))


def _gauges(contract: Contract) -> list[Gauge]:
    used = UsageEntry.objects.filter(contract=contract)
    totals = used.totals() | _busiest_steps(used)
    limits = {limit.measure: limit for limit in Limit.objects.of(contract.pk)}
    return [_gauge(measure, limits.get(measure.value), totals) for measure in Measure]


def _busiest_steps(used: Any) -> dict[str, Decimal]:
    """Return, for measures capped per step, the total of the step that used most: a sum would cry wolf."""
    by_step = used.order_by().values("step").annotate(total=Sum("amount")).order_by("-total")
    found = {measure.value: by_step.filter(measure=measure.value).first() for measure in PER_STEP}
    return {measure: step["total"] for measure, step in found.items() if step}


def _gauge(measure: Measure, limit: Limit | None, totals: Mapping[str, Decimal]) -> Gauge:
    used = totals.get(measure.value, Decimal(0))
    cap = limit.cap if limit else None
    return Gauge(
        label=gettext(measure.label),
        used=_number(used),
        cap=_number(cap) if cap is not None else "",
        share=min(100, int(100 * used / cap)) if cap else 0,
        unit=limit.currency if limit else "",
        over=cap is not None and used >= cap,
    )


def _number(amount: Decimal) -> str:
    return format(amount.normalize(), ",f")


def _grid(contract: Contract) -> list[GridLine]:
    return [_grid_line(row) for row in WindowRow.objects.of(contract.pk)]


def _grid_line(row: WindowRow) -> GridLine:
    known = row.window in set(Window)
    title = gettext(Window(row.window).label) if known else row.title or row.window
    verdict = WindowVerdict(row.verdict) if row.verdict else None
    return GridLine(
        title,
        DRILLED[verdict] if verdict else "",
        gettext(verdict.label) if verdict else "",
        row.run_at,
        row.run_by,
    )

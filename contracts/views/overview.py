from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from contracts.gates.beats import database_now
from contracts.models import (
    Attempt,
    Contract,
    DrillRun,
    Event,
    Operation,
    PlaneRow,
    WindowRow,
    WorkObject,
)
from contracts.rules.states import ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import PLANE_QUESTIONS, Plane, Right
from contracts.rules.windows import Window, WindowVerdict
from contracts.views.decision import decide_for
from contracts.views.drilled import runs_behind
from contracts.views.gauges import gauges
from contracts.views.history import told
from contracts.views.holding import holding_context
from contracts.views.life import ENDED, missing_by_section, offers
from contracts.views.loading import contract_context, load_contract
from contracts.views.operating import operator_offers
from contracts.views.timeline import newest_timeline

RECENT_EVENTS, RECENT_ATTEMPTS = 10, 5
# The colour and shape of a drill's result; the word stands beside it.
DRILLED = {
    WindowVerdict.HELD: "confirmed",
    WindowVerdict.UNKNOWN_HELD: "unknown",
    WindowVerdict.FAILED: "rejected",
    WindowVerdict.NOT_EXPRESSIBLE: "skipped",
}


@dataclass(frozen=True, slots=True)
class GridLine:
    """One failure window; `state` stays empty until it was really run."""

    title: str
    state: str
    word: str
    run_at: datetime | None
    run_by: str
    run: DrillRun | None


@require_safe
def overview(request: HttpRequest, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    contract, now = loaded.contract, database_now()
    context = contract_context(loaded, "overview") | holding_context(loaded, now)
    expired = contract.deadline is not None and contract.deadline <= now and contract.state not in ENDED
    is_draft = contract.state == ContractState.DRAFT
    context |= {
        "expired": expired,
        "is_draft": is_draft,
        "export_right": Right.EXPORT,
        "shown": None if is_draft else decide_for(loaded, now),
        "lacking": missing_by_section(contract, context["missing"]) if loaded.may(Right.VIEW) else [],
        "offers": [*operator_offers(loaded, now), *offers(loaded, context["missing"], now)],
        "planes": _planes(contract),
        **_work(contract),
        "gauges": gauges(contract),
        "grid": _grid(contract),
        **newest_timeline(contract, now),
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


def _work(contract: Contract) -> dict[str, Any]:
    """Return how far objects and operations are, by counts of the database."""
    objects = _by_state(WorkObject.objects.of(contract.pk))
    operations = _by_state(Operation.objects.of(contract.pk))
    return {
        "object_bar": [(state, objects[state.value]) for state in ObjectState],
        "object_count": objects.total(),
        "operation_bar": [(state, operations[state.value]) for state in OperationState],
        "operation_count": operations.total(),
    }


def _by_state(rows: Any) -> Counter[str]:
    return Counter(dict(rows.order_by().values_list("state").annotate(count=Count("pk"))))


def _grid(contract: Contract) -> list[GridLine]:
    rows = list(WindowRow.objects.of(contract.pk))
    runs = runs_behind(rows)
    return [_grid_line(row, runs.get(row.pk)) for row in rows]


def _grid_line(row: WindowRow, run: DrillRun | None) -> GridLine:
    known = row.window in set(Window)
    title = gettext(Window(row.window).label) if known else row.title or row.window
    verdict = WindowVerdict(row.verdict) if row.verdict else None
    return GridLine(
        title,
        DRILLED[verdict] if verdict else "",
        gettext(verdict.label) if verdict else "",
        row.run_at,
        row.run_by,
        run,
    )

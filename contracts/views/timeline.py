from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import is_naive, make_aware
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from contracts.gates.beats import database_now
from contracts.models import Contract
from contracts.models.timeline_rows import extent_of
from contracts.rules.timeline import Span, Stretch, chosen, spans_of
from contracts.views.loading import contract_context, load_contract
from contracts.views.timeline_marks import look
from contracts.views.timeline_picture import SIZES, draw, legend, query_of

NEWEST_ATTEMPTS = 3  # shown on the overview


@require_safe
def timeline(request: HttpRequest, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    now = database_now()
    context = contract_context(loaded, "timeline") | {"now": now}
    extent = extent_of(loaded.contract.pk, now, newest=NEWEST_ATTEMPTS)
    if extent is not None:
        span, stretch = _asked(request.GET, extent.whole)
        context |= timeline_context(loaded.contract, stretch, now) | {
            "tabs": [
                (f"?range={one.value}", gettext(one.label), one is span) for one in spans_of(extent.whole)
            ],
            "earlier": query_of(earlier) if (earlier := stretch.before(extent.whole)) else "",
            "later": query_of(later) if (later := stretch.after(extent.whole)) else "",
        }
    return render(request, "contracts/timeline.html", context)


def newest_timeline(contract: Contract, now: datetime) -> dict[str, Any]:
    """Return the timeline of the newest attempts, for the overview; empty where nothing happened yet."""
    extent = extent_of(contract.pk, now, newest=NEWEST_ATTEMPTS)
    if extent is None:
        return {}
    start = max(extent.whole.start, extent.newest_from)
    _, stretch = chosen(Stretch(min(start, extent.whole.end), extent.whole.end), "")
    stretch = stretch.widened()
    place = reverse("contracts:timeline", args=[contract.task_id]) + query_of(stretch)
    return timeline_context(contract, stretch, now) | {"marks_at": place}


def timeline_context(contract: Contract, stretch: Stretch, now: datetime) -> dict[str, Any]:
    """Return what a page needs to show the timeline of one range of time."""
    seen = look(contract, stretch, now)
    return {
        "stretch": stretch,
        "pictures": [draw(seen, stretch, now, size) for size in SIZES],
        "legend": legend(seen),
        "lines": seen.table,
        "left_out": [(gettext(kind.label), rows) for kind, rows in seen.left_out],
        "marks_at": "",
    }


def _asked(query: QueryDict, whole: Stretch) -> tuple[Span | None, Stretch]:
    """Return the range that was asked for: by its ends, if they touch anything at all, or by its name."""
    start, end = _moment(query.get("from")), _moment(query.get("to"))
    edges = whole.widened()
    if start is not None and end is not None and max(start, edges.start) < min(end, edges.end):
        return None, Stretch(max(start, edges.start), min(end, edges.end))
    span, stretch = chosen(whole, query.get("range", ""))
    return span, stretch.widened()


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return make_aware(moment) if is_naive(moment) else moment

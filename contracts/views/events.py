from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from contracts.forms.filters import EventFilters
from contracts.models import Contract, Event
from contracts.models.people import logins_called
from contracts.views.history import act_words, part_words, told
from contracts.views.loading import contract_context, load_contract

PER_PAGE = 50
VERIFIED_AT_ONCE = 20_000  # longer chains are verified when somebody asks


@dataclass(frozen=True, slots=True)
class Chain:
    """What is known of the chain of events: nothing yet, unbroken, or where it breaks."""

    count: int
    verified: bool
    broken_at: int | None = None


@require_safe
@vary_on_headers("HX-Request")
def event_list(request: HttpRequest, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    contract = loaded.contract
    filters = EventFilters(request.GET, parts=part_words(), kinds=act_words())
    wanted = filters.understood()
    page = Paginator(_narrowed(contract, wanted), PER_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    for name in ("page", "verify"):
        query.pop(name, None)
    context = {
        "contract": contract,
        "filters": filters,
        "filtered": bool(wanted),
        "page": page,
        "query": query.urlencode(),
        "events": [told(event) for event in page.object_list],
    }
    if getattr(request, "htmx", None) and not request.htmx.boosted:  # type: ignore[attr-defined]
        return render(request, "contracts/events.html#found", context)
    asked = request.GET.get("verify") == "1"
    whole = contract_context(loaded, "events") | context | {"chain": _chain(contract, asked)}
    return render(request, "contracts/events.html", whole)


def _narrowed(contract: Contract, wanted: dict[str, Any]) -> QuerySet[Event]:
    columns = {"part": "part", "kind": "act"}
    found = Event.objects.of(contract.pk).filter(
        **{column: wanted[name] for name, column in columns.items() if name in wanted}
    )
    if "actor" in wanted:
        found = found.filter(actor__in=logins_called(wanted["actor"]))
    if wanted.get("refused"):
        found = found.exclude(refused="")
    return found.order_by("-sequence")


def _chain(contract: Contract, asked: bool) -> Chain:
    if contract.event_count > VERIFIED_AT_ONCE and not asked:
        return Chain(contract.event_count, verified=False)
    while (broken := Event.objects.first_break(contract)) is not None:
        head = contract.event_head
        contract.refresh_from_db(fields=["event_count", "event_head"])
        if contract.event_head == head:  # else events came in while they were read: look again
            break
    return Chain(contract.event_count, True, broken)

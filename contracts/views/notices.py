from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from contracts.forms.notices import address_of, reason, told, until
from contracts.gates.reading import mark_all_read, mark_read
from contracts.models import Approval, Contract, Notice
from contracts.rules.notices import ASKS_TO_DECIDE, Told, sentence_since
from contracts.rules.states import ApprovalState
from contracts.rules.words import N_
from contracts.views.loading import Asked
from contracts.views.standing import COUNTED

PER_PAGE = 25
LARGEST = 2**63 - 1
# A notice bears the time at which its transaction began, and is seen when that has ended.
SLACK = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the decision that a notice asked for: nothing is left to do for its reader."""

    state: ApprovalState
    heading: str
    person: str = ""  # who decided, if anybody did
    at: datetime | None = None


@dataclass(slots=True)
class Line:
    """One notice as its reader may see it. Without sight of the contract nothing of it is filled in."""

    notice: Notice
    heading: str
    seen: bool
    sentence: str = ""
    reason: str = ""
    until: datetime | None = None
    url: str = ""
    outcome: Outcome | None = None


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def notice_list(request: Asked) -> HttpResponse:
    if request.method != "POST":
        return _page(request)
    deed, number = request.POST.get("deed"), request.POST.get("notice", "")
    if deed not in ("read", "read_all") or not _is_id(number):
        return HttpResponseBadRequest()
    if deed == "read":
        mark_read(request.user, [int(number)])
    else:
        mark_all_read(request.user, up_to=int(number))
    return redirect("contracts:notices")


@require_safe
def news(request: Asked) -> HttpResponse:
    """What was told since an open page was made: the newest of it, how many more, and the count of all unread."""
    try:
        since = parse_datetime(request.GET.get("since", ""))
    except ValueError:
        since = None
    if since is None or timezone.is_naive(since):
        return HttpResponseBadRequest()
    unread = Notice.objects.of(request.user).unread().filter(made_at__gt=since - SLACK)
    told = [*unread.select_related("contract")[: COUNTED + 1]]
    context = {
        "line": _lines(request, told[:1])[0] if told else None,
        "more": max(0, len(told) - 1),
    }
    response = render(request, "contracts/news.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST


def _page(request: Asked) -> HttpResponse:
    notices = Notice.objects.of(request.user).select_related("contract")
    page = Paginator(notices, PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "page": page,
        "lines": _lines(request, [*page.object_list]),
        "newest": notices.values_list("pk", flat=True).order_by("-pk").first(),
        "now": timezone.now(),
        "nav_here": "notices",
    }
    # A page that comes back through the history is a whole one; what asks by itself gets the list alone.
    part = "#told" if request.htmx and not request.htmx.boosted else ""
    response = render(request, f"contracts/notices.html{part}", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _lines(request: HttpRequest, notices: list[Notice]) -> list[Line]:
    contracts = {notice.contract_id for notice in notices}
    visible = Contract.objects.visible_to(request.user).filter(pk__in=contracts)
    seen = set(visible.values_list("pk", flat=True))
    outcomes = _outcomes(request, notices)
    return [
        _line(notice, outcomes.get((notice.contract_id, notice.item_id)))
        if notice.contract_id in seen
        else Line(notice, gettext(Told(notice.kind).label), seen=False)
        for notice in notices
    ]


def _line(notice: Notice, known: Outcome | None) -> Line:
    kind = Told(notice.kind)
    outcome = known if kind in ASKS_TO_DECIDE else None
    line = Line(notice, gettext(kind.label), seen=True, url=address_of(notice), outcome=outcome)
    if outcome is None:
        line.sentence, line.reason, line.until = told(notice), reason(notice), until(notice)
        return line
    line.heading = gettext(outcome.heading)
    sentence = sentence_since(outcome.state, decided=bool(outcome.person))
    line.sentence = told(notice, sentence, person=outcome.person)
    return line


def _outcomes(request: HttpRequest, notices: list[Notice]) -> dict[tuple[int, str], Outcome]:
    """Return what became of the decisions that `notices` ask for, by contract and item; one query."""
    asking = [notice for notice in notices if Told(notice.kind) in ASKS_TO_DECIDE]
    items = Approval.objects.filter(
        contract__in={notice.contract_id for notice in asking}, item_id__in={one.item_id for one in asking}
    ).voted_by(request.user.get_username())
    now = timezone.now()
    found = {(item.contract_id, item.item_id): _outcome(item, now) for item in items}
    return {key: outcome for key, outcome in found.items() if outcome is not None}


def _outcome(item: Approval, now: datetime) -> Outcome | None:
    """Return what became of an item, None while it waits for its reader."""
    state = ApprovalState(item.state)
    if item.decided_by:
        return Outcome(state, N_("Decided"), item.decided_by, item.decided_at)
    if state is not ApprovalState.PENDING:
        return Outcome(state, N_("No longer waits"), at=item.ended_at)
    if item.expires_at <= now:
        return Outcome(ApprovalState.EXPIRED, N_("No longer waits"), at=item.expires_at)
    return Outcome(state, N_("You have voted")) if item.voted else None  # type: ignore[attr-defined]

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from typing import Any

from django.core.paginator import Paginator
from django.db.models import CharField, Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from contracts.forms.filters import ARCHIVED, EXPIRED, ListFilters
from contracts.models import (
    Approval,
    Attempt,
    Contract,
    Operation,
    SectionMark,
    Team,
    TeamRole,
    WorkObject,
    gather_all_progress,
)
from contracts.rules.completeness import missing_things
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import Right, Role, Section
from contracts.views.life import place_of

PER_PAGE = 25
ENDED = (ContractState.COMPLETED.value, ContractState.CANCELLED.value)
MARKED, UNKNOWN, WAITING = "marked", "unknown_operations", "waiting"
OVERDUE, NO_OWNER = "overdue", "no_owner"
NEWEST_FIRST = ("-revised_on", "-revised_at", "-id")  # the day alone has an index
ORDERS: dict[str, tuple[Any, ...]] = {
    "": NEWEST_FIRST,
    "deadline": (F("deadline").asc(nulls_last=True), "-id"),
    "title": (Lower("title"), "-id"),
    "state": ("state", "-revised_at", "-id"),
}


@dataclass(slots=True)
class Line:
    """One contract in the list, with what has to be counted for it."""

    contract: Contract
    expired: bool
    counts: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)
    missing: int = 0  # things that keep it in draft
    first_missing: str = ""  # the address at which the first of them is filled in

    @property
    def bar(self) -> list[tuple[ObjectState, int]]:
        return [(state, self.objects[state.value]) for state in ObjectState]

    @property
    def needs(self) -> int:
        """Return how many things about the contract wait for somebody."""
        return self.missing + sum(self.counts[name] for name in (UNKNOWN, WAITING, OVERDUE, NO_OWNER))

    @property
    def total(self) -> int:
        return self.objects.total()

    @property
    def settled(self) -> int:
        return self.objects[ObjectState.CONFIRMED.value] + self.objects[ObjectState.SKIPPED.value]


@require_safe
@vary_on_headers("HX-Request")
def contract_list(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    filters = ListFilters(request.GET, teams=_teams_of(request.user))
    wanted = filters.understood()
    found = _narrowed(Contract.objects.visible_to(request.user), request.user, wanted, now)
    found = found.select_related("team")
    page = Paginator(found.order_by(*ORDERS[wanted.get("sort", "")]), PER_PAGE).get_page(
        request.GET.get("page")
    )
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "filters": filters,
        "filtered": any(name != "sort" for name in wanted),
        "page": page,
        "query": query.urlencode(),
        "lines": _lines([*page.object_list], now),
        "section_count": len(Section),
        "fills_in": cache(partial(_fills_in, request.user)),  # asked for where the page shows the button
        "now": now,
        "nav_here": "contracts",
    }
    is_part = getattr(request, "htmx", None) and not request.htmx.boosted  # type: ignore[attr-defined]
    return render(request, f"contracts/list.html{'#found' if is_part else ''}", context)


def _fills_in(user: Any) -> bool:
    """Tell whether the person fills contracts in anywhere, so that a new one is their usual act."""
    fills = Exists(Contract.objects.granted(user, Right.FILL))
    return TeamRole.objects.filter(Q(fills) | Q(role=Role.REVIEWER.value, group__user=user)).exists()


def _teams_of(user: Any) -> QuerySet[Team]:
    """Return the teams whose contracts the person may see, found by the few teams, not the many contracts."""
    theirs = Contract.objects.visible_to(user).filter(team=OuterRef("pk"))
    return Team.objects.filter(Exists(theirs)).order_by("name")


def _narrowed(
    found: QuerySet[Contract], user: Any, wanted: dict[str, Any], now: datetime
) -> QuerySet[Contract]:
    state = wanted.get("state")
    found = found.filter(archived_at__isnull=state != ARCHIVED)
    if text := wanted.get("q"):
        found = found.filter(Q(task_id__icontains=text) | Q(title__icontains=text))
    if team := wanted.get("team"):
        found = found.filter(team__slug=team)
    if state == EXPIRED:
        found = found.filter(deadline__lte=now).exclude(state__in=ENDED)
    elif state and state != ARCHIVED:
        found = found.filter(state=state)
    return found.filter(_needs(user, now)) if wanted.get("mine") else found


def _needs(user: Any, now: datetime) -> Q:
    """Return the condition that a contract waits for this very person."""

    def holds(right: Right) -> Q:
        return Q(pk__in=Contract.objects.granted(user, right).values("pk"))

    draft = Q(state=ContractState.DRAFT.value) & holds(Right.FILL)
    unknown = Q(pk__in=_unknown().values("contract_id")) & holds(Right.OPERATE)
    lapsed = Q(pk__in=_lapsed(now).values("contract_id")) & holds(Right.OPERATE)
    waiting = Q(pk__in=_waiting(now).values("contract_id")) & holds(Right.DECIDE)
    return draft | unknown | lapsed | waiting


def _unknown() -> QuerySet[Operation]:
    return Operation.objects.filter(state=OperationState.UNKNOWN.value)


def _waiting(now: datetime) -> QuerySet[Approval]:
    return Approval.objects.filter(state=ApprovalState.PENDING.value, expires_at__gt=now)


def _overdue(now: datetime) -> QuerySet[Approval]:
    return Approval.objects.filter(state=ApprovalState.PENDING.value, expires_at__lte=now)


def _lapsed(now: datetime) -> QuerySet[Attempt]:
    """Return the attempts whose owner went silent: nobody ended them, and their lease has run out."""
    return Attempt.objects.filter(ended_at__isnull=True, lease_end__lte=now)


def _lines(contracts: list[Contract], now: datetime) -> list[Line]:
    """Return the lines of one page; what is counted for them is two queries, however long the page."""
    counts = _counts([contract.pk for contract in contracts], now) if contracts else {}
    drafts = [contract for contract in contracts if contract.state == ContractState.DRAFT]
    progress = gather_all_progress(drafts)
    states = {state.value for state in ObjectState}
    lines = []
    for contract in contracts:
        past = contract.deadline is not None and contract.deadline <= now
        line = Line(contract, past and contract.state not in ENDED)
        for kind, name, count in counts.get(contract.pk, ()):
            if kind == "object" and name in states:
                line.objects[name] = count
            else:
                line.counts[name] = count
        if contract.pk in progress and (missing := missing_things(progress[contract.pk], now=now)):
            line.missing, line.first_missing = len(missing), place_of(contract, missing[0])
        lines.append(line)
    return lines


def _counts(ids: list[int], now: datetime) -> dict[int, list[tuple[str, str, int]]]:
    def counted(rows: Any, kind: str, name: Any) -> Any:
        rows = rows.filter(contract_id__in=ids).order_by().values("contract_id")
        named = rows.annotate(kind=Value(kind, CharField()), name=name, count=Count("pk"))
        return named.values_list("contract_id", "kind", "name", "count")

    def fixed(name: str) -> Value:
        return Value(name, CharField())

    found = counted(WorkObject.objects.all(), "object", F("state")).union(
        counted(SectionMark.objects.filter(complete=True), "count", fixed(MARKED)),
        counted(_unknown(), "count", fixed(UNKNOWN)),
        counted(_waiting(now), "count", fixed(WAITING)),
        counted(_overdue(now), "count", fixed(OVERDUE)),
        counted(_lapsed(now), "count", fixed(NO_OWNER)),
        all=True,
    )
    by_contract = defaultdict(list)
    for contract_id, kind, name, count in found:
        by_contract[contract_id].append((kind, name, count))
    return by_contract

"""The curator's queue: every request of the contracts a person may see, what is due first at the top."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from contracts.gates.beats import database_now
from contracts.gates.clock import NEAR, UNUSED
from contracts.gates.looking import SEEN_FOR
from contracts.models import Approval, ApprovalPolicy, ApprovalVote, Contract, Presence, TeamRole
from contracts.models.people import called
from contracts.rules.approving import Policy, read_policy
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import Right
from contracts.views.loading import Asked
from contracts.views.shown import place_of

PER_PAGE = 50
RECENT = timedelta(days=14)
MINE, OTHERS, OVERDUE, ENDED = "mine", "others", "overdue", "ended"
TABS: dict[str, Any] = {
    MINE: _("Waiting for me"),
    OTHERS: _("Waiting for others"),
    OVERDUE: _("Overdue"),
    ENDED: _("Ended lately"),
}


@dataclass(slots=True)
class Waiting:
    """One request in the queue."""

    item: Approval
    state: ApprovalState
    yes: int
    quorum: int
    lookers: str
    near: bool
    unused: bool


@dataclass(frozen=True, slots=True)
class Tab:
    """One way to look at the queue, with how many requests it holds."""

    name: str
    label: Any
    count: int
    current: bool


@require_safe
@vary_on_headers("HX-Request")
def approvals(request: Asked) -> HttpResponse:
    now = database_now()
    chosen = request.GET.get("show", MINE)
    chosen = chosen if chosen in TABS else MINE
    mine, others = _waiting(request.user, now)
    sets = {
        MINE: mine,
        OTHERS: others,
        OVERDUE: _overdue(request.user, now),
        ENDED: _ended(request.user, now),
    }
    counts = {name: found.count() for name, found in sets.items()}
    paginator = Paginator(sets[chosen], PER_PAGE)
    paginator.count = counts[chosen]  # counted already
    page: Page[Any] = paginator.get_page(request.GET.get("page", 1))
    context = {
        "tabs": [Tab(name, label, counts[name], name == chosen) for name, label in TABS.items()],
        "chosen": chosen,
        "mine_count": counts[MINE],
        "lines": _lines(list(page.object_list), now, request.user),
        "page": page,
        "now": now,
        "nav_here": "approvals",
    }
    part = (
        "contracts/queue.html#queue" if request.htmx and not request.htmx.boosted else "contracts/queue.html"
    )
    response = render(request, part, context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _seen(user: Any) -> QuerySet[Approval]:
    contracts = Contract.objects.visible_to(user).filter(archived_at__isnull=True)
    return (
        Approval.objects.joined().select_related("contract", "contract__team").filter(contract__in=contracts)
    )


def _waiting(user: Any, now: datetime) -> tuple[QuerySet[Approval], QuerySet[Approval]]:
    """Return what waits for this person, and what waits for others; what is due first comes first.

    The same as `rules.approving.who_may_not` says of each item, asked of the database for all of them at once.
    """
    waiting = _seen(user).filter(state=ApprovalState.PENDING.value, expires_at__gt=now)
    policy = ApprovalPolicy.objects.filter(contract=OuterRef("contract")).order_by("-number")
    role = TeamRole.objects.filter(
        team=OuterRef("contract__team"), group__user=user, role=OuterRef("passed_to")
    )
    voted = ApprovalVote.objects.filter(approval=OuterRef("pk"), decider=user.get_username())
    names = [name for name in (user.get_username(), user.get_full_name().strip()) if name]
    asked, wrote, passed = Q(), Q(), Q(passed_to="") | Q(Exists(role))
    for name in names:
        asked |= Q(requester__iexact=name)
        wrote |= Q(author__iexact=name) | Q(last_editor__iexact=name)
        passed |= Q(passed_to__iexact=name)
    may = waiting.alias(author_may=Subquery(policy.values("author_may_decide")[:1])).filter(
        passed,
        ~asked,
        ~wrote | Q(author_may=True),
        ~Exists(voted),
        author_may__isnull=False,
        contract__in=Contract.objects.granted(user, Right.DECIDE),
    )
    order = ("expires_at", "id")
    return may.order_by(*order), waiting.exclude(pk__in=may.values("pk")).order_by(*order)


def _policies(contract_ids: Iterable[int]) -> dict[int, Policy | None]:
    """Return the policy in force of each contract; one query."""
    newest: dict[int, ApprovalPolicy] = {}
    for row in ApprovalPolicy.objects.filter(contract__in=contract_ids).order_by("number"):
        newest[row.contract_id] = row
    return {contract_id: read_policy(row.facts()) for contract_id, row in newest.items()}


def _overdue(user: Any, now: datetime) -> QuerySet[Approval]:
    """Return what nobody decided in time, and what was decided and is not used."""
    out = Q(state=ApprovalState.PENDING.value, expires_at__lte=now)
    out |= Q(state=ApprovalState.EXPIRED.value, expires_at__gte=now - RECENT)
    unused = Q(state=ApprovalState.APPROVED.value, consumed_at__isnull=True, decided_at__lte=now - UNUSED)
    return _seen(user).filter(out | unused).order_by("expires_at", "id")


def _ended(user: Any, now: datetime) -> QuerySet[Approval]:
    since = now - RECENT
    ended = _seen(user).exclude(state__in=[ApprovalState.PENDING.value, ApprovalState.EXPIRED.value])
    # An imported item has no time of its end here; when it was asked for stands in for it.
    lately = Q(ended_at__gte=since) | Q(ended_at__isnull=True, asked_at__gte=since)
    return ended.filter(lately).order_by(Coalesce("ended_at", "asked_at").desc(), "-id")


def _votes(items: Sequence[Approval]) -> QuerySet[ApprovalVote]:
    return ApprovalVote.objects.filter(approval__in=[item.pk for item in items])


def _lines(items: list[Approval], now: datetime, user: Any) -> list[Waiting]:
    yes = Counter(
        _votes(items).filter(decision=ApprovalState.APPROVED.value).values_list("approval_id", flat=True)
    )
    policies = _policies({item.contract_id for item in items})
    lookers = _lookers(items, now, user)
    lines = []
    for item in items:
        policy, state = policies.get(item.contract_id), ApprovalState(item.state)
        waits = state is ApprovalState.PENDING
        if waits and item.expires_at <= now:
            state = ApprovalState.EXPIRED
        late = state is ApprovalState.APPROVED and not item.consumed_at and item.decided_at is not None
        unused = late and item.decided_at is not None and item.decided_at <= now - UNUSED
        quorum = policy.quorum if policy else 1
        near = waits and item.expires_at <= now + NEAR
        lines.append(
            Waiting(
                item, state, yes[item.pk], quorum, ", ".join(lookers.get(place_of(item), [])), near, unused
            )
        )
    return lines


def _lookers(items: list[Approval], now: datetime, user: Any) -> dict[str, list[str]]:
    seen = Presence.objects.filter(
        contract__in={item.contract_id for item in items},
        place__in=[place_of(item) for item in items],
        seen_at__gte=now - SEEN_FOR,
    ).exclude(person=user)
    found: dict[str, list[str]] = {}
    for place, login in seen.values_list("place", "person__username"):
        found.setdefault(place, []).append(called(login))
    return found

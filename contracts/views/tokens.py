"""Tokens of a team's workers: who may share a contract gives workers access to it, as it does people."""

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext

from contracts.forms.tokens import IssueForm, TokenForm
from contracts.forms.words import said
from contracts.gates.beats import database_now
from contracts.gates.tokens import Issued, issue_token, revoke_token, rotate_token
from contracts.models import Contract, Team, TokenScope, WorkerToken
from contracts.models.workers import WorkerTokenQuerySet
from contracts.rules.tokens import LONGEST_DAYS
from contracts.rules.vocabulary import Right
from contracts.views.loading import actor_of

SHOWN_CONTRACTS = 500
SHOWN_TOKENS = 200


@dataclass(slots=True)
class TokenLine:
    """One token as the person sees it: only contracts that the person sees too are named."""

    row: WorkerToken
    contracts: list[str]
    hidden: int
    state: str
    words: str
    may_rotate: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """What the person may do with tokens of a team: give access to some contracts, revoke for some."""

    team: Team
    seen: dict[int, str]
    shared: frozenset[int]
    closable: frozenset[int]


def tokens(request: HttpRequest, slug: str) -> HttpResponse:
    reach = _reach(request, slug)
    if request.method != "POST":
        return _page(request, reach, IssueForm(reachable=_shared(reach), initial=_chosen(request)))
    if request.POST.get("deed", "issue") == "issue":
        return _issue(request, reach)
    return _act(request, reach)


def _reach(request: HttpRequest, slug: str) -> Reach:
    """Return what the person may do here: 404 for who sees no contract of the team, 403 for who may do nothing.

    A token opens what sharing opens, so the right to share is what issues it, contract by contract. Closing is
    easier than opening: an operator, too, may revoke.
    """
    team = get_object_or_404(Team, slug=slug)
    own = Contract.objects.filter(team=team)
    seen = dict(own.visible_to(request.user).values_list("pk", "task_id"))
    if not seen:
        raise Http404
    shared = frozenset(own.granted(request.user, Right.SHARE).values_list("pk", flat=True))
    operated = frozenset(own.granted(request.user, Right.OPERATE).values_list("pk", flat=True))
    if not shared | operated:
        raise PermissionDenied(Right.SHARE.label)
    return Reach(team, seen, shared, shared | operated)


def _issue(request: HttpRequest, reach: Reach) -> HttpResponse:
    form = IssueForm(request.POST, reachable=_shared(reach))
    if not form.is_valid():
        return _page(request, reach, form, status=422)
    chosen = Contract.objects.filter(pk__in=reach.shared, task_id__in=form.cleaned_data["contracts"])
    verdict = issue_token(
        actor=actor_of(request, Right.SHARE),
        team=reach.team,
        worker=form.cleaned_data["worker"],
        contract_ids=list(chosen.values_list("pk", flat=True)),
        days=form.cleaned_data["days"],
    )
    if not verdict.allowed:
        form.add_refusal(verdict)
        return _page(request, reach, form, status=422)
    return _page(request, reach, IssueForm(reachable=_shared(reach)), issued=verdict.outcome)


def _act(request: HttpRequest, reach: Reach) -> HttpResponse:
    form = TokenForm(request.POST)
    row = (
        _mine(reach).filter(token_id=form.data.get("token_id", "")[:20]).first() if form.is_valid() else None
    )
    if row is None:
        raise Http404
    actor = actor_of(request, Right.SHARE)
    if form.cleaned_data["deed"] == "revoke":
        revoke_token(actor=actor, token_id=row.token_id)
        messages.success(
            request, gettext("The token %(token)s opens nothing any more.") % {"token": row.token_id}
        )
        return redirect("contracts:tokens", reach.team.slug)
    if not _may_rotate(reach, set(row.scopes.values_list("contract_id", flat=True))):
        raise PermissionDenied(Right.SHARE.label)
    verdict = rotate_token(actor=actor, token_id=row.token_id, days=LONGEST_DAYS)
    fresh = IssueForm(reachable=_shared(reach))
    if not verdict.allowed:
        messages.error(request, said(verdict))
        return _page(request, reach, fresh, status=409)
    return _page(request, reach, fresh, issued=verdict.outcome)


def _page(
    request: HttpRequest, reach: Reach, form: IssueForm, *, issued: Issued | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "team": reach.team,
        "form": form,
        "issued": issued,
        "lines": _lines(reach),
        "may_issue": bool(reach.shared),
        "now": database_now(),
        "days": LONGEST_DAYS,
        "nav_here": "tokens",
    }
    response = render(request, "contracts/tokens.html", context, status=status)
    if issued is not None:
        response["Cache-Control"] = "no-store"  # shown once: no cache, no history keeps it
    return response


def _mine(reach: Reach) -> WorkerTokenQuerySet:
    return WorkerToken.objects.filter(team=reach.team, scopes__contract__in=reach.closable).distinct()


def _lines(reach: Reach) -> list[TokenLine]:
    rows = list(_mine(reach).order_by("-made_at", "-pk")[:SHOWN_TOKENS])
    scopes: dict[int, set[int]] = {}
    for token, contract in TokenScope.objects.filter(token__in=rows).values_list("token_id", "contract_id"):
        scopes.setdefault(token, set()).add(contract)
    now = database_now()
    lines = []
    for row in rows:
        reached = scopes[row.pk]
        named = sorted(reach.seen[contract] for contract in reached if contract in reach.seen)
        state, words = _state(row, expired=row.expires_at <= now)
        may = state == "valid" and _may_rotate(reach, reached)
        lines.append(TokenLine(row, named, len(reached) - len(named), state, words, may))
    return lines


def _may_rotate(reach: Reach, reached: set[int]) -> bool:
    return reached <= reach.shared


def _state(row: WorkerToken, *, expired: bool) -> tuple[str, str]:
    if row.revoked_at:
        return "cancelled", gettext("Revoked")
    return ("expired", gettext("Expired")) if expired else ("valid", gettext("Valid"))


def _shared(reach: Reach) -> list[Contract]:
    newest_first = Contract.objects.filter(pk__in=reach.shared).order_by("-revised_on", "-revised_at", "-pk")
    return list(newest_first[:SHOWN_CONTRACTS])


def _chosen(request: HttpRequest) -> dict[str, list[str]]:
    chosen = request.GET.get("contract", "")
    return {"contracts": [chosen]} if chosen else {}

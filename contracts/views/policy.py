"""The rules of deciding of one contract: what is in force, what was, and another version."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.life import ReasonForm
from contracts.forms.rows import RowForm
from contracts.forms.words import said
from contracts.gates.beats import database_now
from contracts.gates.policies import IN_USE, change_policy
from contracts.gates.rows import not_open
from contracts.models import Approval, ApprovalPolicy, Contract, Event, TeamRole, people_with
from contracts.rules.approving import Policy, read_policy
from contracts.rules.parts.plan import POLICY
from contracts.rules.refusals import refusal
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right, Role
from contracts.views.loading import Asked, Loaded, contract_context, load_contract
from contracts.views.policy_words import policy_clauses, policy_sentence
from contracts.views.sections import row_form

PER_PAGE = 20
LISTED = 50  # open items, or people, that a page names; beyond that they are counted


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the policy: what it says (nothing if it does not parse), since when, by whom and why."""

    row: ApprovalPolicy
    clauses: list[str]
    since: datetime
    by: str
    why: str


@dataclass(slots=True)
class Change:
    """The form of another version, and what stands against it."""

    form: RowForm
    reason: ReasonForm
    refusal: Verdict | None = None
    conflicts: list[dict[str, Any]] | None = None

    @property
    def wrong(self) -> list[ReasonForm]:
        """Return the form of the reason, if it holds errors; those of the policy stand before them."""
        return [self.reason] if self.reason.errors else []


@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: Asked, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.OPERATE if request.method == "POST" else Right.VIEW)
    if request.method == "POST":
        return _change(request, loaded)
    row = _in_force(loaded.contract)
    change = Change(row_form(POLICY, row), ReasonForm()) if row and loaded.may(Right.OPERATE) else None
    return _page(request, loaded, change)


def _change(request: Asked, loaded: Loaded) -> HttpResponse:
    row = _in_force(loaded.contract)
    if row is None:
        return _page(request, loaded, None, refused=refusal("policy_unreadable"), status=409)
    change = Change(row_form(POLICY, row, request.POST), ReasonForm(request.POST))
    if not all([change.form.is_valid(), change.reason.is_valid()]):  # both are asked, for all their errors
        return _page(request, loaded, change, status=422)
    verdict = change_policy(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        version=change.form.seen_version(),
        values=change.form.raw_values(),
        reason=change.reason.cleaned_data["reason"],
    )
    if verdict.allowed:
        same = verdict.code == "unchanged"
        messages.success(
            request, gettext("Nothing was changed.") if same else gettext("Another version is in force now.")
        )
        return redirect("contracts:policy", loaded.contract.task_id)
    loaded.contract.refresh_from_db()
    return _refused(request, loaded, change, verdict)


def _refused(request: Asked, loaded: Loaded, change: Change, verdict: Verdict) -> HttpResponse:
    if verdict.code == "stale_version":
        change.refusal, change.conflicts = verdict, change.form.conflicts(verdict.outcome)
        change.form = change.form.rebased(verdict.outcome)
    elif verdict.problems:
        for problem in verdict.problems:
            if problem.field == "reason":
                change.reason.add_error("reason", said(problem))
            else:
                change.form.add_problem(problem, problem.field)
    else:
        change.refusal = verdict
    return _page(request, loaded, change, status=422 if verdict.problems else 409)


def _page(
    request: Asked,
    loaded: Loaded,
    change: Change | None,
    *,
    refused: Verdict | None = None,
    status: int = 200,
) -> HttpResponse:
    contract, row = loaded.contract, _in_force(loaded.contract)
    known = read_policy(row.facts()) if row else None
    context = contract_context(loaded, "policy") | {
        "sentence": policy_sentence(known) if known else "",
        "page": _versions(contract, request.GET.get("page")),
        "is_draft": contract.state == ContractState.DRAFT,
        "has_errors": status >= HTTPStatus.BAD_REQUEST,
        "refused": refused,
    }
    if change is not None:
        context |= _changing(contract, change)
    return render(request, "contracts/policy.html", context, status=status)


def _changing(contract: Contract, change: Change) -> dict[str, Any]:
    """Return what the form needs: why it is closed, what will go stale, and who may be named."""
    _name_recipients(change.form)
    items = Approval.objects.open().filter(contract=contract)
    return {
        "change": change,
        "ahead": _refusal_ahead(contract, database_now()),
        "stale_count": items.count(),
        "going_stale": items.order_by("expires_at", "pk").joined()[:LISTED],
        "recipients": _recipients(contract),
    }


def _refusal_ahead(contract: Contract, now: datetime) -> Verdict | None:
    if contract.state not in IN_USE:
        return not_open(contract)
    late = contract.deadline is not None and contract.deadline <= now
    return refusal("deadline_passed") if late else None


def _recipients(contract: Contract) -> list[tuple[str, str]]:
    """Return who may be named to pass on to: the roles of the team that decide, then people who may."""
    people = people_with(Right.DECIDE, contract.pk)
    roles = TeamRole.objects.filter(team=contract.team_id, group__user__in=people).distinct().order_by("role")
    named = [(role, gettext(Role(role).label)) for role in roles.values_list("role", flat=True)]
    return named + [
        (person.get_username(), person.get_full_name()) for person in people.order_by("username")[:LISTED]
    ]


def _name_recipients(form: RowForm) -> None:
    field = form.fields["pass_on_to"]
    field.widget.attrs["list"] = "recipients"
    field.help_text = gettext(
        "The login name of somebody who may decide, or a role of the team whose people may; the list names them."
    )


def _in_force(contract: Contract) -> ApprovalPolicy | None:
    newest: ApprovalPolicy | None = ApprovalPolicy.objects.of(contract.pk).last()
    return newest


def _versions(contract: Contract, number: str | None) -> Page[Any]:
    """Return a page of the versions, the newest first, each with what the events tell of it."""
    rows = ApprovalPolicy.objects.of(contract.pk).order_by("-number", "-pk")
    page: Page[Any] = Paginator(rows, PER_PAGE).get_page(number)
    told = _told(contract, page.object_list)
    page.object_list = [_version(contract, row, told.get(row.number)) for row in page.object_list]
    return page


def _told(contract: Contract, rows: Iterable[ApprovalPolicy]) -> dict[int, Event]:
    """Return, for each version, the last event that made it what it is."""
    events = Event.objects.of(contract.pk).filter(
        part="policy",
        act__in=("change_policy", "edit"),
        refused="",
        subject__in=[str(row.number) for row in rows],
    )
    return {int(event.subject): event for event in events.order_by("sequence")}


def _version(contract: Contract, row: ApprovalPolicy, event: Event | None) -> Version:
    known: Policy | None = read_policy(row.facts())
    clauses = policy_clauses(known) if known else []
    if event is None:  # made with the contract
        return Version(row, clauses, contract.created_at, contract.created_by, "")
    return Version(row, clauses, event.at, event.actor, (event.after or {}).get("reason", ""))

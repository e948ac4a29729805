from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext

from contracts.forms.sharing import ShareForm, UnshareForm
from contracts.gates.people import share
from contracts.models import Contract, ContractGroupPermission, ContractUserPermission, TeamRole, rights_of
from contracts.models.people import called
from contracts.rules.vocabulary import Right, Role
from contracts.views.loading import Loaded, contract_context, load_contract


@dataclass(slots=True)
class Sharer:
    """One person with rights of their own on the contract."""

    username: str
    rights: list[Right]
    active: bool


@dataclass(slots=True)
class RoleLine:
    """One role of the team: what it allows on this contract, and who holds it."""

    label: str
    rights: list[Right]
    people: list[str]


def sharing(request: HttpRequest, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.SHARE)
    if request.method == "POST":
        removing = request.POST.get("deed") == "remove"
        return _remove(request, loaded) if removing else _share(request, loaded)
    people = _people(loaded.contract)
    chosen = next((one for one in people if one.username == request.GET.get("person")), None)
    initial = {"username": chosen.username, "rights": [r.value for r in chosen.rights]} if chosen else {}
    leaving = next((one for one in people if one.username == request.GET.get("remove")), None)
    form = ShareForm(initial=initial)
    return _page(request, loaded, form, people=people, changing=chosen, leaving=leaving)


def _share(request: HttpRequest, loaded: Loaded) -> HttpResponse:
    form = ShareForm(request.POST)
    if not form.is_valid():
        return _page(request, loaded, form, status=422)
    rights = frozenset(Right(value) for value in form.cleaned_data["rights"])
    username = form.cleaned_data["username"]
    verdict = share(contract_id=loaded.contract.pk, actor=loaded.actor, username=username, rights=rights)
    if not verdict.allowed:
        form.add_refusal(verdict)
        return _page(request, loaded, form, status=422)
    messages.success(request, gettext("%(person)s now holds these rights.") % {"person": called(username)})
    return _after(request, loaded)


def _remove(request: HttpRequest, loaded: Loaded) -> HttpResponse:
    form = UnshareForm(request.POST)
    if not form.is_valid():
        return _page(request, loaded, ShareForm(), status=422)
    username = form.cleaned_data["username"]
    verdict = share(contract_id=loaded.contract.pk, actor=loaded.actor, username=username, rights=frozenset())
    if not verdict.allowed:
        return _page(request, loaded, ShareForm(), refusal=verdict, status=409)
    messages.success(
        request, gettext("%(person)s holds no rights of their own now.") % {"person": called(username)}
    )
    return _after(request, loaded)


def _after(request: HttpRequest, loaded: Loaded) -> HttpResponse:
    """Go on where the person may still be: whoever gives up a right leaves its page."""
    rights = rights_of(request.user, loaded.contract.pk)
    if Right.SHARE in rights:
        return redirect("contracts:sharing", loaded.contract.task_id)
    if Right.VIEW in rights:
        return redirect("contracts:overview", loaded.contract.task_id)
    return redirect("contracts:list")


def _page(
    request: HttpRequest,
    loaded: Loaded,
    form: ShareForm,
    *,
    people: list[Sharer] | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = contract_context(loaded, "sharing") | {
        "form": form,
        "people": _people(loaded.contract) if people is None else people,
        "roles": _roles(loaded.contract),
        "columns": list(Right),
        **more,
    }
    return render(request, "contracts/sharing.html", context, status=status)


def _people(contract: Contract) -> list[Sharer]:
    found: dict[int, Sharer] = {}
    order = [right.value for right in Right]
    grants = ContractUserPermission.objects.filter(content_object=contract).select_related(
        "user", "permission"
    )
    for grant in grants.order_by("user__username"):
        user = grant.user
        line = found.setdefault(user.pk, Sharer(user.username, [], user.is_active))
        line.rights.append(Right(grant.permission.codename))
    for line in found.values():
        line.rights.sort(key=order.index)
    return list(found.values())


def _roles(contract: Contract) -> list[RoleLine]:
    """Return the team's roles with their people and what the contract grants each; three queries."""
    groups = dict(TeamRole.objects.filter(team_id=contract.team_id).values_list("role", "group_id"))
    grants = ContractGroupPermission.objects.filter(content_object=contract, group__in=groups.values())
    held = set(grants.values_list("group_id", "permission__codename"))
    members = Group.objects.filter(pk__in=groups.values(), user__is_active=True).order_by("user__username")
    people: dict[int, list[str]] = {}
    for group, username in members.values_list("pk", "user__username"):
        people.setdefault(group, []).append(called(username))
    return [
        RoleLine(
            gettext(role.label),
            [right for right in Right if (groups[role.value], right.value) in held],
            people.get(groups[role.value], []),
        )
        for role in Role
        if role.value in groups
    ]

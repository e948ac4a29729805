from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.forms.life import NoReasonForm, ReasonForm
from contracts.forms.words import said
from contracts.gates import lifecycle
from contracts.models import Contract, Operation, WorkObject
from contracts.rules.completeness import Missing
from contracts.rules.refusals import refusal
from contracts.rules.states import CONTRACT_MOVES, Act, ContractState, acts_from
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Measure, Plane, Right, Section
from contracts.views.loading import Loaded, actor_of, contract_context, load_contract
from contracts.views.previewing import cancelling

ENDED = (ContractState.COMPLETED, ContractState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Deed:
    """One act on a whole contract: who may, what it is called, what it does, and the gate that does it."""

    slug: str
    rights: tuple[Right, ...]
    label: Any
    told: Any
    done: Any
    gate: Callable[..., Verdict]
    act: Act | None = None
    reasoned: bool = False
    danger: bool = False


DEEDS = {
    deed.slug: deed
    for deed in (
        Deed(
            "leave-draft",
            (Right.FILL,),
            _("Leave draft"),
            _(
                "Nothing of what you filled in is lost. Identity, planes, tools, limits and owner gate are fixed from"
                " here on, and the contract becomes “Paused”: it waits for a worker to take it up. Sources, artefacts"
                " and objects can still be added then. Only an operator can return it to draft."
            ),
            _("The contract left draft and is paused: it waits for a worker to take it up."),
            lifecycle.leave_draft,
            Act.LEAVE_DRAFT,
        ),
        Deed(
            "complete",
            (Right.FILL,),
            _("Complete"),
            _("Nothing is left to do. A completed contract is not continued any more."),
            _("The contract is completed."),
            lifecycle.complete,
            Act.COMPLETE,
        ),
        Deed(
            "return-to-draft",
            (Right.OPERATE,),
            _("Return to draft"),
            _("The definition can be changed again, and nobody may go on until it has left draft once more."),
            _("The contract is a draft again."),
            lifecycle.return_to_draft,
            Act.RETURN_TO_DRAFT,
            reasoned=True,
        ),
        Deed(
            "cancel",
            (Right.OPERATE, Right.SHARE),
            _("Cancel the contract"),
            _("Nothing of it may be continued afterwards, and this cannot be taken back. Its record stays."),
            _("The contract is cancelled."),
            lifecycle.cancel,
            Act.CANCEL,
            reasoned=True,
            danger=True,
        ),
        Deed(
            "archive",
            (Right.OPERATE, Right.SHARE),
            _("Archive"),
            _("It leaves the lists. Nothing is deleted, and it can be brought back."),
            _("The contract is archived."),
            lifecycle.archive,
        ),
        Deed(
            "unarchive",
            (Right.OPERATE, Right.SHARE),
            _("Bring back from the archive"),
            _("It stands in the lists again."),
            _("The contract is back in the lists."),
            lambda **who: lifecycle.archive(archived=False, **who),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A deed as this person may do it now: with its address, or with the refusal that stands against it."""

    deed: Deed
    url: str
    refusal: Verdict | None


def act(request: HttpRequest, task_id: str, act: str) -> HttpResponse:
    if act not in DEEDS:
        raise Http404
    deed = DEEDS[act]
    loaded = load_contract(request, task_id)
    right = next((right for right in deed.rights if loaded.may(right)), None)
    if right is None:
        raise PermissionDenied(deed.label)
    posted = request.POST if request.method == "POST" else None
    form = (ReasonForm if deed.reasoned else NoReasonForm)(posted)
    if request.method != "POST":
        return _page(request, loaded, deed, form)
    if not form.is_valid():
        return _page(request, loaded, deed, form, status=422)
    who = {"contract_id": loaded.contract.pk, "actor": actor_of(request, right)}
    verdict = deed.gate(**who, **form.cleaned_data)
    if not verdict.allowed:
        loaded.contract.refresh_from_db()
        return _page(request, loaded, deed, form, verdict=verdict, status=409)
    messages.success(request, deed.done)
    return redirect("contracts:overview", task_id)


def _page(
    request: HttpRequest,
    loaded: Loaded,
    deed: Deed,
    form: Any,
    *,
    verdict: Verdict | None = None,
    status: int = 200,
) -> HttpResponse:
    context = contract_context(loaded)
    ahead = verdict or _refusal_ahead(deed, loaded.contract, context["missing"], timezone.now())
    shows_missing = ahead is not None and ahead.code == "incomplete"
    context |= {
        "deed": deed,
        "form": form,
        "refusal": verdict,
        "ahead": ahead,
        "effects": cancelling(loaded.contract, timezone.now()) if deed.act is Act.CANCEL else [],
        "lacking": missing_by_section(loaded.contract, context["missing"]) if shows_missing else [],
    }
    return render(request, "contracts/act.html", context, status=status)


def offers(loaded: Loaded, missing: tuple[Missing, ...], now: datetime) -> list[Offer]:
    """Return what this person may do with the contract as a whole in its present state."""
    contract = loaded.contract
    return [
        Offer(
            deed,
            reverse("contracts:act", args=[contract.task_id, deed.slug]),
            _refusal_ahead(deed, contract, missing, now),
        )
        for deed in DEEDS.values()
        if any(loaded.may(right) for right in deed.rights) and _fits(deed, contract)
    ]


def _fits(deed: Deed, contract: Contract) -> bool:
    if deed.act is not None:
        return deed.act in acts_from(CONTRACT_MOVES, contract.state)
    return contract.state in ENDED and bool(contract.archived_at) == (deed.slug == "unarchive")


def _refusal_ahead(
    deed: Deed, contract: Contract, missing: tuple[Missing, ...], now: datetime
) -> Verdict | None:
    """Return the refusal that the gate would give now, so that no button promises what it cannot do."""
    if not _fits(deed, contract):
        return refusal("illegal_move", state=ContractState(contract.state).label)
    if deed.act is Act.LEAVE_DRAFT and missing:
        return refusal("incomplete", count=len(missing))
    return _unfinished(contract, now) if deed.act is Act.COMPLETE else None


def _unfinished(contract: Contract, now: datetime) -> Verdict | None:
    if left := WorkObject.objects.filter(contract=contract).exclude(state__in=lifecycle.SETTLED).count():
        return refusal("objects_unfinished", count=left)
    unanswered = Operation.objects.filter(contract=contract, state__in=lifecycle.OPEN_OPERATIONS).count()
    if unanswered:
        return refusal("operations_open", count=unanswered)
    return refusal("deadline_passed") if contract.deadline and contract.deadline <= now else None


@dataclass(frozen=True, slots=True)
class Lack:
    """One missing thing in words, with the place where it is filled in."""

    url: str
    words: str


@dataclass(frozen=True, slots=True)
class SectionLack:
    """What one section lacks."""

    label: str
    url: str
    things: list[Lack]


def missing_by_section(contract: Contract, missing: tuple[Missing, ...]) -> list[SectionLack]:
    """Return everything that is missing, by section and in page order; sections lacking nothing are left out."""
    found = []
    for section in Section:
        url = reverse("contracts:section", args=[contract.task_id, section.value])
        things = [Lack(place_of(contract, m), said(m)) for m in missing if m.section == section]
        if things:
            found.append(SectionLack(gettext(section.label), url, things))
    return found


def place_of(contract: Contract, thing: Missing) -> str:
    """Return the address at which one missing thing is filled in."""
    url = reverse("contracts:section", args=[contract.task_id, thing.section.value])
    return url if thing.code == "not_marked" else f"{url}#{anchor_of(thing)}"


ROWS_OF_GRIDS: Mapping[str, Mapping[str, str]] = {
    "plane": {plane.label: plane.value for plane in Plane},
    "limit": {measure.label: measure.value for measure in Measure},
}


def anchor_of(thing: Missing) -> str:
    """Return the id of what lacks it on the page of its section: one row of a grid of forms, else the whole part."""
    row = ROWS_OF_GRIDS.get(thing.part, {}).get(thing.row)
    return f"row-{thing.part}-{row}" if row else f"part-{thing.part}"

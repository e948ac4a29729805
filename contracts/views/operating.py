"""What an operator may do with a contract in use: take over, pause, roll back, raise a cap."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from contracts.forms.operating import OperateForm
from contracts.gates.beats import database_now
from contracts.gates.rows import not_open
from contracts.gates.workers.changing import UNDER_WAY, raise_cap
from contracts.gates.workers.pausing import request_pause, take_over
from contracts.gates.workers.rolling_back import roll_back
from contracts.models import Checkpoint, Contract, Event, Limit
from contracts.rules.approving import member_words
from contracts.rules.granting import AT_WORK, HELD, Fate
from contracts.rules.refusals import refusal
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right
from contracts.views.loading import Asked, Loaded, contract_context, load_contract
from contracts.views.previewing import (
    Ahead,
    items_ahead,
)
from contracts.views.steering import (
    Steering,
    capped,
    chosen,
    pause_ahead,
    paused,
    raise_cap_ahead,
    raise_cap_form,
    raised,
    roll_back_ahead,
    roll_back_form,
    take_over_ahead,
)

IN_USE = HELD | {ContractState.PAUSED}


@dataclass(frozen=True, slots=True)
class Deed:
    """One act of an operator: what it is called and does, where it fits, its form, preview and gate.

    `shown_in`: the states in which the overview offers it; `open_in`: those in which the gate takes it.
    `done` says afterwards what was done.
    """

    slug: str
    label: Any
    told: Any
    shown_in: frozenset[ContractState]
    open_in: frozenset[ContractState]
    form: Callable[[Steering], OperateForm]
    preview: Callable[[Steering, OperateForm], list[Ahead]]
    gate: Callable[..., Verdict]
    done: Callable[[Verdict], str]
    danger: bool = False  # never on the overview: the grave word stands where it can be considered
    grave: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A deed as it may be done now: with its address, or with the refusal that stands against it."""

    deed: Deed
    url: str
    refusal: Verdict | None


DEEDS: Mapping[str, Deed] = {
    deed.slug: deed
    for deed in (
        Deed(
            "pause",
            _("Ask for a pause"),
            _("Work stops in an orderly way: what is under way ends first, and nothing is lost."),
            shown_in=AT_WORK,
            open_in=HELD,
            form=lambda asked: OperateForm(asked.posted),
            preview=pause_ahead,
            gate=request_pause,
            done=paused,
        ),
        Deed(
            "take-over",
            _("Take over"),
            _("The owner loses the task at once. Ask for a pause instead if there is time for it."),
            shown_in=HELD,
            open_in=HELD,
            form=lambda asked: OperateForm(asked.posted),
            preview=take_over_ahead,
            gate=take_over,
            done=lambda _verdict: gettext("Taken over: nobody holds the contract, and it is paused."),
            grave=True,
        ),
        Deed(
            "roll-back",
            _("Roll back"),
            _("Work goes on from an earlier checkpoint. Nothing that happened outside is taken back by it."),
            shown_in=IN_USE,
            open_in=IN_USE,
            form=roll_back_form,
            preview=roll_back_ahead,
            gate=roll_back,
            done=lambda _verdict: gettext("Rolled back."),
            grave=True,
        ),
        Deed(
            "raise-cap",
            _("Raise a cap"),
            _(
                "More may be used than was agreed. Everybody who may see the contract sees who allowed it and why."
            ),
            shown_in=IN_USE,
            open_in=UNDER_WAY,
            form=raise_cap_form,
            preview=raise_cap_ahead,
            gate=raise_cap,
            done=raised,
        ),
    )
}


@require_http_methods(["GET", "HEAD", "POST"])
def operate(request: Asked, task_id: str, act: str) -> HttpResponse:
    if act not in DEEDS:
        raise Http404
    deed = DEEDS[act]
    loaded = load_contract(request, task_id, Right.OPERATE)
    asked = Steering(loaded, request.POST if request.method == "POST" else None, database_now())
    form = deed.form(asked)
    if request.method != "POST":
        return _page(request, asked, deed, form)
    if _looks_first(asked, form):
        return _page(request, asked, deed, form, looking=True)
    if not form.is_valid():
        return _page(request, asked, deed, form, status=422)
    verdict = deed.gate(contract_id=loaded.contract.pk, actor=loaded.actor, **form.cleaned_data)
    if not verdict.allowed:
        loaded.contract.refresh_from_db()
        form.add_refusal(verdict)
        return _page(request, asked, deed, form, status=422 if verdict.problems else 409)
    messages.success(request, deed.done(verdict))
    if deed.slug == "roll-back":
        place = reverse("contracts:operate", args=[task_id, act])
        return redirect(f"{place}?{urlencode({'done': form.cleaned_data['request_key']})}")
    return redirect("contracts:overview", task_id)


def _looks_first(asked: Steering, form: OperateForm) -> bool:
    """Tell whether a checkpoint was chosen whose consequences the person has not been shown yet."""
    if "checkpoint_id" not in form.fields:
        return False
    return "show" in asked.posted or asked.posted.get("shown") != asked.posted.get("checkpoint_id")


def _page(
    request: Asked,
    asked: Steering,
    deed: Deed,
    form: OperateForm,
    *,
    looking: bool = False,
    status: int = 200,
) -> HttpResponse:
    if looking:
        form = _unjudged(asked, form)
    contract = asked.contract
    point = chosen(asked, form) if "checkpoint_id" in form.fields else None
    done = request.GET.get("done", "") if deed.slug == "roll-back" else ""
    context = contract_context(asked.loaded) | {
        "deed": deed,
        "form": form,
        "now": asked.now,
        "ahead": _refusal_ahead(deed, contract, asked.now),
        "effects": deed.preview(asked, form),
        "chooses": "checkpoint_id" in form.fields,
        "point": point,
        "items": items_ahead(contract, point, asked.now) if point else [],
        "gauges": capped(contract) if deed.slug == "raise-cap" else [],
        "done": _rolled_back(contract, done) if done else None,
        "has_errors": form.is_bound and bool(form.errors),
    }
    return render(request, "contracts/operate.html", context, status=status)


def _unjudged(asked: Steering, form: OperateForm) -> OperateForm:
    """Return the form with what stands in it, before anything of it is judged."""
    if not asked.posted.get("checkpoint_id"):
        form.full_clean()
        form.errors.pop("reason", None)
        return form
    kept = tuple((name, asked.posted.get(name, "")) for name in form.fields)
    return roll_back_form(Steering(asked.loaded, None, asked.now, kept))


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of one approval when the contract was rolled back."""

    item_id: str
    fate: Fate
    why: str


def _rolled_back(contract: Contract, request_key: str) -> dict[str, Any] | None:
    """Return what a rollback did, as its event tells it."""
    told = Event.objects.of(contract.pk).filter(act="roll_back", refused="", after__request=request_key)
    after = told.values_list("after", flat=True).first()
    if after is None:
        return None
    items = [
        Settled(item["item_id"], Fate(item["fate"]), gettext(member_words(item["why"])))
        for item in after["approvals"]
    ]
    return {**after, "items": items}


def operator_offers(loaded: Loaded, now: datetime) -> list[Offer]:
    """Return what this person, if an operator, may do with the contract in its present state."""
    if not loaded.may(Right.OPERATE):
        return []
    contract = loaded.contract
    return [
        Offer(
            deed,
            reverse("contracts:operate", args=[contract.task_id, deed.slug]),
            _refusal_ahead(deed, contract, now),
        )
        for deed in DEEDS.values()
        if contract.state in deed.shown_in
    ]


def _refusal_ahead(deed: Deed, contract: Contract, now: datetime) -> Verdict | None:
    """Return the refusal that the gate would give now, so that no button promises what it cannot do."""
    if contract.state not in deed.open_in:
        return not_open(contract)
    if deed.slug == "roll-back":
        if contract.deadline is not None and contract.deadline <= now:
            return refusal("deadline_passed")
        if not Checkpoint.objects.filter(contract=contract, rolled_back_at__isnull=True).exists():
            return refusal("no_checkpoint_yet")
    if deed.slug == "raise-cap" and not Limit.objects.filter(contract=contract, cap__isnull=False).exists():
        return refusal("nothing_capped")
    return None

"""Opening the next round of a call that was sent back, withdrawn, corrected or rejected."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.asking import RoundForm
from contracts.gates.beats import database_now
from contracts.gates.rounds import ENDED, open_round
from contracts.gates.rows import not_open
from contracts.models import Approval, Artefact, Limit, Operation, UsageEntry
from contracts.rules.approving import rebound
from contracts.rules.differing import ABSENT, differences
from contracts.rules.parts.part import ALIVE
from contracts.rules.refusals import refusal
from contracts.rules.states import ApprovalState, ContractState, OperationState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Measure, Right
from contracts.views.loading import Asked, Loaded, contract_context, load_contract


@dataclass(frozen=True, slots=True)
class Differing:
    """One place at which the parameters of two rounds differ, both values as text; empty where there is none."""

    pointer: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class Former:
    """The operation of an item, the newest round of its slot, and how often its step was tried."""

    operation: Operation
    newest: Operation
    item: Approval | None
    draft: Artefact | None
    used: Decimal
    cap: Decimal | None

    @property
    def tries(self) -> tuple[str, str]:
        """Return the tries used and their cap as text; the cap is empty where there is none."""
        return _number(self.used), _number(self.cap) if self.cap is not None else ""

    @property
    def asked(self) -> bool:
        """Tell whether somebody is asked about the operation, or allowed it and nobody has sent it."""
        states = (ApprovalState.PENDING, ApprovalState.APPROVED)
        return self.item is not None and self.item.state in states and self.item.consumed_at is None

    @property
    def following(self) -> int:
        """Return the number of the round that would be opened."""
        return int(self.newest.round) + 1

    @property
    def parameters(self) -> str:
        """Return the parameters of the former round as they are shown."""
        return _json(self.operation.parameters)

    @property
    def rebound(self) -> Any:
        """Return the parameters with each mention of the draft changed to its current version."""
        if self.draft is None:
            return self.operation.parameters
        shown = (self.draft.artefact_id, self.draft.version_label, self.draft.sha256)
        return rebound(self.operation.parameters, *shown)


@require_http_methods(["GET", "HEAD", "POST"])
def open_next(request: Asked, task_id: str, operation_key: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.FILL)
    operations = Operation.objects.joined().filter(contract=loaded.contract)
    former = _former(loaded, get_object_or_404(operations, key=operation_key))
    if request.method != "POST":
        return _page(request, loaded, former, RoundForm(initial={"parameters": _json(former.rebound)}))
    form = RoundForm(request.POST)
    if "show" in request.POST or not form.is_valid():
        return _page(request, loaded, former, form, status=200 if form.is_valid() else 422)
    verdict = open_round(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        operation_key=former.operation.key,
        parameters=form.cleaned_data["parameters"],
    )
    if verdict.allowed:
        return _opened(request, loaded, former, verdict.outcome)
    loaded.contract.refresh_from_db()
    form.add_refusal(verdict)
    return _page(request, loaded, former, form, status=422 if verdict.problems else 409)


def _opened(request: Asked, loaded: Loaded, former: Former, operation: Operation) -> HttpResponse:
    messages.success(request, gettext("Round %(number)d is open.") % {"number": operation.round})
    query = {"operation": operation.key, "draft": former.draft.artefact_id if former.draft else ""}
    place = reverse("contracts:ask", args=[loaded.contract.task_id])
    return redirect(f"{place}?{urlencode(query)}")


def _page(
    request: Asked, loaded: Loaded, former: Former, form: RoundForm, *, status: int = 200
) -> HttpResponse:
    former = _former(loaded, former.operation)
    typed = form.read() if form.is_bound else former.rebound
    context = contract_context(loaded, "approvals") | {
        "item": former.item,
        "form": form,
        "former": former,
        "differing": _differing(former.operation.parameters, typed) if typed is not None else None,
        "ahead": _refusal_ahead(loaded, former),
    }
    return render(request, "contracts/round.html", context, status=status)


def _former(loaded: Loaded, former: Operation) -> Former:
    operations = Operation.objects.joined().filter(contract=loaded.contract)
    operation = operations.get(pk=former.pk)
    slot = operations.filter(
        work_object=operation.work_object, step=operation.step, tool=operation.tool
    ).order_by("-round")
    items = Approval.objects.joined().filter(contract=loaded.contract, operation=operation)
    item = items.order_by("-asked_at").first()
    about = item.draft if item else operation.work_object and operation.work_object.artefact
    drafts = Artefact.objects.filter(contract=loaded.contract, current=True)
    draft = drafts.filter(artefact_id=about.artefact_id).first() if about else None
    measure = Measure.TRIES_PER_STEP.value
    cap = (
        Limit.objects.filter(contract=loaded.contract, measure=measure).values_list("cap", flat=True).first()
    )
    entries = UsageEntry.objects.filter(contract=loaded.contract, step=operation.step)
    used = max(Decimal(operation.round), entries.totals().get(measure, Decimal(0)))
    return Former(operation, slot.first() or operation, item, draft, used, cap)


def _refusal_ahead(loaded: Loaded, former: Former) -> Verdict | None:
    """Return the refusal that the gate would give now, so that no button promises what it cannot do."""
    contract = loaded.contract
    if contract.state not in ALIVE - {ContractState.DRAFT}:
        return not_open(contract)
    if contract.deadline is not None and contract.deadline <= database_now():
        return refusal("deadline_passed")
    waits = former.operation.state == OperationState.PENDING and not former.asked
    if former.newest.round > former.operation.round or not (waits or former.operation.state in ENDED):
        return refusal("round_not_open")
    used_up = former.cap is not None and former.used + 1 > former.cap
    return refusal("rounds_used_up") if used_up else None


def _differing(was: Any, now: Any) -> list[Differing]:
    return [Differing(place.pointer, _said(place.was), _said(place.now)) for place in differences(was, now)]


def _said(value: Any) -> str:
    if value is ABSENT:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, Mapping | list) else None)


def _number(amount: Decimal) -> str:
    return format(amount.normalize(), "f")

"""Taking a question back, by whoever asked it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.life import ReasonForm
from contracts.gates.requesting import withdraw as withdraw_item
from contracts.models import Approval
from contracts.rules.refusals import refusal
from contracts.rules.states import APPROVAL_MOVES, Act, ApprovalState, may_move
from contracts.rules.verdict import Verdict
from contracts.views.approval import load_item
from contracts.views.loading import Asked, Loaded, contract_context, load_contract


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: Asked, task_id: str, item_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    item = load_item(loaded, item_id)
    if request.method != "POST":
        return _page(request, loaded, item, ReasonForm())
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, loaded, item, form, status=422)
    verdict = withdraw_item(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        item_id=item.item_id,
        reason=form.cleaned_data["reason"],
    )
    if verdict.allowed:
        messages.success(request, gettext("The item is withdrawn; its operation is abandoned."))
        return redirect("contracts:approval", task_id, item_id)
    loaded.contract.refresh_from_db()
    return _page(request, loaded, load_item(loaded, item_id), form, verdict=verdict, status=409)


def _page(
    request: Asked,
    loaded: Loaded,
    item: Approval,
    form: ReasonForm,
    *,
    verdict: Verdict | None = None,
    status: int = 200,
) -> HttpResponse:
    context = contract_context(loaded, "approvals") | {
        "item": item,
        "form": form,
        "ahead": verdict or _refusal_ahead(item, loaded.actor.name),
        "has_errors": verdict is not None,
    }
    return render(request, "contracts/withdraw.html", context, status=status)


def _refusal_ahead(item: Approval, name: str) -> Verdict | None:
    """Return the refusal that the gate would give now, so that no button promises what it cannot do."""
    if item.requester != name:
        return refusal("requester_not_asking")
    if item.consumed_at:
        return refusal("approval_used")
    movable = may_move(APPROVAL_MOVES, item.state, ApprovalState.WITHDRAWN, Act.WITHDRAW)
    return None if movable else refusal("illegal_move", state=ApprovalState(item.state).label)

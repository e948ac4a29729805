"""The approval page: what you see is what you approve."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods
from django_htmx.http import reswap, retarget

from contracts.forms.deciding import CorrectionForm, Decision, read_decision
from contracts.gates.approving import decide, record_refusal
from contracts.gates.correcting import correct_draft
from contracts.gates.form_keys import make_form_key
from contracts.gates.looking import look
from contracts.gates.reading import mark_read_about
from contracts.models import Approval
from contracts.rules.refusals import FIELDS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right
from contracts.views.confirming import confirm_address, confirmed, step_up
from contracts.views.loading import Asked, Loaded, load_contract
from contracts.views.policy_words import policy_sentence
from contracts.views.shown import NOT_SURE, Shown, place_of, shown_item

# What is wrong with the post itself; with the person; everything else is a conflict with how the item stands.
STATUS = {
    "unknown_fields": 400,
    "missing_fields": 400,
    "unknown_decision": 422,
    "reason_missing": 422,
    "bad_values": 422,
    "nothing_corrected": 422,
    "workers_never_decide": 403,
    "own_request": 403,
    "own_draft": 403,
    "author_cannot_decide": 403,
    "requester_cannot_decide": 403,
    "no_right_to_decide": 403,
    "passed_to_another": 403,
    "login_not_fresh": 403,
    "second_factor_missing": 403,
    "form_key_wrong": 403,
}


@require_http_methods(["GET", "HEAD", "POST"])
def approval(request: Asked, task_id: str, item_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    if request.method == "POST":
        return _decide(request, loaded, item_id)
    item = load_item(loaded, item_id)
    shown = shown_item(request, loaded, item)
    if shown.needs_confirming and shown.policy is not None:
        asked = step_up(request, shown.policy)
        if asked is not None:
            return asked
    return _page(request, shown)


@require_http_methods(["POST"])
def looking(request: Asked, task_id: str, item_id: str) -> HttpResponse:
    """Record that the page is open, and answer how the item stands: its small live part, or all of it."""
    loaded = load_contract(request, task_id)
    item = load_item(loaded, item_id)
    look(contract_id=loaded.contract.pk, place=place_of(item), user=request.user)
    mark_read_about(request.user, contract_id=loaded.contract.pk, item_id=item.item_id)
    shown = shown_item(request, loaded, item)
    if request.POST.get("mark") == shown.mark:
        told = {"shown": shown, "item": item, "now": shown.now, "oob": True}
        parts = ("live", "agreement", "agreed") if shown.open and shown.quorum > 1 else ("live",)
        return HttpResponse(
            "".join(render_to_string(f"contracts/approval.html#{part}", told, request) for part in parts)
        )
    context = _context(request, shown) | {"reason": request.POST.get("reason", ""), "announce": True}
    return reswap(retarget(render(request, "contracts/approval.html#item", context), "#item"), "outerHTML")


@require_http_methods(["GET", "HEAD", "POST"])
def correct(request: Asked, task_id: str, item_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.DECIDE)
    item = load_item(loaded, item_id)
    shown = shown_item(request, loaded, item)
    if request.method == "POST":
        return _correct(request, shown)
    asked = step_up(request, shown.policy) if shown.needs_confirming and shown.policy else None
    if asked is not None:
        return asked
    if not shown.correctable:
        return redirect("contracts:approval", task_id, item_id)
    text = item.draft.inline_text if item.draft else ""
    form = CorrectionForm(initial={"text": text, "seen": item.fingerprint})
    return render(request, "contracts/correct.html", _context(request, shown) | {"form": form})


def load_item(loaded: Loaded, item_id: str) -> Approval:
    """Return the item of this contract; 404 if it has none of that id."""
    items = Approval.objects.whole().filter(contract=loaded.contract)
    return get_object_or_404(items, item_id=item_id)


def _decide(request: Asked, loaded: Loaded, item_id: str) -> HttpResponse:
    posted = read_decision(request)
    contract = loaded.contract
    if isinstance(posted, Verdict):
        verdict = record_refusal(contract_id=contract.pk, actor=loaded.actor, item_id=item_id, verdict=posted)
        return _refused(request, loaded, item_id, verdict)
    verdict = decide(
        contract_id=contract.pk,
        actor=loaded.actor,
        user=request.user,
        item_id=posted.item,
        seen=posted.seen,
        decision=posted.decision,
        reason=posted.reason,
        form_key=posted.key if posted.item == item_id else "",
        **_sure(request),
    )
    if verdict.allowed:
        return redirect("contracts:approval", contract.task_id, item_id)
    if verdict.code == "already_decided":
        # Many may come too late at once: they are told what stands without the whole page being made anew.
        told = {"item": verdict.outcome, "contract": contract, "refusal": verdict, "nav_here": "approvals"}
        return render(request, "contracts/approval_late.html", told, status=409)
    return _refused(request, loaded, item_id, verdict, posted)


def _sure(request: Asked) -> dict[str, Any]:
    known = confirmed(request)
    return {"confirmed_at": known.at, "second_factor_at": known.second_factor_at}


def _refused(
    request: Asked, loaded: Loaded, item_id: str, verdict: Verdict, posted: Decision | None = None
) -> HttpResponse:
    """Show the item as it stands, with the refusal and whatever was written as a reason."""
    loaded.contract.refresh_from_db()
    shown = shown_item(request, loaded, load_item(loaded, item_id))
    told = {"refusal": verdict, "reason": posted.reason if posted else ""}
    if verdict.code in NOT_SURE and shown.policy is not None:
        told["confirm_url"] = confirm_address(request, second_factor=shown.policy.second_factor)
    lacking = [verdict] if FIELDS.get(verdict.code) == "reason" else []
    told["reason_wrong"] = lacking or [p for p in verdict.problems if p.field == "reason"]
    return _page(request, shown, status=STATUS.get(verdict.code, 409), **told)


def _page(request: Asked, shown: Shown, *, status: int = 200, **told: Any) -> HttpResponse:
    response = render(request, "contracts/approval.html", _context(request, shown) | told, status=status)
    response.headers["Cache-Control"] = "no-store"  # going back shows how it stands, not how it stood
    return response


def _context(request: Asked, shown: Shown) -> dict[str, Any]:
    return {
        "shown": shown,
        "item": shown.item,
        "contract": shown.loaded.contract,
        "now": shown.now,
        "policy_words": policy_sentence(shown.policy) if shown.policy else "",
        "form_key": make_form_key(shown.item, request.user) if shown.offers_buttons else "",
        "may_fill": shown.loaded.may(Right.FILL),
        "may_withdraw": shown.item.requester == request.user.get_username(),
        "nav_here": "approvals",
    }


def _correct(request: Asked, shown: Shown) -> HttpResponse:
    form = CorrectionForm(request.POST)
    contract, item = shown.loaded.contract, shown.item
    if not form.is_valid():
        context = _context(request, shown) | {"form": form}
        return render(request, "contracts/correct.html", context, status=422)
    verdict = correct_draft(
        contract_id=contract.pk,
        actor=shown.loaded.actor,
        user=request.user,
        item_id=item.item_id,
        **form.cleaned_data,
        **_sure(request),
    )
    if verdict.allowed:
        return redirect("contracts:approval", contract.task_id, item.item_id)
    told: dict[str, Any] = {"form": form, "refusal": verdict}
    if STATUS.get(verdict.code) == 422:
        form.add_refusal(verdict, FIELDS.get(verdict.code, "text"))
        told = {"form": form}
    elif verdict.code in NOT_SURE and shown.policy is not None:
        told["confirm_url"] = confirm_address(request, second_factor=shown.policy.second_factor)
    shown = shown_item(request, shown.loaded, load_item(shown.loaded, item.item_id))
    status = STATUS.get(verdict.code, 409)  # what was written stays, whatever became of the item
    return render(request, "contracts/correct.html", _context(request, shown) | told, status=status)

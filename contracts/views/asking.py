"""Asking by hand for a decision on one pending call, with everything in sight that will be copied."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext
from django.views.decorators.http import require_http_methods

from contracts.forms.asking import AskForm
from contracts.gates.beats import database_now
from contracts.gates.binding import current_policy
from contracts.gates.requesting import ASKABLE, request_approval
from contracts.gates.rows import not_open
from contracts.models import Approval, Artefact, Contract, Operation
from contracts.rules.approving import Policy, names_other_version
from contracts.rules.refusals import refusal
from contracts.rules.states import ApprovalState, OperationState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right
from contracts.views.loading import Asked, Loaded, contract_context, load_contract
from contracts.views.policy_words import policy_sentence

OFFERED = 200  # operations and drafts that one list holds; what is asked for by its address is always there
NAMES = ("operation", "draft", "reason", "hours", "preview")


@dataclass(frozen=True, slots=True)
class Call:
    """One pending call with the draft it would publish, as both stand now."""

    operation: Operation
    draft: Artefact | None
    open_item: Approval | None

    @property
    def mark(self) -> str:
        """Return what tells this call and this version of the draft from any other."""
        draft = f"{self.draft.artefact_id}:{self.draft.sha256}" if self.draft else ""
        return f"{self.operation.key}:{draft}"

    @property
    def parameters(self) -> str:
        """Return the parameters as they are shown."""
        return json.dumps(self.operation.parameters, ensure_ascii=False, indent=2)

    @property
    def waits(self) -> bool:
        """Tell whether an item of this call waits for a decision already."""
        return self.open_item is not None and self.open_item.state == ApprovalState.PENDING

    def may_be_asked_by(self, name: str) -> bool:
        """Tell whether asking can lead to an item: nothing stands already, or only another person's question."""
        return self.open_item is None or (self.waits and self.open_item.requester != name)

    @property
    def draft_refusal(self) -> Verdict | None:
        """Return that the call names another version of the draft, if it does."""
        shown = (self.draft.artefact_id, self.draft.version_label, self.draft.sha256) if self.draft else None
        other = shown is not None and names_other_version(self.operation.parameters, *shown)
        return refusal("other_version_named") if other else None


def ask_refusal(contract: Contract, policy: Policy | None, now: datetime) -> Verdict | None:
    """Return why nothing can be asked for in this contract at `now`, or None."""
    if contract.state not in ASKABLE:
        return not_open(contract)
    if contract.deadline is None or contract.deadline <= now:
        return refusal("deadline_passed")
    return refusal("policy_unreadable") if policy is None else None


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: Asked, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.FILL)
    if request.method != "POST":
        return _page(request, loaded, request.GET)
    if "show" in request.POST:
        return _page(request, loaded, _without_former_draft(request.POST))
    return _ask(request, loaded)


def _without_former_draft(posted: Mapping[str, str]) -> dict[str, str]:
    """Return what was typed; a draft that came with another call, untouched, gives way to this call's own."""
    values = {name: posted[name] for name in NAMES if name in posted}
    key, _, draft = posted.get("shown", "").partition(":")
    if values.get("operation") != key and draft.rpartition(":")[0] == values.get("draft"):
        del values["draft"]
    return values


def _ask(request: Asked, loaded: Loaded) -> HttpResponse:
    form = _form(loaded, request.POST, request.POST)
    if not form.is_valid():
        return _page(request, loaded, request.POST, form=form, status=422)
    values = form.cleaned_data
    call = _call(loaded.contract, values["operation"], values["draft"])
    if call is None or values["shown"] != call.mark:
        return _page(request, loaded, request.POST, status=409, unseen=True)
    verdict = request_approval(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        operation_key=values["operation"],
        reason=values["reason"],
        preview=values["preview"],
        draft_id=values["draft"],
        draft_seen=call.draft.sha256 if call.draft else "",
        hours=values["hours"],
    )
    if verdict.allowed:
        messages.success(request, gettext("The item waits for a decision now."))
        return redirect("contracts:approval", loaded.contract.task_id, verdict.outcome.item_id)
    loaded.contract.refresh_from_db()
    form.add_refusal(verdict)
    return _page(request, loaded, request.POST, form=form, status=422 if verdict.problems else 409)


def _page(
    request: Asked,
    loaded: Loaded,
    given: Mapping[str, str],
    *,
    form: AskForm | None = None,
    status: int = 200,
    unseen: bool = False,
) -> HttpResponse:
    contract = loaded.contract
    policy, now = current_policy(contract), database_now()
    ahead = ask_refusal(contract, policy, now)
    call = _call(contract, _chosen(contract, given), given.get("draft"))
    context = contract_context(loaded, "approvals") | {
        "ahead": ahead,
        "pending": _pending(contract).exists(),
        "call": call,
        "askable": call is not None and call.may_be_asked_by(loaded.actor.name),
        "policy_words": policy_sentence(policy) if policy else "",
        "form": form or _form(loaded, given, call=call),
        "has_errors": unseen,
        "unseen": unseen,
        "now": now,
    }
    return render(request, "contracts/ask.html", context, status=status)


def _chosen(contract: Contract, given: Mapping[str, str]) -> str:
    """Return the key of the operation that was asked for, or of the only one there is."""
    if "operation" in given:
        return _clean(given["operation"])
    keys = _pending(contract).values_list("key", flat=True)[:2]
    return keys[0] if len(keys) == 1 else ""


def _call(contract: Contract, key: str, draft_id: str | None) -> Call | None:
    """Return the pending operation with this key, and the draft; without a word on it, the object's own."""
    operation = _pending(contract).filter(key=_clean(key)).first()
    if operation is None:
        return None
    own = operation.work_object.artefact if operation.work_object else None
    wanted = _clean(draft_id) if draft_id is not None else own.artefact_id if own else ""
    draft = _drafts(contract).filter(artefact_id=wanted).first() if wanted else None
    items = Approval.objects.open().filter(contract=contract, operation=operation)
    return Call(operation, draft, items.order_by("-state").first())


def _form(
    loaded: Loaded, given: Mapping[str, str], posted: Any = None, *, call: Call | None = None
) -> AskForm:
    """Return the form with what was `posted`, or with what is `given` and `call` for the rest."""
    contract = loaded.contract
    policy = current_policy(contract)
    own: dict[str, Any] = {
        "operation": call.operation.key if call else "",
        "draft": call.draft.artefact_id if call and call.draft else "",
        "hours": policy.default_expiry_hours if policy else "",
    }
    initial = own | {name: _clean(given[name]) for name in NAMES if name in given}
    return AskForm(
        posted,
        initial=initial | {"shown": call.mark if call else ""},
        operations=_operation_words(contract, initial["operation"]),
        drafts=_draft_words(contract, initial["draft"]),
        hours_hint=_hours_hint(contract, policy),
    )


def _pending(contract: Contract) -> QuerySet[Any]:
    return Operation.objects.of(contract.pk).joined().filter(state=OperationState.PENDING.value)


def _drafts(contract: Contract) -> QuerySet[Any]:
    return Artefact.objects.of(contract.pk).filter(current=True)


def _operation_words(contract: Contract, wanted: str) -> list[tuple[str, str]]:
    """Return key → words of the pending operations, `wanted` among them if it is pending."""
    names = ("key", "tool__tool", "target", "work_object__object_id", "step", "round", "pk")
    rows = list(_pending(contract).values_list(*names)[:OFFERED])
    if wanted and wanted not in {row[0] for row in rows}:
        rows += _pending(contract).filter(key=wanted).values_list(*names)
    waiting = Approval.objects.filter(
        contract=contract, state=ApprovalState.PENDING.value, operation__in=[row[-1] for row in rows]
    )
    asked = set(waiting.values_list("operation", flat=True))
    return [(row[0], _words(row, row[-1] in asked)) for row in rows]


def _words(row: tuple[Any, ...], asked: bool) -> str:
    _, tool, target, thing, step, number, _ = row
    place = [f"{tool} → {target}", thing, step, gettext("round %(number)d") % {"number": number}]
    return " · ".join([word for word in place if word] + [gettext("waits for a decision")] * asked)


def _draft_words(contract: Contract, wanted: str) -> list[tuple[str, str]]:
    names = ("artefact_id", "version_label")
    rows = list(_drafts(contract).values_list(*names)[:OFFERED])
    if wanted and wanted not in {row[0] for row in rows}:
        rows += _drafts(contract).filter(artefact_id=wanted).values_list(*names)
    version = gettext("version %(label)s")
    return [(name, f"{name} · {version % {'label': label}}") for name, label in rows]


def _hours_hint(contract: Contract, policy: Policy | None) -> str:
    if policy is None or contract.deadline is None:
        return ""
    deadline = date_format(timezone.localtime(contract.deadline), pgettext("date format", "j F Y, H:i T"))
    hint = gettext("At the longest %(hours)d, and not beyond the deadline of the task: %(deadline)s.")
    return hint % {"hours": policy.longest_expiry_hours, "deadline": deadline}


def _clean(text: str) -> str:
    """Return text that the database takes: none holds a NUL."""
    return text.replace("\0", "")

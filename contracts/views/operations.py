"""One external write: what is known of it, what may be done with it, and everything that happened to it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.reconciling import EscalateForm, ReconcileForm, SaidForm, SettleForm
from contracts.gates.beats import database_now
from contracts.gates.workers.certainty import outlook_of
from contracts.gates.workers.handing_over import escalate
from contracts.gates.workers.reconciling import ANSWERABLE, reconcile, settle_by_person
from contracts.models import Approval, Attempt, Event, Operation, OwnerGate
from contracts.rules.approving import same_name
from contracts.rules.ledger import AskedForm
from contracts.rules.repeating import Ahead, Outlook
from contracts.rules.repeating import Asked as AskedOnce
from contracts.rules.resume_rows import read_asked
from contracts.rules.states import OperationState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right, StaleOwner
from contracts.rules.words import N_
from contracts.views.history import Told, told
from contracts.views.loading import Asked, Loaded, contract_context, load_contract

LATEST_EVENTS = 100
# What is known of a write, as one sentence.
KNOWN: Mapping[OperationState, str] = {
    OperationState.PENDING: N_("It was not sent yet."),
    OperationState.SENDING: N_("It is being sent just now."),
    OperationState.CONFIRMED: N_("It happened, and is never sent again."),
    OperationState.REJECTED: N_("The target clearly rejected it: nothing was written."),
    OperationState.UNKNOWN: N_("Nobody knows yet whether it happened."),
    OperationState.ABANDONED: N_("It was dropped before it was sent."),
}
LEFT_ALONE = N_("It may have left: its owner is gone. The next resume finds it as unknown.")
CALM = {
    OperationState.CONFIRMED: "ready",
    OperationState.UNKNOWN: "reconcile",
    OperationState.REJECTED: "refuse",
    OperationState.SENDING: "busy",
}


@dataclass
class ShownOperation:
    """One operation with all that its page tells; what not every page needs is read when asked for."""

    loaded: Loaded
    operation: Operation
    now: datetime
    names: tuple[str, ...]

    @property
    def state(self) -> OperationState:
        return OperationState(self.operation.state)

    @property
    def unknown(self) -> bool:
        """Tell whether nobody knows the result."""
        return self.state is OperationState.UNKNOWN

    @property
    def known(self) -> str:
        """Return what is known of it, as one sentence."""
        alone = self.state is OperationState.SENDING and not self.owner_lives
        return LEFT_ALONE if alone else KNOWN[self.state]

    @property
    def calm(self) -> str:
        """Return the tone in which that is said."""
        return CALM.get(self.state, "")

    @property
    def owner_lives(self) -> bool:
        """Tell whether the attempt that sent it still holds the contract."""
        sender = self.sender
        if sender is None or sender.ended_at is not None or sender.lease_end is None:
            return False
        return bool(sender.lease_end > self.now)

    @cached_property
    def sender(self) -> Attempt | None:
        """Return the attempt of the generation that sent it."""
        found = Attempt.objects.filter(contract=self.operation.contract_id)
        return found.filter(generation=self.operation.generation or 0).first()

    @cached_property
    def outlook(self) -> Outlook | None:
        """Return what may be done with it, where its result is unknown."""
        if not self.unknown:
            return None
        return outlook_of(self.operation, now=self.now)

    @property
    def for_a_person(self) -> bool:
        """Tell whether only a person can say what became of it."""
        return self.outlook is not None and self.outlook.ahead is Ahead.PERSON

    @cached_property
    def named(self) -> list[str]:
        """Return who is named for what nobody can know: for the tool, then for the whole contract."""
        gates = OwnerGate.objects.of(self.operation.contract_id).values_list("named_person", flat=True)
        return [name for name in (self.operation.tool.named_person, *gates) if name]

    @property
    def person(self) -> str:
        """Return who decides where nobody can know."""
        return next(iter(self.named), "")

    @property
    def is_named(self) -> bool:
        """Tell whether that is the reader."""
        return any(same_name(name, own) for name in self.named for own in self.names)

    @property
    def may_reconcile(self) -> bool:
        """Tell whether the reader may say how the target answered."""
        return self.unknown and self.loaded.may(Right.OPERATE)

    @property
    def may_settle(self) -> bool:
        """Tell whether the reader may decide where nobody can know."""
        return self.unknown and (self.loaded.may(Right.OPERATE) or self.is_named)

    @property
    def may_escalate(self) -> bool:
        """Tell whether the reader may hand it to the named person; an owner at work is stopped by operators only."""
        if self.loaded.contract.state not in ANSWERABLE:
            return False
        return self.may_settle and (self.loaded.may(Right.OPERATE) or not self.at_work)

    @cached_property
    def at_work(self) -> bool:
        """Tell whether some owner holds the contract now."""
        open_now = Attempt.objects.filter(contract=self.operation.contract_id, ended_at__isnull=True)
        return open_now.filter(lease_end__gt=self.now).exists()

    @property
    def next_url(self) -> str:
        """Return where a decision on it is asked for, or another round opened, by whoever may fill in."""
        task_id, key = self.loaded.contract.task_id, self.operation.key
        if not self.loaded.may(Right.FILL):
            return ""
        if self.state is OperationState.PENDING and self.operation.tool.needs_approval:
            return f"{reverse('contracts:ask', args=[task_id])}?{urlencode({'operation': key})}"
        ended = self.state in (OperationState.REJECTED, OperationState.ABANDONED)
        return reverse("contracts:round", args=[task_id, key]) if ended else ""

    @cached_property
    def items(self) -> list[Approval]:
        """Return every request for a decision on it, the newest first."""
        found = Approval.objects.of(self.operation.contract_id).filter(operation=self.operation)
        return list(found.order_by("-asked_at", "-id"))

    @cached_property
    def events(self) -> list[tuple[Told, OperationState | None]]:
        """Return what happened to it and the state it led to, the newest first."""
        found = Event.objects.of(self.operation.contract_id).filter(
            part="operation", subject=self.operation.natural_key()
        )
        return [(told(event), _became(event)) for event in found.order_by("-sequence")[:LATEST_EVENTS]]

    @property
    def parameters(self) -> str:
        """Return the whole parameters as readable JSON."""
        return json.dumps(self.operation.parameters, indent=2, ensure_ascii=False, sort_keys=True)

    @cached_property
    def asked(self) -> AskedOnce | None:
        """Return how the target was asked last, if anybody did and the record can be relied on."""
        return read_asked(self.operation.reconciliation)

    @property
    def asked_by(self) -> str:
        """Return who asked the target last, or decided; a record from elsewhere may name nobody."""
        record = self.operation.reconciliation or {}
        return str(record.get("asked_by") or record.get("decided_by") or record.get("who") or "")

    @property
    def certify_hint(self) -> str:
        """Return what a certificate that the sender is dead is good for with this tool."""
        seconds = self.operation.tool.settle_seconds
        if seconds is None:
            return gettext("No settle time is stated for this tool, so even then “not found” is not “never”.")
        said = gettext(
            "Only if you ended it, or saw that it has ended. What it sent last may still appear for %(seconds)d "
            "seconds: ask once more after that, then “not found” counts."
        )
        return said % {"seconds": seconds}

    @property
    def gap(self) -> bool:
        """Tell whether nothing keeps a displaced owner from writing into the target."""
        return bool(self.operation.tool.stale_owner == StaleOwner.NONE)


def _became(event: Event) -> OperationState | None:
    """Return the state that an event led to; a note that changed none led to none."""
    before, after = (event.before or {}).get("state"), (event.after or {}).get("state")
    return OperationState(after) if after != before and after in set(OperationState) else None


@require_http_methods(["GET", "HEAD", "POST"])
def operation(request: Asked, task_id: str, operation_key: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    shown = _shown(request, loaded, operation_key)
    if request.method != "POST":
        return _page(request, shown)
    act = request.POST.get("act", "")
    if act not in DEEDS:
        raise BadRequest("act: no such act on an operation")
    if act == "reconcile" and not loaded.may(Right.OPERATE):
        raise PermissionDenied(Right.OPERATE.label)
    form = _forms(shown, request.POST if act else None, act)[act]
    if not form.is_valid():
        return _page(request, shown, act, form, status=422)
    verdict = DEEDS[act](shown, form.cleaned_data)
    if verdict.allowed:
        messages.success(request, _done(act, verdict))
        return redirect("contracts:operation", task_id, operation_key)
    loaded.contract.refresh_from_db()
    form.add_refusal(verdict)
    status = 403 if verdict.code in FORBIDDEN else 422 if verdict.problems else 409
    return _page(request, _shown(request, loaded, operation_key), act, form, status=status)


FORBIDDEN = frozenset({"operator_only", "not_the_named_person"})


def _shown(request: Asked, loaded: Loaded, key: str) -> ShownOperation:
    operations = Operation.objects.joined().filter(contract=loaded.contract)
    found = get_object_or_404(operations, key=key)
    user: Any = request.user
    return ShownOperation(loaded, found, database_now(), (user.get_username(), user.get_full_name()))


def _page(
    request: Asked, shown: ShownOperation, act: str = "", form: SaidForm | None = None, *, status: int = 200
) -> HttpResponse:
    forms = _forms(shown, None, "")
    if form is not None:
        forms[act] = form
    context = contract_context(shown.loaded, "operations") | {
        "shown": shown,
        "operation": shown.operation,
        "now": shown.now,
        "forms": forms,
        "posted": act,
        "has_errors": form is not None,
    }
    return render(request, "contracts/operation.html", context, status=status)


def _forms(shown: ShownOperation, posted: Any, act: str) -> dict[str, SaidForm]:
    def given(name: str) -> Any:
        return posted if name == act else None

    return {
        "reconcile": ReconcileForm(
            given("reconcile"), path=shown.operation.tool.query_path, certify_hint=shown.certify_hint
        ),
        "settle": SettleForm(given("settle")),
        "escalate": EscalateForm(given("escalate")),
    }


def _who(shown: ShownOperation) -> dict[str, Any]:
    return {
        "contract_id": shown.loaded.contract.pk,
        "actor": shown.loaded.acting(),
        "operation_key": shown.operation.key,
    }


def _reconcile(shown: ShownOperation, said: dict[str, Any]) -> Verdict:
    asked = AskedForm(**{**said, "asked_at": said["asked_at"] or shown.now})
    return reconcile(**_who(shown), asked=asked)


DEEDS: Mapping[str, Callable[[ShownOperation, dict[str, Any]], Verdict]] = {
    "reconcile": _reconcile,
    "settle": lambda shown, said: settle_by_person(**_who(shown), **said),
    "escalate": lambda shown, said: escalate(**_who(shown), **said),
}


def _done(act: str, verdict: Verdict) -> str:
    """Return what is said after an act: of an answer of the target, what follows from it."""
    if act == "settle":
        return gettext("Your decision is stored.")
    if act == "escalate":
        return gettext("The named person and the operators were told; the contract is paused.")
    stored: OperationState = OperationState(verdict.outcome.operation.state)
    return f"{gettext('The answer is stored.')} {gettext(KNOWN[stored])}"

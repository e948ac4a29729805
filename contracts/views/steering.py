"""The forms of an operator's acts, and what each act would do, told before it is done."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext, pgettext

from contracts.forms.operating import OperateForm, RaiseCapForm, RollBackForm
from contracts.models import Checkpoint, Contract
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Measure
from contracts.views.gauges import Gauge, gauges
from contracts.views.loading import Loaded
from contracts.views.previewing import (
    Ahead,
    confirmed_later,
    generation_rises,
    in_flight,
    later_checkpoints,
    left_behind,
    open_attempt,
    owner_loses,
)

LATEST_CHECKPOINTS = 100


@dataclass(frozen=True, slots=True)
class Steering:
    """One request to steer a contract: whose it is, what was posted, and the server's time."""

    loaded: Loaded
    posted: Any
    now: datetime
    kept: tuple[tuple[str, str], ...] = ()  # what was typed, where nothing is judged yet

    @property
    def contract(self) -> Contract:
        """Return the contract that is steered."""
        return self.loaded.contract


def take_over_ahead(asked: Steering, _form: OperateForm) -> list[Ahead]:
    """Return what taking over does."""
    return [
        *owner_loses(asked.contract, asked.now),
        generation_rises(asked.contract),
        Ahead(gettext("The contract is paused; the next worker may take it up."), "paused"),
        Ahead(gettext("Requests and approvals stay as they are."), "done"),
    ]


def pause_ahead(asked: Steering, _form: OperateForm) -> list[Ahead]:
    """Return what asking for a pause does, at once or once the owner lets go."""
    attempt = open_attempt(asked.contract)
    if attempt is None or attempt.lease_end is None or attempt.lease_end <= asked.now:
        left = left_behind(asked.contract, attempt) if attempt else []
        said = gettext("Nobody holds the contract under a lease, so it is paused at once.")
        return [Ahead(said, "paused"), *left]
    said = gettext("%(worker)s is asked to stop: it begins nothing new.") % {"worker": attempt.worker}
    after = gettext("The contract is paused once the worker lets go; until then a pause is requested.")
    return [Ahead(said, "pause-requested"), *in_flight(asked.contract), Ahead(after, "paused")]


def _checkpoints(contract: Contract) -> list[Checkpoint]:
    """Return the checkpoints from which work may go on, the newest first."""
    found = Checkpoint.objects.of(contract.pk).filter(rolled_back_at__isnull=True)
    return list(found.order_by("-sequence")[:LATEST_CHECKPOINTS])


def _point_words(point: Checkpoint) -> str:
    when = date_format(localtime(point.committed_at), pgettext("date format", "j F Y, H:i T"))
    said = gettext("%(number)d · %(name)s · next step %(step)s · %(when)s")
    return said % {
        "number": point.sequence,
        "name": point.checkpoint_id,
        "step": point.next_step,
        "when": when,
    }


def roll_back_form(asked: Steering) -> OperateForm:
    """Return the form with the checkpoints to choose from."""
    choices = [(point.checkpoint_id, _point_words(point)) for point in _checkpoints(asked.contract)]
    return RollBackForm(asked.posted, checkpoints=choices, initial=dict(asked.kept))


def chosen(asked: Steering, form: OperateForm) -> Checkpoint | None:
    """Return the checkpoint that stands in the form, if it is one to go back to."""
    name = form["checkpoint_id"].value()
    return next((point for point in _checkpoints(asked.contract) if point.checkpoint_id == name), None)


def roll_back_ahead(asked: Steering, form: OperateForm) -> list[Ahead]:
    """Return what going back to the chosen checkpoint does; nothing before one is chosen."""
    point = chosen(asked, form)
    if point is None:
        return []
    later, kept = later_checkpoints(point), confirmed_later(point)
    marked = ngettext(
        "%(count)d later checkpoint is marked as rolled back; it stays in the record.",
        "%(count)d later checkpoints are marked as rolled back; they stay in the record.",
        later,
    )
    stay = ngettext(
        "%(count)d object that was confirmed since stays confirmed.",
        "%(count)d objects that were confirmed since stay confirmed.",
        kept,
    )
    following = gettext("Work goes on with “%(step)s”.") % {"step": point.next_step}
    return [
        Ahead(following, "running"),
        Ahead(marked % {"count": later}, "stale"),
        *owner_loses(asked.contract, asked.now),
        generation_rises(asked.contract),
        *([Ahead(stay % {"count": kept}, "confirmed")] if kept else []),
        Ahead(gettext("Writes that happened are not taken back, and none is sent twice."), "confirmed"),
    ]


def raise_cap_form(asked: Steering) -> OperateForm:
    """Return the form with the limits that have a cap, the first reached one chosen."""
    limits = capped(asked.contract)
    said = gettext("%(measure)s: %(used)s of %(cap)s used")
    choices = [
        (one.measure, said % {"measure": one.label, "used": one.used, "cap": one.cap}) for one in limits
    ]
    reached = next((one.measure for one in limits if one.over), "")
    return RaiseCapForm(asked.posted, measures=choices, chosen=reached)


def raise_cap_ahead(_asked: Steering, _form: OperateForm) -> list[Ahead]:
    """Return what raising a cap does."""
    return [
        Ahead(gettext("What was used so far stays counted; no total is reset."), "done"),
        Ahead(gettext("A task that stood still because of this cap may be continued."), "running"),
    ]


def raised(verdict: Verdict) -> str:
    """Say which cap was raised, and to what."""
    limit = verdict.outcome
    said = gettext("The cap is raised: %(measure)s, %(cap)s.")
    return said % {"measure": gettext(Measure(limit.measure).label), "cap": f"{limit.cap.normalize():,f}"}


def paused(verdict: Verdict) -> str:
    """Say whether the pause has taken place."""
    waits = verdict.outcome.state == ContractState.PAUSE_REQUESTED
    return gettext("The worker is asked to pause.") if waits else gettext("The contract is paused.")


def capped(contract: Contract) -> list[Gauge]:
    """Return the limits that have a cap, with what was used."""
    return [gauge for gauge in gauges(contract) if gauge.cap]

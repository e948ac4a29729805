"""What an operator's act would do, counted from what stands now and told before it is done."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, ngettext

from contracts.gates.binding import Present
from contracts.models import Approval, Attempt, Checkpoint, Contract, Operation, WorkObject
from contracts.rules.granting import Fate
from contracts.rules.states import ApprovalState, ObjectState, OperationState

MAY_HAVE_LEFT = (OperationState.SENDING.value, OperationState.UNKNOWN.value)


@dataclass(frozen=True, slots=True)
class Ahead:
    """One thing that would happen, as a sentence; `state` gives it the shape and colour of what becomes so."""

    words: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class ItemAhead:
    """What would become of one approval, and what changed if it goes stale."""

    item: Approval
    fate: Fate
    why: str


def owner_loses(contract: Contract, now: datetime) -> list[Ahead]:
    """Return what ending the open attempt does; empty where nobody holds the contract."""
    attempt = open_attempt(contract)
    return [_loser(attempt, now), *left_behind(contract, attempt)] if attempt else []


def _loser(attempt: Attempt, now: datetime) -> Ahead:
    live = attempt.lease_end is not None and attempt.lease_end > now
    said = (
        gettext("%(worker)s loses the task at once: whatever it stores or sends afterwards is refused.")
        if live
        else gettext("The attempt of %(worker)s, whose lease has lapsed, ends.")
    )
    return Ahead(said % {"worker": attempt.worker}, "running")


def open_attempt(contract: Contract) -> Attempt | None:
    """Return the attempt that has not ended."""
    found: Attempt | None = Attempt.objects.of(contract.pk).filter(ended_at__isnull=True).first()
    return found


def left_behind(contract: Contract, attempt: Attempt) -> list[Ahead]:
    """Return what becomes of the operations and objects that the owner leaves behind."""
    leaving = _leaving(attempt)
    operations = Operation.objects.filter(contract=contract)
    unsure = operations.filter(state__in={*MAY_HAVE_LEFT, *leaving})
    begun = WorkObject.objects.filter(contract=contract, attempt=attempt, state=ObjectState.IN_PROGRESS.value)
    unknown = begun.filter(pk__in=unsure.values("work_object")).count()
    lines = [
        _counted(operations.filter(state__in=leaving).count(), *BECOME_UNKNOWN, "unknown"),
        _counted(begun.count() - unknown, *BEGIN_ANEW, "pending"),
        _counted(unknown, *OBJECTS_UNKNOWN, "unknown"),
    ]
    return [line for line in lines if line is not None]


def _leaving(attempt: Attempt) -> list[str]:
    """Return the states of the operations that the owner may have let leave."""
    pending = [] if attempt.synchronous else [OperationState.PENDING.value]
    return [OperationState.SENDING.value, *pending]


BECOME_UNKNOWN = (
    lambda n: ngettext(
        "%(count)d write may have left: its result becomes unknown, and its target is asked first.",
        "%(count)d writes may have left: their results become unknown, and their targets are asked first.",
        n,
    ),
    lambda: gettext("No write is on its way: none becomes unknown."),
)
BEGIN_ANEW = (
    lambda n: ngettext(
        "%(count)d object that is half done begins anew.",
        "%(count)d objects that are half done begin anew.",
        n,
    ),
    lambda: gettext("No object is half done."),
)
OBJECTS_UNKNOWN = (
    lambda n: ngettext(
        "%(count)d object becomes unknown, because a write of it may have left.",
        "%(count)d objects become unknown, because writes of them may have left.",
        n,
    ),
    None,
)


def _counted(count: int, said: Any, none: Any, state: str) -> Ahead | None:
    if count:
        return Ahead(said(count) % {"count": count}, state)
    return Ahead(none(), "done") if none else None


def cancelling(contract: Contract, now: datetime) -> list[Ahead]:
    """Return what cancelling does: whoever works loses it, and what waits is given up."""
    attempt, operations = open_attempt(contract), Operation.objects.filter(contract=contract)
    leaving = _leaving(attempt) if attempt else []
    pending = {OperationState.PENDING.value} - set(leaving)
    asked = Approval.objects.open().filter(contract=contract).count()
    lines = [
        _loser(attempt, now) if attempt else None,
        _counted(operations.filter(state__in=leaving).count(), *STAY_UNKNOWN, "unknown"),
        _counted(operations.filter(state__in=pending).count(), *GIVEN_UP, "abandoned"),
        _counted(asked, *GO_STALE, "stale"),
        Ahead(gettext("Writes that happened are not taken back; the record stays."), "done"),
    ]
    return [line for line in lines if line is not None]


STAY_UNKNOWN = (
    lambda n: ngettext(
        "%(count)d write may have left: its result becomes unknown, and its target can still be asked.",
        "%(count)d writes may have left: their results become unknown, and their targets can still be asked.",
        n,
    ),
    None,
)


GIVEN_UP = (
    lambda n: ngettext(
        "%(count)d write that waits is given up, and never sent.",
        "%(count)d writes that wait are given up, and never sent.",
        n,
    ),
    None,
)
GO_STALE = (
    lambda n: ngettext(
        "%(count)d request or approval that was not used becomes stale.",
        "%(count)d requests or approvals that were not used become stale.",
        n,
    ),
    None,
)


def generation_rises(contract: Contract) -> Ahead:
    """Return that the generation rises, which is how a former owner is kept out."""
    said = gettext("The generation rises from %(now)d to %(next)d: a former owner is recognised and refused.")
    return Ahead(said % {"now": contract.generation, "next": contract.generation + 1}, "done")


def in_flight(contract: Contract) -> list[Ahead]:
    """Return what is under way and ends before a pause takes place."""
    sending = Operation.objects.filter(contract=contract, state=OperationState.SENDING.value).count()
    begun = WorkObject.objects.filter(contract=contract, state=ObjectState.IN_PROGRESS.value).count()
    lines = [
        _counted(sending, *BEING_SENT, "sending"),
        _counted(begun, *BEING_DONE, "in_progress"),
    ]
    return [line for line in lines if line is not None]


BEING_SENT = (
    lambda n: ngettext(
        "%(count)d write is being sent; its result is awaited.",
        "%(count)d writes are being sent; their results are awaited.",
        n,
    ),
    lambda: gettext("No write is being sent."),
)
BEING_DONE = (
    lambda n: ngettext(
        "%(count)d object is being worked on; it may be finished.",
        "%(count)d objects are being worked on; they may be finished.",
        n,
    ),
    lambda: gettext("No object is being worked on."),
)


def later_checkpoints(point: Checkpoint) -> int:
    """Return how many checkpoints would be marked as rolled back."""
    later = Checkpoint.objects.filter(contract=point.contract_id, sequence__gt=point.sequence)
    return later.filter(rolled_back_at__isnull=True).count()


def confirmed_later(point: Checkpoint) -> int:
    """Return how many objects were confirmed after the checkpoint; they stay so."""
    confirmed = WorkObject.objects.filter(contract=point.contract_id, state=ObjectState.CONFIRMED.value)
    return confirmed.filter(settled_at__gt=point.committed_at).count()


def items_ahead(contract: Contract, point: Checkpoint, now: datetime) -> list[ItemAhead]:
    """Return what a return to `point` would make of each approval asked for or decided after it."""
    rows = Approval.objects.joined().filter(contract=contract).order_by("asked_at", "pk")
    since = point.committed_at
    items = [item for item in rows if max(item.asked_at, item.decided_at or item.asked_at) > since]
    present = Present(contract, items)
    return [_item_ahead(item, present, point, now) for item in items]


def _item_ahead(item: Approval, present: Present, point: Checkpoint, now: datetime) -> ItemAhead:
    if item.consumed_at is not None:
        return ItemAhead(item, Fate.USED, "")
    if item.state not in (ApprovalState.PENDING, ApprovalState.APPROVED):
        return ItemAhead(item, Fate.ENDED, item.stale_member)
    difference = present.difference(item)
    if difference is not None:
        return ItemAhead(item, Fate.STALE, difference.member)
    if item.asked_at > point.committed_at:
        return ItemAhead(item, Fate.STALE, "rolled_back")
    ended = item.expires_at <= now
    return ItemAhead(item, Fate.ENDED, "expires_at") if ended else ItemAhead(item, Fate.VALID, "")

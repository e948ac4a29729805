"""What a timeline shows of a contract, read in a number of queries that does not depend on how much there is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, Greatest, Least

from contracts.models.approvals import Approval
from contracts.models.checkpoints import Checkpoint
from contracts.models.content import ContentRow
from contracts.models.identity import Contract
from contracts.models.operations import Operation
from contracts.models.owner import Attempt
from contracts.rules.states import ApprovalState, OperationState
from contracts.rules.timeline import Stretch, drawable

AT_MOST = 200  # rows of each kind, the newest
UNSETTLED = [OperationState.PENDING.value, OperationState.SENDING.value, OperationState.UNKNOWN.value]


@dataclass(frozen=True, slots=True)
class Extent:
    """From the first to the last moment on record, and where its newest attempts begin."""

    whole: Stretch
    newest_from: datetime


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest rows of one kind in a range of time, and how many there are."""

    rows: list[Any]
    total: int

    @property
    def left_out(self) -> int:
        return self.total - len(self.rows)


def extent_of(contract_id: int, now: datetime, *, newest: int) -> Extent | None:
    """Return the whole range of the contract's time, or None where nothing happened yet.

    It lasts till `now` while anything is open. `newest`: how many attempts the newest part of it holds.
    """
    ends: list[tuple[str, str, type[ContentRow]]] = [
        ("started_at", "started_at", Attempt),
        ("started_at", "ended_at", Attempt),
        ("committed_at", "committed_at", Checkpoint),
        ("intended_at", "intended_at", Operation),
        ("intended_at", "settled_at", Operation),
        ("asked_at", "asked_at", Approval),
        ("asked_at", "decided_at", Approval),
        ("asked_at", "ended_at", Approval),
    ]
    first, last, newest_from, *open_now = (
        Contract.objects.filter(pk=contract_id)
        .values_list(
            Least(*(_edge(model, first, Min) for first, _, model in ends)),
            Greatest(*(_edge(model, last, Max) for _, last, model in ends)),
            Subquery(_own(Attempt).order_by("-number").values("started_at")[newest - 1 : newest]),
            Exists(_own(Attempt).filter(ended_at__isnull=True)),
            Exists(_own(Operation).filter(state__in=UNSETTLED)),
            Exists(_own(Approval).filter(_open_item())),
        )
        .get()
    )
    if first is None:
        return None
    end = max(first, last, now) if any(open_now) else max(first, last)
    return Extent(Stretch(drawable(first), drawable(end)), drawable(newest_from or first))


def _own(model: type[ContentRow]) -> QuerySet[Any]:
    return model.objects.filter(contract_id=OuterRef("pk")).order_by()


def _edge(model: type[ContentRow], column: str, edge: Any) -> Subquery:
    return Subquery(_own(model).values("contract_id").annotate(edge=edge(column)).values("edge"))


def _open_item() -> Q:
    unused = Q(state=ApprovalState.APPROVED.value, consumed_at__isnull=True)
    return Q(state=ApprovalState.PENDING.value) | unused


def attempts_in(contract_id: int, stretch: Stretch) -> Rows:
    """Return the attempts that held the contract at some moment of the range."""
    found = Attempt.objects.filter(contract_id=contract_id, started_at__lte=stretch.end)
    lasting = Q(ended_at__isnull=True) | Q(ended_at__gte=stretch.start)
    return _newest(found.filter(lasting).order_by("-number"))


def checkpoints_in(contract_id: int, stretch: Stretch) -> Rows:
    """Return the checkpoints committed in the range."""
    moments = (stretch.start, stretch.end)
    found = Checkpoint.objects.filter(contract_id=contract_id, committed_at__range=moments)
    return _newest(found.defer("inline_state").order_by("-sequence"))


def operations_in(contract_id: int, stretch: Stretch) -> Rows:
    """Return the writes intended before the end of the range that were not settled before it."""
    found = Operation.objects.filter(contract_id=contract_id, intended_at__lte=stretch.end).annotate(
        moment=Coalesce("settled_at", "sent_at", "intended_at")
    )
    lasting = Q(state__in=UNSETTLED) | Q(moment__gte=stretch.start)
    joined = found.filter(lasting).select_related("tool", "work_object")
    return _newest(joined.defer("parameters", "reconciliation").order_by("-moment", "-id"))


def approvals_in(contract_id: int, stretch: Stretch) -> Rows:
    """Return the requests asked for before the end of the range that had not come to their end before it."""
    found = Approval.objects.filter(contract_id=contract_id, asked_at__lte=stretch.end).annotate(
        moment=Greatest("asked_at", "decided_at", "consumed_at", "ended_at")
    )
    lasting = _open_item() | Q(moment__gte=stretch.start)
    return _newest(found.filter(lasting).defer("parameters", "preview").order_by("-asked_at", "-id"))


def _newest(found: QuerySet[Any]) -> Rows:
    counted = found.annotate(total=Window(Count(F("pk"))))
    rows = list(counted[:AT_MOST])
    return Rows(rows, rows[0].total if rows else 0)

"""The marks of a timeline in words: one line of its table for each, and what the picture makes of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext

from contracts.models import Approval, Attempt, Checkpoint, Contract, Operation
from contracts.models.people import called
from contracts.models.timeline_rows import Rows, approvals_in, attempts_in, checkpoints_in, operations_in
from contracts.rules.states import ApprovalState, OperationState
from contracts.rules.timeline import Course, Lease, Mark, MarkKind, Stretch
from contracts.rules.vocabulary import AttemptEnd
from contracts.rules.words import N_

OPEN_STATES = (OperationState.PENDING, OperationState.SENDING, OperationState.UNKNOWN)
ASKED, USED = N_("Decision asked for"), N_("Used")
COMMITTED, ROLLED_BACK = N_("Committed"), N_("Rolled back")
RUNNING, LAPSED = N_("Not ended"), N_("lease has lapsed")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: `state` gives its chip colour and shape, `words` say the state."""

    ident: str
    kind: MarkKind
    at: datetime
    title: str
    url: str
    state: str
    words: str
    generation: int | None = None
    until: datetime | None = None
    by_hand: bool = False
    who: str = ""

    @property
    def name(self) -> str:
        """Return what it is, and which one."""
        return f"{gettext(self.kind.label)} {self.title}"


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a timeline shows of one range of time."""

    lines: dict[str, Line]
    leases: list[Lease]
    marks: list[Mark]
    courses: list[Course]
    left_out: list[tuple[MarkKind, Rows]]

    @property
    def table(self) -> list[Line]:
        """Return the lines, the newest first."""
        return sorted(self.lines.values(), key=lambda line: line.at, reverse=True)


def look(contract: Contract, stretch: Stretch, now: datetime) -> Seen:
    """Return what happened in `contract` during `stretch`, in four queries."""
    found = {
        MarkKind.ATTEMPT: attempts_in(contract.pk, stretch),
        MarkKind.CHECKPOINT: checkpoints_in(contract.pk, stretch),
        MarkKind.OPERATION: operations_in(contract.pk, stretch),
        MarkKind.APPROVAL: approvals_in(contract.pk, stretch),
    }
    attempts: list[Attempt] = found[MarkKind.ATTEMPT].rows
    checkpoints: list[Checkpoint] = found[MarkKind.CHECKPOINT].rows
    operations: list[Operation] = found[MarkKind.OPERATION].rows
    approvals: list[Approval] = found[MarkKind.APPROVAL].rows
    task_id = contract.task_id
    lines = [_attempt_line(task_id, one, now) for one in attempts]
    lines += [_checkpoint_line(task_id, one) for one in checkpoints]
    lines += [_operation_line(task_id, one) for one in operations]
    items = [_item_lines(task_id, one, now) for one in approvals]
    lines += [line for item in items for line in item]
    return Seen(
        lines={line.ident: line for line in lines},
        leases=[_lease(one, now) for one in attempts],
        marks=[_checkpoint_mark(one) for one in checkpoints]
        + [_operation_mark(one, now) for one in operations],
        courses=[_course(item, now) for item in items],
        left_out=[(kind, rows) for kind, rows in found.items() if rows.left_out],
    )


def _row_url(task_id: str, part: str, pk: int) -> str:
    return reverse("contracts:row", args=[task_id, part, pk])


def _attempt_line(task_id: str, row: Attempt, now: datetime) -> Line:
    if row.ended_at is not None:
        state, words = row.end_reason, AttemptEnd(row.end_reason).label
    elif row.lease_end is not None and row.lease_end <= now:
        state, words = "attention", LAPSED
    else:
        state, words = "running", RUNNING
    return Line(
        ident=f"attempt-{row.pk}",
        kind=MarkKind.ATTEMPT,
        at=row.started_at,
        until=row.ended_at,
        title=f"{row.number} · {row.attempt_id}",
        url=_row_url(task_id, "attempt", row.pk),
        state=state,
        words=gettext(words),
        generation=row.generation,
        by_hand=row.by_hand,
        who=row.worker,
    )


def _lease(row: Attempt, now: datetime) -> Lease:
    return Lease(
        ident=f"attempt-{row.pk}",
        generation=row.generation,
        start=row.started_at,
        end=row.ended_at or max(now, row.started_at),
        lease_end=row.lease_end,
        open=row.ended_at is None,
    )


def _checkpoint_line(task_id: str, row: Checkpoint) -> Line:
    back = row.rolled_back_at is not None
    return Line(
        ident=f"checkpoint-{row.pk}",
        kind=MarkKind.CHECKPOINT,
        at=row.committed_at,
        title=f"{row.sequence} · {row.checkpoint_id}",
        url=_row_url(task_id, "checkpoint", row.pk),
        state="withdrawn" if back else "done",
        words=gettext(ROLLED_BACK if back else COMMITTED),
        generation=row.generation,
    )


def _checkpoint_mark(row: Checkpoint) -> Mark:
    state = "committed" if row.rolled_back_at is None else "rolled_back"
    ident = f"checkpoint-{row.pk}"
    return Mark(ident, MarkKind.CHECKPOINT, state, row.committed_at, generation=row.generation)


def _moment(row: Operation) -> datetime:
    moment: datetime = row.settled_at or row.sent_at or row.intended_at
    return moment


def _operation_line(task_id: str, row: Operation) -> Line:
    thing = row.work_object.object_id if row.work_object else ""
    return Line(
        ident=f"operation-{row.pk}",
        kind=MarkKind.OPERATION,
        at=_moment(row),
        title=" · ".join(word for word in (row.tool.tool, thing, row.step) if word),
        url=reverse("contracts:operation", args=[task_id, row.key]),
        state=row.state,
        words=gettext(OperationState(row.state).label),
        generation=row.generation,
    )


def _operation_mark(row: Operation, now: datetime) -> Mark:
    return Mark(
        f"operation-{row.pk}",
        MarkKind.OPERATION,
        row.state,
        _moment(row),
        generation=row.generation,
        since=row.intended_at,
        until=now if row.state in OPEN_STATES else None,
    )


def _item_lines(task_id: str, row: Approval, now: datetime) -> list[Line]:
    """Return what became of one request: asked, decided, and how it ended."""
    url = reverse("contracts:approval", args=[task_id, row.item_id])
    return [
        Line(
            ident=f"approval-{row.pk}-{state}",
            kind=MarkKind.APPROVAL,
            at=at,
            title=f"{row.item_id} · {row.tool}",
            url=url,
            state=state,
            words=gettext(words),
            generation=row.consumed_generation if state == "used" else None,
            who=called(who),
        )
        for state, at, words, who in _turns(row, now)
    ]


def _turns(row: Approval, now: datetime) -> Iterable[tuple[str, datetime, str, str]]:
    """Yield (state, moment, words, who) in order of time; one whose time has run out is expired, tended or not."""
    yield ApprovalState.PENDING.value, row.asked_at, ASKED, row.requester
    if row.decided_by and row.decided_at is not None:
        rejected = row.state == ApprovalState.REJECTED
        said = ApprovalState.REJECTED if rejected else ApprovalState.APPROVED
        yield said.value, row.decided_at, said.label, row.decided_by
    if row.consumed_at is not None:
        yield "used", row.consumed_at, USED, ""
        return
    state = ApprovalState(row.state)
    waits = state in (ApprovalState.PENDING, ApprovalState.APPROVED)
    if waits and row.expires_at <= now:
        yield ApprovalState.EXPIRED.value, row.expires_at, ApprovalState.EXPIRED.label, ""
    elif not waits and state is not ApprovalState.REJECTED:
        ended = row.ended_at or row.expires_at if state is ApprovalState.EXPIRED else row.ended_at
        yield state.value, ended or row.decided_at or row.asked_at, state.label, ""


def _course(lines: list[Line], now: datetime) -> Course:
    marks = tuple(Mark(one.ident, one.kind, one.state, one.at, generation=one.generation) for one in lines)
    waits = marks[-1].state in (ApprovalState.PENDING, ApprovalState.APPROVED)
    return Course(marks, until=max(now, marks[-1].at) if waits else None)

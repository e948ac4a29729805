"""Settling what an owner leaves behind, however its attempt ends: nothing half done passes for done.

Whoever ends an attempt holds the write lock of the contract (`take_turn(write_lock=True)`), so that no write is
on its way through the proxy while it is settled.
"""

from collections.abc import Iterable
from decimal import Decimal

from django.utils.translation import gettext

from contracts.gates.beats import Turn
from contracts.gates.workers.fencing import is_live, open_attempt
from contracts.models import Attempt, Checkpoint, Operation, UsageEntry, WorkObject
from contracts.rules.granting import HELD, LOST, active_seconds
from contracts.rules.repeating import object_after_loss, operation_after_loss
from contracts.rules.states import Act, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import AttemptEnd, Measure
from contracts.rules.words import N_

UNSETTLED = (OperationState.PENDING.value, OperationState.SENDING.value)
BATCH = 1_000
ENTRIES = {Measure.ACTIVE_SECONDS: "active", Measure.FAILED_RECOVERIES: "recovery"}  # how they are called
UNSURE = N_("Attempt %(number)d ended (%(end)s) while a write of this object may have left.")
ANEW = N_("Attempt %(number)d ended (%(end)s) before this was accepted; it begins anew.")


def settle_displaced(turn: Turn, attempt: Attempt, end: AttemptEnd) -> None:
    """End the open `attempt` and settle its operations, objects and usage. The contract's state stays.

    Operations that may have left become unknown; objects in progress begin anew, or are unknown too.
    """
    turn.answer()
    lost = end in LOST and not Checkpoint.objects.filter(contract=turn.contract, attempt=attempt).exists()
    _end(turn, attempt, end)
    _settle_operations(turn, attempt)
    _settle_objects(turn, attempt, end)
    if not attempt.by_hand:  # the time of one kept by hand was never leased, and people count it themselves
        seconds = active_seconds(attempt.started_at, turn.now, attempt.lease_end)
        _count(turn, attempt, Measure.ACTIVE_SECONDS, seconds)
    if lost and not attempt.by_hand:
        _count(turn, attempt, Measure.FAILED_RECOVERIES, Decimal(1), step=_next_step(turn))


def end_open_attempt(turn: Turn, end: AttemptEnd) -> None:
    """Settle the open attempt, if there is one, and fence its owner by another generation."""
    attempt = open_attempt(turn)
    if attempt is not None:
        settle_displaced(turn, attempt, end)
        turn.contract.generation += 1


def settle_lapsed(turn: Turn) -> None:
    """Settle an owner whose lease has lapsed and pause the task. That stands whatever becomes of the act."""
    attempt = open_attempt(turn)
    if attempt is not None and is_live(turn, attempt):
        return
    if attempt is not None:
        settle_displaced(turn, attempt, AttemptEnd.LEASE_LAPSED)
    pause(turn)
    turn.stands = turn.stands or bool(turn.entries)


def pause(turn: Turn) -> None:
    """Move a task without owner to paused; one that is not at work stays as it is."""
    contract = turn.contract
    if contract.state not in HELD:
        return
    turn.answer()
    before = contract.life()
    contract.state = ContractState.PAUSED.value
    turn.note(Act.PAUSE.value, "contract", contract.task_id, before, contract.life())


def _end(turn: Turn, attempt: Attempt, end: AttemptEnd) -> None:
    before = attempt.facts()
    attempt.ended_at, attempt.end_reason = max(turn.now, attempt.started_at), end.value
    attempt.version += 1
    attempt.save()
    turn.note(end.value, "attempt", attempt.natural_key(), before, attempt.facts())


def _settle_operations(turn: Turn, attempt: Attempt) -> None:
    touched = []
    rows = Operation.objects.joined().filter(contract=turn.contract, state__in=UNSETTLED).order_by("pk")
    for row in rows:
        after = operation_after_loss(OperationState(row.state), synchronous=attempt.synchronous)
        if after == row.state:
            continue
        before = row.facts()
        if row.state == OperationState.PENDING:  # only a generation that may have sent it can be its sender
            row.generation = attempt.generation
        row.state, row.settled_at = after.value, turn.now
        row.version += 1
        turn.note(Act.OWNER_LOST.value, "operation", row.natural_key(), before, row.facts())
        touched.append(row)
    columns = ["generation", "state", "settled_at", "version"]
    Operation.objects.bulk_update(touched, columns, batch_size=BATCH)


def _settle_objects(turn: Turn, attempt: Attempt, end: AttemptEnd) -> None:
    rows = WorkObject.objects.joined().filter(
        contract=turn.contract, attempt=attempt, state=ObjectState.IN_PROGRESS.value
    )
    found = list(rows.order_by("pk"))
    operations = _states_by_object(turn, found)
    for row in found:
        before = row.facts()
        after = object_after_loss(ObjectState.IN_PROGRESS, operations.get(row.pk, ()))
        unsure = after is ObjectState.UNKNOWN
        told = {"number": attempt.number, "end": gettext(end.label)}
        row.state, row.note = after.value, gettext(UNSURE if unsure else ANEW) % told
        row.attempt = attempt if unsure else None
        row.version += 1
        act = Act.OWNER_LOST if unsure else Act.NEVER_LEFT
        turn.note(act.value, "object", row.natural_key(), before, row.facts())
    WorkObject.objects.bulk_update(found, ["state", "note", "attempt", "version"], batch_size=BATCH)


def _states_by_object(turn: Turn, rows: Iterable[WorkObject]) -> dict[int, list[OperationState]]:
    found = Operation.objects.filter(contract=turn.contract, work_object__in=[row.pk for row in rows])
    states: dict[int, list[OperationState]] = {}
    for pk, state in found.values_list("work_object", "state"):
        states.setdefault(pk, []).append(OperationState(state))
    return states


def _next_step(turn: Turn) -> str:
    standing = Checkpoint.objects.of(turn.contract.pk).filter(rolled_back_at__isnull=True)
    return standing.values_list("next_step", flat=True).last() or ""


def _count(turn: Turn, attempt: Attempt, measure: Measure, amount: Decimal, *, step: str = "") -> None:
    entry = UsageEntry(
        contract=turn.contract,
        entry_id=f"{ENTRIES[measure]}-{attempt.attempt_id}",  # no imported entry can be called by an id not yet made
        measure=measure.value,
        amount=amount,
        attempt=attempt,
        step=step,
        used_at=turn.now,
        evidence=f"attempt:{attempt.attempt_id}",
    )
    entry.save()
    turn.note("add", "usage", entry.natural_key(), None, entry.facts())

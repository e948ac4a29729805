"""Trying a write once more after it was sent back: another round, with a key and an item of its own."""

import secrets
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db.models import Max

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import drop_operation
from contracts.gates.filling import fill_in
from contracts.gates.rows import closed
from contracts.gates.workers.certainty import certainly_unsent
from contracts.models import Approval, Limit, Operation, UsageEntry
from contracts.rules.fields import Refused, check_field
from contracts.rules.parts.part import ALIVE
from contracts.rules.parts.records import OPERATION
from contracts.rules.refusals import refusal
from contracts.rules.states import ContractState, OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, Measure

ENDED = (OperationState.ABANDONED, OperationState.REJECTED)


def open_round(*, contract_id: int, actor: Actor, operation_key: str, parameters: Any) -> Verdict:
    """Open the next round of an operation that was abandoned or rejected. The outcome is the new operation.

    So does one that still waits while nobody is asked about it: opening the next round is to abandon it.

    Object, step, tool, target and expected result stay; `parameters` (JSON as text, or a mapping) may differ.
    Each round counts against the cap on tries of the step.
    """

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, ALIVE - {ContractState.DRAFT})
        if shut is not None:
            return shut
        former = Operation.objects.joined().filter(contract=turn.contract, key=operation_key).first()
        if former is None:
            return refusal("no_such_operation")
        turn.subject = former.natural_key()
        return _may_open(turn, former) or _open(turn, former, parameters)

    return take_turn(contract_id=contract_id, actor=actor, act="open_round", part="operation", body=body)


def _slot(turn: Turn, former: Operation) -> Any:
    return Operation.objects.filter(
        contract=turn.contract, work_object=former.work_object, step=former.step, tool=former.tool
    )


def _may_open(turn: Turn, former: Operation) -> Verdict | None:
    newer = _slot(turn, former).filter(round__gt=former.round)
    asked = Approval.objects.open().filter(contract=turn.contract, operation=former)
    waits = former.state == OperationState.PENDING and not asked.exists()
    if newer.exists() or not (waits or former.state in ENDED):
        return refusal("round_not_open")
    if waits and not certainly_unsent(former, now=turn.now):
        return refusal("may_have_left", outcome=former)
    measure = Measure.TRIES_PER_STEP.value
    cap = Limit.objects.filter(contract=turn.contract, measure=measure).values_list("cap", flat=True).first()
    entries = UsageEntry.objects.filter(contract=turn.contract, step=former.step)
    used = entries.totals().get(measure, Decimal(0))
    following = max(Decimal(former.round), used) + 1
    return refusal("rounds_used_up") if cap is not None and following > cap else None


def _open(turn: Turn, former: Operation, parameters: Any) -> Verdict:
    try:
        checked = check_field(OPERATION.field("parameters"), parameters)
    except Refused as refused:
        return refusal("bad_values", problems=(refused.problem,))
    top: Mapping[str, Any] = _slot(turn, former).aggregate(top=Max("round"))
    row = Operation(
        contract=turn.contract,
        work_object=former.work_object,
        tool=former.tool,
        step=former.step,
        round=int(top["top"] or 0) + 1,
        parameters=checked,
        target=former.target,
        expected=former.expected,
    )
    fill_in(turn, row, new=True)
    turn.answer()
    drop_operation(turn, former)
    row.save()
    turn.note("open_round", "operation", row.natural_key(), None, row.facts())
    _count(turn, row)
    return allow(row)


def _count(turn: Turn, row: Operation) -> None:
    """Count the try; it belongs to the contract, whichever attempt goes on with it."""
    entry = UsageEntry(
        contract=turn.contract,
        entry_id=f"round-{secrets.token_hex(8)}",
        measure=Measure.TRIES_PER_STEP.value,
        amount=Decimal(1),
        step=row.step,
        used_at=turn.now,
        evidence=f"operation:{row.key}",
    )
    entry.save()
    turn.note("add", "usage", entry.natural_key(), None, entry.facts())

"""Removing what need not be kept of a contract that ended long ago; its chain and its keys stay.

One contract is one turn: whatever interrupts it leaves that contract whole, and the next run does it again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Aggregate, Count, F, Func, IntegerField, QuerySet, Sum, TextField, Value
from django.db.models.functions import Concat

from contracts.gates.beats import Turn, database_now, take_turn
from contracts.gates.rows import not_open
from contracts.models import Checkpoint, Contract, JournalStep, PlaneRow, StoredAnswer
from contracts.models.content import plain
from contracts.rules.fingerprint import canonical, digest_bytes
from contracts.rules.refusals import refusal
from contracts.rules.retention import HELD_BY, kept_until, may_retire, retired_location
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor

BATCH = 500


@dataclass(frozen=True, slots=True)
class Weight:
    """What may go of one contract: rows of each kind, and the bytes that they take in the tables."""

    states: int
    results: int
    answers: int
    octets: int

    def __bool__(self) -> bool:
        return bool(self.states or self.results or self.answers)

    def __add__(self, other: "Weight") -> "Weight":
        return Weight(
            self.states + other.states,
            self.results + other.results,
            self.answers + other.answers,
            self.octets + other.octets,
        )


def retire(*, contract_id: int, actor: Actor, ended_before: datetime) -> Verdict:
    """Remove what may go of a contract that ended before `ended_before`; the outcome is the `Weight` removed.

    Codes of refusals: not_open (it has not ended), not_ended_by_then, kept_longer. What is gone already is
    `unchanged` and leaves no event.
    """

    def body(turn: Turn) -> Verdict:
        refused = _refused(turn.contract, ended_before, turn.now)
        if refused is not None:
            return refused
        weight = _weigh(turn.contract)
        if not weight:
            return allow(weight, code="unchanged")
        turn.answer()
        _remove(turn.contract)
        told = {
            "ended_before": plain(ended_before),
            "removed_states": weight.states,
            "removed_results": weight.results,
            "removed_answers": weight.answers,
            "removed_bytes": weight.octets,
        }
        turn.note("retire", "contract", turn.contract.task_id, None, told)
        return allow(weight)

    return take_turn(contract_id=contract_id, actor=actor, act="retire", body=body)


def foresee(*, contract_id: int, ended_before: datetime) -> Verdict:
    """Return what `retire` would answer at this moment; nothing is locked, written or recorded."""
    contract = Contract.objects.filter(pk=contract_id).first()
    if contract is None:
        return refusal("contract_gone")
    refused = _refused(contract, ended_before, database_now())
    if refused is not None:
        return refused
    weight = _weigh(contract)
    return allow(weight, code="done" if weight else "unchanged")


def _refused(contract: Contract, ended_before: datetime, now: datetime) -> Verdict | None:
    ended_at = contract.completed_at or contract.cancelled_at
    planes = PlaneRow.objects.of(contract.pk).filter(plane__in=[plane.value for plane in HELD_BY])
    days = list(planes.values_list("retention_days", flat=True))
    until = kept_until(ended_at or now, days)
    code = may_retire(state=contract.state, ended_at=ended_at, before=ended_before, until=until, now=now)
    if code == "not_open":
        return not_open(contract)
    return refusal(code, until=f"{until:%Y-%m-%d}") if code else None


def _weigh(contract: Contract) -> Weight:
    states, size_of_states = _measured(_states(contract), "inline_state")
    results, size_of_results = _measured(_results(contract), "result")
    answers, size_of_answers = _measured(_answers(contract), "body")
    return Weight(states, results, answers, size_of_states + size_of_results + size_of_answers)


def _measured(rows: "QuerySet[Any]", column: str) -> tuple[int, int]:
    size = Func(F(column), function="pg_column_size", output_field=IntegerField())
    sums: dict[str, Aggregate] = {"count": Count("pk"), "size": Sum(size, default=0)}
    found = rows.order_by().aggregate(**sums)
    return found["count"], found["size"]


def _remove(contract: Contract) -> None:
    gone = Concat(Value(retired_location("")), F("sha256"), output_field=TextField())
    _states(contract).order_by().update(inline_state=None, location=gone, version=F("version") + 1)
    for rows in _in_batches(_results(contract)):
        for row in rows:
            row.result_sha256 = digest_bytes(canonical(row.result))
            row.result_location = retired_location(row.result_sha256)
            row.version += 1
        JournalStep.objects.bulk_update(rows, ["result_location", "result_sha256", "version"])
        # By itself: a bulk update would store the JSON value null, which is a result like any other.
        JournalStep.objects.filter(pk__in=[row.pk for row in rows]).update(result=None)
    _answers(contract).update(body=b"")


def _in_batches(rows: "QuerySet[JournalStep]") -> Iterator[list[JournalStep]]:
    """Yield what is left of `rows`, a batch at a time: whoever takes one changes it so that it is left no more."""
    while batch := list(rows[:BATCH]):
        yield batch


def _states(contract: Contract) -> "QuerySet[Checkpoint]":
    return Checkpoint.objects.of(contract.pk).filter(inline_state__isnull=False)


def _results(contract: Contract) -> "QuerySet[JournalStep]":
    return JournalStep.objects.of(contract.pk).filter(result__isnull=False)


def _answers(contract: Contract) -> "QuerySet[StoredAnswer]":
    return StoredAnswer.objects.filter(contract=contract).exclude(body=b"")

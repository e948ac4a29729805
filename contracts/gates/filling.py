"""What the workbench itself fills in when a row is stored: numbers, digests, keys, times, and what follows.

Filling sets columns of the row alone; making way and following write the rows that depend on it.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from django.db.models import Max

from contracts.gates.beats import Turn
from contracts.models import (
    Artefact,
    Attempt,
    Checkpoint,
    ContentRow,
    JournalStep,
    Operation,
    OrderedRow,
    Source,
    UsageEntry,
    WorkObject,
)
from contracts.models.content import ContentQuerySet
from contracts.rules.fingerprint import canonical, digest_bytes, fingerprint, operation_key
from contracts.rules.states import Act, ObjectState
from contracts.rules.text import clean_text

STEP_OF_POSITION = 1_024  # room between neighbours, so that a move writes one row
PART_OF: Mapping[type[ContentRow], str] = {Source: "source", Artefact: "artefact"}
VERSIONS_OF: Mapping[type[ContentRow], str] = {Source: "source_id", Artefact: "artefact_id"}


def fill_in(turn: Turn, row: Any, *, new: bool) -> None:
    """Set the columns that no person gives. Nothing is written yet."""
    if new and isinstance(row, OrderedRow):
        row.position = next_number(turn, type(row), "position", STEP_OF_POSITION)
    _FILLERS.get(type(row), _nothing)(turn, row, new)


def make_way(turn: Turn, row: Any, *, new: bool) -> None:
    """Settle what must give way before `row` is written: older versions, and what was accepted for others."""
    if isinstance(row, Source | Artefact):
        if new:
            retire(turn, _versions(turn, row).filter(current=True))
        else:
            recheck(turn, row)


def follow(turn: Turn, row: Any, *, new: bool) -> None:
    """Settle what follows from `row` once it is written."""
    if new and isinstance(row, Source):
        follow_sources(turn, [row.source_id])


def next_number(turn: Turn, model: type[ContentRow], column: str, step: int = 1) -> int:
    """Return the next free number of `column` in the contract."""
    rows = model.objects.filter(contract_id=turn.contract.pk)
    return int(rows.aggregate(top=Max(column))["top"] or 0) + step


def digest_inline(row: Checkpoint | Artefact) -> None:
    """Compute checksum and size of what is kept inline, so that nobody has to be believed."""
    if isinstance(row, Checkpoint):
        content = canonical(row.inline_state) if row.inline_state is not None else None
    else:
        content = clean_text(row.inline_text).encode() if row.inline_text else None
    if content is not None:
        row.sha256, row.size_bytes = digest_bytes(content), len(content)


def seal_operation(task_id: str, row: Operation) -> None:
    """Compute fingerprint and operation key from the call itself."""
    row.fingerprint = fingerprint(row.parameters)
    row.key = operation_key(task_id, row.step, row.round, row.tool.tool, row.parameters)


def _nothing(_turn: Turn, _row: Any, _new: bool) -> None:
    return None


def _attempt(turn: Turn, row: Attempt, new: bool) -> None:
    if new:
        row.number = next_number(turn, Attempt, "number")
        turn.contract.generation += 1
        row.generation = turn.contract.generation
        row.by_hand = True


def _checkpoint(turn: Turn, row: Checkpoint, new: bool) -> None:
    if new:
        row.sequence = next_number(turn, Checkpoint, "sequence")
    row.generation = row.attempt.generation
    digest_inline(row)


def _step(turn: Turn, row: JournalStep, new: bool) -> None:
    if new:
        row.sequence = next_number(turn, JournalStep, "sequence")


def _usage(turn: Turn, row: UsageEntry, new: bool) -> None:
    if new:
        row.entry_id = f"hand-{secrets.token_hex(8)}"
        row.used_at = turn.now


def _operation(turn: Turn, row: Operation, new: bool) -> None:
    if new:
        row.intended_at = turn.now
    seal_operation(turn.contract.task_id, row)


def _artefact(_turn: Turn, row: Artefact, _new: bool) -> None:
    digest_inline(row)


def _work_object(turn: Turn, row: WorkObject, new: bool) -> None:
    """What was accepted was accepted for one source and one artefact: with another it is rechecked."""
    if not new and row.state == ObjectState.CONFIRMED:
        stored = WorkObject.objects.of(turn.contract.pk).filter(pk=row.pk)
        if not stored.filter(source=row.source, artefact=row.artefact).exists():
            row.state = ObjectState.RECHECK.value


def _versions(turn: Turn, row: Source | Artefact) -> ContentQuerySet[Any]:
    """Return every stored version of what `row` is a version of."""
    column = VERSIONS_OF[type(row)]
    rows = type(row).objects.filter(contract_id=turn.contract.pk, **{column: getattr(row, column)})
    return rows.joined()


def follow_sources(turn: Turn, source_ids: Collection[str]) -> None:
    """Recheck the confirmed objects of older versions, and point unstarted ones to the current versions."""
    current = Source.objects.of(turn.contract.pk).filter(source_id__in=source_ids, current=True)
    newest = {row.source_id: row for row in current}
    older = WorkObject.objects.of(turn.contract.pk).filter(
        source__source_id__in=source_ids, source__current=False
    )
    touched = []
    for work_object in older.joined():
        before = work_object.facts()
        if work_object.state == ObjectState.CONFIRMED:
            work_object.state = ObjectState.RECHECK.value
        elif work_object.state == ObjectState.PENDING:
            work_object.source = newest[work_object.source.source_id]
        else:
            continue
        work_object.version += 1
        turn.note(Act.SOURCE_CHANGED.value, "object", work_object.natural_key(), before, work_object.facts())
        touched.append(work_object)
    WorkObject.objects.bulk_update(touched, ["state", "source", "version"], batch_size=1_000)


def recheck(turn: Turn, row: Source | Artefact) -> None:
    """Recheck the objects confirmed for a version whose very content is being corrected."""
    name = PART_OF[type(row)]
    stored = type(row).objects.get(contract_id=turn.contract.pk, pk=row.pk)
    if all(getattr(stored, column) == getattr(row, column) for column in ("version_label", "sha256")):
        return
    act = Act.SOURCE_CHANGED if isinstance(row, Source) else Act.ARTEFACT_WITHDRAWN
    confirmed = WorkObject.objects.of(turn.contract.pk).filter(
        state=ObjectState.CONFIRMED.value, **{name: stored}
    )
    touched = []
    for work_object in confirmed.joined():
        before = work_object.facts()
        work_object.state = ObjectState.RECHECK.value
        work_object.version += 1
        setattr(work_object, name, row)
        turn.note(act.value, "object", work_object.natural_key(), before, work_object.facts())
        touched.append(work_object)
    WorkObject.objects.bulk_update(touched, ["state", "version"], batch_size=1_000)


def retire(turn: Turn, rows: Iterable[Source | Artefact]) -> None:
    """Let older versions give way: they stay, and are no longer current."""
    for old in rows:
        _turn_over(turn, old, "superseded", current=False)


def promote(turn: Turn, removed: Any) -> None:
    """Make the newest version that is left the current one, if the current one was removed."""
    if isinstance(removed, Source | Artefact) and removed.current:
        for newest in _versions(turn, removed).order_by("-position", "-pk")[:1]:
            _turn_over(turn, newest, "promoted", current=True)


def _turn_over(turn: Turn, row: Source | Artefact, act: str, *, current: bool) -> None:
    before = row.facts()
    row.current = current
    row.version += 1
    row.save(update_fields=["current", "version"])
    turn.note(act, PART_OF[type(row)], row.natural_key(), before, row.facts())


_FILLERS: Mapping[type[ContentRow], Callable[[Turn, Any, bool], None]] = {
    Attempt: _attempt,
    Checkpoint: _checkpoint,
    JournalStep: _step,
    UsageEntry: _usage,
    Operation: _operation,
    Artefact: _artefact,
    WorkObject: _work_object,
}

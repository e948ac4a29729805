"""What stands when a step arrives, read under the lock for the rule; and further versions of artefacts.

Only the slow path reads this: the one statement of a step asks the same questions in its own words.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.db.models import Max

from contracts.gates.beats import Turn
from contracts.gates.filling import fill_in, make_way
from contracts.gates.references import References
from contracts.gates.workers.step_telling import referred
from contracts.models import (
    Artefact,
    Attempt,
    Checkpoint,
    JournalStep,
    Limit,
    Source,
    UsageEntry,
    UsageTotal,
    WorkObject,
)
from contracts.rules.granting import active_seconds
from contracts.rules.limiting import NOTHING, Cap, Left, limits_left
from contracts.rules.states import ObjectState, StepState
from contracts.rules.stepping import Ground, Made, Point, Step, Version
from contracts.rules.vocabulary import Measure

# By what one checkpoint is told from another of the same id.
CONTENT = (
    "kind",
    "event_cursor",
    "durability",
    "next_step",
    "schema_version",
    "location",
    "sha256",
    "size_bytes",
)


def ground_of(turn: Turn, attempt: Attempt, step: Step) -> Ground:
    """Return what stands of everything that `step` touches."""
    checkpoints = Checkpoint.objects.filter(contract=turn.contract)
    stored = checkpoints.filter(checkpoint_id=step.point.checkpoint_id).first()
    return Ground(
        newest=checkpoints.aggregate(top=Max("sequence"))["top"] or 0,
        same=None if stored is None else _is_same(stored, step.point),
        stored=stored.sequence if stored is not None else 0,
        entry=_entry(turn, step),
        held=_held(turn, attempt, step),
        unknown=(*_unknown_sources(turn, step.artefacts), *_unknown_versions(turn, step)),
        taken=tuple(made.artefact_id for made in step.artefacts if _stands(turn, made) is False),
        left=left_of(turn, attempt),
    )


def left_of(turn: Turn, attempt: Attempt, step: str = "") -> tuple[Left, ...]:
    """Return what the caps leave, those per step for `step`; the running attempt's time counts as used."""
    rows = Limit.objects.filter(contract=turn.contract).values_list("measure", "cap")
    caps = [Cap(Measure(measure), cap) for measure, cap in rows]
    total = UsageTotal.objects.filter(contract=turn.contract).first()
    totals: dict[str, Decimal] = {
        measure.value: getattr(total, measure.value, NOTHING) for measure in Measure
    }
    if not attempt.by_hand:
        running = active_seconds(attempt.started_at, turn.now, attempt.lease_end)
        totals[Measure.ACTIVE_SECONDS.value] += running
    used = UsageEntry.objects.filter(contract=turn.contract, step=step).totals() if step else {}
    return limits_left(caps, totals, step=step, step_totals=used)


def store_artefacts(turn: Turn, made: Iterable[Made]) -> None:
    """Store the versions that are not there yet; older versions of the same artefacts give way."""
    for one in made:
        if _stands(turn, one):
            continue
        known = {"source": one.source, "source_version": one.source_version}
        resolved, _ = References(turn.contract.pk, Artefact, [known]).resolve(known)
        row = Artefact(
            contract=turn.contract,
            artefact_id=one.artefact_id,
            version_label=one.version_label,
            sha256=one.sha256,
            location=one.location,
            inline_text=one.inline_text,
            size_bytes=one.size_bytes,
            author=turn.actor.name,
            note=one.note,
            **resolved,
        )
        fill_in(turn, row, new=True)
        make_way(turn, row, new=True)
        row.save()
        turn.note("add", "artefact", row.natural_key(), None, row.facts())


def _is_same(stored: Checkpoint, point: Point) -> bool:
    same = all(getattr(stored, name) == getattr(point, name) for name in CONTENT)
    return same and point.sequence in (None, stored.sequence)


def _entry(turn: Turn, step: Step) -> StepState | None:
    if step.entry is None:
        return None
    rows = JournalStep.objects.filter(contract=turn.contract, key=step.entry.key)
    state = rows.values_list("state", flat=True).first()
    return StepState(state) if state is not None else None


def _held(turn: Turn, attempt: Attempt, step: Step) -> frozenset[str]:
    rows = WorkObject.objects.filter(
        contract=turn.contract,
        object_id__in=[row.object_id for row in step.objects],
        state=ObjectState.IN_PROGRESS.value,
        attempt=attempt,
    )
    return frozenset(rows.values_list("object_id", flat=True)) if step.objects else frozenset()


def _unknown_sources(turn: Turn, made: Iterable[Made]) -> Iterable[str]:
    for one in made:
        rows = Source.objects.filter(contract=turn.contract, source_id=one.source)
        if one.source_version:
            rows = rows.filter(version_label=one.source_version)
        if one.source and not rows.exists():
            yield one.source


def _unknown_versions(turn: Turn, step: Step) -> Iterable[str]:
    for version in referred(step):
        if not _versions(turn, version).exists():
            yield version.artefact_id


def _versions(turn: Turn, version: Version) -> Any:
    rows = Artefact.objects.filter(contract=turn.contract, artefact_id=version.artefact_id)
    if version.version_label:
        rows = rows.filter(version_label=version.version_label)
    return rows.filter(sha256=version.sha256) if version.sha256 else rows


def _stands(turn: Turn, made: Made) -> bool | None:
    """Tell whether this very version is stored and current; None if it is not stored."""
    found: bool | None = _versions(turn, made.version).values_list("current", flat=True).first()
    return found

"""Reading one step as a worker sends it: the shapes, words and limits of the parts, so that page and API agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from contracts.rules.fields import Field, Kind, Refused, check_field
from contracts.rules.parts.part import Part
from contracts.rules.parts.records import ARTEFACT, CHECKPOINT, OBJECT, STEP, USAGE
from contracts.rules.rows import Values, check_row, safe_name
from contracts.rules.stepping import (
    COUNTED_BY_WORKERS,
    STEP_MAX_ROWS,
    Entry,
    Made,
    ObjectStep,
    Point,
    Step,
    Version,
    sealed,
    sealed_text,
)
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import CheckpointKind, Durability, Measure, StepKind
from contracts.rules.words import N_


def _only(part: Part, *names: str) -> Part:
    """Return `part` with only the fields `names`, each as a worker gives it."""
    return replace(part, fields=tuple(part.field(name) for name in names))


_SEQUENCE = replace(CHECKPOINT.field("sequence"), required=False)
POINT = replace(
    CHECKPOINT,
    fields=(
        _SEQUENCE,
        *_only(CHECKPOINT, "checkpoint_id", "kind", "event_cursor", "durability", "next_step").fields,
        *_only(CHECKPOINT, "schema_version", "location", "inline_state", "sha256", "size_bytes").fields,
        CHECKPOINT.field("write_ms"),
    ),
)
ENTRY = _only(STEP, "key", "kind", "result", "result_location", "result_sha256")
MADE = _only(
    ARTEFACT,
    "artefact_id",
    "version_label",
    "sha256",
    "location",
    "inline_text",
    "size_bytes",
    "source",
    "source_version",
    "note",
)
OBJECT_STEP = replace(
    OBJECT,
    fields=(
        Field("accept", Kind.FLAG, N_("Finished"), default=False),
        *_only(OBJECT, "object_id", "artefact", "artefact_version", "artefact_sha256").fields,
        *_only(OBJECT, "step", "evidence", "note").fields,
    ),
)
# What the rules across fields ask of a row and a worker does not give.
_NOT_GIVEN: Mapping[str, Values] = {
    "artefact": {"accepted_by": "", "accepted_at": None},
    "object": {"source": "", "source_version": ""},
}
_TEXTS = frozenset({Kind.WHOLE, Kind.FLAG})  # kinds that a form gives as text, and a worker never
KEYS = ("checkpoint", "step", "objects", "artefacts", "usage")


def read_step(raw: Mapping[str, Any]) -> tuple[Step | None, tuple[Problem, ...]]:
    """Return the step that `raw` (plain JSON with the keys KEYS) tells, or None and every problem found.

    A problem's field is a JSON pointer without its first slash, such as `objects/3/evidence`.
    """
    reader = _Reader()
    reader.refuse_names(raw, KEYS, "")
    point = reader.row(POINT, raw.get("checkpoint"), "checkpoint")
    entry = reader.row(ENTRY, raw["step"], "step") if "step" in raw else None
    objects = reader.rows(OBJECT_STEP, raw, "objects")
    artefacts = reader.rows(MADE, raw, "artefacts")
    usage = reader.usage(raw.get("usage", {}))
    reader.refuse_twice(objects, "objects", ("object_id",))
    reader.refuse_twice(artefacts, "artefacts", ("artefact_id",))
    if reader.problems or point is None:
        return None, tuple(reader.problems)
    step = Step(
        point=_point(point),
        entry=_entry(entry) if entry is not None else None,
        objects=tuple(map(_object, objects)),
        artefacts=tuple(sealed_text(Made(**row)) for row in artefacts),
        usage=usage,
    )
    return step, ()


class _Reader:
    """Collects every problem of one step."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def refuse(self, field: str, code: str, sentence: str, **values: Any) -> None:
        self.problems.append(Problem(field, code, sentence, values))

    def refuse_names(self, raw: Mapping[str, Any], known: Iterable[str], place: str) -> None:
        for name in raw.keys() - set(known):
            self.refuse(place + safe_name(name), "unknown_field", N_("There is no such field here."))

    def row(self, part: Part, raw: Any, place: str) -> Values | None:
        if not isinstance(raw, Mapping):
            self.refuse(place, "wrong_type", N_("This must be an object of names and values."))
            return None
        self.refuse_names(raw, [field.name for field in part.fields], f"{place}/")
        known = {field.name: field for field in part.fields if field.name in raw}
        wrong = {name for name, field in known.items() if _is_loose(field, raw[name])}
        for name in sorted(wrong):
            self.refuse(f"{place}/{name}", "wrong_type", N_("This must be a value of another type."))
        given = {name: raw[name] for name in known if name not in wrong}
        checked = check_row(part, given, document=True, standing=_NOT_GIVEN.get(part.name))
        found = [problem for problem in checked.problems if problem.field not in wrong]
        self.problems += [Problem(f"{place}/{p.field}", p.code, p.sentence, p.values) for p in found]
        return None if found or wrong else checked.values

    def rows(self, part: Part, raw: Mapping[str, Any], place: str) -> list[Values]:
        given = raw.get(place, [])
        if not isinstance(given, list):
            self.refuse(place, "wrong_type", N_("This must be a list."))
            return []
        if len(given) > STEP_MAX_ROWS:
            self.refuse(place, "too_many", N_("At most %(limit)d entries fit here."), limit=STEP_MAX_ROWS)
            return []
        read = [self.row(part, one, f"{place}/{number}") for number, one in enumerate(given)]
        return [row for row in read if row is not None]

    def usage(self, raw: Any) -> dict[Measure, Decimal]:
        if not isinstance(raw, Mapping):
            self.refuse("usage", "wrong_type", N_("This must be an object of names and values."))
            return {}
        self.refuse_names(raw, [measure.value for measure in COUNTED_BY_WORKERS], "usage/")
        amount, found = USAGE.field("amount"), {}
        for measure in COUNTED_BY_WORKERS:
            if measure.value not in raw:
                continue
            try:
                found[measure] = check_field(amount, raw[measure.value], document=True)
            except Refused as refused:
                problem = refused.problem
                self.refuse(f"usage/{measure.value}", problem.code, problem.sentence, **problem.values)
        return {measure: value for measure, value in found.items() if value}

    def refuse_twice(self, rows: Sequence[Values], place: str, names: tuple[str, ...]) -> None:
        seen = set()
        for number, row in enumerate(rows):
            key = tuple(row[name] for name in names)
            if key in seen:
                self.refuse(f"{place}/{number}/{names[0]}", "duplicate", N_("This stands here twice."))
            seen.add(key)


def _is_loose(field: Field, raw: Any) -> bool:
    """Tell whether a worker gives nothing, or text, where only a form may."""
    if raw is None:
        return field.kind is not Kind.JSON
    return field.kind in _TEXTS and isinstance(raw, str)


def _point(row: Values) -> Point:
    known = {**row, "durability": Durability(row["durability"]), "kind": CheckpointKind(row["kind"])}
    known["size_bytes"] = row["size_bytes"] or 0
    return sealed(Point(**known))


def _entry(row: Values) -> Entry:
    return Entry(**{**row, "kind": StepKind(row["kind"])})


def _object(row: Values) -> ObjectStep:
    version = Version(row["artefact"], row["artefact_version"], row["artefact_sha256"])
    kept = {name: row[name] for name in ("object_id", "accept", "step", "evidence", "note")}
    return ObjectStep(**kept, artefact=version if row["artefact"] else None)

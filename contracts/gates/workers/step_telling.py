"""What the one statement of a step is told: its values, and its events as canonical text with marks.

This runs for every step of every worker. Each value goes as text and is converted where it is stored, so that one
statement has one set of types and is prepared once for a connection.
"""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from contracts.gates.beats import SUBJECT_MAX
from contracts.gates.filling import STEP_OF_POSITION
from contracts.gates.workers.statement_parts import (
    ACCEPTED,
    AFTER,
    BEFORE,
    POINT,
    Values,
    event_body,
    told_of_owner,
)
from contracts.models.content import plain
from contracts.rules.fingerprint import event_json
from contracts.rules.stepping import COUNTED_BY_WORKERS, Entry, Made, ObjectStep, Point, Step, Version
from contracts.rules.vocabulary import Actor

ACT = "commit_step"
PROGRESS_SECONDS = 1.0
REMEMBERED = 200  # attempts of which this process knows when it last said that they go on
_progress: dict[tuple[int, int], float] = {}
_as_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def tell(contract_id: int, actor: Actor, generation: int, step: Step) -> tuple[set[str], Values]:
    """Return the parts of the statement that `step` needs, and the values they are told."""
    point = step.point
    values: Values = {
        **told_of_owner(contract_id, actor, generation),
        "checkpoint": point.checkpoint_id,
        "sequence": None if point.sequence is None else str(point.sequence),
        "kind": point.kind.value,
        "cursor": point.event_cursor,
        "durability": point.durability.value,
        "next_step": point.next_step,
        "schema": str(point.schema_version),
        "location": point.location,
        "state": None if point.inline_state is None else _as_json(point.inline_state),
        "sha256": point.sha256,
        "size": str(point.size_bytes),
        "write_ms": None if point.write_ms is None else str(point.write_ms),
    }
    parts = {"progress"} if _is_told_anew(contract_id, generation) else set()
    usage = {measure.value: plain(amount) for measure, amount in step.usage.items()}
    if step.entry is not None:
        parts.add("entry")
        values |= _entry(step.entry)
    if step.usage:
        parts.add("usage")
        values |= {measure.value: usage.get(measure.value, "0") for measure in COUNTED_BY_WORKERS}
        values["used_by"] = step.entry.key if step.entry is not None else ""
    values["usage"] = _as_json(usage)
    if step.artefacts:
        parts.add("made")
        values |= _made(step.artefacts)
    if step.objects:
        parts.add("objects")
        values |= _objects(step)
    return parts, values | _events(actor, generation, step, usage)


def _is_told_anew(contract_id: int, generation: int) -> bool:
    """Tell whether the attempt's last progress is to be stored again: it is kept by the second."""
    last = _progress.get((contract_id, generation))
    return last is None or time.monotonic() - last >= PROGRESS_SECONDS


def progressed(contract_id: int, generation: int) -> None:
    """Remember that this process has just stored that the attempt goes on."""
    if len(_progress) >= REMEMBERED:
        _progress.clear()
    _progress[contract_id, generation] = time.monotonic()


def _entry(entry: Entry) -> Values:
    return {
        "key": entry.key,
        "step_kind": entry.kind.value,
        "result": None if entry.result is None else _as_json(entry.result),
        "result_location": entry.result_location,
        "result_sha256": entry.result_sha256,
    }


def _made(artefacts: Iterable[Made]) -> Values:
    rows = [{**_told_of(made), "place": n * STEP_OF_POSITION} for n, made in enumerate(artefacts, 1)]
    return {"made": _array(row["artefact_id"] for row in rows), "artefacts": _as_json(rows)}


def _array(texts: Iterable[str]) -> str:
    """Return `texts` as PostgreSQL writes an array."""
    quoted = (text.replace("\\", r"\\").replace('"', r"\"") for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def _told_of(made: Made) -> dict[str, Any]:
    return {name: getattr(made, name) for name in Made.__slots__}


def _objects(step: Step) -> Values:
    rows = []
    for row in step.objects:
        version = row.artefact or Version("")
        rows.append(
            {
                "object_id": row.object_id,
                "accept": row.accept,
                "artefact": version.artefact_id,
                "version": version.version_label,
                "sha256": version.sha256,
                "step": row.step,
                "evidence": row.evidence,
                "note": row.note,
            }
        )
    return {
        "names": _array(row.object_id for row in step.objects),
        "held": str(len({row.object_id for row in step.objects})),
        "objects": _as_json(rows),
        "referred": _as_json([_referred(version) for version in referred(step)]),
    }


def referred(step: Step) -> list[Version]:
    """Return the versions that objects of `step` name and that it does not bring along."""
    made = {one.artefact_id: one for one in step.artefacts}
    named = [row.artefact for row in step.objects if row.artefact is not None]
    return [version for version in named if not _is_version(made.get(version.artefact_id), version)]


def _is_version(made: Made | None, version: Version) -> bool:
    return (
        made is not None
        and version.version_label in ("", made.version_label)
        and version.sha256 in ("", made.sha256)
    )


def _referred(version: Version) -> dict[str, str]:
    return {"artefact": version.artefact_id, "version": version.version_label, "sha256": version.sha256}


def _events(actor: Actor, generation: int, step: Step, usage: Mapping[str, str]) -> Values:
    """Return what is recorded: the step as one event, and one for each artefact and object after it."""
    subject = f"{POINT} · {step.point.checkpoint_id}"
    told = f'"{POINT} · {event_json(step.point.checkpoint_id)[1:]}'
    after = _after(generation, step, usage)
    body = event_body(actor, ("checkpoint", ACT, told), f'{{"state":"{BEFORE}"}}', after)
    if not step.artefacts and not step.objects:
        return {"act": ACT, "subject": subject, "after": after, "body": body}
    first = {
        "part": "checkpoint",
        "act": ACT,
        "subject": subject,
        "before": f'{{"state":"{BEFORE}"}}',
        "after": after,
        "body": body,
    }
    rows = [first, *(_of_artefact(actor, made) for made in step.artefacts)]
    rows += [_of_object(actor, row) for row in step.objects]
    return {"events": _as_json([{"n": n, **row} for n, row in enumerate(rows, 1)])}


def _after(generation: int, step: Step, usage: Mapping[str, str]) -> str:
    """Return what the step's event tells as JSON with sorted names; an inline state is told by its checksum."""
    text = f'{{"checkpoint":{event_json(_told_of_point(generation, step.point))},"state":"{AFTER}"'
    if step.entry is not None:
        entry = step.entry
        told = {
            "key": entry.key,
            "kind": entry.kind.value,
            "result_location": entry.result_location,
            "result_sha256": entry.result_sha256,
            "state": "done",
        }
        text += f',"step":{event_json(told)}'
    if usage:
        text += f',"usage":{event_json(usage)}'
    return text + "}"


def _told_of_point(generation: int, point: Point) -> dict[str, Any]:
    return {
        "checkpoint_id": point.checkpoint_id,
        "durability": point.durability.value,
        "event_cursor": point.event_cursor,
        "generation": generation,
        "kind": point.kind.value,
        "location": point.location,
        "next_step": point.next_step,
        "schema_version": point.schema_version,
        "sha256": point.sha256,
        "size_bytes": point.size_bytes,
        "write_ms": point.write_ms,
    }


def _of_artefact(actor: Actor, made: Made) -> dict[str, Any]:
    after = event_json({**_told_of(made), "author": actor.name, "current": True})
    return _row(actor, ("artefact", "add", f"{made.artefact_id} · {made.version_label}"), None, after)


def _of_object(actor: Actor, row: ObjectStep) -> dict[str, Any]:
    version = row.artefact or Version("")
    told = {
        "artefact": version.artefact_id,
        "artefact_sha256": version.sha256,
        "artefact_version": version.version_label,
        "evidence": row.evidence,
        "note": row.note,
    }
    # `state` and `step` sort behind the others; the state of what is accepted depends on the contract.
    state = ACCEPTED if row.accept else "in_progress"
    after = f'{event_json(told)[:-1]},"state":"{state}","step":{event_json(row.step)}}}'
    return _row(actor, ("object", ACT, row.object_id), '{"state":"in_progress"}', after)


def _row(actor: Actor, what: tuple[str, str, str], before: str | None, after: str) -> dict[str, Any]:
    part, act, subject = what
    subject = subject[:SUBJECT_MAX]
    body = event_body(actor, (part, act, event_json(subject)), before or "null", after)
    return {"part": part, "act": act, "subject": subject, "before": before, "after": after, "body": body}

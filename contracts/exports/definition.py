"""Documents that a new contract begins with: a blank one, the definition of another, one of the two cases."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from contracts.exports.snapshot import Snapshot, open_snapshot
from contracts.models import Contract
from contracts.models.content import plain
from contracts.rules.document import FORMAT, LIFE, LISTS, REVISED_AT, SCHEMA_VERSION
from contracts.rules.fields import Kind
from contracts.rules.parts import PARTS, Part
from contracts.rules.rows import RESULT_FIELDS
from contracts.rules.states import ObjectState

CASES = ("archive-photographs", "museum-label")
CASE_LANGUAGES = ("en", "zh-hans")
CASES_FOLDER = Path(__file__).with_name("cases")
Row = dict[str, Any]


def blank(task_id: str, team: str, title: str) -> Row:
    """Return the document of a contract that holds nothing but its title."""
    head = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "task_id": task_id, "team": team}
    return {**head, "identity": {"title": title}}


def definition_of(contract: Contract) -> Row:
    """Return what is agreed in a contract, without anything that happened: the document of a copy.

    Objects and current sources are taken along, the objects not started; the newest policy becomes the
    first. The copy is a draft in its first revision with no section marked complete. It still bears the task
    id of its origin: give the new one to `check_document`.
    """
    with open_snapshot(contract.pk) as snapshot:
        return _definition(snapshot)


def _definition(snapshot: Snapshot) -> Row:
    contract = snapshot.contract
    return {
        **blank(contract.task_id, contract.team.slug, contract.title),
        "identity": contract.facts(),
        "gate": snapshot.single("gate"),
        "planes": list(_rows(snapshot, "plane")),
        "sources": [row for row in _rows(snapshot, "source") if row["current"]],
        "objects": [_fresh_object(row) for row in _rows(snapshot, "object")],
        "tools": list(_rows(snapshot, "tool")),
        "policies": [{**row, "number": 1} for row in list(_rows(snapshot, "policy"))[-1:]],
        "limits": list(_rows(snapshot, "limit")),
        "windows": [
            {name: value for name, value in row.items() if name not in RESULT_FIELDS}
            for row in _rows(snapshot, "window")
        ],
    }


def _rows(snapshot: Snapshot, part: str) -> Iterator[Row]:
    names = [field.name for field in PARTS[part].fields]
    for values in snapshot.stream(part):
        yield dict(zip(names, values, strict=True))


def _fresh_object(row: Row) -> Row:
    kept = {name: row[name] for name in ("object_id", "source", "step")}
    # The note of a skipped object is the reason for skipping it.
    return kept if row["state"] == ObjectState.SKIPPED else {**kept, "note": row["note"]}


def case(name: str, language: str, now: datetime) -> Row:
    """Return the document of one of CASES in one of CASE_LANGUAGES, as if it had been revised just now.

    Every time in it is moved by the same span, so that the newest lies at the last whole hour before `now`
    and the deadline a week later.
    """
    if name not in CASES or language not in CASE_LANGUAGES:
        raise KeyError((name, language))
    document: Row = json.loads(CASES_FOLDER.joinpath(f"{name}.{language}.json").read_bytes())
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    span = hour - datetime.fromisoformat(document["revised_at"])
    document[REVISED_AT.name] = _moved(document["revised_at"], span)
    for key, part in {"identity": PARTS["identity"], "life": LIFE}.items():
        document[key] = _moved_row(document[key], part, span)
    for key, part_name in LISTS.items():
        document[key] = [_moved_row(row, PARTS[part_name], span) for row in document.get(key, [])]
    return document


def _moved_row(row: Mapping[str, Any], part: Part, span: timedelta) -> Row:
    times = {field.name for field in part.fields if field.kind is Kind.MOMENT}
    return {name: _moved(value, span) if name in times else value for name, value in row.items()}


def _moved(value: str | None, span: timedelta) -> str | None:
    return value and str(plain(datetime.fromisoformat(value) + span))

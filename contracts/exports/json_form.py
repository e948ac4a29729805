"""The whole contract as JSON: the form that another workbench, a worker or a later year reads back.

The layout is fixed: the head and the single parts line by line, each row of a list on one line of its own, so
that two revisions can be compared line by line. The same revision gives the same bytes.
"""

import json
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any

from contracts.exports.snapshot import Snapshot
from contracts.exports.writing import digest_of, in_pieces
from contracts.models.content import plain
from contracts.rules.document import FORMAT, LISTS, SCHEMA_VERSION
from contracts.rules.parts import PARTS

# One shared encoder: building one for each row would cost more than the row.
_compact = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
).encode


def stream_json(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the JSON form of `snapshot` in pieces."""
    return in_pieces(_lines(snapshot))


def json_sha256(snapshot: Snapshot) -> str:
    """Return the SHA-256 of the JSON form, 64 hex digits."""
    return digest_of(stream_json(snapshot))


def document_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a document that is in memory in the layout of the JSON form; absent keys are left out."""
    yield from _closed(
        _rows(key, (_compact(row) for row in value)) if key in LISTS else _entry(key, value)
        for key, value in document.items()
    )


def _lines(snapshot: Snapshot) -> Iterator[str]:
    contract = snapshot.contract
    head = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "task_id": contract.task_id,
        "team": contract.team.slug,
        "revision": contract.revision,
        "revised_at": plain(contract.revised_at),
        "complete_sections": list(snapshot.complete_sections),
        "identity": contract.facts(),
        "life": contract.life(),
        "gate": snapshot.single("gate"),
    }
    yield from _closed(_blocks(snapshot, head))


def _blocks(snapshot: Snapshot, head: Mapping[str, Any]) -> Iterator[Iterator[str]]:
    for key, value in head.items():
        yield _entry(key, value)
    for key, part in LISTS.items():
        yield _rows(key, _encoded(snapshot, part))


def _encoded(snapshot: Snapshot, part: str) -> Iterator[str]:
    """Yield each row as one line; joining known names is several times quicker than encoding a dictionary."""
    names = [f"{_compact(field.name)}:" for field in PARTS[part].fields]
    starts = ["{" + names[0], *("," + name for name in names[1:])]
    for values in snapshot.stream(part):
        yield (
            "".join([start + _encoded_value(value) for start, value in zip(starts, values, strict=True)])
            + "}"
        )


def _encoded_value(value: Any) -> str:
    if value is None:
        return "null"
    return encode_basestring(value) if type(value) is str else _compact(value)


def _closed(blocks: Iterator[Iterator[str]]) -> Iterator[str]:
    """Put the blocks into one object: a comma closes each block but the last."""
    yield "{"
    last = ""
    for block in blocks:
        if last:
            yield last + ","
        last = next(block)
        for line in block:
            yield last
            last = line
    yield last
    yield "}"


def _entry(key: str, value: Any) -> Iterator[str]:
    if not isinstance(value, dict) or not value:
        yield f"  {_compact(key)}: {_compact(value)}"
        return
    yield f"  {_compact(key)}: {{"
    inner = [f"    {_compact(name)}: {_compact(entry)}" for name, entry in value.items()]
    yield from (line + "," for line in inner[:-1])
    yield inner[-1]
    yield "  }"


def _rows(key: str, rows: Iterator[str]) -> Iterator[str]:
    first = next(rows, None)
    if first is None:
        yield f"  {_compact(key)}: []"
        return
    yield f"  {_compact(key)}: ["
    last = first
    for row in rows:
        yield f"    {last},"
        last = row
    yield f"    {last}"
    yield "  ]"

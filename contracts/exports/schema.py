"""The published JSON Schema (2020-12) of the document, made from the declarations of the parts."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contracts.rules.document import (
    FORMAT,
    KEYS,
    LIFE,
    LISTS,
    REVISED_AT,
    REVISION,
    SCHEMA_VERSION,
    TEAM,
)
from contracts.rules.fields import Field, Kind
from contracts.rules.parts import PARTS, Part
from contracts.rules.text import TASK_ID
from contracts.rules.vocabulary import Section

COMMITTED = Path(__file__).with_name(f"contract-{SCHEMA_VERSION}.schema.json")
MOMENT_PATTERN = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})$"
Schema = dict[str, Any]


def committed_schema() -> bytes:
    """Return the schema as it is published."""
    return COMMITTED.read_bytes()


def schema_text() -> str:
    """Return the schema made from today's declarations, as it is to be committed."""
    return json.dumps(contract_schema(), ensure_ascii=False, indent=2) + "\n"


def contract_schema() -> Schema:
    """Return the JSON Schema of an exported contract."""
    singles = {"identity": PARTS["identity"], "life": LIFE, "gate": PARTS["gate"]}
    members: dict[str, Schema] = {
        "format": {"const": FORMAT},
        "schema_version": {"const": SCHEMA_VERSION},
        "task_id": {"type": "string", "pattern": f"^{TASK_ID.pattern}$"},
        "team": _field(TEAM),
        "revision": _field(REVISION),
        "revised_at": _field(REVISED_AT),
        "complete_sections": {
            "type": "array",
            "items": {"enum": [section.value for section in Section]},
        },
        **{name: {"$ref": f"#/$defs/{name}"} for name in singles},
        **{key: _list(PARTS[part]) for key, part in LISTS.items()},
    }
    parts = {**singles, **{part: PARTS[part] for part in LISTS.values()}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:schema:{SCHEMA_VERSION}",
        "title": "Resume-state contract",
        "type": "object",
        "required": ["format", "schema_version", "task_id", "identity"],
        "additionalProperties": False,
        "properties": {key: members[key] for key in KEYS},
        "$defs": {name: _part(part) for name, part in parts.items()},
    }


def _list(part: Part) -> Schema:
    return {"title": part.title, "type": "array", "items": {"$ref": f"#/$defs/{part.name}"}}


def _part(part: Part) -> Schema:
    shown: Schema = {
        "title": part.one,
        "type": "object",
        "additionalProperties": False,
        "properties": {field.name: _described(field) for field in part.fields},
    }
    required = [field.name for field in part.fields if field.required]
    return shown | ({"required": required} if required else {})


def _described(field: Field) -> Schema:
    words = {"title": field.label} | ({"description": field.hint} if field.hint else {})
    return words | _field(field)


def _field(field: Field) -> Schema:
    """Return the values of one field; where it may be left out, it may be null as well."""
    schema = _KINDS[field.kind](field)
    if field.required or ("type" not in schema and "enum" not in schema):
        return schema
    if "enum" in schema:
        return {"enum": [*schema["enum"], "", None]}
    return schema | {"type": [schema["type"], "null"]}


def _text(field: Field) -> Schema:
    bounds = {"maxLength": field.max_chars}
    return {"type": "string"} | ({"minLength": 1} if field.required else {}) | bounds


def _digest(field: Field) -> Schema:
    return {"type": "string", "pattern": "^[0-9a-f]{64}$" if field.required else "^([0-9a-f]{64})?$"}


def _whole(field: Field) -> Schema:
    return {"type": "integer", "minimum": field.low, "maximum": field.high}


def _wholes(field: Field) -> Schema:
    return {"type": "array", "items": _whole(field), "uniqueItems": True, "maxItems": 50}


def _amount(_field: Field) -> Schema:
    return {"type": "string", "pattern": r"^\d{1,14}(\.\d{1,6})?$"}


def _choice(field: Field) -> Schema:
    return {"enum": [word.value for word in field.words or ()]}


_KINDS: Mapping[Kind, Callable[[Field], Schema]] = {
    Kind.ID: _text,
    Kind.LINE: _text,
    Kind.TEXT: _text,
    Kind.LOCATION: _text,
    Kind.SHA256: _digest,
    Kind.WHOLE: _whole,
    Kind.WHOLES: _wholes,
    Kind.AMOUNT: _amount,
    Kind.CHOICE: _choice,
    Kind.FLAG: lambda _field: {"type": "boolean"},
    Kind.MOMENT: lambda _field: {"type": "string", "format": "date-time", "pattern": MOMENT_PATTERN},
    Kind.JSON: lambda field: {"not": {"type": "null"}} if field.required else {},
}

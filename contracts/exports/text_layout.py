"""How each part of a contract is laid out in the TXT form: labels and words of one language, prepared once.

Translating is done when a layout is made; showing a row is looking up and joining, so that a contract of
100,000 objects is told in a few seconds.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, pgettext

from contracts.exports.text_lines import WIDTH, columns, fits, labelled
from contracts.rules.approving import MEMBERS
from contracts.rules.fields import Field, Kind
from contracts.rules.parts import Part
from contracts.rules.rows import RESULT_FIELDS
from contracts.rules.windows import Window
from contracts.rules.words import Labelled

BLANK = "____"  # a line to fill in by hand
INDENT = "      "  # of the lines of a row in a list
OURS = frozenset({Kind.SHA256, Kind.WHOLE, Kind.WHOLES, Kind.AMOUNT, Kind.CHOICE, Kind.FLAG, Kind.MOMENT})
# What stands at the head of a row, where that is not the order in which it is filled in.
LEADING: Mapping[str, tuple[str, ...]] = {
    "approval": (
        "item_id",
        "state",
        "decided_by",
        "decided_at",
        "decision_reason",
        "stale_member",
        "stale_was",
        "stale_now",
        "consumed_at",
        "consumed_generation",
        "tool",
        "target",
        "draft",
        "draft_version",
        "draft_sha256",
        "fingerprint",
        "operation_key",
    ),
    "operation": ("tool", "state", "object", "step", "round", "target", "parameters", "fingerprint", "key"),
    "object": ("object_id", "state"),
    "step": ("key", "kind", "state", "sequence"),
    "checkpoint": ("checkpoint_id", "sequence"),
    "attempt": ("attempt_id", "number", "generation"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of a part: where its value stands in the row, its label, and how the value becomes words.

    `start`: indent and label with colon. `room`: columns left for the value on that line. `show` is missing
    where the value is text already. `ours`: the words are the workbench's own, so that they need no care.
    `blank`: what is shown where nothing was filled in; without it the line is left out.
    """

    index: int
    start: str
    room: int
    show: Callable[[Any], str] | None
    ours: bool
    blank: str


type Layout = tuple[Cell, ...]


def colon(words: str) -> str:
    """Return translated `words` as a label, with the colon of the language."""
    return words + pgettext("between a label and its value", ": ")


def start_of(indent: str, label: str) -> tuple[str, int]:
    """Return the beginning of a line with its label, and the columns left behind it."""
    start = indent + colon(label)
    return start, WIDTH - columns(start)


def layout_of(part: Part, indent: str) -> Layout:
    """Return the cells of `part` in the order of the TXT form, in the language that is active."""
    names = [field.name for field in part.fields]
    leading = LEADING.get(part.name, ())
    order = [*leading, *(name for name in names if name not in leading)]
    return tuple(_cell(part, part.field(name), names.index(name), indent) for name in order)


def _cell(part: Part, field: Field, index: int, indent: str) -> Cell:
    show = _shower(part, field)
    ours = field.kind in OURS and (part.name, field.name) != ("window", "window")
    return Cell(index, *start_of(indent, gettext(field.label)), show, ours, _blank(part, field))


def _blank(part: Part, field: Field) -> str:
    if part.name == "window" and field.name in RESULT_FIELDS:
        return BLANK
    if part.name == "limit" and field.name == "cap":
        return gettext("none, it is only counted")
    waits = part.fixed and field.name not in ("note", "title", "currency", "pass_on_to", "pass_on_hours")
    return gettext("not filled in") if waits else ""


def _shower(part: Part, field: Field) -> Callable[[Any], str] | None:
    special = _special(part.name, field.name)
    if special is not None:
        return lambda value: special.get(value, str(value))
    if field.words is not None:
        return _words(field.words).__getitem__
    if field.kind is Kind.FLAG:
        return {True: gettext("Yes"), False: gettext("No")}.__getitem__
    return _SHOWERS.get(field.kind)


def _special(part: str, name: str) -> Mapping[str, str] | None:
    if (part, name) == ("approval", "scope"):
        return {"this_call": gettext("this call only")}
    if (part, name) == ("approval", "stale_member"):
        return {name: gettext(label) for name, label in MEMBERS.items()}
    return _words(Window) if (part, name) == ("window", "window") else None


def _words(words: type[Labelled]) -> dict[str, str]:
    return {word.value: gettext(word.label) for word in words}


def show_moment(value: str) -> str:
    """Return a time as people read it, to the second or, where it has them, to the microsecond."""
    return value.replace("T", " ").replace(".000000", "").replace("Z", " UTC")


def show_json(value: Any) -> str:
    """Return JSON on one line, names in order; a line break in a text stays an escape."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


_SHOWERS: Mapping[Kind, Callable[[Any], str]] = {
    Kind.WHOLE: str,
    Kind.WHOLES: lambda value: ", ".join(str(number) for number in value),
    Kind.MOMENT: show_moment,
    Kind.JSON: show_json,
}


def row_block(layout: Layout, values: Sequence[Any]) -> str:
    """Return the lines of one row, with line feeds between them."""
    lines: list[str] = []
    for cell in layout:
        value = values[cell.index]
        if not value and value != 0:  # neither no nor zero is nothing
            if cell.blank:
                lines.append(cell.start + cell.blank)
            continue
        text = value if cell.show is None else cell.show(value)
        if cell.ours or fits(text, cell.room):
            lines.append(cell.start + text)
        else:
            lines.extend(labelled(cell.start, text))
    return "\n".join(lines)


def numbered(number: int, block: str) -> str:
    """Return the block of a row in a list, with its number in the indent of the first line."""
    return f"  {number:>2}. {block.lstrip(' ')}"

"""How the rows of a part are laid out: which facts stand in the table, and how each is shown."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import get_language, gettext

from contracts.gates.objects import OPEN_FOR_OBJECTS
from contracts.gates.requesting import ASKABLE
from contracts.models import Approval, ContentRow, Contract, DrillRun, Operation, WindowRow
from contracts.rules.approving import member_words
from contracts.rules.fields import Field, Kind
from contracts.rules.parts import PARTS, PEOPLE, Part
from contracts.rules.states import ContractState, OperationState
from contracts.rules.windows import WINDOW_TEXTS, Window
from contracts.views.policy_words import recipient_words

# Part → the facts that stand in the table; the first heads the row. The rest is seen on opening the row.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "plane": ("plane", "authority", "readers", "retention_days"),
    "checkpoint": (
        "checkpoint_id",
        "sequence",
        "attempt",
        "durability",
        "next_step",
        "sha256",
        "committed_at",
    ),
    "step": ("key", "sequence", "kind", "attempt", "state"),
    "source": ("source_id", "version_label", "current", "sha256", "location"),
    "artefact": ("artefact_id", "version_label", "current", "source", "author", "accepted_by"),
    "object": ("object_id", "source", "artefact", "step", "state", "evidence"),
    "tool": ("tool", "effect", "needs_approval", "query_path", "stale_owner", "named_person"),
    "operation": ("tool", "object", "step", "round", "target", "state", "fingerprint"),
    "approval": ("item_id", "tool", "draft_version", "state", "requester", "decided_by", "expires_at"),
    "vote": ("item", "decider", "decision", "at"),
    "limit": ("measure", "cap", "currency"),
    "usage": ("entry_id", "measure", "amount", "attempt", "used_at"),
    "attempt": ("attempt_id", "number", "generation", "worker", "started_at", "ended_at", "end_reason"),
    "window": ("window", "setting", "counted", "repeated", "verdict", "run_at"),
}
# Parts whose rows a worker's attempt may have recorded; those are not changed by hand.
RECORDS = frozenset({"attempt", "checkpoint", "step"})
# Facts that are shown as a state: shape, word and colour together.
STATES = frozenset({"state", "verdict", "decision"})
WINDOW_WORDS = frozenset({"provoked", "expected"})  # of a known window, where nobody wrote others
EMPTY: tuple[Any, ...] = ("", None, [], {})
# Facts that stand for words of their own.
WORDED: Mapping[str, Callable[[str], str]] = {
    "scope": lambda _: gettext("this call only"),
    "stale_member": lambda member: gettext(member_words(member)),
    "passed_to": recipient_words,
    "pass_on_to": recipient_words,
}
SPOKEN = WINDOW_WORDS | {"window", *WORDED}


@dataclass(frozen=True, slots=True)
class Heading:
    """What a column is called, and whether it holds numbers, which stand at its end."""

    label: str
    number: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One fact, ready to be shown: its label and what kind of thing it is."""

    name: str
    label: str
    kind: str
    value: Any
    word: str = ""
    result: bool = False  # of a drill; blank until somebody really ran it


@dataclass(frozen=True, slots=True)
class Laid:
    """What a field's cells have in common, in one language: worked out once, because a page has hundreds of cells."""

    field: Field
    label: str
    kind: str
    worded: bool  # its value stands for words
    spoken: bool  # its words follow from other facts


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row as a table shows it."""

    part: Part
    pk: int
    version: int
    element: str
    name: str
    cells: tuple[Cell, ...]
    more: tuple[Cell, ...]
    mendable: bool
    removable: bool
    selectable: bool = False
    drilled: bool = True
    ask_key: str = ""  # of a pending operation for which a decision may be asked
    place: str = ""  # of what has a page of its own
    run: DrillRun | None = None  # that filled the result half of a grid's row

    @property
    def result_count(self) -> int:
        """Return how many cells the blank result half of a grid row takes."""
        return sum(cell.result for cell in self.cells)

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """Return all that the markup depends on but the values; None for a row with links that others lack."""
        if self.run or self.ask_key:
            return None
        cells = tuple((cell.kind == "number", cell.result) for cell in self.cells)
        more = tuple(cell.name for cell in self.more)
        acts = (self.mendable, self.removable, self.selectable, self.drilled, bool(self.place))
        return self.part.name, cells, more, acts

    @property
    def values(self) -> list[Any]:
        """Return what differs between rows of one shape."""
        return [self.pk, self.place, self.name, *self.cells, *self.more]

    def blank(self, marks: Sequence[str]) -> "ShownRow":
        """Return a row of the same shape that shows `marks`, one for each value."""
        pk, place, name, *others = marks
        cells = tuple(
            replace(cell, kind="number" if cell.kind == "number" else "text", value=mark, word="")
            for cell, mark in zip((*self.cells, *self.more), others, strict=True)
        )
        count = len(self.cells)
        return replace(
            self,
            pk=int(pk),
            element=f"{self.part.name}-{pk}",
            place=place if self.place else "",
            name=name,
            cells=cells[:count],
            more=cells[count:],
        )


def headings(part: Part) -> list[Heading]:
    """Return the translated column headings of a part's table."""
    fields = map(part.field, COLUMNS[part.name])
    return [Heading(gettext(field.label), _kind(field) == "number") for field in fields]


def shown_row(
    part: Part, row: ContentRow, contract: Contract, *, may_fill: bool, run: DrillRun | None = None
) -> ShownRow:
    """Return one row with its cells; what may be done with it follows from the contract's state."""
    facts, state = row.facts(), contract.state
    in_table, behind = _layout(part.name, get_language())
    mendable = may_fill and state in part.mendable_in and bool(part.given) and not _kept(part, row)
    own_window = part.name == "window" and facts["window"] not in set(Window)
    return ShownRow(
        part=part,
        pk=row.pk,
        version=row.version,
        element=f"{part.name}-{row.pk}",
        name=row.natural_key(),
        cells=tuple([_cell(one, facts) for one in in_table]),
        more=tuple([_cell(one, facts) for one in behind if facts[one.field.name] not in EMPTY or one.spoken]),
        mendable=mendable,
        removable=mendable and state == ContractState.DRAFT and (not part.fixed or own_window),
        selectable=may_fill and may_select(part, state),
        drilled=part.name != "window" or bool(facts["verdict"]),
        place=_place(row, contract.task_id),
        run=run,
        ask_key=row.key if may_fill and isinstance(row, Operation) and _askable(row, state) else "",
    )


def _place(row: ContentRow, task_id: str) -> str:
    if isinstance(row, Approval):
        return reverse("contracts:approval", args=[task_id, row.item_id])
    return reverse("contracts:operation", args=[task_id, row.key]) if isinstance(row, Operation) else ""


def table_query(part: Part, asked: Mapping[str, str], **changed: Any) -> str:
    """Return the query string that shows the same page, search and state of the table again."""
    names = {name: f"{part.name}-{name}" for name in ("page", "q", "state")}
    kept = {full: changed.get(name, asked.get(full, "")) for name, full in names.items()}
    query = urlencode({full: value for full, value in kept.items() if value})
    return f"?{query}" if query else ""


def may_select(part: Part, state: str) -> bool:
    """Tell whether rows of `part` may be chosen for an act while the contract is in `state`."""
    return part.name == "object" and ContractState(state) in OPEN_FOR_OBJECTS


def all_cells(part: Part, facts: Mapping[str, Any]) -> list[Cell]:
    """Return what people fill in of a row, for a page on which it is only read."""
    laid = {one.field.name: one for half in _layout(part.name, get_language()) for one in half}
    return [_cell(laid[field.name], facts) for field in part.given]


def _askable(operation: Operation, state: str) -> bool:
    """Tell whether `operation` waits for a person's consent while the contract is in `state`."""
    waits = operation.state == OperationState.PENDING and operation.tool.needs_approval
    return waits and ContractState(state) in ASKABLE


def _kept(part: Part, row: Any) -> bool:
    """Tell whether the row was recorded by a worker, or is a call that may have left."""
    if part.name in RECORDS:
        return not getattr(row, "attempt", row).by_hand
    return part.name == "operation" and row.state != OperationState.PENDING


def _cell(laid: Laid, facts: Mapping[str, Any]) -> Cell:
    field, value = laid.field, facts[laid.field.name]
    if laid.spoken and (words := _spoken(field, facts)) is not None:
        return Cell(field.name, laid.label, "text", words)
    if value in EMPTY:
        return Cell(field.name, laid.label, "empty", "", result=field.name in WindowRow.RESULTS)
    word = _word(field, value) if laid.worded else ""
    return Cell(field.name, laid.label, laid.kind, _typed(field, value), word)


def _spoken(field: Field, facts: Mapping[str, Any]) -> str | None:
    """Return the words that stand for a fact which its value alone does not tell; None if there are none for it."""
    value = facts[field.name]
    if field.name == "window":
        return _window_title(facts)
    if field.name in WINDOW_WORDS:
        known = not value and facts.get("window") in set(Window)
        return gettext(getattr(WINDOW_TEXTS[Window(facts["window"])], field.name)) if known else None
    if value in EMPTY:
        return None
    return WORDED[field.name](value)


def _typed(field: Field, value: Any) -> Any:
    return datetime.fromisoformat(value) if field.kind is Kind.MOMENT else value


@cache
def _layout(part: str, _language: str | None) -> tuple[tuple[Laid, ...], tuple[Laid, ...]]:
    """Return the fields that stand in the table of a part, and those that are seen on opening a row."""
    fields = {field.name: field for field in PARTS[part].fields}
    shown = COLUMNS.get(part, ())
    behind = [field for name, field in fields.items() if name not in shown]
    return tuple(map(_laid, [fields[name] for name in shown])), tuple(map(_laid, behind))


def _laid(field: Field) -> Laid:
    worded = field.kind in (Kind.FLAG, Kind.JSON) or field.words is not None
    return Laid(field, gettext(field.label), _kind(field), worded, field.name in SPOKEN)


def _kind(field: Field) -> str:
    if field.name in STATES:
        return "state"
    return "person" if field.name in PEOPLE else _KINDS.get(field.kind, "text")


_KINDS: Mapping[Kind, str] = {
    Kind.ID: "id",
    Kind.LOCATION: "place",
    Kind.SHA256: "digest",
    Kind.MOMENT: "moment",
    Kind.JSON: "json",
    Kind.FLAG: "word",
    Kind.CHOICE: "word",
    Kind.WHOLE: "number",
    Kind.AMOUNT: "number",
}


def _word(field: Field, value: Any) -> str:
    if field.kind is Kind.FLAG:
        return gettext("yes") if value else gettext("no")
    if field.kind is Kind.JSON:
        return json.dumps(value, ensure_ascii=False, indent=2)
    return gettext(field.words(value).label) if field.words is not None else ""


def _window_title(facts: Mapping[str, Any]) -> str:
    if facts["window"] in set(Window):
        return gettext(Window(facts["window"]).label)
    return str(facts["title"] or facts["window"])


def is_open(part: Part, state: str) -> bool:
    """Tell whether rows of `part` may be added while the contract is in `state`."""
    return ContractState(state) in part.open_in and part.addable

"""How the rows of a part are laid out: which facts stand in the table, and how each is shown."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext

from contracts.gates.objects import OPEN_FOR_OBJECTS
from contracts.gates.requesting import ASKABLE
from contracts.models import ContentRow, DrillRun, Operation, WindowRow
from contracts.rules.approving import member_words
from contracts.rules.fields import Field, Kind
from contracts.rules.parts import Part
from contracts.rules.states import ContractState, OperationState
from contracts.rules.windows import WINDOW_TEXTS, Window

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
    key: str = ""  # of an operation, which has a page of its own
    run: DrillRun | None = None  # that filled the result half of a grid's row

    @property
    def result_count(self) -> int:
        """Return how many cells the blank result half of a grid row takes."""
        return sum(cell.result for cell in self.cells)


def headings(part: Part) -> list[str]:
    """Return the translated column headings of a part's table."""
    return [gettext(part.field(name).label) for name in COLUMNS[part.name]]


def shown_row(
    part: Part, row: ContentRow, state: str, *, may_fill: bool, run: DrillRun | None = None
) -> ShownRow:
    """Return one row with its cells; what may be done with it follows from the contract's state."""
    facts = row.facts()
    columns = COLUMNS[part.name]
    mendable = may_fill and state in part.mendable_in and bool(part.given) and not _kept(part, row)
    own_window = part.name == "window" and facts["window"] not in set(Window)
    return ShownRow(
        part=part,
        pk=row.pk,
        version=row.version,
        element=f"{part.name}-{row.pk}",
        name=row.natural_key(),
        cells=tuple(_cell(part.field(name), facts) for name in columns),
        more=tuple(
            cell
            for field in part.fields
            if field.name not in columns and (cell := _cell(field, facts)).kind != "empty"
        ),
        mendable=mendable,
        removable=mendable and state == ContractState.DRAFT and (not part.fixed or own_window),
        selectable=may_fill and may_select(part, state),
        drilled=part.name != "window" or bool(facts["verdict"]),
        key=row.key if isinstance(row, Operation) else "",
        run=run,
        ask_key=row.key if may_fill and isinstance(row, Operation) and _askable(row, state) else "",
    )


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
    return [_cell(field, facts) for field in part.given]


def _askable(operation: Operation, state: str) -> bool:
    """Tell whether `operation` waits for a person's consent while the contract is in `state`."""
    waits = operation.state == OperationState.PENDING and operation.tool.needs_approval
    return waits and ContractState(state) in ASKABLE


def _kept(part: Part, row: Any) -> bool:
    """Tell whether the row was recorded by a worker, or is a call that may have left."""
    if part.name in RECORDS:
        return not getattr(row, "attempt", row).by_hand
    return part.name == "operation" and row.state != OperationState.PENDING


def _cell(field: Field, facts: Mapping[str, Any]) -> Cell:
    value = facts[field.name]
    label = gettext(field.label)
    if field.name == "window":
        return Cell(field.name, label, "text", _window_title(facts))
    if field.name in ("provoked", "expected") and not value and facts.get("window") in set(Window):
        text = WINDOW_TEXTS[Window(facts["window"])]
        return Cell(field.name, label, "text", gettext(getattr(text, field.name)))
    if value in ("", None, [], {}):
        return Cell(field.name, label, "empty", "", result=field.name in WindowRow.RESULTS)
    if field.name in ("scope", "stale_member"):
        words = gettext("this call only") if field.name == "scope" else gettext(member_words(value))
        return Cell(field.name, label, "text", words)
    return Cell(field.name, label, _kind(field), _typed(field, value), _word(field, value))


def _typed(field: Field, value: Any) -> Any:
    return datetime.fromisoformat(value) if field.kind is Kind.MOMENT else value


def _kind(field: Field) -> str:
    if field.name in STATES:
        return "state"
    kinds = {
        Kind.ID: "id",
        Kind.SHA256: "digest",
        Kind.MOMENT: "moment",
        Kind.JSON: "json",
        Kind.FLAG: "word",
        Kind.CHOICE: "word",
        Kind.WHOLE: "number",
        Kind.AMOUNT: "number",
    }
    return kinds.get(field.kind, "text")


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

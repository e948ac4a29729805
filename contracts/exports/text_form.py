"""The whole contract as text for people: the nine sections in page order, in one language.

Nothing in it depends on when or by whom it is told: the same revision gives the same bytes. *Expired*, for
instance, is not said, because it depends on the clock; the deadline is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext, override

from contracts.exports.json_form import json_sha256
from contracts.exports.snapshot import Snapshot
from contracts.exports.text_layout import (
    BLANK,
    INDENT,
    Cell,
    Layout,
    colon,
    layout_of,
    numbered,
    row_block,
    show_moment,
    start_of,
)
from contracts.exports.text_lines import columns, labelled
from contracts.exports.unstored import Unstored
from contracts.exports.writing import in_pieces
from contracts.models.content import plain
from contracts.rules.document import LIFE
from contracts.rules.parts import PARTS, Part, parts_of
from contracts.rules.states import ObjectState
from contracts.rules.vocabulary import LOSS_WINDOWS, PLANE_QUESTIONS, ActorKind, Section
from contracts.rules.windows import WINDOW_TEXTS

LANGUAGES = ("en", "zh-hans")
SINGLE_INDENT = "  "


def stream_text(snapshot: Snapshot, language: str, *, json_digest: str = "") -> Iterator[bytes]:
    """Yield the TXT form of `snapshot` in `language` (one of LANGUAGES) in pieces.

    `json_digest` is the SHA-256 of the JSON form where the caller has computed it already. All words are
    translated before the first piece, so that the caller's own language does not matter while it reads.
    """
    digest = json_digest or json_sha256(snapshot)
    with override(language):
        form = TextForm(snapshot, _head(snapshot, digest))
    return in_pieces(form.lines())


def stream_unstored(sheet: Unstored, language: str) -> Iterator[bytes]:
    """Yield the same form of a contract that no database holds: no revision, no checksum, lines to fill instead."""
    with override(language):
        form = TextForm(sheet, _blank_head(sheet))
    return in_pieces(form.lines())


class TextForm:
    """The words of one export in the language that was active when it was made."""

    def __init__(self, snapshot: Snapshot | Unstored, head: Iterable[str]) -> None:
        self._snapshot = snapshot
        self._layouts = _layouts(snapshot)
        self._window_texts = {
            window.value: (gettext(text.provoked), gettext(text.expected))
            for window, text in WINDOW_TEXTS.items()
        }
        self._own_window = INDENT + colon(gettext("Window of one's own"))
        self._none = SINGLE_INDENT + gettext("None recorded.")
        self._marks = (gettext("marked complete"), gettext("not marked complete"))
        self._titles = {section: gettext(section.label) for section in Section}
        self._part_titles = {name: gettext(part.title) for name, part in PARTS.items()}
        self._objects = _object_summary(snapshot.object_counts())
        self._head = [*head]

    def lines(self) -> Iterator[str]:
        """Yield every line, without its line feed."""
        yield from self._head
        for number, section in enumerate(Section, 1):
            done = section.value in self._snapshot.complete_sections
            yield ""
            yield ""
            yield from _underlined(f"{number}. {self._titles[section]} [{self._marks[not done]}]", "=")
            for part in parts_of(section):
                yield ""
                yield from _underlined(self._part_titles[part.name], "-")
                yield from self._part(part)

    def _part(self, part: Part) -> Iterator[str]:
        if part.name == "identity":
            facts = self._snapshot.contract.facts()
            yield row_block(self._layouts[part.name], [facts[field.name] for field in part.fields])
        elif part.single:  # of a policy there may be several versions
            for number, values in enumerate(self._snapshot.stream(part.name)):
                yield from [""] if number else []
                yield row_block(self._layouts[part.name], values)
        else:
            yield from self._objects if part.name == "object" else []
            yield from self._rows(part)

    def _rows(self, part: Part) -> Iterator[str]:
        layout = self._layouts[part.name]
        number = 0
        for number, values in enumerate(self._snapshot.stream(part.name), 1):
            if number > 1 or part.name == "object":
                yield ""
            window = part.name == "window"
            yield numbered(number, self._window(values) if window else row_block(layout, values))
        if not number:
            yield self._none

    def _window(self, values: Sequence[Any]) -> str:
        """Show one row of the grid: default texts where none are stored, blank lines for results to come."""
        window, title, setting, provoked, expected, *results = values
        layout = self._layouts["window"]
        if window in self._window_texts:
            usual = self._window_texts[window]
            shown = [window, title, setting, provoked or usual[0], expected or usual[1], *results]
            return row_block(layout, shown)
        first = "\n".join(labelled(self._own_window, window))
        return f"{first}\n{row_block(layout[1:], values)}"


def _underlined(words: str, with_: str) -> Iterator[str]:
    yield words
    yield with_ * columns(words)


def _head(snapshot: Snapshot, json_digest: str) -> Iterator[str]:
    contract, life = snapshot.contract, snapshot.contract.life()
    yield from _named(
        (gettext("Task id"), contract.task_id),
        (gettext("Title"), contract.title),
        (gettext("Team"), contract.team.slug),
        (gettext("Revision"), str(contract.revision)),
        (gettext("Revised at"), show_moment(plain(contract.revised_at))),
        (gettext("SHA-256 of the JSON form"), json_digest),
        (gettext("Sections"), _sections_done(snapshot)),
    )
    yield row_block(layout_of(LIFE, SINGLE_INDENT), [life[field.name] for field in LIFE.fields])
    yield from _how_to_read()


def _blank_head(sheet: Unstored) -> Iterator[str]:
    yield from _named(
        (gettext("Task id"), sheet.contract.task_id or BLANK),
        (gettext("Title"), sheet.contract.title or BLANK),
        (gettext("Team"), BLANK),
        (gettext("Revision"), gettext("none: a worksheet, stored in no workbench")),
        (gettext("Sections"), _sections_done(sheet)),
    )
    yield from _how_to_read()


def _named(*lines: tuple[str, str]) -> Iterator[str]:
    yield from _underlined(gettext("Resume-state contract"), "=")
    yield ""
    for label, text in lines:
        yield from labelled(SINGLE_INDENT + colon(label), text)


def _how_to_read() -> Iterator[str]:
    yield ""
    yield SINGLE_INDENT + gettext(
        "Headings begin in the first column. What people wrote stands behind its label, or in lines of its own"
    )
    yield SINGLE_INDENT + gettext(
        "behind “|” (“:” where a long line goes on). Hidden characters are shown as marks such as ⟨U+200B⟩."
    )


def _sections_done(snapshot: Snapshot | Unstored) -> str:
    values = {"done": len(snapshot.complete_sections), "all": len(Section)}
    return gettext("%(done)d of %(all)d complete") % values


def _object_summary(counts: Mapping[str, int]) -> list[str]:
    label = {state.value: gettext(state.label) for state in ObjectState}
    lines = [
        f"{SINGLE_INDENT}{colon(label[state.value])}{counts[state.value]}"
        for state in ObjectState
        if state.value in counts
    ]
    return (
        [f"{SINGLE_INDENT}{colon(gettext('Objects in all'))}{sum(counts.values())}", *lines] if lines else []
    )


def _layouts(snapshot: Snapshot | Unstored) -> dict[str, Layout]:
    """Return the layout of each part, with lines of ours that follow from a field put behind it."""
    layouts = {
        part.name: layout_of(part, SINGLE_INDENT if part.single else INDENT) for part in PARTS.values()
    }
    for part, (name, label, show) in _additions(snapshot.usage_totals()).items():
        index = [field.name for field in PARTS[part].fields].index(name)
        cells: list[Cell] = []
        for cell in layouts[part]:
            cells.append(cell)
            if cell.index == index:
                cells.append(Cell(index, *start_of(INDENT, label), show, ours=True, blank=""))
        layouts[part] = tuple(cells)
    return layouts


def _additions(totals: Mapping[str, Decimal]) -> Mapping[str, tuple[str, str, Callable[[Any], str]]]:
    """Return part → (field, label of the line behind it, words of that line by the field's value)."""
    questions = {plane.value: gettext(question) for plane, question in PLANE_QUESTIONS.items()}
    losses = {durability.value: gettext(loss) for durability, loss in LOSS_WINDOWS.items()}
    used = {measure: str(plain(total)) for measure, total in totals.items()}
    person = gettext(ActorKind.PERSON.label)  # only people can ever decide
    return {
        "plane": ("plane", gettext("Question it answers"), questions.__getitem__),
        "checkpoint": ("durability", gettext("What a crash may lose"), losses.__getitem__),
        "approval": ("decided_by", gettext("Kind of decider"), lambda _name: person),
        "limit": ("measure", gettext("Used over all attempts"), lambda measure: used.get(measure, "0")),
    }

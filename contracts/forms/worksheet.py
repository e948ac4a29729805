"""The worksheet: the nine sections of a contract on one page, for somebody who has no account here.

Blank is right, and so is half of it: only what cannot be read at all is refused, unless the whole of it is
asked for because it is to become a contract.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from contracts.exports.json_form import document_lines
from contracts.exports.unstored import Unstored
from contracts.forms.rows import RowForm
from contracts.forms.ruled import TaskIdField
from contracts.models import Contract
from contracts.models.content import plain
from contracts.rules.document import FIXED, FORMAT, LISTS, SCHEMA_VERSION, check_document
from contracts.rules.fields import Refused, check_field
from contracts.rules.parts import PARTS, Part, parts_of
from contracts.rules.rows import RESULT_FIELDS, check_row
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import PLANE_QUESTIONS, Measure, Plane, Section, SectionState
from contracts.rules.windows import WINDOW_TEXTS, Window

TO_COME = "__n__"  # stands for the number of a row that the browser has yet to add
SPARE_ROWS = 2  # blank rows of each list where no script adds any
MARK = "complete-"
Posted = Mapping[str, Any]
Values = dict[str, Any]


class HeadForm(forms.Form):
    """What names the whole."""

    use_required_attribute = False
    task_id = TaskIdField(
        label=_("Task id"),
        required=False,
        help_text=_("A made-up one, such as label-0042. It may stay empty until the contract is made."),
    )


class SheetForm(RowForm):
    """One row of the worksheet. `key` names it among the rows of its part: a fixed word or a number."""

    def __init__(self, posted: Posted | None, *, part: Part, key: str = "", whole: bool = False) -> None:
        self.key, self.whole = key, whole
        self.values: Values = {}
        self.given = {FIXED[part.name][0]: key} if key in _fixed_words(part) else {}
        prefix = f"{part.name}-{key}" if key else part.name
        super().__init__(posted, part=part, standing=self.given, prefix=prefix)
        for name in self._needless():
            del self.fields[name]
        self._name()

    def _needless(self) -> Iterator[str]:
        yield "version"
        if self.part.name == "window" and self.given:
            yield from ("window", "title")
        if self.part.name == "limit" and self.key != Measure.COST:
            yield "currency"

    def _name(self) -> None:
        if self.part.name == "plane":
            self.row_title = gettext(Plane(self.key).label)
            self.row_question = gettext(PLANE_QUESTIONS[Plane(self.key)])
        elif self.part.name == "limit":
            self.row_title = gettext(Measure(self.key).label)
        elif self.part.name == "window" and self.given:
            self.row_title = gettext(Window(self.key).label)
            usual = WINDOW_TEXTS[Window(self.key)]
            for name, text in (("provoked", usual.provoked), ("expected", usual.expected)):
                self.fields[name].help_text = gettext("Where it stays empty: %(text)s") % {
                    "text": gettext(text)
                }

    def clean(self) -> dict[str, Any]:
        """Read every field by itself; ask the rules across fields only where the whole is asked for."""
        raw = self.raw_values() | {name: self.key for name in self.given if name == "window"}
        problems = []
        for one in self.part.given:
            try:
                self.values[one.name] = check_field(one, raw.get(one.name))
            except Refused as refused:
                self.values[one.name] = one.empty
                if refused.problem.code != "missing":
                    problems.append(refused.problem)
        if self.whole and not problems:
            problems = [*check_row(self.part, raw, standing=self.standing).problems]
        self.add_problems(tuple(problems))
        return self.cleaned_data

    @property
    def filled(self) -> bool:
        """Tell whether anything was typed here."""
        return self.is_bound and self.has_changed()

    @property
    def plan_fields(self) -> list[forms.BoundField]:
        """Return the fields that are filled in before anything runs."""
        return [one for one in self if not self._is_result(one)]

    @property
    def result_fields(self) -> list[forms.BoundField]:
        """Return the fields of a window that stay blank until it was really run."""
        return [one for one in self if self._is_result(one)]

    @property
    def has_result(self) -> bool:
        """Tell whether somebody wrote a result, readable or not."""
        return self.is_bound and any(one.data or one.errors for one in self.result_fields)

    def _is_result(self, one: forms.BoundField) -> bool:
        return self.part.name == "window" and one.name in RESULT_FIELDS

    def row(self, number: int) -> Values:
        """Return the row as facts, with what the workbench would have numbered as the row with that number."""
        return {**self.given, **self.values, **_numbered(self.part.name, number)}


def _fixed_words(part: Part) -> tuple[str, ...]:
    return tuple(word.value for word in FIXED[part.name][1]) if part.name in FIXED else ()


def _numbered(part: str, number: int) -> Values:
    if part in ("checkpoint", "step"):
        return {"sequence": number}
    if part == "attempt":
        return {"number": number, "generation": number}
    if part == "usage":
        return {"entry_id": f"sheet-{number}"}
    return {"number": 1} if part == "policy" else {}


@dataclass(slots=True)
class SheetPart:
    """One part on the page: its rows, and the blank ones that may be added."""

    part: Part
    kind: str  # single, grid, or rows (which may be more of them)
    forms: list[SheetForm]
    spare: list[SheetForm] = field(default_factory=list)
    to_come: SheetForm | None = None


@dataclass(slots=True)
class SheetSection:
    """One of the nine sections on the page."""

    section: Section
    number: int
    parts: list[SheetPart]
    mark_name: str
    marked: bool
    unasked: list[Part]  # whose rows come into being in a workbench alone

    @property
    def url(self) -> str:
        return f"#section-{self.section.value}"

    @property
    def label(self) -> str:
        return gettext(self.section.label)

    @property
    def mark(self) -> str:
        return SectionState.COMPLETE.value if self.marked else ""


class Sheet:
    """The worksheet as it was posted, or blank.

    `whole`: it is to become a contract, so that everything the rules ask of its rows is asked. `more`: the name of
    a part that gets further blank rows.
    """

    def __init__(self, posted: Posted | None = None, *, whole: bool = False, more: str = "") -> None:
        self.posted, self.whole = posted, whole
        self.head = HeadForm(posted)
        self.head.fields["task_id"].required = whole
        self.problems: list[Problem] = []
        self.sections = [self._section(number, one, more) for number, one in enumerate(Section, 1)]

    def _section(self, number: int, section: Section, more: str) -> SheetSection:
        parts = parts_of(section)
        asked = [self._part(part, part.name == more) for part in parts if part.given]
        name = f"{MARK}{section.value}"
        marked = bool(self.posted and self.posted.get(name))
        return SheetSection(section, number, asked, name, marked, [part for part in parts if not part.given])

    def _part(self, part: Part, more: bool) -> SheetPart:
        if part.single:
            return SheetPart(part, "single", [self._form(part)])
        fixed = [self._form(part, key) for key in _fixed_words(part)]
        for form in fixed[1:]:  # what a field means is said once; a window has usual words of its own
            for name, one in form.fields.items():
                one.help_text = one.help_text if name in ("provoked", "expected") else ""
        if not part.addable:
            return SheetPart(part, "grid", fixed)
        keys = _numbers(part, self.posted or {})
        after = (keys[-1] if keys else 0) + 1
        added = [self._form(part, str(key)) for key in keys]
        added += [SheetForm(None, part=part, key=str(after + place)) for place in range(SPARE_ROWS * more)]
        after += SPARE_ROWS * more
        spare = [SheetForm(None, part=part, key=str(after + place)) for place in range(SPARE_ROWS)]
        return SheetPart(part, "rows", [*fixed, *added], spare, SheetForm(None, part=part, key=TO_COME))

    def _form(self, part: Part, key: str = "") -> SheetForm:
        form = SheetForm(self.posted, part=part, key=key, whole=self.whole)
        form.empty_permitted = not part.single
        return form

    @property
    def row_forms(self) -> Iterator[SheetForm]:
        """Yield the form of every row on the page, without those that may be added."""
        for section in self.sections:
            for block in section.parts:
                yield from block.forms

    def of(self, part: str) -> list[SheetForm]:
        """Return the rows of `part` in which something was typed."""
        return [
            form for form in self.row_forms if form.part.name == part and (form.filled or form.part.single)
        ]

    @property
    def wrong(self) -> list[forms.Form]:
        """Return the forms with errors, the head first."""
        return [form for form in (self.head, *self.row_forms) if form.is_bound and form.errors]

    def is_valid(self) -> bool:
        """Read everything; tell whether all that was typed can be read (and, of a whole one, can be imported)."""
        readable = not self.wrong
        if readable and self.whole:
            self._ask_the_import()
        return readable and not self.wrong and not self.problems

    def _ask_the_import(self) -> None:
        """Show each problem an import would have at the field it is about."""
        raw = self.document(now=datetime.fromisoformat("2000-01-01T00:00:00Z"))
        for problem in check_document(raw).problems:
            form, name = self._place_of(problem.field)
            if form is None:
                self.problems.append(problem)
            else:
                form.add_problem(problem, name)

    def _place_of(self, pointer: str) -> tuple[SheetForm | None, str]:
        _empty, key, *rest = pointer.split("/")
        part, number = (key, 0) if key in ("identity", "gate") else (LISTS.get(key, ""), -1)
        if number < 0 and rest and rest[0].isdigit():
            number, rest = int(rest[0]), rest[1:]
        rows = self.of(part)
        return (rows[number], "/".join(rest)) if 0 <= number < len(rows) else (None, "")

    def rows(self, part: str) -> list[Values]:
        """Return the rows of `part` in which something was typed."""
        return [form.row(number) for number, form in enumerate(self.of(part), 1)]

    @property
    def task_id(self) -> str:
        return str(getattr(self.head, "cleaned_data", {}).get("task_id", ""))

    @property
    def complete_sections(self) -> tuple[str, ...]:
        """Return the sections that were marked complete."""
        return tuple(one.section.value for one in self.sections if one.marked)

    def unstored(self) -> Unstored:
        """Return the contract that was filled in, for the exports; every fixed row is in it, typed in or not."""
        identity = self.rows("identity")[0]
        rows = {name: self.rows(name) for name in PARTS if name != "identity"}
        for name in FIXED:
            forms = [
                form for form in self.row_forms if form.part.name == name and (form.given or form.filled)
            ]
            rows[name] = [form.row(number) for number, form in enumerate(forms, 1)]
        return Unstored(Contract(task_id=self.task_id, **identity), self.complete_sections, rows)

    def document(self, *, now: datetime) -> Values:
        """Return the JSON document of a new contract that holds what was filled in, recorded at `now`."""
        lists = {key: [_as_json(row) for row in self.rows(part)] for key, part in LISTS.items()}
        for row in lists["operations"]:
            row["intended_at"] = plain(now)
        for row in lists["usage"]:
            row["used_at"] = plain(now)
        return {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "task_id": self.task_id,
            "complete_sections": list(self.complete_sections),
            "identity": _as_json(self.rows("identity")[0]),
            "life": {"generation": len(lists["attempts"])},
            "gate": _as_json(self.rows("gate")[0]),
            **{key: rows for key, rows in lists.items() if rows},
        }

    def json(self, *, now: datetime) -> str:
        """Return that document as text."""
        return "\n".join(document_lines(self.document(now=now))) + "\n"


def _as_json(row: Values) -> Values:
    return {name: plain(value) for name, value in row.items()}


def _numbers(part: Part, posted: Posted) -> list[int]:
    """Return the numbers of the rows of `part` that were posted, in order."""
    pattern = re.compile(rf"{part.name}-([0-9]{{1,6}})-[a-z_0-9]+")
    return sorted({int(found[1]) for name in posted if (found := pattern.fullmatch(name))})

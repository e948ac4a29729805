"""The form of one row, made from the declaration of its part; it checks shape and units and knows no state."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext

from contracts.forms.words import said
from contracts.rules.fields import Field, Kind
from contracts.rules.parts import Part
from contracts.rules.rows import check_row
from contracts.rules.verdict import Problem, Verdict

TEXTAREAS = {Kind.TEXT: 3, Kind.JSON: 4}
WIDE = frozenset({Kind.TEXT, Kind.JSON, Kind.LOCATION, Kind.SHA256})
NUMERIC = frozenset({Kind.WHOLE, Kind.AMOUNT})


class RowForm(forms.Form):
    """Fields of one part, as text until the rules have read them.

    `standing` is the row as it stands (its facts); what a person leaves as it was shown keeps its exact
    stored value, whatever the input could show of it.
    """

    use_required_attribute = False
    row_title = ""  # of one row among several, and what it is about
    row_question = ""
    row_anchor = ""  # the id by which its page is asked for it
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(
        self,
        *args: Any,
        part: Part,
        standing: Mapping[str, Any] | None = None,
        version: int | None = None,
        locked: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> None:
        self.part = part
        self.standing = standing or {}
        initial = {"version": version, **shown_values(part, self.standing)}
        super().__init__(*args, **{**kwargs, "initial": initial})
        for field in part.given:
            self.fields[field.name] = _form_field(field)
            self.fields[field.name].show_hidden_initial = version is not None
            self.fields[field.name].is_wide = field.kind in WIDE  # type: ignore[attr-defined]
            if field.name in locked:
                self.fields[field.name].disabled = True

    def raw_values(self) -> dict[str, Any]:
        """Return what was typed, as the rules take it; times without a zone are in the zone in force."""
        values = {}
        for field in self.part.given:
            if field.name not in self.fields:  # a field that this row has no use for
                continue
            typed = self.cleaned_data.get(field.name)
            if field.name in self.standing and _same(field, typed, self.initial.get(field.name)):
                values[field.name] = self._kept(field)
            elif field.kind is Kind.MOMENT:
                values[field.name] = _with_zone(typed)
            else:
                values[field.name] = typed
        return values

    def clean(self) -> dict[str, Any]:
        super().clean()
        checked = check_row(self.part, self.raw_values(), standing=self.standing)
        self.add_problems(checked.problems)
        return self.cleaned_data

    def add_problems(self, problems: tuple[Problem, ...]) -> None:
        """Show each problem at its field; one that belongs to no field of the form is shown on top."""
        for problem in problems:
            self.add_problem(problem, problem.field)

    def add_problem(self, problem: Problem, place: str) -> None:
        """Show one problem at `place`: a field's name, perhaps with a JSON pointer into its value behind it."""
        name, _, rest = place.partition("/")
        words = said(problem) if not rest else f"/{rest}: {said(problem)}"
        self.add_error(name if name in self.fields else None, words)

    def add_refusal(self, verdict: Verdict) -> None:
        """Show a gate's refusal: its problems where they belong, else its sentence on top."""
        if verdict.problems:
            self.add_problems(verdict.problems)
        else:
            self.add_error(None, said(verdict))

    def seen_version(self) -> int:
        """Return the version of the row that the person saw; 0, which no row has, if none was sent."""
        return self.cleaned_data.get("version") or 0

    def changed_names(self) -> list[str]:
        """Return the fields in which what was typed differs from what the person saw before typing."""
        return [
            field.name
            for field in self.part.given
            if field.name in self.fields
            and not _same(field, self.cleaned_data.get(field.name), self._seen(field.name))
        ]

    def conflicts(self, row: Any) -> list[dict[str, Any]]:
        """Return each field in which what the person has on the screen differs from what `row` holds now.

        `base` is what the person saw before typing; `typed` tells whether anything was typed there.
        """
        theirs, changed = shown_values(self.part, row.facts()), self.changed_names()
        return [
            {
                "label": self.fields[field.name].label,
                "yours": self._in_words(field.name, self[field.name].data),
                "theirs": self._in_words(field.name, theirs[field.name]),
                "base": self._in_words(field.name, self._seen(field.name)),
                "typed": field.name in changed,
            }
            for field in self.part.given
            if field.name in self.fields
            and not _same(field, self.cleaned_data.get(field.name), theirs[field.name])
        ]

    def rebased(self, row: Any) -> "RowForm":
        """Return the form with what was typed, now against `row` as it stands: saving again overwrites it.

        Where the person typed nothing, what `row` holds now stands in the form, so that only what was meant
        is overwritten.
        """
        posted = QueryDict(mutable=True)
        posted.update(self.data)
        posted[self.add_prefix("version")] = str(row.version)
        changed = self.changed_names()
        for name, value in shown_values(self.part, row.facts()).items():
            posted[self.add_initial_prefix(name)] = "" if value is None else str(value)
            if name not in changed:
                posted[self.add_prefix(name)] = "" if value is None else str(value)
        form = RowForm(posted, part=self.part, standing=row.facts(), version=row.version, prefix=self.prefix)
        form.row_title, form.row_question = self.row_title, self.row_question
        form.row_anchor = self.row_anchor
        for name in set(form.fields) - set(self.fields):
            del form.fields[name]
        form.is_valid()
        return form

    def _seen(self, name: str) -> Any:
        return self.data.get(self.add_initial_prefix(name), self.initial.get(name))

    def _kept(self, field: Field) -> Any:
        value = self.standing[field.name]
        # Text in a JSON field would be read as JSON once more.
        as_typed = field.kind is Kind.JSON and isinstance(value, str)
        return self.cleaned_data.get(field.name) if as_typed else value

    def _in_words(self, name: str, value: Any) -> str:
        """Return a value of the field `name` as a person reads it: a choice by its label."""
        words = dict(getattr(self.fields[name].widget, "choices", ()))
        return str(words.get(value, "")) or _in_words(value)


def _form_field(field: Field) -> forms.Field:
    options: dict[str, Any] = {
        "label": gettext(field.label),
        "help_text": _hint(field),
        "required": False,  # the rules say what is missing, in one voice with the API
    }
    if field.kind is Kind.FLAG and field.default is not None:
        return forms.BooleanField(**options)
    made = forms.CharField(strip=False, widget=_widget(field), **options)
    made.required_by_rule = field.required  # type: ignore[attr-defined]
    return made


def _hint(field: Field) -> str:
    """Return what is said about a field; a time is typed without its zone, so the zone in force is named."""
    hint = gettext(field.hint) if field.hint else ""
    if field.kind is not Kind.MOMENT:
        return hint
    zone = gettext("Time zone: %(zone)s.") % {"zone": timezone.get_current_timezone_name()}
    return f"{hint} {zone}".strip()


def _widget(field: Field) -> forms.Widget:
    if field.kind is Kind.CHOICE:
        return forms.Select(choices=_choices(field))
    if field.kind is Kind.FLAG:
        return forms.Select(choices=[("", "—"), ("true", gettext("yes")), ("false", gettext("no"))])
    if field.kind in TEXTAREAS:
        return forms.Textarea(attrs={"rows": TEXTAREAS[field.kind], "spellcheck": "true"})
    if field.kind is Kind.MOMENT:
        return forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")
    attributes = {"inputmode": "numeric"} if field.kind in NUMERIC else {}
    return forms.TextInput(attrs={"autocomplete": "off", **attributes})


def _choices(field: Field) -> list[tuple[str, str]]:
    assert field.words is not None  # noqa: S101  # a choice is declared with its words
    words = [(word.value, gettext(word.label)) for word in field.words]
    return words if field.default else [("", "—"), *words]


def shown_values(part: Part, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a row as its form shows them; a new row shows the defaults."""
    return {field.name: _shown(field, facts.get(field.name, field.empty)) for field in part.given}


def _shown(field: Field, value: Any) -> Any:
    if field.kind is Kind.FLAG:
        return value if field.default is not None else {None: "", True: "true", False: "false"}[value]
    if field.kind is Kind.JSON:
        return "" if value is None else _pretty(value)
    if value in (None, "", []):
        return ""
    if field.kind is Kind.MOMENT:
        local = timezone.localtime(datetime.fromisoformat(value) if isinstance(value, str) else value)
        return local.strftime("%Y-%m-%dT%H:%M:%S")
    if field.kind is Kind.WHOLES:
        return ", ".join(str(number) for number in value)
    return str(value)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _in_words(value: Any) -> str:
    if value in (True, "True", "on"):
        return gettext("yes")
    if value in (False, "False"):
        return gettext("no")
    return "" if value is None else str(value)


def _same(field: Field, typed: Any, shown: Any) -> bool:
    """Tell whether `typed` is what was shown, whatever a browser does to line ends and to seconds."""
    if field.kind is Kind.FLAG and field.default is not None:
        return _in_words(bool(typed)) == _in_words(shown)
    if field.kind is Kind.MOMENT:
        return bool(_with_zone(typed) == _with_zone(shown))
    return _lines(typed) == _lines(shown)


def _lines(text: Any) -> str:
    return str(text or "").replace("\r\n", "\n").replace("\r", "\n")


def _with_zone(typed: str | None) -> Any:
    """Give a typed time without a zone the zone in force; anything else is left for the rules to judge."""
    try:
        moment = datetime.fromisoformat((typed or "").strip())
    except ValueError:
        return typed
    return moment if moment.tzinfo else timezone.make_aware(moment)

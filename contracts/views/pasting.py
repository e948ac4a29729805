"""Rows from a spreadsheet: shown whole, with every line that needs attention, before anything is stored."""

from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from contracts.exports.text_layout import colon
from contracts.forms.pasting import PasteForm
from contracts.forms.words import said
from contracts.gates.objects import add_lines, check_lines
from contracts.gates.rows import not_open
from contracts.rules.credentials import check_no_credential
from contracts.rules.parts import PARTS, Part
from contracts.rules.pasted import Table
from contracts.rules.verdict import Problem, Verdict
from contracts.rules.vocabulary import Right
from contracts.views.loading import Asked, Loaded, load_contract
from contracts.views.sections import section_context
from contracts.views.tables import is_open

SHOWN_LINES = 8
SHOWN_CHARS = 300
SHOWN_BAD_LINES = 500


@dataclass(frozen=True, slots=True)
class BadLine:
    """One line that needs attention: its number in the text, what stands in it, and why."""

    number: int
    text: str
    reasons: list[str]


@require_http_methods(["GET", "HEAD", "POST"])
def paste(request: Asked, task_id: str, part: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.FILL)
    declared = PARTS[part]
    if not declared.pasteable:
        raise Http404
    posted = request.method == "POST"
    form = PasteForm(request.POST, request.FILES) if posted else PasteForm()
    context: dict[str, Any] = {"part": declared}
    if not is_open(declared, loaded.contract.state):
        context["closed_because"] = not_open(loaded.contract)
    if posted and form.is_valid():
        table = form.read(declared)
        problems = _numbered(table, check_lines(loaded.contract.pk, declared, table.rows))
        asked = request.POST.get("step") == "store" and form.was_shown()
        verdict = _store(loaded, declared, form, table, problems) if asked else None
        if verdict is not None and verdict.allowed:
            return redirect(_place(task_id, declared))
        context |= _preview(declared, table, problems) | {"refusal": _without_lines(verdict)}
        form = _shown_again(form)
    context |= section_context(loaded, declared.section) | {"form": form}
    status = _status(context)
    return render(request, "contracts/paste.html", context | {"has_errors": status != 200}, status=status)


def _store(
    loaded: Loaded, part: Part, form: PasteForm, table: Table, problems: list[Problem]
) -> Verdict | None:
    """Store the lines that are in order; None if there are others that may not be left out."""
    bad = _bad_numbers(problems)
    lines = [row for row, number in _rows(table) if number not in bad]
    if not lines or (problems and not form.cleaned_data["leave_out"]):
        return None
    return add_lines(contract_id=loaded.contract.pk, actor=loaded.actor, part=part, lines=lines)


def _without_lines(verdict: Verdict | None) -> Verdict | None:
    """Return a refusal without its problems: they are told at their lines."""
    return replace(verdict, problems=()) if verdict is not None else None


def _shown_again(form: PasteForm) -> PasteForm:
    """Return the form with the text that is being shown, also if it came out of a file."""
    text, leave_out = form.cleaned_data["table"], form.cleaned_data["leave_out"]
    shown = PasteForm({"table": text, "seen": form.fingerprint(), "leave_out": leave_out})
    shown.is_valid()
    return shown


def _status(context: dict[str, Any]) -> int:
    if context.get("refusal"):
        return 409
    return 422 if context["form"].errors or context.get("bad") or context.get("whole_problems") else 200


def _place(task_id: str, part: Part) -> str:
    return reverse("contracts:section", args=[task_id, part.section.value]) + f"#part-{part.name}"


def _rows(table: Table) -> list[tuple[Any, int]]:
    return list(zip(table.rows, table.numbers, strict=True))


def _numbered(table: Table, problems: tuple[Problem, ...]) -> list[Problem]:
    """Return all problems, those of rows under the numbers of their lines in the text."""
    found = list(table.problems)
    for problem in problems:
        index, _, name = problem.field.partition(":")
        number = table.numbers[int(index) - 1]
        found.append(Problem(f"{number}:{name}", problem.code, problem.sentence, problem.values))
    return found


def _bad_numbers(problems: list[Problem]) -> set[int]:
    numbers = (problem.field.partition(":")[0] for problem in problems)
    return {int(number) for number in numbers if number.isdigit()}


def _repeatable(text: str) -> str:
    """Return the beginning of `text`, or nothing if it seems to hold a credential."""
    return "" if check_no_credential("table", text) else text[:SHOWN_CHARS]


def _preview(part: Part, table: Table, problems: list[Problem]) -> dict[str, Any]:
    bad = _bad_lines(part, table, problems)
    return {
        "table": table,
        "columns": [gettext(part.field(name).label) for name in table.columns],
        "first_rows": [
            [_repeatable(row.get(name, "")) for name in table.columns] for row in table.rows[:SHOWN_LINES]
        ],
        "line_count": len(table.rows),
        "bad": bad[:SHOWN_BAD_LINES],
        "bad_count": len(bad),
        "good_count": len(set(table.numbers) - {line.number for line in bad}),
        "whole_problems": [said(p) for p in problems if not p.field.partition(":")[0].isdigit()],
    }


def _bad_lines(part: Part, table: Table, problems: list[Problem]) -> list[BadLine]:
    rows = dict(zip(table.numbers, table.rows, strict=True))
    labels = {field.name: colon(gettext(field.label)) for field in part.given}
    reasons: dict[int, list[str]] = {}
    for problem in problems:
        number, _, name = problem.field.partition(":")
        if number.isdigit():
            label = labels.get(name.partition("/")[0], "")
            reasons.setdefault(int(number), []).append(f"{label}{said(problem)}")
    return [
        BadLine(number, _repeatable(" · ".join(filter(None, rows.get(number, {}).values()))), why)
        for number, why in sorted(reasons.items())
    ]

"""The nine sections in which a contract is filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.rows import RowForm
from contracts.gates.beats import database_now
from contracts.gates.binding import current_policy
from contracts.gates.grids import Edit, edit_rows
from contracts.gates.rows import edit_row, mark_section, not_open
from contracts.models import ROWS, Contract
from contracts.rules.parts import Part, parts_of
from contracts.rules.states import ContractState, ObjectState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import PLANE_QUESTIONS, Measure, Plane, Right, Section, SectionState
from contracts.views.asking import ask_refusal
from contracts.views.drilled import DrillOffer, drill_offer, runs_behind
from contracts.views.holding import holding_context
from contracts.views.life import ENDED, anchor_of
from contracts.views.loading import Asked, Loaded, contract_context, load_contract, missing_in
from contracts.views.presence import others_in
from contracts.views.tables import (
    Cell,
    Heading,
    ShownRow,
    all_cells,
    headings,
    is_open,
    may_select,
    shown_row,
)

PAGE_SIZE = 50
SEARCHED = {
    "source": ("source_id", "location"),
    "artefact": ("artefact_id", "location"),
    "object": ("object_id", "step", "note"),
    "checkpoint": ("checkpoint_id",),
    "step": ("key",),
    "operation": ("step", "target", "key"),
    "usage": ("step", "evidence"),
}


@dataclass(slots=True)
class Block:
    """One part of a section, ready to be shown: as one form, as a grid of forms, or as a table of rows."""

    part: Part
    kind: str
    open: bool
    closed_because: Verdict | None = None
    form: RowForm | None = None
    forms: list[RowForm] = field(default_factory=list)
    refusal: Verdict | None = None
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    rows: list[ShownRow] = field(default_factory=list)
    page: Page[Any] | None = None
    selectable: bool = False
    read: list[tuple[str, list[Cell]]] = field(default_factory=list)  # title, facts: where nobody may write
    search: str = ""
    state: str = ""
    states: list[ObjectState] = field(default_factory=list)
    stored: str = ""
    ask_refusal: Verdict | None = None  # why no decision can be asked for now; for the approvals alone
    drill: DrillOffer | None = None  # for the failure windows alone

    @property
    def wrong(self) -> list[RowForm]:
        """Return the forms of a grid that hold errors."""
        return [form for form in self.forms if form.errors]

    @property
    def searchable(self) -> bool:
        """Tell whether the table has a search field: only where there is more than one page to look through."""
        return self.part.name in SEARCHED


@require_http_methods(["GET", "HEAD", "POST"])
def section(request: Asked, task_id: str, section: str) -> HttpResponse:
    wanted = Right.FILL if request.method == "POST" else Right.VIEW
    loaded = load_contract(request, task_id, wanted)
    if request.method == "POST":
        return _save(request, loaded, Section(section))
    context = section_context(loaded, Section(section)) | {
        "blocks": [make_block(request, loaded, part) for part in parts_of(section)],
        "others": others_in(loaded, Section(section), request.user),
    }
    return render(request, "contracts/section.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def mark(request: Asked, task_id: str, section: str) -> HttpResponse:
    place = reverse("contracts:section", args=[task_id, section]) + "#mark"
    if request.method != "POST":  # a reload, or the way back from the login page
        load_contract(request, task_id)
        return redirect(place)
    loaded = load_contract(request, task_id, Right.FILL)
    complete = request.POST.get("complete") == "yes"
    verdict = mark_section(
        contract_id=loaded.contract.pk, actor=loaded.actor, section=Section(section), complete=complete
    )
    if verdict.allowed and not request.htmx:
        return redirect(place)
    loaded.contract.refresh_from_db()
    refused = None if verdict.allowed else verdict
    context = section_context(loaded, Section(section)) | {"marked": True, "mark_refused": refused}
    status = 200 if verdict.allowed else 409
    if request.htmx:
        return render(request, "contracts/saved.html", context | {"oob": True}, status=status)
    blocks = [make_block(request, loaded, part) for part in parts_of(section)]
    context |= {"blocks": blocks, "has_errors": True}
    return render(request, "contracts/section.html", context, status=status)


def section_context(loaded: Loaded, section: Section) -> dict[str, Any]:
    """Return what the page of a section shows around its blocks."""
    context = contract_context(loaded, section.value)
    lacking = missing_in(context["missing"], section)
    if section is Section.OWNER and loaded.contract.state not in (ContractState.DRAFT, *ENDED):
        context |= holding_context(loaded, database_now())
    return context | {
        "section": section,
        "section_state": context["section_states"][section],
        "lacking": [(anchor_of(thing), thing) for thing in lacking],
        "all_complete": set(context["section_states"].values()) == {SectionState.COMPLETE},
        "next_section": _after(section),
        "may_mark": loaded.may(Right.FILL) and loaded.contract.state != ContractState.CANCELLED,
    }


def _after(section: Section) -> Section | None:
    order = list(Section)
    place = order.index(section) + 1
    return order[place] if place < len(order) else None


def make_block(request: Asked, loaded: Loaded, part: Part, *, around: Any = None) -> Block:
    """Return one part as it stands; its table shows the page on which the row `around` stands."""
    contract = loaded.contract
    if not _is_form(part):
        return _table(request, loaded, part, around)
    editable = loaded.may(Right.FILL) and contract.state in part.mendable_in
    block = Block(part, "single" if part.single else "grid", editable, _closed(loaded, part, editable))
    rows = [single_row(contract, part)] if part.single else list(ROWS[part.name].objects.of(contract.pk))
    forms = _grid_forms(part, rows)
    block.form, block.forms = (forms[0], []) if part.single else (None, forms)
    if not editable:
        titles = [form.row_title for form in forms]
        block.read = [(title, all_cells(part, row.facts())) for title, row in zip(titles, rows, strict=True)]
    return block


def _is_form(part: Part) -> bool:
    """Tell whether the rows of `part` are saved together by one form on the page."""
    return part.single or (part.fixed and not part.addable)


def _closed(loaded: Loaded, part: Part, is_open: bool) -> Verdict | None:
    """Return why nothing can be changed, for whoever might change it in another state."""
    if is_open or not part.given or not loaded.may(Right.FILL):
        return None
    return not_open(loaded.contract)


def _table(request: Asked, loaded: Loaded, part: Part, around: Any) -> Block:
    contract = loaded.contract
    asked = request.GET if request.method in ("GET", "HEAD") else request.POST
    may_add = loaded.may(Right.FILL) and is_open(part, contract.state)
    block = Block(part, "table", may_add, _closed(loaded, part, may_add))
    block.selectable = loaded.may(Right.FILL) and may_select(part, contract.state)
    block.search, block.state = ("", "") if around else _filter(part, asked)
    block.states = list(ObjectState) if part.name == "object" else []
    rows = matching_rows(contract, part, {} if around else asked)
    page = Paginator(rows, PAGE_SIZE)
    number = page_of(contract, part, around) if around else asked.get(f"{part.name}-page", 1)
    block.page = page.get_page(number)
    if part.name == "approval" and loaded.may(Right.FILL):
        block.ask_refusal = ask_refusal(contract, current_policy(contract), database_now())
    if part.name == "window":
        block.drill = drill_offer(contract, database_now())
    block.headings = headings(part)
    runs = runs_behind(block.page.object_list)
    block.rows = [
        shown_row(part, row, contract, may_fill=loaded.may(Right.FILL), run=runs.get(row.pk))
        for row in block.page.object_list
    ]
    return block


def _filter(part: Part, asked: Mapping[str, str]) -> tuple[str, str]:
    """Return the search and the state that were asked for; no text holds a NUL, and the database takes none."""
    return asked.get(f"{part.name}-q", "").replace("\0", "")[:200], asked.get(f"{part.name}-state", "")


def matching_rows(contract: Contract, part: Part, asked: Mapping[str, str]) -> QuerySet[Any]:
    """Return the rows of this contract that fit the search and the state in `asked`, in the table's order."""
    search, state = _filter(part, asked)
    rows: QuerySet[Any] = ROWS[part.name].objects.of(contract.pk).joined()
    if search and part.name in SEARCHED:
        found = Q()
        for column in SEARCHED[part.name]:
            found |= Q(**{f"{column}__icontains": search})
        rows = rows.filter(found)
    if state in set(ObjectState) and part.name == "object":
        rows = rows.filter(state=state)
    return rows


def page_of(contract: Contract, part: Part, row: Any) -> int:
    """Return the number of the page of its table on which `row` stands."""
    rows = ROWS[part.name].objects.of(contract.pk)
    first, *others = type(row).ORDER
    before = Q(**{f"{first}__lt": getattr(row, first)})
    if others:  # position, then id
        before |= Q(**{first: getattr(row, first), "id__lt": row.pk})
    return int(rows.filter(before).count()) // PAGE_SIZE + 1


def single_row(contract: Contract, part: Part) -> Any:
    """Return the only row of `part`: the contract itself, or the newest of its table."""
    return contract if part.name == "identity" else ROWS[part.name].objects.of(contract.pk).last()


def row_form(part: Part, row: Any, posted: Any = None) -> RowForm:
    """Return the form of a row, with what was posted if anything was."""
    # A changed policy is a new row; its form keeps its name, so that an older one is met as a conflict.
    prefix = part.name if part.name == "policy" else f"{part.name}-{row.pk}"
    form = RowForm(posted, part=part, standing=row.facts(), version=row.version, prefix=prefix)
    if part.name == "plane":
        form.row_title = gettext(Plane(row.plane).label)
        form.row_question = gettext(PLANE_QUESTIONS[Plane(row.plane)])
        form.row_anchor = f"row-plane-{row.plane}"
    elif part.name == "limit":
        form.row_anchor = f"row-limit-{row.measure}"
        form.row_title = gettext(Measure(row.measure).label)
        if row.measure != Measure.COST:
            del form.fields["currency"]
    return form


def _grid_forms(part: Part, rows: list[Any], posted: Any = None) -> list[RowForm]:
    """Return the forms of all rows; what a field means is said once, in the first."""
    forms = [row_form(part, row, posted) for row in rows]
    for form in forms[1:]:
        for one in form.fields.values():
            one.help_text = ""
    for form, row in zip(forms, rows, strict=True):
        if part.name == "limit" and row.measure == Measure.FAILED_RECOVERIES:
            form.fields["cap"].help_text = gettext("This one must have a cap; 3 is usual.")
    return forms


def _save(request: Asked, loaded: Loaded, section: Section) -> HttpResponse:
    """Store the single form or the grid that was posted, all of it or nothing."""
    forms_here = {part.name: part for part in parts_of(section) if _is_form(part)}
    part = forms_here.get(request.POST.get("part", ""))
    if part is None:
        raise BadRequest("part: this section has no such form")
    rows = (
        [single_row(loaded.contract, part)]
        if part.single
        else list(ROWS[part.name].objects.of(loaded.contract.pk))
    )
    forms = _grid_forms(part, rows, request.POST)
    valid = not [form for form in forms if not form.is_valid()]  # every form is asked, for all its errors
    verdict = _store(loaded, part, rows, forms) if valid else None
    if verdict is not None and verdict.allowed:
        return _saved(request, loaded, section, part)
    return _not_saved(request, loaded, part, list(zip(rows, forms, strict=True)), verdict)


def _store(loaded: Loaded, part: Part, rows: list[Any], forms: list[RowForm]) -> Verdict:
    contract_id, actor = loaded.contract.pk, loaded.acting()
    if part.single:
        row, form = rows[0], forms[0]
        seen, values = form.seen_version(), form.raw_values()
        return edit_row(
            contract_id=contract_id, actor=actor, part=part, row_id=row.pk, version=seen, values=values
        )
    edits = [
        Edit(row.pk, form.seen_version(), form.raw_values())
        for row, form in zip(rows, forms, strict=True)
        if form.changed_names()
    ]
    return edit_rows(contract_id=contract_id, actor=actor, part=part, edits=edits)


def _saved(request: Asked, loaded: Loaded, section: Section, part: Part) -> HttpResponse:
    if not request.htmx:
        return redirect(
            reverse("contracts:section", args=[loaded.contract.task_id, section.value]) + f"#part-{part.name}"
        )
    loaded.contract.refresh_from_db()
    block = make_block(request, loaded, part)
    block.stored = "saved"
    return render(
        request, "contracts/saved.html", section_context(loaded, section) | {"block": block, "oob": True}
    )


def _not_saved(
    request: Asked, loaded: Loaded, part: Part, posted: list[tuple[Any, RowForm]], verdict: Verdict | None
) -> HttpResponse:
    """Show everything that was typed again, with what is wrong or what somebody else stored meanwhile."""
    block = make_block(request, loaded, part)
    block.stored = "refused"
    forms = [form for _, form in posted]
    if verdict is not None and verdict.code == "stale_version":
        block.refusal = verdict
        place = next(i for i, (row, _) in enumerate(posted) if row.pk == verdict.outcome.pk)
        block.conflicts = forms[place].conflicts(verdict.outcome)
        forms[place] = forms[place].rebased(verdict.outcome)
    elif verdict is not None:
        _show_problems(posted, verdict)
        block.refusal = None if verdict.problems else verdict
    block.form, block.forms = (forms[0], []) if part.single else (None, forms)
    context = section_context(loaded, part.section) | {"has_errors": True, "block": block}
    status = 409 if verdict is not None and not verdict.problems else 422
    if request.htmx:
        return render(request, "contracts/section.html#block", context, status=status)
    blocks = [block if one is part else make_block(request, loaded, one) for one in parts_of(part.section)]
    return render(request, "contracts/section.html", context | {"blocks": blocks}, status=status)


def _show_problems(posted: list[tuple[Any, RowForm]], verdict: Verdict) -> None:
    by_row = {str(row.pk): form for row, form in posted}
    first = posted[0][1]
    for problem in verdict.problems:
        pk, colon, place = problem.field.partition(":")
        form = by_row.get(pk, first) if colon else first
        form.add_problem(problem, place if colon else problem.field)

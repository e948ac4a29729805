"""Adding, editing, removing and moving one row, in the table itself or on a page of its own."""

from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import retarget

from contracts.forms.rows import RowForm
from contracts.gates.rows import add_row, edit_row, move_row, not_open, remove_row
from contracts.models import ROWS
from contracts.rules.parts import PARTS, Part
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right
from contracts.views.drilled import runs_behind
from contracts.views.loading import Asked, Loaded, load_contract
from contracts.views.sections import make_block, page_of, row_form, section_context
from contracts.views.tables import ShownRow, is_open, shown_row, table_query

FORM_METHODS = ["GET", "HEAD", "POST"]


@require_http_methods(FORM_METHODS)
def add(request: Asked, task_id: str, part: str) -> HttpResponse:
    loaded, declared = load_contract(request, task_id, Right.FILL), _table_part(part)
    form = RowForm(_posted(request), part=declared, prefix=f"{part}-new")
    verdict = None
    if request.method == "POST" and form.is_valid():
        verdict = add_row(
            contract_id=loaded.contract.pk, actor=loaded.actor, part=declared, values=form.raw_values()
        )
        if verdict.allowed:
            return _added(request, loaded, declared, verdict.outcome)
        form.add_refusal(verdict)
    context = {"form": form, "part": declared, "adding": True}
    if not is_open(declared, loaded.contract.state):
        context["closed_because"] = not_open(loaded.contract)
    return _form_page(request, loaded, context, verdict)


@require_safe
def show(request: Asked, task_id: str, part: str, row_id: int) -> HttpResponse:
    loaded = load_contract(request, task_id)
    declared = PARTS[part]
    if declared.single:
        raise Http404
    row = find_row(loaded, declared, row_id)
    if not request.htmx:
        return redirect(_place(loaded, declared, row))
    shown = _shown(loaded, declared, row)
    context = {"contract": loaded.contract, "row": shown, "cancelled": True}
    return render(request, "contracts/section.html#row", context)


@require_http_methods(FORM_METHODS)
def edit(request: Asked, task_id: str, part: str, row_id: int) -> HttpResponse:
    loaded, declared = load_contract(request, task_id, Right.FILL), _table_part(part)
    row = find_row(loaded, declared, row_id)
    form = row_form(declared, row, _posted(request))
    context: dict[str, Any] = {"part": declared, "row": row, "element": f"{part}-{row_id}"}
    if loaded.contract.state not in declared.mendable_in:
        context["closed_because"] = not_open(loaded.contract)
    verdict = None
    if request.method == "POST" and form.is_valid():
        verdict = edit_row(
            contract_id=loaded.contract.pk,
            actor=loaded.actor,
            part=declared,
            row_id=row_id,
            version=form.seen_version(),
            values=form.raw_values(),
        )
        if verdict.allowed:
            return _changed(request, loaded, declared, row_id)
        if verdict.code == "stale_version":
            context |= {"conflicts": form.conflicts(verdict.outcome), "refusal": verdict}
            form = form.rebased(verdict.outcome)
        else:
            form.add_refusal(verdict)
    return _form_page(request, loaded, context | {"form": form}, verdict)


@require_http_methods(FORM_METHODS)
def remove(request: Asked, task_id: str, part: str, row_id: int) -> HttpResponse:
    loaded, declared = load_contract(request, task_id, Right.FILL), _table_part(part)
    row = find_row(loaded, declared, row_id)
    verdict = None
    if request.method == "POST":
        verdict = remove_row(
            contract_id=loaded.contract.pk,
            actor=loaded.actor,
            part=declared,
            row_id=row_id,
            version=_whole(request.POST.get("version")),
        )
        if verdict.allowed:
            return _removed(request, loaded, declared, row.natural_key())
        row = find_row(loaded, declared, row_id)
    context = section_context(loaded, declared.section) | {
        "part": declared,
        "row": row,
        "element": f"{part}-{row_id}",
        "refusal": verdict,
        "columns": len(shown_row(declared, row, loaded.contract, may_fill=True).cells) + 1,
    }
    return _in_table_or_alone(request, context, "removal", verdict)


@require_http_methods(FORM_METHODS)
def move(request: Asked, task_id: str, part: str, row_id: int) -> HttpResponse:
    wanted = Right.FILL if request.method == "POST" else Right.VIEW
    loaded, declared = load_contract(request, task_id, wanted), _table_part(part)
    row = find_row(loaded, declared, row_id)
    if request.method != "POST":  # a reload, or the way back from the login page
        return redirect(_place(loaded, declared, row))
    verdict = move_row(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        part=declared,
        row_id=row_id,
        down=request.POST.get("direction") == "down",
    )
    row.refresh_from_db()
    if verdict.allowed and not request.htmx:
        return redirect(_place(loaded, declared, row))
    return _whole_block(request, loaded, declared, row, refused=None if verdict.allowed else verdict)


def find_row(loaded: Loaded, part: Part, row_id: int) -> Any:
    """Return a row of this contract; 404 if it has none by that id."""
    if part.name not in ROWS:
        raise Http404
    rows = ROWS[part.name].objects.of(loaded.contract.pk).joined()
    row = rows.filter(pk=row_id).first()
    if row is None:
        raise Http404
    return row


def _table_part(name: str) -> Part:
    """Return the part, if its rows are edited one by one; the others have their own form on the page."""
    part = PARTS[name]
    if part.single or not part.addable:
        raise Http404
    return part


def _whole(text: str | None) -> int:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadRequest("version: a whole number is needed")
    return int(text)


def _posted(request: Asked) -> Any:
    """Return what was posted, be it nothing at all; None where nothing was to be posted."""
    return request.POST if request.method == "POST" else None


def _place(loaded: Loaded, part: Part, row: Any = None) -> str:
    """Return the address of the table, or of the page of it on which `row` stands."""
    place = reverse("contracts:section", args=[loaded.contract.task_id, part.section.value])
    if row is None:
        return f"{place}#part-{part.name}"
    page = page_of(loaded.contract, part, row)
    return f"{place}{table_query(part, {}, page=page if page > 1 else '')}#{part.name}-{row.pk}"


def _form_page(
    request: Asked, loaded: Loaded, context: dict[str, Any], verdict: Verdict | None
) -> HttpResponse:
    part = context["part"]
    context = section_context(loaded, part.section) | context
    context |= {"has_errors": bool(context["form"].errors), "columns": 20}
    response = _in_table_or_alone(request, context, "row-form", verdict)
    if context.get("adding") and request.htmx and request.method == "POST":
        return retarget(response, f"#add-{part.name}")
    return response


def _in_table_or_alone(
    request: Asked, context: dict[str, Any], name: str, verdict: Verdict | None
) -> HttpResponse:
    """Render the part `name` for htmx, or a page that holds nothing else, with the status that fits."""
    wrong = request.method == "POST"
    status = 200 if not wrong else 409 if verdict is not None and not verdict.problems else 422
    if request.htmx:
        inside = "add-form" if context.get("adding") else name
        return render(request, f"contracts/section.html#{inside}", context, status=status)
    return render(request, "contracts/row.html", context | {"shown": name}, status=status)


def _shown(loaded: Loaded, part: Part, row: Any) -> ShownRow:
    run = runs_behind([row]).get(row.pk)
    return shown_row(part, row, loaded.contract, may_fill=loaded.may(Right.FILL), run=run)


def _changed(request: Asked, loaded: Loaded, part: Part, row_id: int) -> HttpResponse:
    row = find_row(loaded, part, row_id)
    if not request.htmx:
        return redirect(_place(loaded, part, row))
    loaded.contract.refresh_from_db()
    shown = _shown(loaded, part, row)
    context = section_context(loaded, part.section) | {"row": shown, "oob": True, "spoken": "saved"}
    return render(request, "contracts/saved.html", context)


def _added(request: Asked, loaded: Loaded, part: Part, row: Any) -> HttpResponse:
    if not request.htmx:
        return redirect(_place(loaded, part, row))
    return _whole_block(request, loaded, part, row, added=row.natural_key())


def _removed(request: Asked, loaded: Loaded, part: Part, name: str) -> HttpResponse:
    if not request.htmx:
        return redirect(_place(loaded, part))
    loaded.contract.refresh_from_db()
    context = section_context(loaded, part.section) | {"oob": True, "removed": name}
    return render(request, "contracts/saved.html", context)


def _whole_block(
    request: Asked, loaded: Loaded, part: Part, row: Any, *, added: str = "", refused: Verdict | None = None
) -> HttpResponse:
    """Render the part with the page on which `row` stands."""
    loaded.contract.refresh_from_db()
    block = make_block(request, loaded, part, around=row)
    block.refusal = refused
    context = section_context(loaded, part.section) | {"block": block, "added": added}
    status = 409 if refused else 200
    if request.htmx:
        return render(request, "contracts/saved.html", context | {"oob": True}, status=status)
    context |= {"blocks": [block], "has_errors": bool(refused)}
    return render(request, "contracts/section.html", context, status=status)

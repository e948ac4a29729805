"""What a person does to many objects at once."""

from collections.abc import Mapping
from dataclasses import replace

from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from contracts.gates.objects import PERSONS_ACTS, change_objects
from contracts.rules.parts import PARTS
from contracts.rules.states import Act
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right
from contracts.views.loading import Asked, Loaded, load_contract
from contracts.views.sections import make_block, matching_rows, section_context
from contracts.views.tables import table_query


@require_http_methods(["GET", "HEAD", "POST"])
def act_on_objects(request: Asked, task_id: str) -> HttpResponse:
    part = PARTS["object"]
    if request.method != "POST":  # a reload, or the way back from the login page
        load_contract(request, task_id)
        return redirect(_place(task_id, request.GET))
    loaded = load_contract(request, task_id, Right.FILL)
    # No id holds a NUL, and the database takes none.
    chosen = [name.replace("\0", "\ufffd") for name in request.POST.getlist("object")]
    wants_all = request.POST.get("all") == "1"
    asked = request.POST.get("act", "")
    if asked not in {act.value for act in PERSONS_ACTS}:
        raise BadRequest("act: there is no such act")
    verdict = change_objects(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        act=Act(asked),
        object_ids=_all_that_match(loaded, request.POST) if wants_all else chosen,
        reason=request.POST.get("reason", ""),
    )
    if verdict.allowed and not request.htmx:
        return redirect(_place(task_id, request.POST))
    loaded.contract.refresh_from_db()
    block = make_block(request, loaded, part)
    block.refusal = None if verdict.allowed else _said_once(verdict)
    context = section_context(loaded, part.section) | {
        "block": block,
        "blocks": [block],
        "has_errors": not verdict.allowed,
        "changed": verdict.outcome if verdict.allowed else None,
        "chosen": [] if verdict.allowed else chosen,
        "wants_all": wants_all and not verdict.allowed,
        "act": "" if verdict.allowed else asked,
        "reason": "" if verdict.allowed else request.POST.get("reason", ""),
    }
    status = 200 if verdict.allowed else 409
    if not request.htmx:
        return render(request, "contracts/section.html", context, status=status)
    return render(request, "contracts/saved.html", context | {"oob": True}, status=status)


def _place(task_id: str, asked: Mapping[str, str]) -> str:
    """Return the address of the table of objects with the page, search and state that were asked for."""
    place = reverse("contracts:section", args=[task_id, "objects"])
    return f"{place}{table_query(PARTS['object'], asked)}#part-object"


def _all_that_match(loaded: Loaded, asked: Mapping[str, str]) -> list[str]:
    """Return the ids of all objects that the table shows under this search and state, on whatever page."""
    rows = matching_rows(loaded.contract, PARTS["object"], asked)
    return list(rows.values_list("object_id", flat=True))


def _said_once(verdict: Verdict) -> Verdict:
    """Return the refusal without problems that only repeat its sentence; the ids of objects stay."""
    problems = tuple(
        replace(problem, sentence="") if problem.sentence == verdict.sentence else problem
        for problem in verdict.problems
        if problem.sentence != verdict.sentence or problem.field != "reason"
    )
    return replace(verdict, problems=problems)

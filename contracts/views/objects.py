"""What a person does to many objects at once."""

from dataclasses import replace

from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from contracts.gates.objects import PERSONS_ACTS, change_objects
from contracts.rules.parts import PARTS
from contracts.rules.states import Act
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Right
from contracts.views.loading import Asked, load_contract
from contracts.views.sections import make_block, section_context
from contracts.views.tables import table_query


@require_POST
def act_on_objects(request: Asked, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.FILL)
    # No id holds a NUL, and the database takes none.
    chosen = [name.replace("\0", "\ufffd") for name in request.POST.getlist("object")]
    asked = request.POST.get("act", "")
    if asked not in {act.value for act in PERSONS_ACTS}:
        raise BadRequest("act: there is no such act")
    verdict = change_objects(
        contract_id=loaded.contract.pk,
        actor=loaded.actor,
        act=Act(asked),
        object_ids=chosen,
        reason=request.POST.get("reason", ""),
    )
    part = PARTS["object"]
    if verdict.allowed and not request.htmx:
        place = reverse("contracts:section", args=[task_id, "objects"])
        return redirect(f"{place}{table_query(part, request.POST)}#part-object")
    loaded.contract.refresh_from_db()
    block = make_block(request, loaded, part)
    block.refusal = None if verdict.allowed else _said_once(verdict)
    context = section_context(loaded, part.section) | {
        "block": block,
        "blocks": [block],
        "has_errors": not verdict.allowed,
        "changed": verdict.outcome if verdict.allowed else None,
        "chosen": [] if verdict.allowed else chosen,
        "act": "" if verdict.allowed else asked,
        "reason": "" if verdict.allowed else request.POST.get("reason", ""),
    }
    status = 200 if verdict.allowed else 409
    if not request.htmx:
        return render(request, "contracts/section.html", context, status=status)
    return render(request, "contracts/saved.html", context | {"oob": True}, status=status)


def _said_once(verdict: Verdict) -> Verdict:
    """Return the refusal without problems that only repeat its sentence; the ids of objects stay."""
    problems = tuple(
        replace(problem, sentence="") if problem.sentence == verdict.sentence else problem
        for problem in verdict.problems
        if problem.sentence != verdict.sentence or problem.field != "reason"
    )
    return replace(verdict, problems=problems)

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from contracts.rules.state_plan import plan_of
from contracts.rules.states import TABLES
from contracts.rules.words import N_

TITLES = {
    "Contract": N_("Contract"),
    "Object": N_("Object"),
    "Operation": N_("Operation"),
    "Approval": N_("Approval"),
    "Journal step": N_("Journal step"),
}


@require_safe
def states(request: HttpRequest) -> HttpResponse:
    plans = [(name.lower().replace(" ", "-"), TITLES[name], plan_of(moves)) for name, moves in TABLES.items()]
    return render(request, "contracts/states.html", {"plans": plans})

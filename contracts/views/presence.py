"""Who else has a section open just now; it decides nothing, and stands beside what is being filled in."""

from typing import Any

from django.contrib.auth.signals import user_logged_out
from django.db.models.functions import Now
from django.dispatch import receiver
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from contracts.gates.looking import SEEN_FOR, leave, look
from contracts.models import Presence
from contracts.models.people import called
from contracts.rules.vocabulary import Section
from contracts.views.loading import Asked, Loaded, load_contract


@require_POST
def here(request: Asked, task_id: str, section: str) -> HttpResponse:
    """Record that the section is open here, and tell who else has it open, if that has changed."""
    loaded, place = load_contract(request, task_id), Section(section)
    look(contract_id=loaded.contract.pk, place=_place(place), user=request.user)
    names = others_in(loaded, place, request.user)
    if request.POST.get("others") == names:
        return HttpResponse(status=204)
    context = {"contract": loaded.contract, "section": place, "others": names, "announce": True}
    return render(request, "contracts/section.html#here", context)


@receiver(user_logged_out)
def _left(user: Any, **_: Any) -> None:
    if user is not None:
        leave(user)


def others_in(loaded: Loaded, section: Section, user: Any) -> str:
    """Return the names of who else has the section open, as one text; empty if nobody."""
    return lookers_at(loaded.contract.pk, _place(section), user)


def lookers_at(contract_id: int, place: str, user: Any) -> str:
    """Return the names of who else than `user` has a place of a contract open, as one text; empty if nobody."""
    seen = Presence.objects.filter(contract=contract_id, place=place, seen_at__gte=Now() - SEEN_FOR)
    logins = seen.exclude(person=user).order_by("person__username").values_list("person__username", flat=True)
    return ", ".join(map(called, logins))


def _place(section: Section) -> str:
    return f"section:{section.value}"

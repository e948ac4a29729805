"""Where one's own notices are mailed to, and which of them."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.notices import ASKING, TELLING, MailAddressForm, MailKindsForm
from contracts.gates.mailing import choose_mail
from contracts.gates.reading import set_mail_address
from contracts.models import Muted
from contracts.rules.notices import Told


@require_http_methods(["GET", "HEAD", "POST"])
def mail_preferences(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request)
    if request.POST.get("deed") == "address":
        return _set_address(request)
    if request.POST.get("deed") == "kinds":
        return _choose(request)
    return HttpResponseBadRequest()


def _set_address(request: HttpRequest) -> HttpResponse:
    form = MailAddressForm(request.POST)
    if not form.is_valid():
        return _page(request, form=form)
    email = form.cleaned_data["email"]
    set_mail_address(request.user, email, language=get_language() or "")
    said = (
        gettext("Notices are mailed to %(address)s from now on.")
        if email
        else gettext("No notice is mailed.")
    )
    messages.success(request, said % {"address": email})
    return redirect("contracts:mail_preferences")


def _choose(request: HttpRequest) -> HttpResponse:
    kinds = MailKindsForm(request.POST)
    if not kinds.is_valid():
        return _page(request, kinds=kinds)
    choose_mail(request.user, kinds.wanted)
    messages.success(request, gettext("Your choice is stored. It holds for what is not mailed yet, too."))
    return redirect("contracts:mail_preferences")


def _page(
    request: HttpRequest, *, form: MailAddressForm | None = None, kinds: MailKindsForm | None = None
) -> HttpResponse:
    wrong = form or kinds
    context = {
        "form": form or MailAddressForm(initial={"email": request.user.email}),  # type: ignore[union-attr]
        "kinds": kinds or MailKindsForm(initial=_stored(request.user)),
        "forms_wrong": [kinds] if kinds else [],
        "address": request.user.email,  # type: ignore[union-attr]
        "nav_here": "notices",
    }
    return render(request, "contracts/mail_preferences.html", context, status=422 if wrong else 200)


def _stored(person: Any) -> dict[str, list[str]]:
    muted = set(Muted.objects.filter(person=person).values_list("kind", flat=True))

    def wanted(kinds: tuple[Told, ...]) -> list[str]:
        return [kind.value for kind in kinds if kind not in muted]

    return {"asking": wanted(ASKING), "telling": wanted(TELLING)}

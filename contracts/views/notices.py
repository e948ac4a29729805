from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext
from django.views.decorators.http import require_http_methods

from contracts.forms.notices import MailAddressForm, address_of, reason, told, until
from contracts.gates.reading import mark_all_read, mark_read, set_mail_address
from contracts.models import Contract, Notice
from contracts.rules.notices import Told

PER_PAGE = 25
LARGEST = 2**63 - 1


@dataclass(slots=True)
class Line:
    """One notice as its reader may see it. Without sight of the contract nothing of it is filled in."""

    notice: Notice
    kind: Told
    seen: bool
    sentence: str = ""
    reason: str = ""
    until: datetime | None = None
    url: str = ""


@require_http_methods(["GET", "HEAD", "POST"])
def notice_list(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, MailAddressForm(initial={"email": request.user.email}))  # type: ignore[union-attr]
    deed = request.POST.get("deed")
    if deed == "address":
        return _set_address(request)
    number = request.POST.get("notice", "")
    if deed not in ("read", "read_all") or not _is_id(number):
        return HttpResponseBadRequest()
    if deed == "read":
        mark_read(request.user, [int(number)])
    else:
        mark_all_read(request.user, up_to=int(number))
    return redirect("contracts:notices")


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST


def _set_address(request: HttpRequest) -> HttpResponse:
    form = MailAddressForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    email = form.cleaned_data["email"]
    set_mail_address(request.user, email, language=get_language() or "")
    said = (
        gettext("Notices are mailed to %(address)s from now on.")
        if email
        else gettext("No notice is mailed.")
    )
    messages.success(request, said % {"address": email})
    return redirect("contracts:notices")


def _page(request: HttpRequest, form: MailAddressForm, *, status: int = 200) -> HttpResponse:
    notices = Notice.objects.of(request.user).select_related("contract")
    page = Paginator(notices, PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "form": form,
        "page": page,
        "lines": _lines(request, [*page.object_list]),
        "newest": notices.values_list("pk", flat=True).order_by("-pk").first(),
        "now": timezone.now(),
        "nav_here": "notices",
    }
    return render(request, "contracts/notices.html", context, status=status)


def _lines(request: HttpRequest, notices: list[Notice]) -> list[Line]:
    contracts = {notice.contract_id for notice in notices}
    visible = Contract.objects.visible_to(request.user).filter(pk__in=contracts)
    seen = set(visible.values_list("pk", flat=True))
    return [_line(notice, seen=notice.contract_id in seen) for notice in notices]


def _line(notice: Notice, *, seen: bool) -> Line:
    if not seen:
        return Line(notice, Told(notice.kind), seen=False)
    return Line(
        notice,
        Told(notice.kind),
        seen=True,
        sentence=told(notice),
        reason=reason(notice),
        until=until(notice),
        url=address_of(notice),
    )

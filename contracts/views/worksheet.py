"""The worksheet without login: nothing of it is kept here, it is only made into a text and handed back."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.decorators import rate_limit
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from contracts.exports.text_form import LANGUAGES, stream_unstored
from contracts.forms.worksheet import Sheet
from contracts.rules.credentials import OWN_RULES, library_patterns
from contracts.rules.parts import PARTS
from contracts.views.loading import Asked
from contracts.views.secret_patterns import patterns

WORKSHEET_MAX_BYTES = 1024 * 1024
View = Callable[..., HttpResponse]


def of_bounded_size(view: View) -> View:
    """Refuse a worksheet that is too large before it is read."""

    @wraps(view)
    def bounded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > WORKSHEET_MAX_BYTES:
            return _too_large(request)
        try:
            return view(request, *args, **kwargs)
        except (RequestDataTooBig, TooManyFieldsSent):
            return _too_large(request)

    return bounded


def few_texts(view: View) -> View:
    """Make only so many texts in a minute for whoever asks from one address."""
    limited: View = rate_limit(action="worksheet")(view)  # type: ignore[no-untyped-call]
    return limited


def _too_large(request: HttpRequest) -> HttpResponse:
    limit = WORKSHEET_MAX_BYTES // 1024
    return render(request, "contracts/worksheet_large.html", {"limit": limit}, status=413)


# Marked: the worksheet is for people without an account. Its size is looked at before the token of its form is,
# because looking for the token reads all of it.
@login_not_required
@few_texts
@csrf_exempt
@of_bounded_size
@csrf_protect
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def worksheet(request: Asked) -> HttpResponse:
    if request.method != "POST":
        return _page(request, Sheet())
    step, _, part = request.POST.get("step", "").partition("-")
    if step == "more":
        return _page(request, Sheet(request.POST, more=part if part in PARTS else ""))
    sheet = Sheet(request.POST, whole=step == "take")
    if step == "take" and not request.user.is_authenticated:
        return redirect(f"{reverse('account_login')}?next={request.path}")
    if not sheet.is_valid():
        return _page(request, sheet, status=422)
    if step == "take":  # the same form again, now to where contracts are made
        return redirect("contracts:new", preserve_request=True)
    text = b"".join(stream_unstored(sheet.unstored(), _language()))
    return _file(sheet, text) if step == "txt" else _page(request, sheet, preview=text.decode())


def _language() -> str:
    language = get_language() or ""
    return language if language in LANGUAGES else LANGUAGES[0]


def _file(sheet: Sheet, text: bytes) -> HttpResponse:
    # Some systems take no colon in the name of a file.
    name = f"{sheet.task_id.replace(':', '_') or 'contract'}-worksheet.{_language()}.txt"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


def _page(request: Asked, sheet: Sheet, *, status: int = 200, preview: str | None = None) -> HttpResponse:
    bad = bool(sheet.wrong or sheet.problems) if sheet.posted is not None else False
    context = {
        "sheet": sheet,
        "sections": sheet.sections,
        "rail_title": gettext("Sections"),
        "preview": preview,
        "language": _language(),
        "posted": sheet.posted is not None,
        "has_errors": bad,
        "for_taking": sheet.whole,
        "shapes": None if request.htmx else _shapes(),
    }
    template = "contracts/worksheet.html" + ("#sheet" if request.htmx else "")
    return render(request, template, context, status=status)


def _shapes() -> list[dict[str, Any]]:
    """Return the shapes of credentials with the words for each, for the script that keeps what was typed."""
    kinds = [*(rule.kind for rule in OWN_RULES), *(kind for kind, _ in library_patterns())]
    return [shape | {"kind": gettext(kind.label)} for shape, kind in zip(patterns(), kinds, strict=True)]

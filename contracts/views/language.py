"""The language a person chose: stored with the person, and taken up again in every browser."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import translation
from django.views.i18n import set_language as set_in_browser

from contracts.gates.reading import choose_language
from contracts.models import Reader

ASKED = "language_of"  # in the session: for whom the stored language was looked up
TAKEN = "taken_language"  # on the request: the language the browser is to keep


def set_language(request: HttpRequest) -> HttpResponse:
    answer = set_in_browser(request)
    if request.method == "POST" and request.user.is_authenticated:
        choose_language(request.user, request.POST.get("language", ""))
    return answer


class StoredLanguage:
    """Looks up, once after each login, which language the person chose, and lets the browser keep it.

    It stands behind the middleware of login, and leaves views alone that need none: they are the same for everybody.
    A language chosen before logging in gives way: it may be that of whoever used this browser before.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        if language := getattr(request, TAKEN, ""):
            _keep(answer, language)
        return answer

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> None:
        """Change to the stored language before the view is called."""
        if getattr(view, "login_required", True) and (language := _stored(request)):
            translation.activate(language)
            request.LANGUAGE_CODE = language
            setattr(request, TAKEN, language)


def _stored(request: HttpRequest) -> str:
    """Return the language to change to, or nothing."""
    if not request.user.is_authenticated or request.session.get(ASKED) == request.user.pk:
        return ""
    request.session[ASKED] = request.user.pk
    language = Reader.objects.filter(person=request.user).values_list("language", flat=True).first()
    return language if language in dict(settings.LANGUAGES) else ""


def _keep(answer: HttpResponseBase, language: str) -> None:
    answer.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )

"""Logging in, logging out, and proving once more who one is."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.forms import LoginForm, ReauthenticateForm
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.account.views import LoginView, LogoutView, ReauthenticateView
from allauth.core.exceptions import ReauthenticationRequired
from allauth.decorators import rate_limit
from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views import View

from contracts.views.confirming import confirm_address, confirmed, factor_page

Page = Callable[..., Any]
THROTTLED = {"too_many_login_attempts", "rate_limited"}


def relabel(form: forms.Form, **labels: Any) -> None:
    """Give the fields of a form our labels, and leave placeholders and hints away."""
    for name, label in labels.items():
        field = form.fields[name]
        field.label, field.help_text = label, ""
        field.widget.attrs.pop("placeholder", None)


class LogInForm(LoginForm):
    """The name and the password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        relabel(self, login=_("Username"), password=_("Password"))
        self.fields["login"].widget.attrs |= {"autofocus": True, "autocapitalize": "none"}


class PasswordAgainForm(ReauthenticateForm):
    """The password of the person logged in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        relabel(self, password=_("Password"))
        self.fields["password"].widget.attrs["autofocus"] = True


class OwnPage(View):
    """A page that is read and posted to, and answers 429 once too many tries have failed."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # as Django declares it

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        bound = [form for form in (context.get("form"), context.get("webauthn_form")) if form is not None]
        codes = {error.code for form in bound for found in form.errors.as_data().values() for error in found}
        if codes & THROTTLED:
            kwargs["status"] = 429
        answer: HttpResponse = super().render_to_response(context, **kwargs)  # type: ignore[misc]
        return answer


class ProvingAgain(OwnPage):
    """A page that a person comes back from with a new session id, and without anything posted before it."""

    def form_valid(self, form: Any) -> HttpResponse:
        self.request.session.pop(STATE_SESSION_KEY, None)
        self.request.session.cycle_key()
        answer: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        return answer


class LogIn(OwnPage, LoginView):
    form_class = LogInForm


class LogOut(LogoutView):
    http_method_names = ["post"]  # noqa: RUF012  # as Django declares it


class PasswordAgain(ProvingAgain, ReauthenticateView):
    form_class = PasswordAgainForm


def few_tries(page: Page) -> Page:
    """Let one person try only so often to change the password: the old one could be guessed that way."""
    limited: Page = rate_limit(action="change_password")(page)  # type: ignore[no-untyped-call]
    return limited


def proven(page: Page) -> Page:
    """Open `page` only to who has just proved who they are, by the second factor if they have one.

    Nothing posted is kept: after proving, the person meets the page and its form again.
    """

    @wraps(page)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        has_factor = bool(factor_page(request.user))
        if has_factor and not _is_recent(request):
            return HttpResponseRedirect(confirm_address(request, second_factor=True))
        try:
            return page(request, *args, **kwargs)
        except ReauthenticationRequired:
            return HttpResponseRedirect(confirm_address(request, second_factor=has_factor))

    return asked


def _is_recent(request: HttpRequest) -> bool:
    at = confirmed(request).second_factor_at
    return (
        at is not None and (timezone.now() - at).total_seconds() <= settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
    )

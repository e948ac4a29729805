"""How accounts behave here: few words, the same ones for every wrong login, and nothing to sign up for."""

from typing import Any, override

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.httpkit import get_client_ip
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

# What is said after something happened; whatever is not listed is shown by the page itself.
SAID = {
    "account/messages/logged_out.txt": _("You are logged out. What you saved stays on the server."),
    "mfa/messages/totp_activated.txt": _("The authenticator app is set up."),
    "mfa/messages/totp_deactivated.txt": _("The authenticator app is removed."),
    "mfa/messages/webauthn_added.txt": _("The passkey is added."),
    "mfa/messages/webauthn_removed.txt": _("The passkey is removed."),
}
WAYS = {
    "reauthenticate": _("Use your password"),
    "mfa_reauthenticate": _("Use a code"),
    "mfa_reauthenticate:webauthn": _("Use a passkey"),
}


class AccountAdapter(DefaultAccountAdapter):
    """The rules of logging in, in the words of the workbench."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": _(
            "This username and this password do not belong together. Capital and small letters count."
        ),
        "incorrect_password": _("This is not your password."),
        "too_many_login_attempts": _("Too many failed tries. Wait five minutes, then try again."),
        "rate_limited": _("Too many failed tries. Wait five minutes, then try again."),
    }

    @override
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Accounts are made by whoever runs the workbench."""
        return False

    @override
    def is_ajax(self, request: HttpRequest) -> bool:
        """Pages only: nothing here answers in JSON."""
        return False

    @override
    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Say it in our own words, or not at all."""
        sentence = message or SAID.get(message_template or "")
        if sentence:
            messages.add_message(request, level, str(sentence), extra_tags=extra_tags)

    @override
    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that tries are counted by; without one, all such tries are counted together."""
        return get_client_ip(request) or "unknown"

    @override
    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # Per name alone: whoever asks under another of our host names gets no further tries.
        return str(credentials.get("username", "")).casefold()

    @override
    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        """Answer as to a stranger."""
        return HttpResponseRedirect(reverse("account_login"))

    @override
    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the ways in which this person can prove who they are, in our words."""
        methods = super().get_reauthentication_methods(user)
        return [method | {"description": str(WAYS[method["id"]])} for method in methods]

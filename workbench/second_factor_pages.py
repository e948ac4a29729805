"""The pages of the second factor: setting it up, giving it at login, giving it once more."""

import ipaddress
import struct
from typing import Any, override

from allauth.account.utils import get_next_redirect_url, passthrough_next_redirect_url
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.base.internal.flows import post_authentication
from allauth.mfa.base.views import AuthenticateView, IndexView, ReauthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import TOTP
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    EditWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.request import split_domain_port
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from workbench.entrance import OwnPage, ProvingAgain, relabel

LONGEST_CREDENTIAL = 32 * 1024
LONGEST_NAME = 80
GO_ON = "second_factor_go_on"  # in the session: the page that asked for a second factor
# What reading the answer of a forged passkey can end in.
JUNK = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


class CredentialField(forms.JSONField):
    """What a passkey answered: a small JSON object of plain characters, nothing that a database cannot store."""

    widget = forms.HiddenInput
    default_error_messages = {  # noqa: RUF012  # as Django declares it
        "required": _("No passkey was used. Press the button once more."),
        "invalid": _("No passkey was used. Press the button once more."),
    }

    def to_python(self, value: Any) -> Any:
        too_much = isinstance(value, str) and (len(value) > LONGEST_CREDENTIAL or "\\u" in value)
        try:
            answer = None if too_much else super().to_python(value)
        except RecursionError:
            answer = None
        if not isinstance(answer, dict) and value not in self.empty_values:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return answer

    @override
    def bound_data(self, data: Any, initial: Any) -> Any:
        """Never show an answer again: it is used up, and it may be junk."""
        return initial


class CodeForm(AuthenticateForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ask_for_code(self, _("Code from your app, or a recovery code"))


class CodeAgainForm(ReauthenticateForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ask_for_code(self, _("Code from your app, or a recovery code"))


class FirstCodeForm(ActivateTOTPForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ask_for_code(self, _("Code that the app shows now"))


def ask_for_code(form: forms.Form, label: Any) -> None:
    relabel(form, code=label)
    form.fields["code"].widget.attrs |= {"inputmode": "numeric", "maxlength": 32, "autocapitalize": "none"}


class PasskeyForm(AuthenticateWebAuthnForm):
    credential = CredentialField()

    def clean_credential(self) -> Any:
        try:
            return super().clean_credential()
        except JUNK:
            raise get_adapter().validation_error("incorrect_code") from None


class PasskeyAgainForm(PasskeyForm, ReauthenticateWebAuthnForm):
    pass


class AddPasskeyForm(AddWebAuthnForm):
    name = forms.CharField(
        label=_("Name of the passkey"),
        required=False,
        max_length=LONGEST_NAME,
        help_text=_("So that you tell it from others."),
    )
    credential = CredentialField()

    def clean(self) -> Any:
        try:
            return super().clean()
        except JUNK:
            raise get_adapter().validation_error("incorrect_code") from None


class RenamePasskeyForm(EditWebAuthnForm):
    name = forms.CharField(label=_("Name of the passkey"), max_length=LONGEST_NAME)


class Index(OwnPage, IndexView):
    """What is set up. Whoever was sent here from another page is told why, and led back afterwards."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        session = self.request.session
        if asked_from := get_next_redirect_url(self.request):
            session[GO_ON] = asked_from
        found = context["authenticators"]
        has_factor = "totp" in found or "webauthn" in found
        context |= {
            "app": found.get("totp"),
            "passkeys": found.get("webauthn", []),
            "codes": found.get("recovery_codes"),
            "has_factor": has_factor,
            "asked_from": session.get(GO_ON),
        }
        return context | passkey_place(self.request)


class EnterCode(OwnPage, AuthenticateView):
    """The second step of logging in."""

    form_class = CodeForm
    webauthn_form_class = PasskeyForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        person = self.stage.login.user
        kinds = set(Authenticator.objects.filter(user_id=person.pk).values_list("type", flat=True))
        wrong = context["webauthn_form"].errors
        context |= {"has_app": "totp" in kinds, "has_passkey": "webauthn" in kinds}
        context |= {"forms_wrong": [context["webauthn_form"]] if wrong else []}
        return context | passkey_place(self.request)


class CodeAgain(ProvingAgain, ReauthenticateView):
    form_class = CodeAgainForm


class PasskeyAgain(ProvingAgain, ReauthenticateWebAuthnView):
    form_class = PasskeyAgainForm

    def form_invalid(self, form: Any) -> HttpResponse:
        for sentence in form.errors.get("credential", []):
            messages.error(self.request, sentence)
        return HttpResponseRedirect(passthrough_next_redirect_url(self.request, self.request.path, "next"))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | passkey_place(self.request)


class SetUpApp(OwnPage, ActivateTOTPView):
    form_class = FirstCodeForm

    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        app = shown_for_the_first_time(self.request, Authenticator.Type.TOTP)
        # The code that set the app up is used up by that: it is no code to log in with.
        TOTP(app).validate_code(form.cleaned_data["code"])
        return answer


class RemoveApp(OwnPage, DeactivateTOTPView):
    pass


class RecoveryCodes(OwnPage, ViewRecoveryCodesView):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        listed = "\n".join(context["unused_codes"])
        return context | {"listed": listed, "asked_from": self.request.session.get(GO_ON)}


class NewRecoveryCodes(OwnPage, GenerateRecoveryCodesView):
    pass


class AddPasskey(OwnPage, AddWebAuthnView):
    form_class = AddPasskeyForm

    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        shown_for_the_first_time(self.request, Authenticator.Type.WEBAUTHN)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | passkey_place(self.request)


class RenamePasskey(OwnPage, EditWebAuthnView):
    form_class = RenamePasskeyForm
    success_url = reverse_lazy("mfa_index")


class RemovePasskey(OwnPage, RemoveWebAuthnView):
    success_url = reverse_lazy("mfa_index")


def shown_for_the_first_time(request: HttpRequest, kind: str) -> Authenticator:
    """Count setting up a second factor as giving it, and renew the session id; return what was set up."""
    found: Authenticator = Authenticator.objects.filter(user_id=request.user.pk, type=kind).latest("pk")
    post_authentication(request, found, reauthenticated=True)
    request.session.cycle_key()
    return found


def passkey_place(request: HttpRequest) -> dict[str, Any]:
    """Tell the page whether passkeys can work under this address: browsers bind them to names, never to numbers.

    `by_number`: the address is an IP address; `by_name`: what to open instead, where that is known.
    """
    host, port = split_domain_port(request.get_host())
    try:
        number = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return {"by_number": False, "by_name": ""}
    name = f"http://localhost{':' if port else ''}{port}" if number.is_loopback else ""
    return {"by_number": True, "by_name": name and f"{name}{request.path}"}

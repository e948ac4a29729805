"""The second factor: an authenticator app (TOTP, RFC 6238), passkeys (WebAuthn) and recovery codes."""

from io import BytesIO
from typing import Any, override

import qrcode
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from qrcode.image.svg import SvgPathFillImage

from workbench.sealing import seal, unseal

NAME = "Resume-state workbench"


class SecondFactorAdapter(DefaultMFAAdapter):
    """What is stored sealed, and what apps and passkeys show as the name of this place."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": _("This was not accepted. Use a new code, or try the passkey again."),
        "cannot_delete_authenticator": _("This second factor cannot be removed."),
        "cannot_generate_recovery_codes": _("Set up an authenticator app or a passkey first."),
    }

    @override
    def encrypt(self, text: str) -> str:
        """Return a secret as it is stored."""
        return seal(text)

    @override
    def decrypt(self, encrypted_text: str) -> str:
        """Return a stored secret."""
        return unseal(encrypted_text)

    @override
    def get_totp_issuer(self) -> str:
        """Return the name that apps list the codes under; the same in every language, so that it is found again."""
        return NAME

    @override
    def get_totp_label(self, user: Any) -> str:
        """Return the login name: it is what the person types beside the code."""
        return str(user.get_username())

    @override
    def build_totp_svg(self, url: str) -> str:
        """Return the picture of an address, dark on white in either theme: cameras read no other."""
        drawn = BytesIO()
        qrcode.make(url, image_factory=SvgPathFillImage, border=4).save(drawn)
        return drawn.getvalue().decode()

    @override
    def generate_authenticator_name(self, user: Any, type: Any) -> str:
        """Return a name for a passkey whose owner gave it none."""
        standing = Authenticator.objects.filter(user_id=user.pk, type=type).count()
        return gettext("Passkey %(number)s") % {"number": standing + 1}

    @override
    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return this place as passkeys know it: bound to the host name."""
        return super().get_public_key_credential_rp_entity() | {"name": NAME}

    @override
    def get_public_key_credential_user_entity(self, user: Any) -> dict[str, Any]:
        """Return the person as their passkey lists them."""
        return {
            "id": user_pk_to_url_str(user).encode(),
            "display_name": user.get_full_name() or user.get_username(),
            "name": user.get_username(),
        }

"""Secrets that must be read again are stored under a key that the database does not hold."""

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

PURPOSE = b"workbench second factor 1"


def seal(text: str) -> str:
    """Return `text` encrypted and authenticated (Fernet), as ASCII."""
    return _keys(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return the text of `seal`, made with this secret key or with one it replaced; raise ImproperlyConfigured."""
    try:
        return _keys(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise ImproperlyConfigured(
            "A second factor was stored under another secret key: give that key as WORKBENCH_OLD_SECRET_KEY."
        ) from None


@lru_cache(maxsize=8)
def _keys(*secrets: str) -> MultiFernet:
    return MultiFernet([Fernet(urlsafe_b64encode(_derive(secret))) for secret in secrets])


def _derive(secret: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret.encode())

"""One-time keys of decision forms: signed, bound to one item and one person, good for one decision.

Nothing is stored when a form is shown, because showing changes nothing; the use is stored with the vote.
"""

import hashlib
import secrets
from typing import Any

from django.core import signing

from contracts.models import Approval

SALT = "contracts.decision"
GOOD_FOR_SECONDS = 12 * 60 * 60


def make_form_key(item: Approval, user: Any) -> str:
    """Return a fresh key for a form in which `user` decides on `item`."""
    return signing.dumps([*_bound_to(item, user), secrets.token_urlsafe(16)], salt=SALT)


def check_form_key(key: str, item: Approval, user: Any) -> str:
    """Return `form_key_wrong` for a key made for another item, person or time, or altered; else nothing."""
    try:
        *bound, _nonce = signing.loads(key, salt=SALT, max_age=GOOD_FOR_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return "form_key_wrong"
    return "" if bound == _bound_to(item, user) else "form_key_wrong"


def form_key_digest(key: str) -> str:
    """Return what is stored of a used key: its SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(key.encode()).hexdigest()


def _bound_to(item: Approval, user: Any) -> list[Any]:
    return [item.contract_id, item.item_id, user.pk]

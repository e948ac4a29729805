"""How sure we are who sits at the browser, and the way to be surer: before a page opens, never after a button."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from contracts.rules.approving import Policy

# Where each second factor is asked for once more; recovery codes are asked for beside the app's.
PAGES = {
    Authenticator.Type.TOTP.value: "mfa_reauthenticate",
    Authenticator.Type.WEBAUTHN.value: "mfa_reauthenticate_webauthn",
}


@dataclass(frozen=True, slots=True)
class Confirmed:
    """When this person last proved in this session who they are, by whatever means, and by a second factor."""

    at: datetime | None
    second_factor_at: datetime | None


def confirmed(request: HttpRequest) -> Confirmed:
    """Return what the session remembers of the person logged in; nothing of anybody else."""
    person = request.user if request.user.is_authenticated else None
    records = get_authentication_records(request, person)
    return Confirmed(
        at=_newest(records),
        second_factor_at=_second_factor(person, records),
    )


def _second_factor(person: Any, records: Iterable[Mapping[str, Any]]) -> datetime | None:
    """Return when a second factor was given, if the person still has one: a removed one proves nothing."""
    at = _newest(record for record in records if record.get("method") == "mfa")
    has_one = at is not None and Authenticator.objects.filter(user_id=person.pk, type__in=PAGES).exists()
    return at if has_one else None


def _newest(records: Iterable[Mapping[str, Any]]) -> datetime | None:
    moments = [record["at"] for record in records]
    return datetime.fromtimestamp(max(moments), UTC) if moments else None


def step_up(request: HttpRequest, policy: Policy) -> HttpResponse | None:
    """Return the way to the page that asks who this is, or None if that is known freshly enough for `policy`.

    Only reading is led away and back: what was posted is never kept and sent again.
    """
    if request.method not in ("GET", "HEAD"):
        return None
    known = confirmed(request)
    proved_at = known.second_factor_at if policy.second_factor else known.at
    if proved_at is not None and timezone.now() - proved_at <= timedelta(seconds=policy.login_fresh_seconds):
        return None
    return HttpResponseRedirect(confirm_address(request, second_factor=policy.second_factor))


def confirm_address(request: HttpRequest, *, second_factor: bool = False) -> str:
    """Return where the person proves who they are, and comes back from to this very address.

    Where a second factor is asked for and the person has none, it is the page that sets one up.
    """
    page = factor_page(request.user) or "mfa_index" if second_factor else "account_reauthenticate"
    return f"{reverse(page)}?{urlencode({'next': request.get_full_path()})}"


def factor_page(person: Any) -> str:
    """Return the name of the page that asks for the second factor last used; empty if there is none."""
    factors = Authenticator.objects.filter(user_id=person.pk, type__in=PAGES)
    kind = (
        factors.order_by(F("last_used_at").desc(nulls_last=True), "pk").values_list("type", flat=True).first()
    )
    return PAGES[kind] if kind else ""

"""People at their browsers, as far as a test needs one."""

import time
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

HTMX = {"HX-Request": "true"}


def visitor(person: Any, *, confirmed: datetime | str | None = "now", second_factor: bool = False) -> Client:
    """Return the browser of somebody who has logged in.

    `confirmed`: when the person last proved who they are ("now", a moment, or None: never in this session);
    `second_factor`: whether they did so by a second factor too.
    """
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    if confirmed is not None:
        at = confirmed.timestamp() if isinstance(confirmed, datetime) else time.time()
        remember(client, person, "password", at=at)
        if second_factor:
            if not Authenticator.objects.filter(user=person).exists():
                Authenticator.objects.create(user=person, type=Authenticator.Type.TOTP, data={})
            remember(client, person, "mfa", at=at, type="totp")
    return client


def remember(client: Client, person: Any, method: str, *, at: float, **more: Any) -> None:
    """Let the session of a browser know that the person proved who they are, as the pages would write it."""
    session = client.session
    records = session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
    record = {"method": method, "at": at, "reauthenticated": True, **more}
    session[AUTHENTICATION_METHODS_SESSION_KEY] = [*records, record]
    session[f"{AUTHENTICATION_METHODS_SESSION_KEY}_user"] = str(person.pk)
    session.save()


def address(name: str, *args: Any, **query: Any) -> str:
    """Return the address of a page of the contracts, with its query."""
    return reverse(f"contracts:{name}", args=args) + (f"?{urlencode(query)}" if query else "")


def queries(client: Client, url: str) -> int:
    """Return how many queries one page needs; a first visit fills what is remembered between visits."""
    assert client.get(url).status_code == 200
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def words(answer: Any) -> str:
    """Return a page as text on one line, so that a test is not about the breaking of lines or of words."""
    return " ".join(answer.content.decode().replace("<wbr>", "").split())

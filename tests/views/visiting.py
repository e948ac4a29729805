"""People at their browsers, as far as a test needs one."""

from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

HTMX = {"HX-Request": "true"}


def visitor(person: Any) -> Client:
    """Return the browser of somebody who has logged in."""
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


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
    """Return a page as text on one line, so that a test is not about the breaking of lines."""
    return " ".join(answer.content.decode().split())

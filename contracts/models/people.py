"""What people are called where others read of them: by their full names, and this is the one place that says so.

Rows keep the login name of whoever did something, because it never changes. Names are known while a page is made for
somebody who is logged in, or a mail is written; elsewhere (workers, exports) the login name stands for the person.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection
from django.utils.translation import gettext

# Everybody's full name by login name, as the text of one JSON object; a part of any statement.
NAMES = """(
    SELECT jsonb_object_agg(p.username, p.full_name)::text
    FROM (SELECT username, TRIM(first_name || ' ' || last_name) AS full_name FROM auth_user) p
    WHERE p.full_name <> ''
)"""


class Names:
    """Everybody's full name by login name: read once, when the first is asked for, if nobody has read them before."""

    def __init__(self) -> None:
        self._told: str | None = None
        self._full: Mapping[str, str] | None = None
        self._counts: Counter[str] = Counter()

    def give(self, told: str) -> None:
        """Take the names as a statement told them that was made for something else."""
        self._told = told

    def called(self, login: str) -> str:
        """Return the full name; with the login name in brackets if others bear the same, and alone if there is none."""
        known = self._known()
        full = known.get(login, "")
        shared = self._counts[full] > 1 or (full != login and full in known)
        if not full or not shared:
            return full or login
        return gettext("%(name)s (%(login)s)") % {"name": full, "login": login}

    def logins(self, text: str) -> list[str]:
        """Return whose name somebody has typed: the login names behind a full name, and the text itself."""
        wanted = text.casefold()
        return [text, *(login for login, full in self._known().items() if full.casefold() == wanted)]

    def _known(self) -> Mapping[str, str]:
        if self._full is None:
            told = _ask() if self._told is None else self._told
            self._full = json.loads(told)
            self._counts = Counter(self._full.values())
        return self._full


def _ask() -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {NAMES}")
        return cursor.fetchone()[0] or "{}"


_names: ContextVar[Names | None] = ContextVar("names", default=None)


@contextmanager
def knowing_names(*, known: bool = True) -> Iterator[None]:
    """Let names be known in the block; with `known=False` only once `know_names` is called in it."""
    token = _names.set(Names() if known else None)
    try:
        yield
    finally:
        _names.reset(token)


def know_names() -> None:
    """Let names be known from here to the end of the block of `knowing_names` around it."""
    _names.set(Names())


def give_names(told: str | None) -> None:
    """Hand on what a statement that had `NAMES` in it told."""
    names = _names.get()
    if names is not None:
        names.give(told or "{}")


def called(login: str) -> str:
    """Return what the person with this login name is called; anything else comes back as it is."""
    names = _names.get()
    return names.called(login) if names is not None and login else login


def logins_called(text: str) -> list[str]:
    """Return the login names that somebody may mean who typed `text`."""
    names = _names.get()
    return names.logins(text) if names is not None else [text]

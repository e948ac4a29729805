"""What people are called where others read of them: by their full names, and this is the one place that says so.

Rows keep the login name of whoever did something, because it never changes. Names are known while a page is made for
somebody who is logged in, or a mail is written; elsewhere (workers, exports) the login name stands for the person.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils.translation import gettext

KEPT = 60.0  # seconds: a page has many names, a workbench has many people, and hardly any name ever changes
AGAIN = 1.0  # seconds until somebody nobody knows is asked for again


@dataclass(slots=True)
class Names:
    """Everybody's full name by login name, as they were when they were read."""

    full: Mapping[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    unknown: set[str] = field(default_factory=set)  # who was asked for in vain
    read_at: float = float("-inf")

    @classmethod
    def read(cls) -> "Names":
        """Read all names; one query."""
        people = get_user_model().objects.values_list("username", "first_name", "last_name")
        full = {login: name for login, *parts in people if (name := " ".join(parts).strip())}
        return cls(full, Counter(full.values()), set(), time.monotonic())

    @property
    def age(self) -> float:
        """Return how many seconds ago they were read."""
        return time.monotonic() - self.read_at

    def called(self, login: str) -> str:
        """Return the full name; with the login name in brackets if others bear the same, and alone if there is none."""
        full = self.full.get(login, "")
        shared = self.counts[full] > 1 or (full != login and full in self.full)
        if not full or not shared:
            return full or login
        return gettext("%(name)s (%(login)s)") % {"name": full, "login": login}


_kept = Names()  # of this process; whoever was renamed by another is called so within a minute
_known: ContextVar[bool] = ContextVar("names_known", default=False)


def _names(login: str = "") -> Names:
    """Return the names, read again if they are old, or if somebody new has to be among them."""
    global _kept  # noqa: PLW0603  # the one place that is remembered
    names = _kept
    missing = bool(login) and login not in names.full and login not in names.unknown
    if names.age > KEPT or (missing and names.age > AGAIN):
        names = _kept = Names.read()
    if login and login not in names.full:
        names.unknown.add(login)
    return names


@receiver([post_save, post_delete], sender=settings.AUTH_USER_MODEL)
def forget_names(update_fields: frozenset[str] | None = None, **_: Any) -> None:
    """Let names be read anew: somebody has come, was renamed or has gone. Whoever only logs in is called the same."""
    global _kept  # noqa: PLW0603  # as above
    if update_fields is None or update_fields & {"username", "first_name", "last_name"}:
        _kept = Names()


@contextmanager
def knowing_names(*, known: bool = True) -> Iterator[None]:
    """Let names be known in the block; with `known=False` only once `know_names` is called in it."""
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


def know_names() -> None:
    """Let names be known from here to the end of the block of `knowing_names` around it."""
    _known.set(True)


def called(login: str) -> str:
    """Return what the person with this login name is called; anything else comes back as it is."""
    return _names(login).called(login) if login and _known.get() else login


def logins_called(text: str) -> list[str]:
    """Return the login names that somebody may mean who typed `text`, and the text itself."""
    if not _known.get():
        return [text]
    wanted = text.casefold()
    return [text, *(login for login, full in _names().full.items() if full.casefold() == wanted)]

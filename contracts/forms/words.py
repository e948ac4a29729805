"""From the sentences of the rules to the words a person reads."""

from typing import Protocol

from django.utils.translation import gettext

from contracts.rules.vocabulary import LINE_MAX
from contracts.rules.words import Labelled

# Values that are message ids themselves: the kind of a credential, a state, the label of a field or a row.
NAMES = frozenset({"kind", "state", "field", "row", "member"})


class Said(Protocol):
    """Anything with a sentence and the values that fill it: a verdict, a problem, a missing thing."""

    @property
    def sentence(self) -> str: ...
    @property
    def values(self) -> object: ...


def said(thing: Said) -> str:
    """Return the translated sentence with its values filled in."""
    if not thing.sentence:
        return ""
    values = {name: _shown(name, value) for name, value in dict(thing.values).items()}  # type: ignore[call-overload]
    return gettext(thing.sentence) % values


def _shown(name: str, value: object) -> object:
    if isinstance(value, Labelled):
        return gettext(value.label)
    if name == "users" and isinstance(value, str):
        return ", ".join(gettext(user) for user in value.split(", "))
    return (
        gettext(value) if name in NAMES and isinstance(value, str) and 0 < len(value) <= LINE_MAX else value
    )

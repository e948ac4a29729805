"""From the sentences of the rules to the words a person reads."""

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from contracts.models.people import called
from contracts.rules.resume_findings import WORDS
from contracts.rules.vocabulary import LINE_MAX
from contracts.rules.words import Labelled

# Values that are message ids themselves: the kind of a credential, a state, the label of a field or a row,
# and what the findings of a resume decision name.
NAMES = frozenset({"kind", "state", "field", "row", "member"}) | WORDS

PEOPLE = frozenset({"person", "name"})  # values that may be login names


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
    if isinstance(value, datetime):
        return date_format(timezone.localtime(value), pgettext("date format", "j F Y, H:i T"))
    if isinstance(value, Decimal):
        return format(value.normalize(), ",f")
    if name == "person" and value == "":
        return gettext("an operator")
    if name in PEOPLE and isinstance(value, str):
        return called(value)
    if name == "users" and isinstance(value, str):
        return ", ".join(gettext(user) for user in value.split(", "))
    return (
        gettext(value) if name in NAMES and isinstance(value, str) and 0 < len(value) <= LINE_MAX else value
    )

"""Rows of a table that differ in their values alone: the template is rendered once a shape, then filled in.

A template costs about a millisecond for a row of ten facts, and a page has fifty rows. Rows whose markup is the same
but for their values share one rendering, with marks where the values go: digits that nobody can have foreseen.
"""

import re
import secrets
from collections.abc import Callable, Container, Iterable, Sequence
from html import escape
from typing import Any, Protocol

from django import template
from django.template import Context, Engine
from django.utils.safestring import SafeString

from contracts.templatetags.words import fact

register = template.Library()


class Row(Protocol):
    """What a row tells of itself, so that others may share its rendering."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def shape(self) -> Any:
        """All that its markup depends on but its values, hashable; None: it shares with no other row."""

    @property
    def values(self) -> Sequence[Any]:
        """What differs from row to row: text, and cells as `fact` shows them."""

    def blank(self, marks: Sequence[str]) -> Any:
        """Return the same row with `marks` in place of its values."""


@register.simple_tag(takes_context=True)
def alike(context: Context, rows: Iterable[Row], name: str, apart: Container[str] = ()) -> SafeString:
    """Return every row as the template `name` shows it as `row`; one named in `apart` shares with no other."""
    shown = Engine.get_default().get_template(name)

    def render(row: Any) -> str:
        with context.push(row=row):
            return str(shown.render(context))

    moulds: dict[Any, Callable[[Row], str]] = {}
    pieces = []
    for row in rows:
        shape = None if row.name in apart else row.shape
        if shape is None:
            pieces.append(render(row))
            continue
        if shape not in moulds:
            moulds[shape] = _mould(row, render)
        pieces.append(moulds[shape](row))
    return SafeString("".join(pieces))


def _mould(row: Row, render: Callable[[Any], str]) -> Callable[[Row], str]:
    """Return what shows any row of the shape of this one."""
    unforeseen = str(10**15 + secrets.randbelow(10**15))
    marks = [f"{unforeseen}{place:03d}" for place in range(len(row.values))]
    first, *others = re.split(f"{unforeseen}([0-9]{{3}})", render(row.blank(marks)))
    places = [(int(place), after) for place, after in zip(others[::2], others[1::2], strict=True)]

    def fill(row: Row) -> str:
        told = [escape(str(one)) if isinstance(one, str | int) else fact(one) for one in row.values]
        pieces = [first]
        for place, after in places:
            pieces += (told[place], after)
        return "".join(pieces)

    return fill

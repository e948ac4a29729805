"""Tags and filters that turn stored values into words, marks and small pieces of HTML.

Every value that comes from a person or a worker is escaped here; what a tag returns is safe to print.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from html import escape
from typing import Any

from django import template
from django.template.defaultfilters import linebreaksbr
from django.utils import timezone
from django.utils.formats import date_format, localize
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import get_language, gettext, pgettext

from contracts.forms.words import Said
from contracts.forms.words import said as words_of
from contracts.models import people
from contracts.rules import text as texts
from contracts.rules.words import Labelled

register = template.Library()

SHORT = 4  # characters kept at each end of a shortened fingerprint
BAR_WIDTH = 100  # units of the bar's view box
JOINTS = re.compile(r"(?<=[._/])(?=[^._/])")  # where a long name may be broken


@register.filter
def label(value: Any) -> str:
    """Return the translated words of an enum member, or of a message id."""
    text = value.label if isinstance(value, Labelled) else value
    return gettext(str(text)) if text else ""


@register.filter
def sentence(said: Said | None) -> str:
    """Return the translated sentence of a verdict, problem or missing thing with its values filled in."""
    return words_of(said) if said else ""


@register.filter
def visible(text: Any) -> SafeString:
    """Return text with every hidden character as a mark, and a mark behind every look-alike letter."""
    plain = str(text or "")
    if plain.isascii() and plain.isprintable():
        return SafeString(escape(plain))  # nothing in it can be hidden, and pages have hundreds of these
    return format_html_join("", "{}", ((_piece(piece),) for piece in texts.visible(plain)))


@register.filter
def called(login: Any) -> SafeString:
    """Return what people call the person with this login name, hidden characters as marks."""
    return visible(people.called(str(login or "")))


@register.filter
def named(text: Any) -> SafeString:
    """Return a name as `visible` does, to be broken behind its dots, underscores and slashes and nowhere else."""
    plain = str(text or "")
    if plain.isascii() and plain.isprintable():
        return SafeString(_breakable(plain))
    pieces = map(_piece, texts.visible(plain))
    return SafeString("".join(one if isinstance(one, SafeString) else _breakable(one) for one in pieces))


def _breakable(words: str) -> str:
    return "<wbr>".join(map(escape, JOINTS.split(words)))


def _piece(piece: texts.Piece) -> SafeString | str:
    if piece.kind is texts.PieceKind.PLAIN:
        return piece.text
    letter = piece.text if piece.kind is texts.PieceKind.LOOKALIKE else ""
    return format_html('{}<span class="mark" title="{}">{}</span>', letter, piece.name.upper(), piece.mark)


@register.filter
def script(text: Any) -> str:
    """Return the language a text is set in: "zh" if it holds Chinese characters, else "", which is unknown.

    What hangs on a wall looks the same whatever language the reader's page is in.
    """
    return "zh" if any("\u4e00" <= character <= "\u9fff" for character in str(text or "")) else ""


@register.filter
def exact(moment: dt.datetime | dt.date | None) -> SafeString | str:
    """Return a `<time>`: minutes and zone in the text, seconds and offset on hover."""
    if not moment:
        return ""
    if not isinstance(moment, dt.datetime):
        text = date_format(moment, pgettext("date format", "j F Y"))
        return format_html('<time datetime="{}">{}</time>', moment.isoformat(), text)
    local = timezone.localtime(moment) if timezone.is_aware(moment) else moment
    text = date_format(local, pgettext("date format", "j F Y, H:i T"))
    precise = local.isoformat(sep=" ", timespec="milliseconds")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), precise, text)


@register.filter
def distance(moment: dt.datetime | None, now: dt.datetime | None) -> str:
    """Return how far `moment` is from `now` ("in 5 days", "3 hours ago"); `now` comes from the view."""
    if not moment or not now:
        return ""
    if abs(moment - now) < dt.timedelta(minutes=1):
        return gettext("just now")
    if moment > now:
        return gettext("in %(time)s") % {"time": timeuntil(moment, now, depth=1)}
    return gettext("%(time)s ago") % {"time": timesince(moment, now, depth=1)}


@register.filter
def time_left(until: dt.datetime | None, now: dt.datetime | None) -> str:
    """Return what is left until a moment, finer the less it is; `now` is the server's, never the browser's."""
    if not until or not now:
        return ""
    seconds = int((until - now).total_seconds())
    if seconds <= 0:
        return gettext("no time left")
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if days >= 3:
        return gettext("%(days)d days %(hours)d h left") % {"days": days, "hours": hours % 24}
    if hours:
        return gettext("%(hours)d h %(minutes)d min left") % {"hours": hours, "minutes": minutes % 60}
    if minutes:
        return gettext("%(minutes)d min %(seconds)d s left") % {"minutes": minutes, "seconds": seconds % 60}
    return gettext("%(seconds)d s left") % {"seconds": seconds}


@register.simple_tag
def state(value: Any, text: Any = "") -> SafeString:
    """Return a state chip: colour, shape and word together.

    `value` is a state (enum member or stored string); `text` replaces its words, as in "11 confirmed".
    """
    return _chip(value, label(text or value))


@register.filter
def state_class(value: Any) -> str:
    """Return the CSS class of a state: `in_progress` becomes `in-progress`."""
    return str(value or "").replace("_", "-")


@register.simple_tag
def fact(cell: Any) -> SafeString | str:
    """Return one fact of a row as its kind is shown: a page has hundreds, for which a template is slow.

    `cell` has `kind`, `value` and, where the value stands for words, `word`.
    """
    show = _FACTS.get(cell.kind)
    return show(cell) if show is not None else linebreaksbr(visible(cell.value))


@register.simple_tag
def copyable(text: Any) -> SafeString:
    """Return an id as code with a button that copies it; without JavaScript it is plain text."""
    return _copyable(str(text), str(text)) if text not in (None, "") else SafeString()


@register.simple_tag
def fingerprint(digest: str) -> SafeString:
    """Return a digest as its first and last digits; the whole one is shown on hover and copied by the button."""
    if not digest or len(digest) <= 2 * SHORT + 1:
        return copyable(digest)
    return _copyable(digest, f"{digest[:SHORT]}…{digest[-SHORT:]}")


def _copyable(text: str, shown: str) -> SafeString:
    short = shown != text
    spoken = escape(_copy_words(get_language()) % {"value": shown})
    return SafeString(
        f'<span class="copyable{" fingerprint" if short else ""}">'
        f'<code class="id"{f' title="{escape(text)}"' if short else ""}>{escape(shown)}</code>'
        f'<button type="button" class="copy needs-js" data-copy-text="{escape(text)}" aria-label="{spoken}">'
        "</button></span>"
    )


@cache
def _copy_words(_language: str | None) -> str:
    return gettext("Copy %(value)s")


@lru_cache(maxsize=512)
def _chip(value: Any, words: str) -> SafeString:
    """Return a state chip whose words are translated already; a page has many of the same."""
    return format_html('<span class="state {}">{}</span>', state_class(value), words)


@cache
def _empty(_language: str | None) -> SafeString:
    return format_html('<span class="quiet" aria-label="{}">–</span>', gettext("empty"))


_FACTS: Mapping[str, Callable[[Any], SafeString | str]] = {
    "state": lambda cell: state(cell.value, cell.word),
    "digest": lambda cell: fingerprint(cell.value),
    "id": lambda cell: SafeString(f'<code class="id">{named(cell.value)}</code>'),
    "person": lambda cell: called(cell.value),
    "place": lambda cell: named(cell.value),
    "moment": lambda cell: exact(cell.value),
    "word": lambda cell: conditional_escape(cell.word),
    "json": lambda cell: format_html('<pre class="value"><code>{}</code></pre>', visible(cell.word)),
    "number": lambda cell: conditional_escape(localize(cell.value)),
    "empty": lambda _cell: _empty(get_language()),
}


@register.simple_tag
def bar(pairs: Iterable[tuple[Any, int]], legend: bool = True) -> SafeString:
    """Return counts by state as one bar, with a legend of chips.

    `pairs` holds (state, count); zero counts are left out. The picture says the same in words.
    """
    counts = [(value, count) for value, count in pairs if count]
    if not counts:
        return SafeString()
    words = [f"{count} {label(value)}" for value, count in counts]
    picture = format_html(
        '<svg class="bar" viewBox="0 0 {} 8" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        BAR_WIDTH,
        ", ".join(words),
        _pieces(counts),
    )
    if not legend:
        return picture
    chips = format_html_join(" ", "{}", ((state(v, w),) for (v, _), w in zip(counts, words, strict=True)))
    return format_html('{}<p class="legend">{}</p>', picture, chips)


def _pieces(counts: list[tuple[Any, int]]) -> SafeString:
    total = sum(count for _, count in counts)
    rows, start = [], 0.0
    for value, count in counts:
        width = BAR_WIDTH * count / total
        rows.append((state_class(value), f"{start:.2f}", f"{width:.2f}"))
        start += width
    return format_html_join("", '<rect class="{}" x="{}" y="0" width="{}" height="8"/>', rows)

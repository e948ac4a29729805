"""JSON from outside, read strictly: what two readers could understand differently is refused.

I-JSON (RFC 7493) is the model: UTF-8, no duplicate names, numbers that every reader keeps exactly.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from contracts.rules.credentials import safe_pointer
from contracts.rules.fingerprint import LARGEST_INTEGER
from contracts.rules.verdict import Problem
from contracts.rules.words import N_

# No integer within the limit has more digits; a longer literal is not even converted.
LONGEST_LITERAL = 17

TOO_LARGE = N_("The document is larger than %(limit)d bytes.")
TOO_DEEP = N_("The document is nested deeper than %(limit)d levels.")
TOO_MANY_ITEMS = N_("One list or object holds %(length)d entries; the limit is %(limit)d.")
NOT_FINITE = N_("NaN and infinity are not JSON numbers.")
OUT_OF_RANGE = N_("The number is beyond ±%(limit)d; write it as text.")
DUPLICATE_KEY = N_("The name “%(key)s” stands twice in one object.")
HALF_CHARACTER = N_("The text holds half of a character.")
NOT_UTF8 = N_("The document is not valid UTF-8 (byte %(position)d).")
BYTE_ORDER_MARK = N_("The document starts with a byte order mark; send plain UTF-8.")
ZERO_CHARACTER = N_("The text holds the character U+0000, which cannot be stored.")
EMPTY = N_("The document is empty.")
TRAILING = N_("Something follows the end of the JSON value (line %(line)d, column %(column)d).")
BAD_JSON = N_("This is not valid JSON (line %(line)d, column %(column)d).")


class BadJson(ValueError):
    """Refused JSON; `problem` names the place by JSON pointer, the code and the limit."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in the parsed value where a fault was met, until its place is known."""

    code: str
    sentence: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the document; a chain upwards is cheaper than a copied path for each value."""

    above: "_Place | None" = None
    part: str | int = ""
    depth: int = 0

    def pointer(self) -> str:
        return safe_pointer(reversed(list(self._parts())))

    def _parts(self) -> Iterator[str | int]:
        place = self
        while place.above is not None:
            yield place.part
            place = place.above


def parse(source: bytes | str, max_bytes: int, max_depth: int, max_items: int) -> Any:
    """Return the value of the JSON document `source`.

    `max_bytes` bounds the UTF-8 form, `max_depth` the nesting of lists and objects, `max_items` the entries of any
    one list or object. Raises BadJson with one of the codes missing, too_large, byte_order_mark, bad_unicode,
    bad_json, trailing_content, duplicate_key, not_finite, number_out_of_range, control_character, too_deep,
    too_many_items.
    """
    text = _decode(source, max_bytes)
    if not text.strip():
        raise _refusal("missing", EMPTY)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        extra = error.msg.startswith("Extra data")
        code, sentence = ("trailing_content", TRAILING) if extra else ("bad_json", BAD_JSON)
        raise _refusal(code, sentence, line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise _refusal("too_deep", TOO_DEEP, limit=max_depth) from None
    _inspect(value, _Place(), max_depth, max_items)
    return value


def _decode(source: bytes | str, max_bytes: int) -> str:
    if len(source) > max_bytes:
        raise _refusal("too_large", TOO_LARGE, limit=max_bytes)
    try:
        raw = source.encode() if isinstance(source, str) else source
        text = raw.decode()
    except UnicodeEncodeError:
        raise _refusal("bad_unicode", HALF_CHARACTER) from None
    except UnicodeDecodeError as error:
        raise _refusal("bad_unicode", NOT_UTF8, position=error.start + 1) from None
    if len(raw) > max_bytes:
        raise _refusal("too_large", TOO_LARGE, limit=max_bytes)
    if text.startswith("\ufeff"):
        raise _refusal("byte_order_mark", BYTE_ORDER_MARK)
    return text


def _inspect(value: Any, place: _Place, max_depth: int, max_items: int) -> None:
    """Raise BadJson for the first fault at or below `place`."""
    if isinstance(value, _Fault):
        raise _refusal(value.code, value.sentence, place, **value.values)
    if isinstance(value, str):
        _inspect_text(value, place)
    elif isinstance(value, dict | list):
        if place.depth >= max_depth:
            raise _refusal("too_deep", TOO_DEEP, place, limit=max_depth)
        if len(value) > max_items:
            raise _refusal("too_many_items", TOO_MANY_ITEMS, place, limit=max_items, length=len(value))
        for part, item in value.items() if isinstance(value, dict) else enumerate(value):
            below = _Place(place, part, place.depth + 1)
            if isinstance(part, str):
                _inspect_text(part, below)
            _inspect(item, below, max_depth, max_items)


def _inspect_text(text: str, place: _Place) -> None:
    # PostgreSQL stores no U+0000, neither in text nor in jsonb: met later it would be a server error.
    if "\x00" in text:
        raise _refusal("control_character", ZERO_CHARACTER, place)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _refusal("bad_unicode", HALF_CHARACTER, place) from None


def _refusal(code: str, sentence: str, place: _Place | None = None, /, **values: Any) -> BadJson:
    return BadJson(Problem(place.pointer() if place else "", code, sentence, values))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Fault:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return _Fault("duplicate_key", DUPLICATE_KEY, {"key": safe_pointer([twice])[1:]})


def _integer(literal: str) -> int | _Fault:
    if len(literal) <= LONGEST_LITERAL and abs(number := int(literal)) <= LARGEST_INTEGER:
        return number
    return _Fault("number_out_of_range", OUT_OF_RANGE, {"limit": LARGEST_INTEGER})


def _fraction(literal: str) -> float | _Fault:
    # A float beyond the limit is an integer too, and its canonical form could not be read back.
    if abs(number := float(literal)) <= LARGEST_INTEGER:
        return number + 0.0  # PostgreSQL keeps no negative zero: what is hashed must be what comes back
    return _Fault("number_out_of_range", OUT_OF_RANGE, {"limit": LARGEST_INTEGER})


def _constant(_literal: str) -> _Fault:
    return _Fault("not_finite", NOT_FINITE)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
)

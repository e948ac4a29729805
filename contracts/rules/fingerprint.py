"""Fingerprints, operation keys and the event chain: what makes two calls the same call.

Canonical JSON is RFC 8785; strings are brought to Unicode NFC first, so that the same words typed on two systems
give the same bytes.
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

import rfc8785

from contracts.rules.credentials import safe_pointer
from contracts.rules.verdict import Problem
from contracts.rules.words import N_

LARGEST_INTEGER = 2**53 - 1
DEEPEST = 100
GROUP = 4

Path = tuple[object, ...]

# The form in which an event is hashed. A shared encoder: building one for each would cost more than the hash.
event_json = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode


class NotCanonical(ValueError):
    """A value that has no canonical form; `problem.field` is the JSON pointer of the place."""

    def __init__(self, path: Path, code: str, sentence: str, **values: Any) -> None:
        super().__init__(code)
        self.problem = Problem(safe_pointer(path), code, sentence, values)

    @property
    def field(self) -> str:
        """The JSON pointer of the place, empty for the whole value."""
        return self.problem.field


def canonical(value: object) -> bytes:
    """Return the RFC 8785 form of plain JSON `value`, its strings in NFC.

    Raises NotCanonical for what JSON cannot hold exactly: other types, NaN and infinities, integers beyond
    ±(2^53-1), lone surrogates, names that become equal in NFC, and nesting deeper than DEEPEST.
    """
    return rfc8785.dumps(_plain(value, ()))


def fingerprint(parameters: object) -> str:
    """Return the SHA-256 (64 hex digits) of the canonical form of `parameters`."""
    return digest_bytes(canonical(parameters))


def operation_key(task_id: str, step: str, round_number: int, tool: str, parameters: object) -> str:
    """Return the key of one call: the same call always gives the same key, another round another one."""
    return fingerprint([task_id, step, round_number, tool, parameters])


def digest_bytes(content: bytes) -> str:
    """Return the SHA-256 of `content` as 64 lower-case hex digits."""
    return hashlib.sha256(content).hexdigest()


def short(digest: str) -> str:
    """Return the first and last two groups of four digits, for reading beside the full digest."""
    if len(digest) <= 4 * GROUP:
        return digest
    groups = digest[:GROUP], digest[GROUP : 2 * GROUP], "…", digest[-2 * GROUP : -GROUP], digest[-GROUP:]
    return " ".join(groups)


def chain_hash(previous: str, body: Mapping[str, Any]) -> str:
    """Return the hash of an event: SHA-256 over the hash before it, a line feed and the canonical `body`.

    `body` holds only strings, integers, booleans, None, lists and dictionaries with ASCII names: for those the
    standard library's sorted compact form is the RFC 8785 form, and 100,000 events hash in under a second.
    """
    return hashlib.sha256(f"{previous}\n{event_json(body)}".encode()).hexdigest()


def _plain(value: object, path: Path) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        return _integer(value, path)
    if isinstance(value, float):
        return _number(value, path)
    if len(path) >= DEEPEST:
        raise NotCanonical(
            path, "too_deep", N_("The value is nested deeper than %(limit)d levels."), limit=DEEPEST
        )
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return _mapping(value, path)
    raise NotCanonical(
        path, "wrong_type", N_("A value of type %(type)s is not JSON."), type=type(value).__name__
    )


def _text(value: str, path: Path) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotCanonical(path, "bad_unicode", N_("The text holds half of a character.")) from None
    return unicodedata.normalize("NFC", value)


def _integer(value: int, path: Path) -> int:
    if abs(value) > LARGEST_INTEGER:
        sentence = N_("The number is beyond ±%(limit)d; write it as text.")
        raise NotCanonical(path, "number_out_of_range", sentence, limit=LARGEST_INTEGER)
    return value


def _number(value: float, path: Path) -> float:
    if not math.isfinite(value):
        raise NotCanonical(path, "not_finite", N_("NaN and infinity are not JSON numbers."))
    return value


def _mapping(value: dict[Any, Any], path: Path) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, item in value.items():
        place = (*path, key)
        if not isinstance(key, str):
            raise NotCanonical(place, "wrong_type", N_("The names in an object must be texts."))
        name = _text(key, place)
        if name in plain:
            raise NotCanonical(place, "duplicate_key", N_("The same name stands twice in one object."))
        plain[name] = _plain(item, place)
    return plain

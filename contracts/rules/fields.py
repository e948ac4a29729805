"""What may stand in one field: its kind, unit and limits, and how a raw value becomes a clean one.

Pages, pasted tables, imports and the API all pass the same check, so that they refuse the same things with
the same codes. A raw value is text (as a form or a table gives it) or a JSON value (as a document gives it).
"""

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, auto
from typing import Any

from contracts.rules import strictjson
from contracts.rules.credentials import check_no_credential
from contracts.rules.fingerprint import NotCanonical, canonical
from contracts.rules.text import check_identifier, check_location, check_sha256, check_text, clean_text
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import INLINE_MAX_BYTES, LINE_MAX, LOCATION_MAX, TEXT_MAX, WHOLE_MAX
from contracts.rules.words import N_, Labelled


class Kind(Enum):
    """The kinds of field."""

    ID = auto()  # identifier: one word-like line without hidden characters
    LINE = auto()  # one line of human text
    TEXT = auto()  # several lines of human text
    LOCATION = auto()  # a controlled address, never the content itself
    SHA256 = auto()  # 64 lower-case hexadecimal digits
    WHOLE = auto()  # whole number
    WHOLES = auto()  # list of whole numbers
    AMOUNT = auto()  # decimal number ≥ 0, six places
    CHOICE = auto()  # one word of a closed list
    FLAG = auto()  # yes or no; unset where the field is optional
    MOMENT = auto()  # point in time with zone
    JSON = auto()  # any JSON value of limited size


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a part of the contract.

    `required`: must be filled in before the row can be stored. `server`: set by the workbench, never by a
    person; taken only when a whole document is read. `low`/`high` bound numbers (in the unit the label
    names); `limit` bounds text in characters and JSON in bytes. `long` asks for a wide input.
    """

    name: str
    kind: Kind
    label: str
    hint: str = ""
    required: bool = False
    server: bool = False
    words: type[Labelled] | None = None
    low: int = 0
    high: int = WHOLE_MAX
    limit: int = 0
    default: Any = None

    @property
    def empty(self) -> Any:
        """Return what stands in this field when nothing was given."""
        # A copy: an empty list or object must not be shared between rows.
        return copy(EMPTY[self.kind] if self.default is None else self.default)

    @property
    def max_chars(self) -> int:
        """Return the longest text the field takes, in characters (JSON: in bytes)."""
        return self.limit or LIMITS[self.kind]


EMPTY: Mapping[Kind, Any] = {
    Kind.ID: "",
    Kind.LINE: "",
    Kind.TEXT: "",
    Kind.LOCATION: "",
    Kind.SHA256: "",
    Kind.WHOLE: None,
    Kind.WHOLES: [],
    Kind.AMOUNT: None,
    Kind.CHOICE: "",
    Kind.FLAG: None,
    Kind.MOMENT: None,
    Kind.JSON: None,
}
LIMITS: Mapping[Kind, int] = {
    Kind.ID: LINE_MAX,
    Kind.LINE: LINE_MAX,
    Kind.TEXT: TEXT_MAX,
    Kind.LOCATION: LOCATION_MAX,
    Kind.SHA256: 64,
    Kind.WHOLE: 20,
    Kind.WHOLES: LINE_MAX,
    Kind.AMOUNT: 30,
    Kind.CHOICE: LINE_MAX,
    Kind.FLAG: 10,
    Kind.MOMENT: 40,
    Kind.JSON: INLINE_MAX_BYTES,
}
JSON_DEPTH, JSON_ITEMS = 32, 10_000
JSON_INDENTED = 4  # how much longer than its canonical form JSON may be typed
WHOLES_MAX = 50
PLAIN_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
AMOUNT_MAX = 10**14 - 1
MICRO = Decimal("0.000001")
MOMENT = re.compile(r"[0-9TtWZz:+., -]+")  # of what ISO 8601 is written with
FIRST_YEAR, LAST_YEAR = 1970, 9998
BREAKS = re.compile("[\n\t\u2028\u2029]")  # a separator of lines would let one value look like two
SCANNED = frozenset({Kind.ID, Kind.LINE, Kind.TEXT, Kind.LOCATION, Kind.SHA256})  # JSON scans itself
YES = frozenset({"true", "yes", "on", "1", "是"})
NO = frozenset({"false", "no", "off", "0", "否"})


class Refused(Exception):
    """A raw value that the field does not take; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def check_field(field: Field, raw: Any, *, document: bool = False, scan: bool = True) -> Any:
    """Return the clean value of `raw` for `field`.

    `document`: the value comes out of a JSON document, so that text in a JSON field is a string and not
    JSON still to be read. `scan=False`: the caller looks for credentials itself, in the text of a whole row
    at once. Raises `Refused` with one problem that names the field and the rule, and never
    the value of a secret.
    """
    if document and field.kind is Kind.JSON and raw is not None:
        return _measured_json(field, raw)
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        if field.required:
            raise Refused(Problem(field.name, "missing", N_("This must be filled in.")))
        return field.empty
    value = _READERS[field.kind](field, raw)
    if field.required and value is None:  # JSON has a word for nothing
        raise Refused(Problem(field.name, "missing", N_("This must be filled in.")))
    if scan and field.kind in SCANNED and (problem := check_no_credential(field.name, value)):
        raise Refused(problem)
    return value


def _text(field: Field, raw: Any, *, trim: bool = False) -> str:
    if not isinstance(raw, str):
        raise _wrong_type(field, N_("This must be text."))
    raw = raw.strip() if trim else raw  # what is copied often brings a space or a line end along
    if len(raw) > field.max_chars:
        raise Refused(
            Problem(
                field.name,
                "too_long",
                N_("At most %(limit)d characters fit here."),
                {"limit": field.max_chars},
            )
        )
    return clean_text(raw)


def _checked(value: str, *checks: Problem | None) -> str:
    for problem in checks:
        if problem is not None:
            raise Refused(problem)
    return value


def _read_id(field: Field, raw: Any) -> str:
    value = _text(field, raw, trim=True)
    return _checked(value, check_identifier(field.name, value, max_chars=field.max_chars))


def _read_line(field: Field, raw: Any) -> str:
    value = _text(field, raw, trim=True)
    if BREAKS.search(value):
        raise Refused(Problem(field.name, "control_character", N_("This must be one line, without tabs.")))
    return _checked(value, check_text(field.name, value, max_chars=field.max_chars))


def _read_text(field: Field, raw: Any) -> str:
    value = _text(field, raw)
    return _checked(value, check_text(field.name, value, max_chars=field.max_chars))


def _read_location(field: Field, raw: Any) -> str:
    value = _text(field, raw, trim=True)
    return _checked(value, check_location(field.name, value))


def _read_sha256(field: Field, raw: Any) -> str:
    value = _text(field, raw, trim=True).lower()
    return _checked(value, check_sha256(field.name, value))


def _read_whole(field: Field, raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        raise _wrong_type(field, N_("This must be a whole number."))
    if isinstance(raw, str) and not _is_digits(raw):
        raise _wrong_type(field, N_("This must be a whole number, in digits and without a unit."))
    return _in_range(field, int(raw))


def _is_digits(raw: str) -> bool:
    digits = raw.strip().removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 20


def _in_range(field: Field, value: int) -> int:
    if not field.low <= value <= field.high:
        raise Refused(
            Problem(
                field.name,
                "out_of_range",
                N_("This must lie between %(low)s and %(high)s."),
                {"low": field.low, "high": field.high},
            )
        )
    return value


def _read_wholes(field: Field, raw: Any) -> list[int]:
    if not isinstance(raw, str | list):
        raise _wrong_type(field, N_("This must be a list of whole numbers."))
    pieces = raw.replace("，", ",").split(",") if isinstance(raw, str) else raw
    if len(pieces) > WHOLES_MAX:
        sentence = N_("At most %(limit)d entries fit here.")
        raise Refused(Problem(field.name, "too_many", sentence, {"limit": WHOLES_MAX}))
    numbers = [_read_whole(field, piece) for piece in pieces]
    if len(set(numbers)) != len(numbers):
        raise Refused(Problem(field.name, "duplicate", N_("Each number may stand here once.")))
    return sorted(numbers)


def _read_amount(field: Field, raw: Any) -> Decimal:
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        raise _wrong_type(field, N_("This must be a decimal number; in a document, write it as text."))
    if isinstance(raw, str) and not PLAIN_NUMBER.fullmatch(raw.strip()):
        raise _wrong_type(field, N_("This must be a decimal number, in digits and without a unit."))
    # An endless number is not even converted.
    value = (
        Decimal(raw) if isinstance(raw, int) or len(raw.strip()) <= field.max_chars else Decimal("Infinity")
    )
    if not field.low <= value <= AMOUNT_MAX:
        sentence = N_("This must lie between %(low)s and %(high)s.")
        raise Refused(Problem(field.name, "out_of_range", sentence, {"low": field.low, "high": AMOUNT_MAX}))
    if value != value.quantize(MICRO):
        raise Refused(Problem(field.name, "too_precise", N_("At most six decimal places fit here.")))
    return abs(value)  # zero has no sign


def _read_choice(field: Field, raw: Any) -> str:
    known = {word.value for word in field.words or ()}
    if not isinstance(raw, str) or raw.strip() not in known:
        raise Refused(
            Problem(
                field.name,
                "unknown_word",
                N_("This must be one of: %(words)s."),
                {"words": ", ".join(sorted(known))},
            )
        )
    return raw.strip()


def _read_flag(field: Field, raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = raw.strip().lower() if isinstance(raw, str) else ""
    if word not in YES | NO:
        raise _wrong_type(field, N_("This must be yes or no."))
    return word in YES


def _read_moment(field: Field, raw: Any) -> datetime:
    if isinstance(raw, datetime):
        value: datetime | None = raw
    else:
        value = _parse_moment(raw)
    if value is None:
        raise _wrong_type(field, N_("This must be a date and time with a zone, such as 2030-05-31T18:00Z."))
    if value.tzinfo is None:
        raise Refused(Problem(field.name, "no_zone", N_("The time needs a zone, such as Z or +08:00.")))
    moment = _in_utc(value)
    if moment is None or not FIRST_YEAR <= moment.year <= LAST_YEAR:
        sentence = N_("The year must lie between %(low)d and %(high)d.")
        values = {"low": FIRST_YEAR, "high": LAST_YEAR}
        raise Refused(Problem(field.name, "out_of_range", sentence, values))
    return moment


def _in_utc(value: datetime) -> datetime | None:
    """Return `value` in UTC, in which the year may be another one; None beyond the calendar."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return None


def _parse_moment(raw: Any) -> datetime | None:
    if not isinstance(raw, str) or len(raw) > 40 or not MOMENT.fullmatch(raw.strip()):
        return None
    try:
        return datetime.fromisoformat(raw.strip())
    except ValueError:
        return None


def _read_json(field: Field, raw: Any) -> Any:
    return _measured_json(field, _parsed_json(field, raw) if isinstance(raw, str) else raw)


def _measured_json(field: Field, value: Any) -> Any:
    """Refuse what has no canonical form, what is larger than the limit in that form, and credentials."""
    try:
        encoded = canonical(value)
    except NotCanonical as error:
        raise Refused(_renamed(error.problem, field.name)) from None
    if len(encoded) > field.max_chars:
        raise Refused(
            Problem(
                field.name, "too_large", N_("At most %(limit)d bytes fit here."), {"limit": field.max_chars}
            )
        )
    # In the JSON text a name stands beside its value; in each text by itself, lines are really lines.
    problem = check_no_credential(field.name, encoded.decode()) or check_no_credential(field.name, value)
    if problem is not None:
        raise Refused(_renamed(problem, field.name))
    _parsed_json(field, encoded)  # depth, length, and what the database would give back changed
    return value


def _parsed_json(field: Field, source: bytes | str) -> Any:
    try:
        return strictjson.parse(source, field.max_chars * JSON_INDENTED, JSON_DEPTH, JSON_ITEMS)
    except strictjson.BadJson as error:
        raise Refused(_renamed(error.problem, field.name)) from None


def _renamed(problem: Problem, name: str) -> Problem:
    return Problem(name, problem.code, problem.sentence, problem.values)


def _wrong_type(field: Field, sentence: str) -> Refused:
    return Refused(Problem(field.name, "wrong_type", sentence))


_READERS: Mapping[Kind, Callable[[Field, Any], Any]] = {
    Kind.ID: _read_id,
    Kind.LINE: _read_line,
    Kind.TEXT: _read_text,
    Kind.LOCATION: _read_location,
    Kind.SHA256: _read_sha256,
    Kind.WHOLE: _read_whole,
    Kind.WHOLES: _read_wholes,
    Kind.AMOUNT: _read_amount,
    Kind.CHOICE: _read_choice,
    Kind.FLAG: _read_flag,
    Kind.MOMENT: _read_moment,
    Kind.JSON: _read_json,
}

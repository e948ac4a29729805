"""The kinds of value a request may hold: each is read by the rule of the field it becomes, and by no other.

So a page and the API refuse the same things with the same codes. JSON has types of its own: a number is no text,
and null is no value but where any JSON is.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from contracts.rules.fields import Field, Kind, Refused, check_field
from contracts.rules.verdict import Problem
from contracts.rules.words import N_, Labelled

NULL = N_("Null is no value here; leave the field out.")
_TYPES: Mapping[Kind, tuple[type, str]] = {
    Kind.WHOLE: (int, N_("This must be a whole number.")),
    Kind.FLAG: (bool, N_("This must be true or false.")),
}
_TEXT = (str, N_("This must be text."))
_SHA256 = "^[0-9a-fA-F]{64}$"
_Ruled = tuple[PlainValidator, WithJsonSchema]


def carried(problem: Problem) -> PydanticCustomError:
    """Return the problem as pydantic carries it to whoever answers."""
    code = cast("Literal['']", problem.code)
    return PydanticCustomError(code, cast("Literal['']", problem.sentence), dict(problem.values))


def ruled(field: Field, *, required: bool = True) -> _Ruled:
    """Return what reads a value by the rule of `field`, and its JSON Schema."""
    own = replace(field, required=required)
    return PlainValidator(_reader(own)), WithJsonSchema(schema_of(own))


def queried(field: Field, *, required: bool = True) -> _Ruled:
    """Return what reads a value of an address's query, where everything is text, and its JSON Schema."""
    own = replace(field, required=required)

    def read(raw: Any) -> Any:
        try:
            return check_field(own, raw)
        except Refused as error:
            raise carried(error.problem) from None

    return PlainValidator(read), WithJsonSchema(schema_of(own))


def call_parameters(field: Field) -> _Ruled:
    """Return what reads the parameters of a call, a JSON object, and its JSON Schema."""
    read = _reader(replace(field, required=True))

    def read_object(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise carried(Problem("", "wrong_type", N_("This must be a JSON object: names and values.")))
        return read(raw)

    schema = {"type": "object", "description": field.label}
    return PlainValidator(read_object), WithJsonSchema(schema)


def _reader(field: Field) -> Callable[[Any], Any]:
    kind, sentence = _TYPES.get(field.kind, _TEXT)

    def read(raw: Any) -> Any:
        if field.kind is not Kind.JSON:
            if raw is None:
                raise carried(Problem("", "null", NULL))
            if type(raw) is not kind:
                raise carried(Problem("", "wrong_type", sentence))
        try:
            return check_field(field, raw, document=True)
        except Refused as error:
            raise carried(error.problem) from None

    return read


def schema_of(field: Field) -> dict[str, Any]:
    """Return the JSON Schema of what `field` takes; the rule may be stricter (see its problems)."""
    schema: dict[str, Any] = {"description": field.label}
    needed = field.required
    match field.kind:
        case Kind.JSON:
            return schema
        case Kind.WHOLE:
            return schema | {"type": "integer", "minimum": field.low, "maximum": field.high}
        case Kind.FLAG:
            return schema | {"type": "boolean"}
        case Kind.CHOICE:
            words = [word.value for word in field.words or ()]
            return schema | {"type": "string", "enum": words if needed else ["", *words]}
        case Kind.MOMENT:
            return schema | {"type": "string", "format": "date-time"}
        case Kind.AMOUNT:
            return schema | {"type": "string", "pattern": r"^[0-9]{1,14}(\.[0-9]{1,6})?$"}
        case Kind.SHA256:
            return schema | {"type": "string", "pattern": _SHA256 if needed else f"^$|{_SHA256}"}
        case _:
            return schema | {"type": "string", "minLength": int(needed), "maxLength": field.max_chars}


def _no_null(value: Any) -> Any:
    if value is None:
        raise carried(Problem("", "null", NULL))
    return value


NoNull = BeforeValidator(_no_null)


def without_null(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of a part that may be left out say what `NoNull` says."""
    several = schema.pop("anyOf", [])
    schema.pop("default", None)
    schema.update(several[0] if several else {})


def at_most(limit: int) -> AfterValidator:
    """Return what refuses a longer list, naming the limit."""

    def check(rows: Any) -> Any:
        if len(rows) > limit:
            sentence = N_("At most %(limit)d entries fit here.")
            raise carried(Problem("", "too_many", sentence, {"limit": limit}))
        return rows

    return AfterValidator(check)


def only_words(words: Iterable[Labelled]) -> AfterValidator:
    """Return what refuses names other than `words` in an object."""
    known = {word.value for word in words}

    def check(named: Any) -> Any:
        if not known.issuperset(named):
            sentence = N_("This must be one of: %(words)s.")
            raise carried(Problem("", "unknown_word", sentence, {"words": ", ".join(sorted(known))}))
        return named

    return AfterValidator(check)

"""One row against its part: every field by itself, then the fields against each other.

The same check serves a form, a line of a pasted table, a row of an imported document and a call of the API.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.rules.credentials import check_no_credential, find_credential, safe_pointer
from contracts.rules.fields import SCANNED, Field, Refused, check_field
from contracts.rules.parts.part import Part
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import INLINE_MAX_BYTES, Measure, OnTimeout
from contracts.rules.words import N_

Values = dict[str, Any]
CURRENCY = re.compile("[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Checked:
    """The clean values of a row (only those given or defaulted) and every problem found."""

    values: Values
    problems: tuple[Problem, ...]


# Parts that workers record by themselves: a person who records them must say where the proof lies.
BY_HAND = frozenset({"attempt", "checkpoint"})


def check_row(
    part: Part, raw: Mapping[str, Any], *, document: bool = False, standing: Mapping[str, Any] | None = None
) -> Checked:
    """Check `raw` (field name → raw value) against `part`.

    `document`: the row comes out of an exported document, so that the fields set by the workbench are
    taken too. `standing`: facts the row has already and that nobody gives (the measure of a limit), for the
    rules that look across fields. Fields the part does not have are refused by name. Missing fields get
    their empty value.
    """
    fields = part.fields if document else part.given
    known = {field.name for field in fields}
    problems = [
        Problem(safe_name(name), "unknown_field", N_("There is no such field here."))
        for name in raw
        if name not in known
    ]
    values: Values = {}
    for field in fields:
        try:
            values[field.name] = check_field(field, raw.get(field.name), document=document, scan=False)
        except Refused as refused:
            problems.append(refused.problem)
    problems.extend(_credentials(fields, values))
    if not problems:
        problems.extend(_ACROSS.get(part.name, _nothing)({**(standing or {}), **values}))
        if part.name in BY_HAND and not document and not values["evidence"]:
            sentence = N_("What is recorded by hand names where its proof lies.")
            problems.append(Problem("evidence", "missing", sentence))
    return Checked(values, tuple(problems))


def _credentials(fields: tuple[Field, ...], values: Values) -> list[Problem]:
    """Name each text of the row that holds a credential, and take its value away.

    One scan of the whole row clears nearly every row: thousands are pasted at once.
    """
    texts = [value for value in values.values() if isinstance(value, str) and value]
    if not texts or find_credential("\n".join(texts)) is None:
        return []
    given = {field.name: values.get(field.name) for field in fields if field.kind in SCANNED}
    problems = [problem for name, text in given.items() if (problem := check_no_credential(name, text))]
    for problem in problems:
        del values[problem.field]
    return problems


def safe_name(name: object) -> str:
    """Return a name from outside fit to be shown: cut, visible, and without a credential standing in it."""
    return safe_pointer([name]).removeprefix("/").replace("~1", "/").replace("~0", "~")


def _nothing(_values: Values) -> list[Problem]:
    return []


def _missing(field: str, sentence: str) -> Problem:
    return Problem(field, "missing", sentence)


def _checkpoint(values: Values) -> list[Problem]:
    inline, location = values["inline_state"] is not None, bool(values["location"])
    if inline == location:
        sentence = N_("Give either a location or a small inline state.")
        return [Problem("location", "location_or_inline", sentence)]
    if location and not values["sha256"]:
        return [_missing("sha256", N_("A state at a location needs its SHA-256."))]
    if location and values["size_bytes"] is None:
        return [_missing("size_bytes", N_("A state at a location needs its size in bytes."))]
    return []


def _step(values: Values) -> list[Problem]:
    if bool(values["result_location"]) != bool(values["result_sha256"]):
        field = "result_sha256" if values["result_location"] else "result_location"
        return [_missing(field, N_("A result at a location needs location and SHA-256 together."))]
    if values["result_location"] and values["result"] is not None:
        return [
            Problem("result", "location_or_inline", N_("Give the result here or at a location, not both."))
        ]
    return []


def _artefact(values: Values) -> list[Problem]:
    problems = []
    if not values["location"] and not values["inline_text"]:
        problems.append(
            Problem("location", "location_or_inline", N_("Give a location, or keep the short text here."))
        )
    elif not values["inline_text"] and not values["sha256"]:
        problems.append(_missing("sha256", N_("Content at a location needs its SHA-256.")))
    if len(values["inline_text"].encode()) > INLINE_MAX_BYTES:
        sentence = N_("At most %(limit)d bytes fit here.")
        problems.append(Problem("inline_text", "too_large", sentence, {"limit": INLINE_MAX_BYTES}))
    if bool(values["accepted_by"]) != bool(values["accepted_at"]):
        field = "accepted_at" if values["accepted_by"] else "accepted_by"
        problems.append(_missing(field, N_("An acceptance names who and when.")))
    if values["source_version"] and not values["source"]:
        problems.append(_missing("source", N_("A version needs the id it belongs to.")))
    return problems


def _object(values: Values) -> list[Problem]:
    return [
        _missing(name, N_("A version needs the id it belongs to."))
        for name in ("source", "artefact")
        if values[f"{name}_version"] and not values[name]
    ]


def _tool(values: Values) -> list[Problem]:
    if values["key_memory_hours"] is not None and not values["key_supported"]:
        sentence = N_("Only a target that takes an idempotency key can remember one.")
        return [Problem("key_memory_hours", "key_not_supported", sentence)]
    return []


def _operation(values: Values) -> list[Problem]:
    if not isinstance(values["parameters"], dict):
        return [Problem("parameters", "wrong_type", N_("Parameters are a JSON object: names and values."))]
    return []


def _policy(values: Values) -> list[Problem]:
    problems = []
    if values["default_expiry_hours"] > values["longest_expiry_hours"]:
        sentence = N_("The usual waiting time cannot be longer than the longest.")
        problems.append(Problem("default_expiry_hours", "longer_than_longest", sentence))
    if values["on_timeout"] == OnTimeout.PASS_ON:
        sentence = N_("Passing on needs whom, and for how long.")
        problems += [_missing(name, sentence) for name in ("pass_on_to", "pass_on_hours") if not values[name]]
    return problems


def _limit(values: Values) -> list[Problem]:
    cost = values.get("measure") == Measure.COST  # on a page the row knows its measure: `standing`
    currency = values["currency"]
    if currency and not CURRENCY.fullmatch(currency):
        sentence = N_("Write the currency as three capital letters, such as EUR.")
        return [Problem("currency", "bad_currency", sentence)]
    if cost and values["cap"] is not None and not currency:
        return [_missing("currency", N_("A cap on cost needs its currency."))]
    if not cost and currency and "measure" in values:
        return [Problem("currency", "no_currency_here", N_("Only cost has a currency."))]
    return [Problem("cap", "out_of_range", N_("A cap lies above zero."))] if values["cap"] == 0 else []


def _gate(values: Values) -> list[Problem]:
    if values["renew_seconds"] >= values["lease_seconds"]:
        sentence = N_("A lease must be renewed before it ends.")
        return [Problem("renew_seconds", "renewal_after_lease_end", sentence)]
    return []


def _attempt(values: Values) -> list[Problem]:
    problems = []
    if bool(values["ended_at"]) != bool(values["end_reason"]):
        field = "end_reason" if values["ended_at"] else "ended_at"
        problems.append(_missing(field, N_("An end names when and why.")))
    if values["ended_at"] and values["ended_at"] < values["started_at"]:
        problems.append(
            Problem("ended_at", "ends_before_start", N_("An attempt cannot end before it started."))
        )
    return problems


RESULT_NEEDS = ("verdict", "run_at", "run_by", "evidence")
RESULT_FIELDS = ("counted", "on_resuming", "repeated", *RESULT_NEEDS)


def _window(values: Values) -> list[Problem]:
    if all(values[name] in ("", None) for name in RESULT_FIELDS):
        return []
    sentence = N_("A result names verdict, when, by whom and evidence; else all of it stays blank.")
    return [_missing(name, sentence) for name in RESULT_NEEDS if not values[name]]


_ACROSS: Mapping[str, Callable[[Values], list[Problem]]] = {
    "checkpoint": _checkpoint,
    "step": _step,
    "artefact": _artefact,
    "object": _object,
    "tool": _tool,
    "operation": _operation,
    "policy": _policy,
    "limit": _limit,
    "gate": _gate,
    "attempt": _attempt,
    "window": _window,
}

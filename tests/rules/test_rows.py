"""The fields of one row against each other."""

import pytest

from contracts.rules.parts import PARTS
from contracts.rules.rows import BY_HAND, RESULT_FIELDS, RESULT_NEEDS, check_row
from contracts.rules.vocabulary import INLINE_MAX_BYTES
from tests.rules.samples import NOON, SECRET, SUM, good

LATER = "2030-06-01T00:00Z"
LOCATED = {"location": "s3://a", "sha256": SUM, "size_bytes": 3}
RESULT = {"verdict": "held", "run_at": NOON, "run_by": "operator", "evidence": "s3://drills/1"}


def problems(name, *, document=False, standing=None, **more):
    """Return the faults of a row of the part `name` that has all it needs, and `more`."""
    part = PARTS[name]
    fields = part.fields if document else part.given
    raw = {field.name: good(field) for field in fields if field.required} | more
    if name in BY_HAND and not document:
        raw = {"evidence": "logs://1", **raw}
    found = check_row(part, raw, document=document, standing=standing).problems
    assert all(problem.sentence % problem.values for problem in found)
    return [(problem.field, problem.code) for problem in found]


ACROSS = [
    ("checkpoint", {}, [("location", "location_or_inline")]),
    ("checkpoint", {**LOCATED, "inline_state": "{}"}, [("location", "location_or_inline")]),
    ("checkpoint", {**LOCATED, "sha256": ""}, [("sha256", "missing")]),
    ("checkpoint", {**LOCATED, "size_bytes": None}, [("size_bytes", "missing")]),
    ("checkpoint", {**LOCATED, "size_bytes": 0}, []),
    ("checkpoint", {"inline_state": "0"}, []),
    ("step", {}, []),
    ("step", {"result": "[]"}, []),
    ("step", {"result_location": "s3://a"}, [("result_sha256", "missing")]),
    ("step", {"result_sha256": SUM}, [("result_location", "missing")]),
    ("step", {"result_location": "s3://a", "result_sha256": SUM}, []),
    ("step", {"result_location": "s3://a", "result_sha256": SUM, "result": "1"}, [("result", "location_or_inline")]),
    ("artefact", {}, [("location", "location_or_inline")]),
    ("artefact", {"location": "s3://a"}, [("sha256", "missing")]),
    ("artefact", {"location": "s3://a", "sha256": SUM}, []),
    ("artefact", {"inline_text": "展签"}, []),
    ("artefact", {"inline_text": "展" * (INLINE_MAX_BYTES // 3)}, []),
    ("artefact", {"inline_text": "展" * (INLINE_MAX_BYTES // 3 + 1)}, [("inline_text", "too_large")]),
    ("artefact", {"inline_text": "a", "accepted_by": "curator"}, [("accepted_at", "missing")]),
    ("artefact", {"inline_text": "a", "accepted_at": NOON}, [("accepted_by", "missing")]),
    ("artefact", {"inline_text": "a", "accepted_at": NOON, "accepted_by": "curator"}, []),
    ("artefact", {"inline_text": "a", "source_version": "1"}, [("source", "missing")]),
    ("artefact", {"source_version": "1"}, [("location", "location_or_inline"), ("source", "missing")]),
    ("object", {"source_version": "1"}, [("source", "missing")]),
    ("object", {"artefact_version": "1"}, [("artefact", "missing")]),
    ("object", {"source": "P1", "source_version": "1"}, []),
    ("tool", {"key_memory_hours": 5}, [("key_memory_hours", "key_not_supported")]),
    ("tool", {"key_memory_hours": 5, "key_supported": "yes"}, []),
    ("operation", {"parameters": "[]"}, [("parameters", "wrong_type")]),
    ("operation", {"parameters": '"text"'}, [("parameters", "wrong_type")]),
    ("operation", {"parameters": "{}"}, []),
    ("policy", {}, []),
    ("policy", {"default_expiry_hours": 73}, [("default_expiry_hours", "longer_than_longest")]),
    ("policy", {"default_expiry_hours": 72}, []),
    ("policy", {"on_timeout": "pass_on"}, [("pass_on_to", "missing"), ("pass_on_hours", "missing")]),
    ("policy", {"on_timeout": "pass_on", "pass_on_to": "Bo", "pass_on_hours": 1}, []),
    ("gate", {"renew_seconds": 120}, [("renew_seconds", "renewal_after_lease_end")]),
    ("gate", {"renew_seconds": 119}, []),
    ("attempt", {"ended_at": LATER}, [("end_reason", "missing")]),
    ("attempt", {"end_reason": "released"}, [("ended_at", "missing")]),
    ("attempt", {"ended_at": "2030-01-01T00:00Z", "end_reason": "released"}, [("ended_at", "ends_before_start")]),
    ("attempt", {"ended_at": NOON, "end_reason": "released"}, []),
    ("window", {}, []),
    ("window", {"title": "t", "setting": "s", "provoked": "p", "expected": "e"}, []),
    ("window", RESULT, []),
    ("source", {}, []),
]  # fmt: skip


@pytest.mark.parametrize(("part", "more", "expected"), ACROSS)
def test_fields_are_measured_against_each_other(part, more, expected):
    assert problems(part, **more) == expected


@pytest.mark.parametrize(
    ("currency", "expected"),
    [
        ("EUR", []),
        ("", [("currency", "missing")]),
        *(
            (wrong, [("currency", "bad_currency")])
            for wrong in ("eur", "EU", "E1R", "A-B", "ＥＵＲ", "€", "ÄÖÜ", "E R")
        ),
    ],
)
def test_a_cap_on_cost_has_a_currency_of_three_capital_letters(currency, expected):
    assert problems("limit", standing={"measure": "cost"}, cap="5", currency=currency) == expected
    assert problems("limit", document=True, measure="cost", cap="5", currency=currency) == expected


def test_only_cost_has_a_currency():
    assert problems("limit", standing={"measure": "tokens"}, cap="5", currency="EUR") == [
        ("currency", "no_currency_here")
    ]
    assert problems("limit", standing={"measure": "cost"}, currency="EUR") == []
    # A page that does not know its measure yet leaves the question to the row.
    assert problems("limit", currency="EUR") == []


def test_a_cap_lies_above_zero():
    assert problems("limit", standing={"measure": "tokens"}, cap="0") == [("cap", "out_of_range")]
    assert problems("limit", standing={"measure": "cost"}, cap="-0", currency="EUR") == [
        ("cap", "out_of_range")
    ]
    assert problems("limit", standing={"measure": "tokens"}, cap="") == []


@pytest.mark.parametrize("name", RESULT_FIELDS)
def test_a_window_keeps_its_result_blank_or_whole(name):
    field = PARTS["window"].field(name)
    raw = False if name == "repeated" else 0 if name == "counted" else good(field)
    others = [(need, "missing") for need in RESULT_NEEDS if need != name]
    assert problems("window", **{name: raw}) == others
    whole = RESULT | {"counted": 0, "repeated": "no", "on_resuming": "It asked."}
    expected = [(name, "missing")] if name in RESULT_NEEDS else []
    assert problems("window", **(whole | {name: ""})) == expected


def test_fields_are_not_compared_while_one_of_them_is_wrong():
    assert problems("gate", renew_seconds="often", lease_seconds=10) == [("renew_seconds", "wrong_type")]


def test_every_fault_is_reported_and_the_good_values_are_kept():
    checked = check_row(
        PARTS["source"], {"source_id": "a\x00", "location": "two words", "note": " n ", "else": 1}
    )
    assert sorted((problem.field, problem.code) for problem in checked.problems) == [
        ("else", "unknown_field"),
        ("location", "bad_location"),
        ("sha256", "missing"),
        ("source_id", "control_character"),
        ("version_label", "missing"),
    ]
    assert checked.values == {"size_bytes": None, "note": " n "}


def test_each_field_that_holds_a_credential_is_named():
    found = problems("source", location="archive://" + SECRET, note="it is " + SECRET)
    assert found == [("location", "credential"), ("note", "credential")]


def test_the_words_of_two_fields_make_no_credential_together():
    assert problems("plane", readers="password:", note="hunter2" * 2) == []


@pytest.mark.parametrize(("part", "more"), [("attempt", {}), ("checkpoint", LOCATED)])
def test_what_a_person_records_names_its_evidence_and_a_document_need_not(part, more):
    assert problems(part, **more, evidence="") == [("evidence", "missing")]
    assert problems(part, document=True, **more) == []

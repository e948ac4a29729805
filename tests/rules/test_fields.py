"""Every kind of field against bad input: refused with a stable code, and never with the value of a secret."""

import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from contracts.rules.fields import EMPTY, LIMITS, Field, Kind, Refused, check_field
from contracts.rules.states import ObjectState
from contracts.rules.vocabulary import TEXT_MAX
from tests.rules.samples import BAD, BAD_JSON_TEXT, GOOD, SECRET, SUM

NAME = "the_field"


def field(kind, **options):
    words = ObjectState if kind is Kind.CHOICE else None
    return Field(NAME, kind, "Label", words=words, **options)


def refusal(spec, raw, **options):
    with pytest.raises(Refused) as caught:
        check_field(spec, raw, **options)
    return caught.value.problem


CASES = [
    # Named by number: a value may be too long to be shown, or no text at all.
    pytest.param(kind, raw, code, id=f"{kind.name}-{number}-{code}")
    for kind, cases in BAD.items()
    for number, (raw, code) in enumerate(cases)
]


@pytest.mark.parametrize("document", [False, True])
@pytest.mark.parametrize(("kind", "raw", "code"), CASES)
def test_every_kind_refuses_its_bad_values_by_name(kind, raw, code, document):
    problem = refusal(field(kind), raw, document=document)
    assert (problem.field, problem.code) == (NAME, code)
    assert problem.sentence % problem.values
    shown = repr(problem)
    assert SECRET not in shown
    assert "hunter2" not in shown
    assert "correcthorse" not in shown


@pytest.mark.parametrize(
    ("text", "code"),
    [pytest.param(*case, id=f"{number}-{case[1]}") for number, case in enumerate(BAD_JSON_TEXT)],
)
def test_json_typed_into_a_page_is_read_strictly(text, code):
    problem = refusal(field(Kind.JSON), text)
    assert (problem.field, problem.code) == (NAME, code)
    assert problem.sentence % problem.values
    assert SECRET not in repr(problem)
    assert "hunter2" not in repr(problem)


def test_the_word_of_json_for_nothing_is_nothing():
    assert refusal(field(Kind.JSON, required=True), " null ").code == "missing"
    assert check_field(field(Kind.JSON), "null") is None


def test_text_in_the_json_of_a_document_is_text():
    assert check_field(field(Kind.JSON), "{", document=True) == "{"
    assert check_field(field(Kind.JSON), "", document=True) == ""
    assert check_field(field(Kind.JSON), '{"a": [1]}') == {"a": [1]}
    assert check_field(field(Kind.JSON), {"a": 1}) == {"a": 1}


def test_json_is_measured_in_its_canonical_form():
    spec = field(Kind.JSON, limit=9)
    assert check_field(spec, '{ "a" :   12 }') == {"a": 12}
    assert refusal(spec, {"a": "1234"}).code == "too_large"
    assert refusal(spec, {"a": 12_345}, document=True).values == {"limit": 9}


@pytest.mark.parametrize("raw", [None, "", "  ", "\n\t", "\u3000"])
@pytest.mark.parametrize("kind", Kind)
def test_a_missing_value_is_refused_only_where_it_is_required(kind, raw):
    if not (kind is Kind.JSON and raw is not None):
        assert refusal(field(kind, required=True), raw, document=True).code == "missing"
        assert check_field(field(kind), raw, document=True) == EMPTY[kind]
    assert refusal(field(kind, required=True), raw).code == "missing"
    assert check_field(field(kind), raw) == EMPTY[kind]


def test_a_default_stands_for_what_was_not_given():
    assert check_field(field(Kind.WHOLE, default=7), "") == 7
    assert check_field(field(Kind.FLAG, default=False), None) is False


def test_an_empty_list_is_not_shared_between_rows():
    spec = field(Kind.JSON, default={})
    check_field(spec, None)["a"] = 1
    assert check_field(spec, None) == {}
    check_field(field(Kind.WHOLES), None).append(1)
    assert check_field(field(Kind.WHOLES), None) == []


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.CHOICE])
def test_every_kind_takes_a_good_value(kind):
    assert check_field(field(kind), GOOD[kind], document=True) not in (None, "", [])


def test_text_is_trimmed_normalised_and_bounded():
    assert check_field(field(Kind.ID), " P-01 ") == "P-01"
    assert check_field(field(Kind.LINE), "  cafe\u0301 \n") == "caf\u00e9"
    assert check_field(field(Kind.TEXT), "a\r\nb\rc ") == "a\nb\nc "
    assert check_field(field(Kind.SHA256), f" {SUM.upper()}\n") == SUM
    assert check_field(field(Kind.TEXT), "\u4e00" * TEXT_MAX)
    assert refusal(field(Kind.TEXT), "\u4e00" * (TEXT_MAX + 1)).values == {"limit": TEXT_MAX}
    assert refusal(field(Kind.TEXT), "x" * 10_000_000).code == "too_long"
    # U+0958 is two characters once normalised.
    assert refusal(field(Kind.LINE), "\u0958" * 200).code == "too_long"
    assert field(Kind.LINE, limit=3).max_chars == 3
    assert field(Kind.LINE).max_chars == LIMITS[Kind.LINE]


def test_whole_numbers_keep_to_their_bounds():
    spec = field(Kind.WHOLE, low=10, high=20)
    assert [check_field(spec, raw) for raw in ("10", " 20 ", 15)] == [10, 20, 15]
    assert refusal(spec, 9).values == {"low": 10, "high": 20}
    assert refusal(spec, 21).code == "out_of_range"
    assert check_field(field(Kind.WHOLE), "-0") == 0
    assert check_field(field(Kind.WHOLE), 2**53 - 1) == 2**53 - 1


def test_lists_of_numbers_are_sorted_and_take_the_chinese_comma():
    assert check_field(field(Kind.WHOLES), "3，1, 2") == [1, 2, 3]
    assert check_field(field(Kind.WHOLES), [3, "1"]) == [1, 3]
    assert check_field(field(Kind.WHOLES), []) == []


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("12.50", "12.5"),
        ("1.", "1"),
        (".5", "0.5"),
        ("0.000001", "0.000001"),
        ("1.0000000", "1"),
        (12, "12"),
        ("99999999999999", "99999999999999"),
    ],
)
def test_amounts_are_exact(raw, value):
    assert check_field(field(Kind.AMOUNT), raw) == Decimal(value)


def test_zero_has_no_sign():
    assert str(check_field(field(Kind.AMOUNT), "-0")) == "0"


def test_choices_and_flags_take_words():
    assert check_field(field(Kind.CHOICE), " pending ") == "pending"
    assert "pending" in refusal(field(Kind.CHOICE), "nonsense").values["words"]
    assert [check_field(field(Kind.FLAG), raw) for raw in (True, "Yes", "是", "1", "on")] == [True] * 5
    assert [check_field(field(Kind.FLAG), raw) for raw in (False, "no", "否", "0", "OFF")] == [False] * 5


@pytest.mark.parametrize(
    ("raw", "year"),
    [
        ("2030-05-31T18:00Z", 2030),
        ("2030-05-31 18:00+08:00", 2030),
        ("20300531T180000Z", 2030),
        ("1969-12-31T23:30-01:00", 1970),
        ("9999-01-01T00:00+00:01", 9998),
        (datetime(2030, 5, 31, tzinfo=UTC), 2030),
    ],
)
def test_moments_are_kept_in_utc(raw, year):
    moment = check_field(field(Kind.MOMENT), raw)
    assert (moment.tzinfo, moment.year) == (UTC, year)


@pytest.mark.parametrize("raw", ["9998-12-31T23:59:59.999999Z", "1970-01-01T00:00Z"])
def test_a_moment_that_was_taken_is_taken_again(raw):
    moment = check_field(field(Kind.MOMENT), raw)
    assert check_field(field(Kind.MOMENT), moment.isoformat()) == moment


def test_numbers_of_json_that_the_database_would_change_are_refused():
    assert refusal(field(Kind.JSON), {"a": math.inf}).code == "not_finite"
    assert check_field(field(Kind.JSON), {"a": [1.5, -0.25, 2**53 - 1]}, document=True)
    # The six characters \u0000 are text; the character they stand for is not.
    assert check_field(field(Kind.JSON), {"a": "\\u0000"}, document=True) == {"a": "\\u0000"}

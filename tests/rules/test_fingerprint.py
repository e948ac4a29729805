import enum
import hashlib
import json
import struct
from collections import OrderedDict
from decimal import Decimal

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.fingerprint import (
    DEEPEST,
    LARGEST_INTEGER,
    NotCanonical,
    canonical,
    chain_hash,
    digest_bytes,
    fingerprint,
    operation_key,
    short,
)

# RFC 8785, appendix B: the bits of a double, and how it is written.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


@pytest.mark.parametrize(("bits", "written"), NUMBERS)
def test_it_writes_numbers_as_the_rfc_does(bits, written):
    assert canonical(double(bits)) == written.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_it_refuses_nan_and_infinity(bits):
    with pytest.raises(NotCanonical) as caught:
        canonical({"a": [double(bits)]})
    assert (caught.value.problem.code, caught.value.field) == ("not_finite", "/a/0")


def test_it_writes_the_sample_of_the_rfc():
    sample = json.loads(
        r"""{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
             "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
             "literals": [null, true, false]}"""
    )
    assert canonical(sample) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_it_sorts_names_by_utf16_as_the_rfc_does():
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    sorted_names = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(rfc8785.dumps(dict.fromkeys(names, 0)))) == sorted_names
    # U+FB33 has no composed form, so NFC takes it apart before it is sorted.
    assert list(json.loads(canonical(dict.fromkeys(names, 0)))) == [
        "\r",
        "1",
        "\u0080",
        "\u00f6",
        "\u05d3\u05bc",
        "\u20ac",
        "\U0001f600",
    ]


def test_it_takes_every_plain_json_value():
    class Colour(enum.StrEnum):
        RED = "red"

    value = OrderedDict(b=(1, None), a=[True, "x", Colour.RED, {}, []])
    assert canonical(value) == b'{"a":[true,"x","red",{},[]],"b":[1,null]}'


def test_the_same_words_in_two_unicode_forms_have_one_fingerprint():
    assert fingerprint({"caf\u00e9": "\u00c5"}) == fingerprint({"cafe\u0301": "A\u030a"})


def test_compatibility_forms_stay_different():
    assert fingerprint("\uff21") != fingerprint("A")


@pytest.mark.parametrize(
    ("value", "code", "field"),
    [
        ({"a": {"b": LARGEST_INTEGER + 1}}, "number_out_of_range", "/a/b"),
        ([-LARGEST_INTEGER - 1], "number_out_of_range", "/0"),
        (Decimal(1), "wrong_type", ""),
        ([b"bytes"], "wrong_type", "/0"),
        ({"a": {1, 2}}, "wrong_type", "/a"),
        ({"a": {1: 2}}, "wrong_type", "/a/1"),
        ({"\u00e9": 1, "e\u0301": 2}, "duplicate_key", "/e\u0301"),
        (["\ud800"], "bad_unicode", "/0"),
        ({"x": {"\udfff": 1}}, "bad_unicode", "/x/?"),
    ],
)
def test_it_refuses_what_json_cannot_hold_exactly(value, code, field):
    with pytest.raises(NotCanonical) as caught:
        canonical(value)
    problem = caught.value.problem
    assert isinstance(caught.value, ValueError)
    assert (problem.code, problem.field) == (code, field)
    assert problem.sentence % problem.values


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


def test_it_bounds_the_depth():
    assert canonical(nested(DEEPEST)) == b"[" * DEEPEST + b"0" + b"]" * DEEPEST
    with pytest.raises(NotCanonical) as caught:
        canonical(nested(DEEPEST + 1))
    assert caught.value.problem.code == "too_deep"


def test_it_accepts_the_largest_integers():
    assert canonical([LARGEST_INTEGER, -LARGEST_INTEGER]) == b"[9007199254740991,-9007199254740991]"


def test_a_fingerprint_is_the_sha256_of_the_canonical_form():
    assert fingerprint({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert digest_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_same_call_has_one_key_and_another_round_another():
    key = operation_key("museum.label", "publish", 1, "publish_label", {"page": "mirror", "version": 3})
    assert key == operation_key(
        "museum.label", "publish", 1, "publish_label", {"version": 3, "page": "mirror"}
    )
    assert key == fingerprint(
        ["museum.label", "publish", 1, "publish_label", {"page": "mirror", "version": 3}]
    )
    assert key != operation_key(
        "museum.label", "publish", 2, "publish_label", {"page": "mirror", "version": 3}
    )


def test_a_short_form_shows_both_ends():
    assert short("0123456789abcdef" * 4) == "0123 4567 … 89ab cdef"
    assert short("0123456789abcdef") == "0123456789abcdef"


integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
scalars = st.none() | st.booleans() | integers | st.text(st.characters(exclude_categories=["Cs"]))
ascii_names = st.text(st.characters(max_codepoint=127))
bodies = st.dictionaries(
    ascii_names,
    st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(ascii_names, inner), max_leaves=12),
)


@given(bodies)
def test_an_event_is_hashed_over_its_canonical_form(body):
    previous = "0" * 64
    assert (
        chain_hash(previous, body)
        == hashlib.sha256(previous.encode() + b"\n" + rfc8785.dumps(body)).hexdigest()
    )


@given(bodies)
def test_a_canonical_form_is_its_own_canonical_form(body):
    form = canonical(body)
    assert canonical(json.loads(form)) == form


def test_an_event_depends_on_the_one_before():
    assert chain_hash("", {"a": 1}) != chain_hash("0" * 64, {"a": 1})


def test_an_event_takes_no_infinity():
    with pytest.raises(ValueError, match="JSON"):
        chain_hash("", {"a": float("inf")})

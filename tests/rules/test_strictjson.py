import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.strictjson import BadJson, parse

LIMIT = 2**53 - 1


def read(source, max_bytes=1000, max_depth=4, max_items=5):
    return parse(source, max_bytes=max_bytes, max_depth=max_depth, max_items=max_items)


def problem_of(source, **limits):
    with pytest.raises(BadJson) as caught:
        read(source, **limits)
    problem = caught.value.problem
    assert problem.sentence % problem.values
    return problem


@pytest.mark.parametrize("kind", [str, str.encode])
def test_it_reads_plain_json(kind):
    document = '{"a": [1, -2.5, true, false, null, "馆藏 é"], "b": {"c": {}}, "d": []}'
    assert read(kind(document), max_items=6) == json.loads(document)


@pytest.mark.parametrize(
    ("source", "code", "field"),
    [
        ("", "missing", ""),
        (b" \n", "missing", ""),
        (b'{"a": "\xff"}', "bad_unicode", ""),
        (b"\xff\xfe{\x00}\x00", "bad_unicode", ""),
        ('"\ud800"', "bad_unicode", ""),
        (r'{"a": ["\ud800"]}', "bad_unicode", "/a/0"),
        (r'{"a": {"\udc00x": 1}}', "bad_unicode", "/a/?x"),
        (b"\xef\xbb\xbf{}", "byte_order_mark", ""),
        ("\ufeff{}", "byte_order_mark", ""),
        ('{"a": 1, "b": 2, "a": 3}', "duplicate_key", ""),
        ('[{"x": [{"a": 1, "a": 1}]}]', "duplicate_key", "/0/x/0"),
        ('{"a": NaN}', "not_finite", "/a"),
        ("[Infinity]", "not_finite", "/0"),
        ("[-Infinity]", "not_finite", "/0"),
        (f"[{LIMIT + 1}]", "number_out_of_range", "/0"),
        (f"[-{LIMIT + 1}]", "number_out_of_range", "/0"),
        ("9" * 900, "number_out_of_range", ""),
        ("[1e400]", "number_out_of_range", "/0"),
        ("[-1e400]", "number_out_of_range", "/0"),
        ("[1e20]", "number_out_of_range", "/0"),
        ("{} x", "trailing_content", ""),
        ("1 2", "trailing_content", ""),
        ("{'a': 1}", "bad_json", ""),
        ("[1,]", "bad_json", ""),
        ('{"a": 01}', "bad_json", ""),
        ('["\t"]', "bad_json", ""),
        ("// note\n{}", "bad_json", ""),
        ('{"a": "\\u0000"}', "control_character", "/a"),
        ('{"a\\u0000": 1}', "control_character", "/a?"),
        ("[[[[[]]]]]", "too_deep", "/0/0/0/0"),
        ('{"a": [1, 2, 3, 4, 5, 6]}', "too_many_items", "/a"),
        ('{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}', "too_many_items", ""),
    ],
)
def test_it_refuses_and_names_the_place(source, code, field):
    problem = problem_of(source)
    assert (problem.code, problem.field) == (code, field)


def test_it_names_each_limit():
    assert problem_of(b"[" + b" " * 50, max_bytes=50).values == {"limit": 50}
    assert problem_of("[[]]", max_depth=1).values == {"limit": 1}
    assert problem_of("[1, 2]", max_items=1).values == {"limit": 1, "length": 2}
    assert problem_of("[9007199254740992]").values == {"limit": LIMIT}


def test_it_counts_bytes_and_not_characters():
    assert read('"馆藏"', max_bytes=8) == "馆藏"
    assert problem_of('"馆藏"', max_bytes=7).code == "too_large"
    assert problem_of('"馆藏"'.encode(), max_bytes=7).code == "too_large"


def test_it_names_line_and_column():
    assert problem_of('{"a": 1,\n "b": }').values == {"line": 2, "column": 7}
    assert problem_of("{}\n{}").values == {"line": 2, "column": 1}


def test_it_names_the_key_that_stands_twice():
    assert problem_of('{"a": 1, "b": 2, "b": 3, "a": 4}').values == {"key": "b"}


def test_it_never_echoes_a_secret_used_as_a_name():
    secret = "gh" + "p_" + "aB3dE5gH" * 5
    assert secret not in repr(problem_of(f'{{"{secret}": 1, "{secret}": 2}}'))
    assert secret not in repr(problem_of(f'{{"{secret}": NaN}}'))


def test_depth_and_items_at_the_limit_pass():
    assert read("[[[[1]]]]") == [[[[1]]]]
    assert read("[1, 2, 3, 4, 5]") == [1, 2, 3, 4, 5]
    assert read("1", max_depth=0, max_items=0) == 1


def test_a_tower_of_brackets_is_refused_and_not_an_error():
    assert problem_of("[" * 500_000 + "]" * 500_000, max_bytes=10**7).code == "too_deep"


def test_the_largest_numbers_pass():
    assert read(f"[{LIMIT}, -{LIMIT}, 1e-400, -0, {LIMIT}.0]") == [LIMIT, -LIMIT, 0.0, 0, LIMIT]


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(source):
    try:
        value = read(source)
    except BadJson:
        return
    assert value == json.loads(source)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LIMIT, LIMIT)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab馆é", max_size=5), inner),
    max_leaves=10,
)


@given(plain)
def test_what_the_standard_writer_writes_is_read_back(value):
    text = json.dumps(value, ensure_ascii=False)
    assert parse(text, max_bytes=10**6, max_depth=50, max_items=1000) == value

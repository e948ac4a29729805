import pytest

from contracts.rules.parts import PARTS
from contracts.rules.pasted import read_table
from contracts.rules.vocabulary import PASTE_MAX_BYTES, PASTE_MAX_LINES

OBJECT = PARTS["object"]
NAMES = {field.name: field.name for field in OBJECT.given} | {
    "object id": "object_id",
    "对象编号": "object_id",
}
WANTED = ({"object_id": "O-1", "note": "one"}, {"object_id": "O-2", "note": "two"})


def table(text):
    return read_table(text, OBJECT, NAMES)


def codes(text):
    return [(problem.field, problem.code) for problem in table(text).problems]


@pytest.mark.parametrize(
    "text",
    [
        "object_id\tnote\nO-1\tone\nO-2\ttwo\n",
        "object_id\tnote\r\nO-1\tone\r\nO-2\ttwo\r\n",
        "object_id\tnote\rO-1\tone\rO-2\ttwo",
        "object_id,note\nO-1,one\nO-2,two",
        "object_id;note\nO-1;one\nO-2;two",
        "\ufeffobject_id,note\nO-1,one\nO-2,two",
        "OBJECT ID , Note\n O-1 , one \nO-2,two",
        "对象编号\tnote\nO-1\tone\nO-2\ttwo",
        "note,object_id\none,O-1\ntwo,O-2",
        '"object_id","note"\n"O-1","one"\n"O-2","two"',
        "\n\nobject_id,note\n\n , \nO-1,one\n\nO-2,two\n\n",
        "object_id,note,,\nO-1,one,,\nO-2,two,,",
        "object_id\tnote\t\nO-1\tone\t\nO-2\ttwo",
    ],
)
def test_tables_are_read_however_they_were_written(text):
    read = table(text)
    assert read.problems == ()
    assert tuple({name: row[name] for name in ("object_id", "note")} for row in read.rows) == WANTED


def test_without_a_head_the_columns_are_those_of_the_part():
    read = table("O-1\tP-1\nO-2\tP-2")
    assert read.columns == tuple(field.name for field in OBJECT.given)
    assert read.rows == ({"object_id": "O-1", "source": "P-1"}, {"object_id": "O-2", "source": "P-2"})
    assert read.numbers == (1, 2)
    assert table("O-1\nO-2").numbers == (1, 2)


def test_a_line_bears_the_number_at_which_it_begins():
    read = table('object_id,note\n\nO-1,"a\nb, ""c"""\nO-2,two\n\nO-3,"x\ny\nz"\nO-4,')
    assert read.numbers == (3, 5, 7, 10)
    assert read.rows[0]["note"] == 'a\nb, "c"'
    assert read.rows[2]["note"] == "x\ny\nz"


def test_commas_inside_quotes_do_not_choose_the_delimiter():
    assert table('"O-1";"P-1";"a, b, c, d, e"').rows == (
        {"object_id": "O-1", "source": "P-1", "source_version": "a, b, c, d, e"},
    )


def test_what_looks_like_a_formula_stays_text():
    read = table("object_id,note\nO-1,=1+1\nO-2,+3\nO-3,-4\nO-4,@SUM(A1)\nO-5,'=1")
    assert [row["note"] for row in read.rows] == ["=1+1", "+3", "-4", "@SUM(A1)", "'=1"]


def test_a_quotation_mark_within_a_cell_is_a_character():
    assert table('object_id\tnote\nO-1\t5" screw').rows[0]["note"] == '5" screw'


@pytest.mark.parametrize(
    ("text", "line"), [('object_id,note\nO-1,one\nO-2,"two', 3), ('object_id,note\n"O-1"x,one\nO-2,two', 2)]
)
def test_marks_that_do_not_pair_up_are_named_by_their_line(text, line):
    (problem,) = table(text).problems
    assert (problem.code, problem.values) == ("bad_table", {"line": line})
    assert problem.sentence % problem.values


@pytest.mark.parametrize(
    "text", ["", "\n", " \n\t\n", ",,,\n,,", "\ufeff", "object_id,note", "object_id,note\n,\n"]
)
def test_a_table_without_lines_is_refused(text):
    assert codes(text) == [("table", "missing")]


def test_unknown_columns_are_named_and_nothing_is_read():
    read = table("object_id,colour,note,size\nO-1,red,x,2")
    assert (read.rows, [problem.code for problem in read.problems]) == ((), ["unknown_column"])
    assert read.problems[0].values == {"columns": "colour, size"}


@pytest.mark.parametrize(
    ("head", "told"),
    [("object_id,,note", "—"), ("object_id,object id", "object id"), ("object_id,note,state", "state")],
)
def test_a_column_without_a_name_or_twice_or_not_given_by_people_is_unknown(head, told):
    (problem,) = table(f"{head}\nO-1,2,3").problems
    assert (problem.code, problem.values) == ("unknown_column", {"columns": told})


def test_a_credential_in_the_head_is_not_repeated():
    secret = "ghp_" + "a1B2" * 9
    (problem,) = table(f"object_id,{secret}\nO-1,x").problems
    assert secret not in problem.sentence % problem.values


def test_a_line_with_too_many_cells_is_named_and_the_others_stay():
    read = table("object_id,note\nO-1,one,more\nO-2,two,,\nO-3")
    assert [(problem.field, problem.code) for problem in read.problems] == [("2:", "too_many_cells")]
    assert read.numbers == (3, 4)
    assert read.rows[1] == {"object_id": "O-3"}


def test_as_many_lines_fit_as_are_named():
    lines = "\n".join(f"O-{number}" for number in range(PASTE_MAX_LINES))
    assert len(table(lines).rows) == PASTE_MAX_LINES
    assert len(table(f"object_id\n{lines}").rows) == PASTE_MAX_LINES
    for longer in (f"{lines}\nO-x", f"object_id\n{lines}\nO-x", "x\n" * 1_000_000):
        (problem,) = table(longer).problems
        assert (problem.code, problem.values) == ("too_many", {"limit": PASTE_MAX_LINES})


def test_bytes_are_counted_and_not_characters():
    assert codes("x" * (PASTE_MAX_BYTES + 1)) == [("table", "too_large")]
    assert codes("字" * (PASTE_MAX_BYTES // 3 + 1)) == [("table", "too_large")]
    assert codes("object_id\n" + "x" * 200_000) == [("table", "bad_table")]


def test_lone_surrogates_and_nul_do_not_stop_the_reading():
    assert table("object_id,note\nO-1,\ud800\nO-2,\0").numbers == (2, 3)

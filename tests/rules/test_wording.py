import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.wording import (
    SHORTENED_FROM,
    Change,
    LabelText,
    Piece,
    label_text,
    shortened,
    word_changes,
    words_of,
)

TEXTS = st.text(alphabet="ab \n，。渡口船é́-’", max_size=60)


def told(before, after):
    marks = {Piece.SAME: "{}", Piece.GONE: "[-{}]", Piece.NEW: "[+{}]"}
    return "".join(marks[change.piece].format(change.text) for change in word_changes(before, after))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("Unknown, 1913", "Unknown, 1931", "Unknown, [-1913][+1931]"),
        ("the paper’s stamp.", "the paper’s maker’s mark.", "the paper’s [-stamp][+maker’s mark]."),
        ("one box", "one small box", "one [+small ]box"),
        ("one small box", "one box", "one [-small ]box"),
        ("年代约 1913 年", "年代约 1931 年", "年代约 [-1913 ][+1931 ]年"),
        ("清晨的渡口", "清早的渡口", "清[-晨][+早]的渡口"),
        ("one\n\ntwo", "one\n\nthree", "one\n\n[-two][+three]"),
        ("same", "same", "same"),
        ("", "new", "[+new]"),
        ("gone", "", "[-gone]"),
        ("", "", ""),
    ],
)
def test_a_change_is_a_whole_word_where_a_script_has_words(before, after, changes):
    assert told(before, after) == changes


@given(TEXTS, TEXTS)
def test_nothing_of_either_text_is_lost(before, after):
    changes = word_changes(before, after)
    assert "".join(words_of(before)) == before
    assert "".join(change.text for change in changes if change.piece is not Piece.NEW) == before
    assert "".join(change.text for change in changes if change.piece is not Piece.GONE) == after
    assert all(change.text for change in changes)


def test_long_stretches_that_stay_are_left_out_between_changes():
    long = "word " * SHORTENED_FROM
    changes = shortened(word_changes(f"first {long}1913 {long}last", f"First {long}1931 {long}last"))
    pieces = [change.piece for change in changes]
    assert pieces.count(Piece.LEFT_OUT) == 2
    left = sum(int(change.text) for change in changes if change.piece is Piece.LEFT_OUT)
    kept = sum(len(change.text) for change in changes if change.piece in (Piece.SAME, Piece.GONE))
    assert left + kept == len(f"first {long}1913 {long}last")
    assert changes[-1].piece is Piece.LEFT_OUT


def test_short_texts_are_shown_whole():
    changes = word_changes("a b c", "a x c")
    assert shortened(changes) == changes
    assert shortened([Change(Piece.SAME, "w" * SHORTENED_FROM)])[0].piece is Piece.LEFT_OUT


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", LabelText("", "", ())),
        ("One line.", LabelText("", "", ("One line.",))),
        ("Title\nMaker", LabelText("Title", "Maker", ())),
        ("Title\nMaker\n\nBody.\n\nMore\nlines.", LabelText("Title", "Maker", ("Body.", "More\nlines."))),
        ("Title\n\nBody.", LabelText("Title", "", ("Body.",))),
        ("\n\n Title\n \n\nBody.\n", LabelText(" Title", "", ("Body.",))),
    ],
)
def test_a_label_is_laid_out_as_it_hangs_on_the_wall(text, label):
    assert label_text(text) == label


def test_long_texts_with_little_in_common_are_not_aligned_word_by_word():
    lines = [["年代船渡"[(line * place) % 4] * 79 for line in range(300)] for place in (3, 5)]
    before, after = ("\n".join(["题名", *some, "终"]) for some in lines)
    changes = word_changes(before, after)
    assert changes[0].piece is Piece.SAME
    assert "".join(change.text for change in changes if change.piece is not Piece.NEW) == before
    assert "".join(change.text for change in changes if change.piece is not Piece.GONE) == after
    one, other = "年代" * 16_000, "船渡" * 16_000
    assert word_changes(one, other) == [Change(Piece.GONE, one), Change(Piece.NEW, other)]

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.text import (
    PieceKind,
    check_identifier,
    check_line,
    check_location,
    check_sha256,
    check_task_id,
    check_text,
    clean_text,
    visible,
    visible_plain,
)

TAGGED = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore this")


def code(problem):
    if problem is None:
        return None
    assert problem.field == "f"
    assert problem.sentence % problem.values
    return problem.code


# --- ids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["a", "A9", "7", "museum.label:2026-11_a", "a" * 120])
def test_it_accepts_a_task_id(value):
    assert check_task_id("f", value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "missing"),
        ("", "missing"),
        ("  ", "missing"),
        (7, "wrong_type"),
        ("a" * 121, "too_long"),
        (".a", "bad_pattern"),
        ("-a", "bad_pattern"),
        ("a b", "bad_pattern"),
        ("a\n", "bad_pattern"),
        ("a/b", "bad_pattern"),
        ("任务", "bad_pattern"),
        ("a\u0430", "bad_pattern"),
        ("a\u200b", "bad_pattern"),
        ("a\x00", "bad_pattern"),
    ],
)
def test_it_refuses_a_bad_task_id(value, expected):
    assert code(check_task_id("f", value)) == expected


def test_a_refused_task_id_is_shown_with_marks():
    assert check_task_id("f", "a\u202eb").values == {"value": "a⟨U+202E⟩b"}


@pytest.mark.parametrize(
    "value",
    [
        "photo-0042",
        "Box 12 / photo 42",
        "馆藏照片-0042",
        "馆藏photo版本2",
        "カタログno1",
        "사진photo",
        "Москва-photo",
        "Москва和English",
        "Αθήνα",
        "café",
        "10µm",
        "𠮷野",
        "照片🐈",
        "a" * 200,
    ],
)
def test_it_accepts_an_identifier(value):
    assert check_identifier("f", value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "missing"),
        ("", "missing"),
        (["a"], "wrong_type"),
        ("a" * 201, "too_long"),
        (" a", "bad_pattern"),
        ("a ", "bad_pattern"),
        ("馆 ", "bad_pattern"),
        ("a\tb", "control_character"),
        ("a\nb", "control_character"),
        ("a\x00b", "control_character"),
        ("a\x7fb", "control_character"),
        ("a\x85b", "control_character"),
        ("a\u00a0b", "hidden_character"),
        ("a\u3000b", "hidden_character"),
        ("a\u00adb", "hidden_character"),
        ("a\u200bb", "hidden_character"),
        ("a\u200db", "hidden_character"),
        ("a\u202eb", "hidden_character"),
        ("a\u2066b", "hidden_character"),
        ("a\u2028b", "hidden_character"),
        ("a\u2800b", "hidden_character"),
        ("a\u3164b", "hidden_character"),
        ("a\u034fb", "hidden_character"),
        ("a\ufeffb", "hidden_character"),
        ("a\ufe0fb", "hidden_character"),
        ("a\ue000b", "hidden_character"),
        ("a" + TAGGED, "hidden_character"),
        ("a\ud800b", "bad_unicode"),
        ("a\uffffb", "bad_unicode"),
        ("a\U0001fffeb", "bad_unicode"),
        ("a\u0378b", "bad_unicode"),
        ("cafe\u0301", "not_normalised"),
        ("p\u0430ypal", "mixed_scripts"),
        ("馆藏p\u0430ypal", "mixed_scripts"),
        ("TNF\u03b1", "mixed_scripts"),
        ("\u0391\u0410", "mixed_scripts"),
        ("a\u13a0", "mixed_scripts"),
        ("x\u0302\u0430", "mixed_scripts"),
    ],
)
def test_it_refuses_a_bad_identifier(value, expected):
    assert code(check_identifier("f", value)) == expected


def test_a_refusal_says_which_character_and_where():
    assert check_identifier("f", "ab\u202ec").values == {
        "position": 3,
        "mark": "U+202E",
        "name": "right-to-left override",
    }
    assert check_identifier("f", "x p\u0430y").values == {
        "position": 4,
        "mark": "U+0430",
        "name": "cyrillic small letter a",
    }


def test_the_length_of_an_identifier_can_be_tightened():
    assert code(check_identifier("f", "abc", max_chars=2)) == "too_long"


# --- text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["one\ntwo\tthree", "馆藏说明\n第二行", "a\u200bb", "a\u202eb", "👩\u200d🚀", "p\u0430ypal", "x" * 50],
)
def test_it_accepts_a_text(value):
    assert check_text("f", value, 50) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "missing"),
        ("", "missing"),
        (" \n", "missing"),
        (1.5, "wrong_type"),
        ("x" * 51, "too_long"),
        ("a\x00", "control_character"),
        ("a\x1b[31m", "control_character"),
        ("a\rb", "control_character"),
        ("a\x0cb", "control_character"),
        ("a\x85b", "control_character"),
        ("a\ud800", "bad_unicode"),
        ("a\ufdd0", "bad_unicode"),
    ],
)
def test_it_refuses_a_bad_text(value, expected):
    assert code(check_text("f", value, 50)) == expected
    assert code(check_line("f", value, 50)) == expected


def test_a_text_may_be_optional():
    assert check_text("f", "", 50, required=False) is None
    assert check_line("f", None, 50, required=False) is None
    assert code(check_text("f", "x" * 51, 50, required=False)) == "too_long"


@pytest.mark.parametrize("value", ["a\nb", "a\tb", "a\u2028b"])
def test_a_line_is_one_line(value):
    assert code(check_line("f", value, 50)) == "many_lines"
    assert check_line("f", "a b", 50) is None


def test_cleaning_brings_line_ends_and_composition_into_one_form():
    assert clean_text("a\r\nb\rc\n") == "a\nb\nc\n"
    assert clean_text("cafe\u0301") == "caf\u00e9"
    assert clean_text("ＡＢＣ①ﬁ") == "ＡＢＣ①ﬁ"


@given(st.text())
def test_cleaning_twice_changes_nothing(value):
    once = clean_text(value)
    assert clean_text(once) == once
    assert unicodedata.is_normalized("NFC", once)


# --- marks -------------------------------------------------------------------------------------------------------

ORDINARY = [
    "",
    "The label wrongly said 1911; the deed of gift says 1912.",
    "Don’t — “really”? 10 €, 24.1 cm, ½, naïve café, Zoë, Łódź, Åse",
    "海兽葡萄纹铜镜，唐代（618—907年），直径 24.1 厘米。「馆藏」《说明》……",
    "全角　空格和ＡＢＣ，版本v2，俄文Москва和English并列",
    "«\u00a0bonjour\u00a0» 10\u202f000",
    "kΩ, μm, hν, TNFα, ΔG, π/2, χ², β-carotene, NFκB",
    "Москва and Αθήνα beside English words",
    "日本語のカタログ、한국어 설명",
    "❤️ 👍🏽 👩‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ 🇨🇳 1️⃣ ☎︎ ©️ 🧑🏽‍🤝‍🧑🏻",
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct") + "\U000e007f",
    "葛\U000e0100城市、辻\U000e0101",
    "line one\nline two\tafter a tab",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_lines_are_one_plain_piece(text):
    assert [piece.kind for piece in visible(text)] == [PieceKind.PLAIN] * bool(text)
    assert visible_plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("\u202eabc\u202c", "⟨U+202E⟩abc⟨U+202C⟩"),
        ("\u2066\u2069", "⟨U+2066⟩⟨U+2069⟩"),
        ("co\u00adop", "co⟨U+00AD⟩op"),
        ("馆\u200b藏", "馆⟨U+200B⟩藏"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("馆\u200d藏", "馆⟨U+200D⟩藏"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("👍\u200d", "👍⟨U+200D⟩"),
        ("葛\U000e0100\U000e0101", "葛\U000e0100⟨U+E0101⟩"),
        ("x\U000e0041", "x⟨U+E0041⟩"),
        ("\U0001f3f4\U000e0067", "\U0001f3f4⟨U+E0067⟩"),
        ("\ufefftext", "⟨U+FEFF⟩text"),
        ("a\x07b", "a⟨U+0007⟩b"),
        ("a\ud800b", "a⟨U+D800⟩b"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("a\ufffeb", "a⟨U+FFFE⟩b"),
        ("p\u0430ypal", "p\u0430⟨U+0430⟩ypal"),
        ("p\u200b\u0430", "p⟨U+200B⟩\u0430⟨U+0430⟩"),
        ("C\u039fVID", "C\u039f⟨U+039F⟩VID"),
        ("p\u03b1ypal", "p\u03b1⟨U+03B1⟩ypal"),
        ("\u03c1aypal", "\u03c1aypal"),
        ("a\u0561b", "a\u0561⟨U+0561⟩b"),
    ],
)
def test_suspicious_characters_become_marks(text, shown):
    assert visible_plain(text) == shown


def test_a_mark_carries_the_unicode_name():
    pieces = visible("a\u200bp\u0430y\x07")
    assert [(piece.kind.value, piece.text, piece.mark, piece.name) for piece in pieces] == [
        ("plain", "a", "", ""),
        ("hidden", "\u200b", "U+200B", "zero width space"),
        ("plain", "p", "", ""),
        ("lookalike", "\u0430", "U+0430", "cyrillic small letter a"),
        ("plain", "y", "", ""),
        ("hidden", "\x07", "U+0007", "control character"),
    ]


@given(st.text(st.characters()))
def test_the_pieces_together_are_the_text(text):
    assert "".join(piece.text for piece in visible(text)) == text


@given(st.text(st.characters(exclude_categories=[])))
def test_what_is_shown_can_always_be_written(text):
    visible_plain(text).encode()


# --- places and checksums ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "s3://archive-originals/box-12/photo-0042.tif",
        "/srv/archive/box-12/照片-0042.tif",
        "C:\\archive\\photo.tif",
        "https://cms.example:8443/pages/7?view=2#top",
        "ssh://git@forge.example/museum.git",
        "cms:pages/bronze-mirror",
        "https://intra.example:8080/@board",
        "archive/" + "x" * 1992,
    ],
)
def test_it_accepts_a_location(value):
    assert check_location("f", value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "missing"),
        ("", "missing"),
        (3, "wrong_type"),
        ("x" * 2001, "too_long"),
        ("a b", "bad_location"),
        ("a\nb", "bad_location"),
        ("data:text/plain,hello", "bad_location"),
        ("DATA:image/png;base64,AAAA", "bad_location"),
        ("image/png;base64,AAAA", "bad_location"),
        ("javascript:alert(1)", "bad_location"),
        ('{"inline":true}', "bad_location"),
        ("<p>inline</p>", "bad_location"),
        ("https" + "://clerk:" + "sesame@cms.example/", "credential"),
        ("//clerk:" + "sesame@cms.example/", "credential"),
        ("s3://a\u200bb", "hidden_character"),
        ("s3://a\x00b", "control_character"),
        ("s3://a\ud800b", "bad_unicode"),
    ],
)
def test_it_refuses_a_bad_location(value, expected):
    assert code(check_location("f", value)) == expected


def test_a_refused_location_is_never_echoed():
    assert "sesame" not in repr(check_location("f", "https" + "://clerk:" + "sesame@cms.example/"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0" * 64, None),
        ("0123456789abcdef" * 4, None),
        (None, "missing"),
        ("", "missing"),
        (0, "wrong_type"),
        ("0" * 63, "bad_checksum"),
        ("0" * 65, "bad_checksum"),
        ("A" * 64, "bad_checksum"),
        ("g" * 64, "bad_checksum"),
        ("0" * 64 + "\n", "bad_checksum"),
        ("\u0660" * 64, "bad_checksum"),
    ],
)
def test_it_checks_a_sha256(value, expected):
    assert code(check_sha256("f", value)) == expected


def test_places_and_checksums_may_be_optional():
    assert check_location("f", "", required=False) is None
    assert check_sha256("f", None, required=False) is None
    assert code(check_location("f", "a b", required=False)) == "bad_location"
    assert code(check_sha256("f", "x", required=False)) == "bad_checksum"


def test_an_id_with_an_address_of_its_own_is_refused():
    assert check_task_id("task_id", "new").code == "reserved"
    assert check_task_id("task_id", "new-label") is None

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from contracts.forms.pasting import PasteForm, column_names
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import PASTE_MAX_BYTES

PASTEABLE = [part for part in PARTS.values() if part.pasteable]


def form(text="", content=None, **more):
    files = {} if content is None else {"file": SimpleUploadedFile("table.csv", content)}
    return PasteForm({"table": text, **more}, files)


@pytest.mark.parametrize("part", PASTEABLE, ids=lambda part: part.name)
def test_every_given_field_is_a_column_and_no_other(part):
    names = column_names(part)
    assert set(names.values()) == {field.name for field in part.given}
    assert all(name == name.lower() for name in names)


@pytest.mark.parametrize("part", PASTEABLE, ids=lambda part: part.name)
def test_a_column_name_leads_to_one_field_in_both_languages(part):
    from django.utils.translation import gettext, override

    names = column_names(part)
    for language in ("en", "zh-hans"):
        with override(language):
            assert all(names[gettext(field.label).lower()] == field.name for field in part.given)


def test_a_file_goes_before_the_text():
    one = form("typed", b"\xef\xbb\xbfuploaded")
    assert one.is_valid()
    assert one.cleaned_data["table"] == "uploaded"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"x" * (PASTE_MAX_BYTES + 1), b""])
def test_a_file_that_is_no_text_of_fitting_size_is_refused_at_its_field(content):
    assert list(form("", content).errors) == ["file"]


def test_only_the_text_that_was_shown_counts_as_shown():
    shown = form("a\nb")
    assert shown.is_valid()
    for text, seen in (("a\nb", True), ("a\r\nb", True), ("a\nb ", False), ("a\nB", False)):
        again = form(text, seen=shown.fingerprint())
        assert again.is_valid()
        assert again.was_shown() is seen
    unseen = form("a")
    assert unseen.is_valid()
    assert not unseen.was_shown()

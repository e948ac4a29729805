import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from contracts.forms import making
from contracts.forms.making import BlankForm, ImportForm
from contracts.models import Team
from contracts.rules.refusals import refusal

TEAMS = [Team(slug="labels", name="Labels")]


def imported(text="", file=None):
    files = {"file": SimpleUploadedFile("a.json", file)} if file is not None else {}
    return ImportForm({"team": "labels", "text": text}, files, teams=TEAMS)


def test_a_file_goes_before_pasted_text():
    form = imported("{}", b"[1]")
    assert form.is_valid()
    assert form.cleaned_data["content"] == b"[1]"


def test_text_is_taken_where_there_is_no_file():
    form = imported('{"a": 1}')
    assert form.is_valid()
    assert form.cleaned_data["content"] == b'{"a": 1}'


def test_an_empty_file_is_an_error_at_the_file():
    assert list(imported(file=b"").errors) == ["file"]


def test_neither_is_an_error_at_the_file():
    assert list(imported(" \n").errors) == ["file"]


@pytest.mark.parametrize(("name", "field"), [("PASTE_MAX_BYTES", "text"), ("IMPORT_MAX_BYTES", "file")])
def test_what_is_too_large_is_refused(monkeypatch, name, field):
    monkeypatch.setattr(making, name, 3)
    given = {"text": "{    }"} if field == "text" else {"file": b"{    }"}
    assert list(imported(**given).errors) == [field]


def test_a_refusal_stands_at_its_field():
    form = BlankForm({"team": "labels", "task_id": "a", "title": "A"}, teams=TEAMS)
    assert form.is_valid()
    form.add_refusal(refusal("task_id_taken"))
    form.add_refusal(refusal("not_a_member"))
    form.add_refusal(refusal("bad_values"))
    assert sorted(form.errors) == ["__all__", "task_id", "team"]

import pytest
from babel.messages.pofile import PoFileError
from django.core.management import call_command

from workbench.catalogues import CHINESE, Differences, compare, read_catalogue, update
from workbench.extraction import Sentence, sentences_of
from workbench.management.commands import catalogue

ROW = Sentence("%(n)d row", "%(n)d rows")
DATE = Sentence("j F Y", context="date format")


@pytest.fixture
def source(tmp_path):
    return tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"


def translate(source, english, chinese):
    words = source.read_text("utf-8")
    empty = f'msgid "{english}"\nmsgstr ""\n'
    assert empty in words
    source.write_text(words.replace(empty, f'msgid "{english}"\nmsgstr "{chinese}"\n'), "utf-8")


def test_an_absent_catalogue_lacks_everything(source):
    assert compare(source, [ROW, DATE]).missing == (ROW, DATE)


def test_new_sentences_are_added_empty_and_still_missing(source):
    update(source, [ROW, DATE])
    assert 'msgid_plural "%(n)d rows"\nmsgstr[0] ""' in source.read_text("utf-8")
    assert compare(source, [ROW, DATE]) == Differences(missing=(ROW, DATE), fuzzy=(), dead=())


def test_translations_stay_and_dead_ones_leave(source):
    update(source, [Sentence("Keep"), Sentence("Remove")])
    translate(source, "Keep", "保留")
    assert compare(source, [Sentence("Keep")]).dead == (Sentence("Remove"),)
    update(source, [Sentence("Add"), Sentence("Keep")])
    assert compare(source, [Sentence("Add"), Sentence("Keep")]).missing == (Sentence("Add"),)
    assert read_catalogue(source).get("Keep").string == "保留"
    assert "Remove" not in source.read_text("utf-8")


def test_updating_twice_changes_nothing_and_no_order_matters(source):
    update(source, [ROW, DATE, Sentence("Keep")])
    first = source.read_bytes()
    update(source, [Sentence("Keep"), DATE, ROW])
    assert source.read_bytes() == first
    assert b"\r" not in first


def test_a_guess_is_fuzzy_until_somebody_has_looked(source):
    update(source, [Sentence("Keep")])
    translate(source, "Keep", "保留")
    source.write_text(source.read_text("utf-8").replace('msgid "Keep"', '#, fuzzy\nmsgid "Keep"'), "utf-8")
    assert compare(source, [Sentence("Keep")]).fuzzy == (Sentence("Keep"),)
    update(source, [Sentence("Keep")])
    assert compare(source, [Sentence("Keep")]).fuzzy == (Sentence("Keep"),)


def test_a_broken_catalogue_is_refused_not_emptied(source):
    source.parent.mkdir(parents=True)
    source.write_text('msgid "x\n', "utf-8")
    with pytest.raises(PoFileError):
        update(source, [ROW])
    assert source.read_text("utf-8") == 'msgid "x\n'


def test_the_command_is_content_with_the_catalogue(capsys):
    call_command("catalogue")
    assert capsys.readouterr().out == f"All {len(sentences_of())} sentences are translated.\n"


def test_the_command_names_what_is_wrong_and_fails(capsys, monkeypatch, source):
    update(source, [Sentence("Never said")])
    monkeypatch.setattr(catalogue, "CHINESE", source)
    monkeypatch.setattr(catalogue, "sentences_of", lambda: {DATE: CHINESE})
    with pytest.raises(SystemExit, match="1"):
        call_command("catalogue")
    said = capsys.readouterr().out
    assert "missing: j F Y (contracts/locale/" in said
    assert "dead: Never said\n" in said


def test_the_command_brings_the_catalogue_up_to_date(capsys, monkeypatch, source):
    update(source, [Sentence("Never said")])
    monkeypatch.setattr(catalogue, "CHINESE", source)
    monkeypatch.setattr(catalogue, "sentences_of", lambda: {DATE: CHINESE})
    with pytest.raises(SystemExit, match="1"):
        call_command("catalogue", update=True)
    assert "dead" not in capsys.readouterr().out

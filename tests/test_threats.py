"""The document of threats names tests that exist, the same ones in both languages."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("contracts/THREATS.md", "contracts/THREATS.zh-hans.md")
NAMED = re.compile(r"`([^`\s]+\.py)::([^`\s]+)`")


def lines_of(document):
    return (ROOT / document).read_text("utf-8").splitlines()


def named_in(line):
    """Return the tests that a line names: (path, name) each."""
    return NAMED.findall(line)


def threats_in(lines):
    """Return the rows of the tables, without what stands above their rules."""
    rows = [line for line in lines if line.startswith("| ")]
    above = {lines[number - 1] for number, line in enumerate(lines) if line.startswith("| ---")}
    return [row for row in rows if row not in above and not row.startswith("| ---")]


def missing(named):
    """Return the names under which no test would be collected."""
    return [f"{path}::{name}" for path, name in named if name not in collected_in(ROOT / path)]


def collected_in(path):
    if not path.name.startswith("test_") or not path.is_file():
        return set()
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in tree.body if isinstance(one, kinds) and one.name.startswith("test_")}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_test_it_names_exists(document):
    named = [one for line in lines_of(document) for one in named_in(line)]
    assert len(named) > 50
    assert missing(named) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_threat_names_a_test_that_shows_what_stops_it(document):
    threats = threats_in(lines_of(document))
    assert len(threats) > 25
    assert [line for line in threats if not named_in(line.split(" | ")[-1])] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_whatever_looks_like_the_name_of_a_test_is_read_as_one(document):
    """A name with a slip in its marks would be looked for nowhere."""
    for line in lines_of(document):
        assert len(named_in(line)) == line.count("::") == line.count("tests/"), line


def test_both_languages_name_the_same_tests_line_by_line():
    english, chinese = (lines_of(document) for document in DOCUMENTS)
    assert len(english) == len(chinese)
    assert [named_in(line) for line in english] == [named_in(line) for line in chinese]
    assert len(threats_in(english)) == len(threats_in(chinese))


def test_the_readme_leads_to_both():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [document for document in DOCUMENTS if f"]({document})" not in readme] == []


@pytest.mark.parametrize(
    "made_up",
    [
        "tests/test_threats.py::test_nobody_ever_wrote",
        "tests/test_nowhere.py::test_both_languages_name_the_same_tests_line_by_line",
        "tests/test_threats.py::lines_of",
        "tests/builders.py::test_a_draft",
        "contracts/rules/words.py::N_",
    ],
)
def test_control_a_made_up_name_is_missing(made_up):
    line = f"| It does it twice. | Nothing. | `{made_up}` |"
    assert missing(named_in(line)) == [made_up]


def test_control_a_threat_without_a_test_is_seen():
    lines = ["| Threat | What stops it | Shown by |", "| --- | --- | --- |", "| One | Hope | – |"]
    assert threats_in(lines) == ["| One | Hope | – |"]
    assert not named_in(threats_in(lines)[0])

"""The README says the same in both languages: what can be compared without reading is compared."""

import posixpath
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGLISH, CHINESE = "README.md", "workbench/README.zh-hans.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) .*$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)]+)\)")
# A western mark beside a Han character.
WESTERN = re.compile(r"[\u3400-\u9fff][,;:!?()]|[,;:!?(][\u3400-\u9fff]|[\u3400-\u9fff]\.(?:\s|$)")


def read(document):
    return (ROOT / document).read_text("utf-8")


def blocks_in(text):
    """Return the fenced blocks: (language, lines), of code without comment lines, of a drawing the names alone."""
    return [(kind, _code(lines) if kind else _names(lines)) for kind, lines in BLOCK.findall(text)]


def _code(lines):
    return [line for line in lines.splitlines() if not line.lstrip().startswith("#")]


def _names(lines):
    return [re.findall(r"^ *[\w./]+|(?<=  )[\w.]+/(?:\w+/)*", line, re.ASCII) for line in lines.splitlines()]


def prose_of(text):
    return BLOCK.sub("", text)


def levels_of(text):
    return [len(marks) for marks in HEADING.findall(prose_of(text))]


def shapes_of(text):
    """Return for each section what stands in it as code, how often, and its rows, columns and points."""
    return [
        (Counter(re.findall(r"`([^`]+)`", section)), *_sizes(section.splitlines()))
        for section in re.split(r"^#+ .*$", prose_of(text), flags=re.MULTILINE)
    ]


def _sizes(lines):
    rows = [line.count(" | ") for line in lines if line.startswith("|")]
    return rows, sum(line.startswith("- ") for line in lines)


def first_cells(text):
    """Return the variables, options and lines that the tables explain, in their order."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def targets_in(document):
    """Return where the links of a document lead, seen from the root, without those to the other README."""
    folder = posixpath.dirname(document)
    found = {posixpath.normpath(posixpath.join(folder, link)) for link in LINK.findall(read(document))}
    return found - {ENGLISH, CHINESE}


def test_both_show_the_same_code():
    assert len(blocks_in(read(ENGLISH))) > 7
    assert blocks_in(read(CHINESE)) == blocks_in(read(ENGLISH))


def test_both_have_the_same_headings():
    assert len(levels_of(read(ENGLISH))) > 15
    assert levels_of(read(CHINESE)) == levels_of(read(ENGLISH))


def test_both_explain_the_same_variables():
    assert "WORKBENCH_DATA" in first_cells(read(ENGLISH))
    assert first_cells(read(CHINESE)) == first_cells(read(ENGLISH))


def test_each_section_names_the_same_commands_files_and_values():
    for english, chinese in zip(shapes_of(read(ENGLISH)), shapes_of(read(CHINESE)), strict=True):
        assert chinese == english


def test_both_lead_to_the_same_documents_and_to_each_other():
    assert targets_in(CHINESE) == targets_in(ENGLISH)
    assert [target for target in targets_in(ENGLISH) if not (ROOT / target).is_file()] == []
    assert read(ENGLISH).splitlines()[2] == f"[中文]({CHINESE})"
    assert read(CHINESE).splitlines()[2] == f"[English](../{ENGLISH})"


@pytest.mark.parametrize(
    "document", sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("*/*.zh-hans.md"))
)
def test_chinese_is_polite_and_has_chinese_punctuation(document):
    words = re.sub(r"`[^`]*`", "", prose_of(read(document)))
    assert WESTERN.findall(words) == []
    assert "你" not in words


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("manage.py up\n```", "manage.py down\n```"),
        ("    gates/ ", "    doors/ "),
        ("--port 8001", "--port 8002"),
        ("| `WORKBENCH_POOL` | ", "| `WORKBENCH_PUDDLE` | "),
        ("\n## ", "\n### "),
        ("\n- **", "\n**"),
    ],
)
def test_control_a_change_of_one_alone_is_seen(before, after):
    text = read(CHINESE)
    changed = text.replace(before, after, 1)
    assert changed != text
    compared = (blocks_in, levels_of, first_cells, shapes_of)
    assert [told(changed) for told in compared] != [told(read(ENGLISH)) for told in compared]

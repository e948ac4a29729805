"""A table pasted from a spreadsheet or read from CSV: from text to raw rows, with their line numbers."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.rules.parts import Part
from contracts.rules.rows import safe_name
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import PASTE_MAX_BYTES, PASTE_MAX_LINES
from contracts.rules.words import N_

QUOTED = re.compile('"[^"]*"')
FIRST_LINE_MAX = 20_000  # characters in which the delimiter is looked for


@dataclass(frozen=True, slots=True)
class Table:
    """What was read: the columns in their order, the raw rows, and the line each row began on (from 1)."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]
    numbers: tuple[int, ...]
    problems: tuple[Problem, ...]


def read_table(text: str, part: Part, names: Mapping[str, str]) -> Table:
    """Read `text` as rows of `part`.

    Columns are parted by tabs if the first line has one, else by semicolons or commas, quoted as in CSV
    (RFC 4180). A first line that only holds column names is the head; `names` maps each known name, in
    lower case and in any language, to its field. Without a head the columns are the part's own, in order.
    """
    if len(text.encode("utf-8", "surrogatepass")) > PASTE_MAX_BYTES:
        return _refused("too_large", N_("At most %(limit)d bytes fit here."), limit=PASTE_MAX_BYTES)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        lines = _lines(text)
    except _Unreadable as error:
        sentence = N_("The quotation marks do not pair up in the line that begins at %(line)d.")
        return _refused("bad_table", sentence, line=error.line)
    if not lines:
        return _refused("missing", N_("This must be filled in."))
    columns, lines, unknown = _columns(lines, part, names)
    if unknown:
        return Table((), (), (), (_unknown_columns(unknown),))
    if len(lines) > PASTE_MAX_LINES:
        return _refused("too_many", N_("At most %(limit)d lines fit here."), limit=PASTE_MAX_LINES)
    if not lines:
        return _refused("missing", N_("Below the column names there is no line yet."))
    return _rows(columns, lines)


class _Unreadable(Exception):
    """A line that is no line of a table; carries the number it begins at."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _refused(code: str, sentence: str, **values: int) -> Table:
    return Table((), (), (), (Problem("table", code, sentence, values),))


def _unknown_columns(unknown: list[str]) -> Problem:
    sentence = N_("These columns are not known here: %(columns)s.")
    return Problem("table", "unknown_column", sentence, {"columns": ", ".join(map(safe_name, unknown))[:400]})


def _lines(text: str) -> list[tuple[int, list[str]]]:
    """Return the lines that hold anything, each with the number of its first line in the text.

    Of a table that is too long only as much is read as shows that it is.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    lines, began = [], 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append((began, [cell.strip() for cell in cells]))
            began = reader.line_num + 1
            if len(lines) > PASTE_MAX_LINES + 1:
                break
    except csv.Error:
        raise _Unreadable(began) from None
    return lines


def _delimiter(text: str) -> str:
    first = QUOTED.sub("", text.lstrip("\n")[:FIRST_LINE_MAX]).partition("\n")[0]
    return "\t" if "\t" in first else ";" if first.count(";") > first.count(",") else ","


def _columns(
    lines: list[tuple[int, list[str]]], part: Part, names: Mapping[str, str]
) -> tuple[tuple[str, ...], list[tuple[int, list[str]]], list[str]]:
    first = lines[0][1]
    while not first[-1]:  # spreadsheets save empty columns at the end
        first = first[:-1]
    head = [cell.lower() for cell in first]
    known = [names.get(cell, "") for cell in head]
    if not any(known) or (len(known) > 1 and sum(bool(name) for name in known) * 2 < len(known)):
        return tuple(field.name for field in part.given), lines, []
    unknown = [first[i] or "—" for i, name in enumerate(known) if not name or known.index(name) != i]
    return tuple(known), lines[1:], unknown


def _rows(columns: tuple[str, ...], lines: list[tuple[int, list[str]]]) -> Table:
    rows, numbers, problems = [], [], []
    for number, cells in lines:
        if len(cells) > len(columns) and any(cells[len(columns) :]):
            sentence = N_("This line has more cells than there are columns.")
            problems.append(Problem(f"{number}:", "too_many_cells", sentence))
            continue
        rows.append(dict(zip(columns, cells, strict=False)))
        numbers.append(number)
    return Table(columns, tuple(rows), tuple(numbers), tuple(problems))

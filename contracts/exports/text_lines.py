"""Lines of the TXT form in which no text of a person can look like a line of ours.

Ours are the headings in the first column and the labels; what people wrote stands behind its label on the same
line, or in lines of its own behind "|" (where a line of theirs begins) and ":" (where a long one goes on).
Columns are counted as a terminal shows them: a Han character takes two.
"""

import re
import unicodedata
from collections.abc import Iterator

from contracts.rules.text import visible_plain

DEEP = 2  # columns that every line but a heading is indented
WIDTH = 100  # columns; what is longer would be wrapped by the reader's window, into the first column
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001faff\U00020000-\U0003fffd"
)
_CLOSING = "[，。、；：！？）》」』】〕”’…]*"
# Han characters may part anywhere, but no line begins with a closing mark; other words stay whole.
_PIECES = re.compile(rf"\s+|[{_WIDE}]{_CLOSING}|[^\s{_WIDE}]+{_CLOSING}")

_ORDINARY = re.compile("[ -~\u00b7\u2014\u2018-\u201d\u2026\u3001-\u3029\u3400-\u9fff\uff01-\uff5e]*")


def columns(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fits(text: str, room: int) -> bool:
    """Tell quickly whether `text` of a person may stand as it is on one line of `room` columns.

    True only for ordinary English and Chinese; everything else is looked at more closely by `labelled`.
    """
    if text.isascii():
        return len(text) <= room and text.isprintable()
    return 2 * len(text) <= room and _ORDINARY.fullmatch(text) is not None


def labelled(start: str, text: str) -> Iterator[str]:
    """Yield `text` of a person behind `start`, which ends with its label; hidden characters as marks.

    It stays on the label's line where it fits, else it follows in lines of its own.
    """
    text = visible_plain(text)
    if "\n" not in text and columns(text) + columns(start) <= WIDTH:
        yield start + text
        return
    yield start.rstrip()
    indent = len(start) - len(start.lstrip(" "))
    yield from _quoted(" " * max(indent, DEEP) + "  ", text)


def _quoted(indent: str, text: str) -> Iterator[str]:
    for line in text.split("\n"):
        mark = "|"
        for piece in _wrapped(line, WIDTH - len(indent) - 2):
            yield f"{indent}{mark} {piece}".rstrip()
            mark = ":"


def _wrapped(line: str, room: int) -> Iterator[str]:
    if columns(line) <= room:
        yield line
        return
    waiting, length = "", 0
    for piece in _PIECES.findall(line):
        width = columns(piece)
        if waiting and length + width > room and not piece.isspace():
            yield waiting
            waiting, length = "", 0
        waiting += piece
        length += width
    yield waiting

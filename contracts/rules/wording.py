"""What changed between two versions of a short text, word by word, and how a label is laid out.

A word is a run of letters or digits; where a script writes no spaces (Han, kana), each character is a word.
The alignment is rapidfuzz's: the fewest words gone and new, in time that stays bounded for any text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz.distance import Indel

# Spaces belong to the word before them, so that a changed word is one change and not three; lines stay lines.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_BLANKS = r"[^\S\n]*"
_WORD = re.compile(rf"\n+|{_UNSPACED}{_BLANKS}|(?:(?!{_UNSPACED})\w)+{_BLANKS}|[^\w\n]{_BLANKS}")
_LINES = re.compile(r"[^\n]*\n+|[^\n]+")
SHOWN_AROUND = 160  # characters of unchanged text left on each side of a change
SHORTENED_FROM = 3 * SHOWN_AROUND
ALIGNED = 256_000_000  # pairs of words; the alignment takes a bit of memory for each, and a second for all


class Piece(StrEnum):
    """What became of a stretch of words."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of text with what became of it; for `LEFT_OUT` the text is the number of characters."""

    piece: Piece
    text: str


def words_of(text: str) -> list[str]:
    """Return the words of `text`, each with the spaces behind it; joined they are the text again."""
    return _WORD.findall(text)


def word_changes(before: str, after: str) -> list[Change]:
    """Return how `before` becomes `after`, in reading order; what is gone stands before what is new.

    Where that is too much work line is aligned with line; if that is too, the one is gone and the other new.
    """
    ways = ((cut(before), cut(after)) for cut in (words_of, _LINES.findall))
    old, new = next((way for way in ways if _between(*way) <= ALIGNED), ([before], [after]))
    changes: list[Change] = []
    for step in Indel.opcodes(old, new):
        gone = "".join(old[step.src_start : step.src_end])
        come = "".join(new[step.dest_start : step.dest_end])
        if step.tag == "equal":
            changes.append(Change(Piece.SAME, gone))
        else:
            changes += [Change(kind, text) for kind, text in ((Piece.GONE, gone), (Piece.NEW, come)) if text]
    return list(_joined(changes))


def _between(old: list[str], new: list[str]) -> int:
    """Return how many pairs of words stand between what both texts begin and end with."""
    shorter = min(len(old), len(new))
    begin = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - begin
    end = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return (len(old) - begin - end) * (len(new) - begin - end)


def _joined(changes: list[Change]) -> Iterator[Change]:
    """Join what stands between two kept stretches: first all that is gone, then all that is new."""
    gone = come = ""
    for change in [*changes, Change(Piece.SAME, "")]:
        if change.piece is Piece.GONE:
            gone += change.text
        elif change.piece is Piece.NEW:
            come += change.text
        else:
            yield from (Change(p, t) for p, t in ((Piece.GONE, gone), (Piece.NEW, come)) if t)
            gone = come = ""
            if change.text:
                yield change


def shortened(changes: list[Change]) -> list[Change]:
    """Return the changes with long unchanged stretches left out; the first and last keep one side."""
    short: list[Change] = []
    for place, change in enumerate(changes):
        if change.piece is not Piece.SAME or len(change.text) < SHORTENED_FROM:
            short.append(change)
            continue
        head = change.text[:SHOWN_AROUND] if place else ""
        tail = change.text[-SHOWN_AROUND:] if place < len(changes) - 1 else ""
        left = len(change.text) - len(head) - len(tail)
        pieces = (Change(Piece.SAME, head), Change(Piece.LEFT_OUT, str(left)), Change(Piece.SAME, tail))
        short += [piece for piece in pieces if piece.text]
    return short


@dataclass(frozen=True, slots=True)
class LabelText:
    """A short text as it hangs on the wall: a title, the line under it, and paragraphs."""

    title: str
    maker: str
    paragraphs: tuple[str, ...]


def label_text(text: str) -> LabelText:
    """Lay out a label: the first block's first line is the title, its others the line under it.

    A text of one block without a second line is one paragraph without a title.
    """
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]
    if not blocks:
        return LabelText("", "", ())
    first, *others = blocks
    title, _, maker = first.partition("\n")
    if not others and not maker:
        return LabelText("", "", (first,))
    return LabelText(title, maker, tuple(others))

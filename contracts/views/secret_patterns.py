"""The shapes of credentials as a browser can look for them, so that none is ever kept on a device."""

import re
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.utils.html import json_script
from django.utils.safestring import SafeString

from contracts.rules.credentials import OWN_RULES, library_patterns

# One piece of a pattern: a class, an escape, the opening of a group, or a single character.
PIECES = re.compile(r"\[(?:\\.|[^\]\\])+\]|\\.|\(\?i:|\(\?<?[:=!]|.", re.DOTALL)
# What Python means by its classes of characters; JavaScript's own know ASCII alone.
WORD = r"\p{L}\p{N}_"
SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
CLASSES = {r"\w": WORD, r"\d": r"\p{Nd}", r"\s": SPACE}
BOUNDARY = f"(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))"
EDGES = {"^": r"(?<![^\n])", "$": r"(?![^\n])"}  # of a line: for JavaScript a line ends at more signs
NEEDLESS = re.compile(r"\\([^\w^$\\.*+?()\[\]{}|/-])")  # an escape that a pattern of code points may not hold


@cache
def patterns() -> list[dict[str, Any]]:
    """Return every shape as `source` and `flags` of a JavaScript RegExp, in the order in which they are tried.

    A shape with `hints` is only tried where the lower-cased text holds one of them, as in
    `contracts.rules.credentials`; without them it is always tried.
    """
    own = [_in_javascript(rule.pattern) | {"hints": list(rule.hints)} for rule in OWN_RULES]
    return own + [_in_javascript(pattern) for _, pattern in library_patterns()]


def secret_patterns(_request: HttpRequest) -> dict[str, Any]:
    """Return `secret_patterns`: a call, so that only a page whose script keeps what is typed holds them."""
    return {"secret_patterns": _as_script}


@cache
def _as_script() -> SafeString:
    return json_script(patterns(), "secret-patterns")


def _in_javascript(pattern: re.Pattern[str]) -> dict[str, Any]:
    letters = "i" if pattern.flags & re.IGNORECASE else ""
    return {"source": translated(pattern.pattern), "flags": letters + "u"}


def translated(source: str) -> str:
    """Return a Python pattern as a JavaScript one with the flag `u`.

    It knows what the rules use: groups, looking around, classes, edges of lines, and `(?i:…)` around plain letters
    and `[a-z]`, which is written out because browsers learned it late.
    """
    written: list[str] = []
    groups: list[bool] = []  # whether each open group takes letters of both cases
    for piece in PIECES.findall(source):
        both = bool(groups) and groups[-1]
        if piece.startswith("("):
            groups.append(both or piece == "(?i:")
            written.append("(?:" if piece == "(?i:" else piece)
        elif piece == ")":
            groups.pop()
            written.append(piece)
        else:
            written.append(_class(piece, both) if piece.startswith("[") else _single(piece, both))
    return "".join(written)


def _single(piece: str, both: bool) -> str:
    if piece == r"\b":
        return BOUNDARY
    if piece.lower() in CLASSES:
        return f"[{'^' if piece[1].isupper() else ''}{CLASSES[piece.lower()]}]"
    if both and piece.isascii() and piece.isalpha():
        return f"[{piece.lower()}{piece.upper()}]"
    return "-" if piece == r"\-" else EDGES.get(piece) or NEEDLESS.sub(r"\1", piece)


def _class(piece: str, both: bool) -> str:
    for python, javascript in CLASSES.items():
        piece = piece.replace(python, javascript)
    return NEEDLESS.sub(r"\1", piece.replace("a-z", "a-zA-Z") if both else piece)

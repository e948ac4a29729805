"""Text from outside: what an id may hold, what a text may hold, and how hidden characters are made visible.

Ideas: Unicode UAX #15 (NFC), UTS #39 (mixed scripts), UTS #51 (emoji sequences).
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from contracts.rules.credentials import Kind, check_no_credential
from contracts.rules.verdict import Problem
from contracts.rules.words import N_, Labelled

LONGEST_IDENTIFIER = 200
LONGEST_LOCATION = 2000
TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")
SHA256 = re.compile(r"[0-9a-f]{64}")

WRONG_TYPE = N_("A text is expected here.")
MISSING = N_("A value is needed here.")
TOO_LONG = N_("At most %(limit)d characters are allowed; this has %(length)d.")
RESERVED_TASK_IDS = frozenset({"new"})  # an address of its own
RESERVED_TASK_ID = N_("This word has an address of its own; choose another id.")
BAD_TASK_ID = N_(
    "“%(value)s” is not a valid task id: letters A-Z, digits, dot, underscore, colon and hyphen, at most 120, "
    "starting with a letter or digit."
)
OUTER_SPACE = N_("An id neither starts nor ends with a space.")
CONTROL_CHARACTER = N_("The control character %(mark)s at position %(position)d is not allowed.")
HIDDEN_CHARACTER = N_("The character %(mark)s (%(name)s) at position %(position)d cannot be seen in an id.")
BAD_UNICODE = N_("At position %(position)d stands %(mark)s, which is not a character.")
NOT_NORMALISED = N_("Write this id in the composed form of Unicode (NFC).")
MIXED_SCRIPTS = N_(
    "One word mixes letters of two scripts that look alike: %(mark)s (%(name)s) at %(position)d."
)
ONE_LINE = N_("This must be a single line.")
BAD_CHECKSUM = N_("A SHA-256 has 64 digits from 0-9 and a-f.")
INLINE_CONTENT = N_("Name the place where the content is kept; do not put the content itself here.")
LOCATION_SPACE = N_("A location holds no spaces and no line breaks.")
LOCATION_PASSWORD = N_("An address must not hold a password (%(kind)s).")

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_NO_CHARACTER = "\ud800-\udfff\ufdd0-\ufdef" + "".join(
    chr(plane * 0x10000 + last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
# Default-ignorable code points, bidirectional controls, tags, line separators, blanks that look like nothing.
_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SCRIPTS = {
    "Latin": "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "Armenian": "\u0531-\u0587",
    "Cherokee": "\u13a0-\u13ff\uab70-\uabbf",
    "Coptic": "\u2c80-\u2cff",
    "Lisu": "\ua4d0-\ua4ff",
    "Deseret": "\U00010400-\U0001044f",
}
_LATIN = re.compile(f"[{_SCRIPTS['Latin']}]")
_OTHER = re.compile("[" + "".join(letters for script, letters in _SCRIPTS.items() if script != "Latin") + "]")
_SCRIPT = {script: re.compile(f"[{letters}]") for script, letters in _SCRIPTS.items()}
# A word for this purpose: East Asian text needs no spaces, so its characters end a word.
_WORD = re.compile(
    f"(?:[^\\W_\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    f"\U00020000-\U0003ffff]|[{_HIDDEN}\u0300-\u036f])+"
)
# Greek letters stand beside Latin ones in ordinary units and formulas (kΩ, μm, TNFα): only twins are marked.
_GREEK_TWIN = re.compile(
    "[\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf]"
)
_GREEK_NEAR = re.compile("[\u03b1\u03b3\u03b9\u03bd\u03c1\u03c5]")

_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
    "[\U0001f3fb-\U0001f3ff]?[\ufe0e\ufe0f]?"
)
_FLAG_TAGS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls")
)
# Sequences in which an otherwise hidden character does its ordinary work: regional flags, keycaps, emoji joined by
# U+200D, one variation selector behind an ideograph.
_INNOCENT = (
    f"\U0001f3f4(?:{_FLAG_TAGS})\U000e007f|{_EMOJI}(?:\u200d{_EMOJI})*|[0-9#*]\ufe0f\u20e3"
    "|[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\ufe00-\ufe02\U000e0100-\U000e01ef]"
)
_SUSPECT = re.compile(f"[{_CONTROL}{_NO_CHARACTER}{_HIDDEN}]")
_MARKABLE = re.compile(f"(?:{_INNOCENT})|(?P<suspect>{_SUSPECT.pattern})")
_PLAIN_IDENTIFIER = re.compile(r"[!-~](?:[ -~]*[!-~])?")


class PieceKind(Labelled):
    """What a piece of shown text is."""

    PLAIN = "plain", N_("text")
    HIDDEN = "hidden", N_("hidden character")
    LOOKALIKE = "lookalike", N_("look-alike letter of another script")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text, or one suspicious character with its mark (`U+200B`) and Unicode name."""

    kind: PieceKind
    text: str
    mark: str = ""
    name: str = ""


def clean_text(value: str) -> str:
    """Return `value` with every line ending as LF and in NFC (never NFKC, which would change the words)."""
    return unicodedata.normalize("NFC", value.replace("\r\n", "\n").replace("\r", "\n"))


def check_task_id(field: str, value: object) -> Problem | None:
    """Check the id of a task; codes wrong_type, missing, too_long, credential, reserved, bad_pattern."""
    problem = _check_present(field, value, 120) or check_no_credential(field, value)
    if problem is None and value in RESERVED_TASK_IDS:
        return Problem(field, "reserved", RESERVED_TASK_ID)
    if problem or TASK_ID.fullmatch(str(value)):
        return problem
    return Problem(field, "bad_pattern", BAD_TASK_ID, {"value": visible_plain(str(value))})


def check_identifier(field: str, value: object, *, max_chars: int = LONGEST_IDENTIFIER) -> Problem | None:
    """Check an id or name that must look like nothing but itself.

    Any script may be used, but one word may not mix Latin with Cyrillic, Greek or another script of look-alikes.
    Codes: wrong_type, missing, too_long, bad_unicode, control_character, hidden_character, bad_pattern (space at an
    end), not_normalised, mixed_scripts.
    """
    if problem := _check_present(field, value, max_chars):
        return problem
    text = str(value)
    if _PLAIN_IDENTIFIER.fullmatch(text):
        return None
    return _check_characters(field, text) or _check_form(field, text)


def check_text(field: str, value: object, max_chars: int, *, required: bool = True) -> Problem | None:
    """Check human text of several lines, already passed through `clean_text`.

    Hidden characters are allowed here and shown by `visible`. Codes: wrong_type, missing, too_long, bad_unicode,
    control_character.
    """
    if not required and value in ("", None):
        return None
    if problem := _check_present(field, value, max_chars):
        return problem
    return next((_character_problem(field, *fault) for fault in _text_faults(str(value))), None)


def check_line(field: str, value: object, max_chars: int, *, required: bool = True) -> Problem | None:
    """Check human text of one line: as `check_text`, and code `many_lines`."""
    problem = check_text(field, value, max_chars, required=required)
    if problem is None and isinstance(value, str) and re.search("[\n\t\u2028\u2029]", value):
        return Problem(field, "many_lines", ONE_LINE)
    return problem


def check_location(field: str, value: object, *, required: bool = True) -> Problem | None:
    """Check the place where controlled material is kept: an address or a path, never the material itself.

    Codes: those of `check_identifier` except mixed_scripts, and bad_location, credential.
    """
    if not required and value in ("", None):
        return None
    if problem := _check_present(field, value, LONGEST_LOCATION):
        return problem
    text = str(value)
    if re.search(r"\s", text):
        return Problem(field, "bad_location", LOCATION_SPACE)
    if re.match(r"(?i)(?:data|javascript|vbscript|blob):|[\[{<]", text) or ";base64," in text.lower():
        return Problem(field, "bad_location", INLINE_CONTENT)
    if re.match(r"(?:[A-Za-z][\w+.-]*:)?//[^/?#]*:[^/?#]+@", text):
        return Problem(field, "credential", LOCATION_PASSWORD, {"kind": Kind.ADDRESS.label})
    return _check_characters(field, text)


def check_sha256(field: str, value: object, *, required: bool = True) -> Problem | None:
    """Check a SHA-256 of 64 lower-case hex digits; codes wrong_type, missing, bad_checksum."""
    if not required and value in ("", None):
        return None
    problem = _check_present(field, value)
    if problem or SHA256.fullmatch(str(value)):
        return problem
    return Problem(field, "bad_checksum", BAD_CHECKSUM)


def visible(text: str) -> list[Piece]:
    """Cut `text` into pieces so that hidden characters and look-alike letters can be shown as marks.

    Ordinary Chinese and English, emoji sequences included, come back as one plain piece.
    """
    kinds = dict.fromkeys(_suspects(text), PieceKind.HIDDEN) | dict.fromkeys(
        _lookalikes(text), PieceKind.LOOKALIKE
    )
    pieces: list[Piece] = []
    start = 0
    for position in sorted(kinds):
        if position > start:
            pieces.append(Piece(PieceKind.PLAIN, text[start:position]))
        character = text[position]
        pieces.append(Piece(kinds[position], character, _mark(character), _name(character)))
        start = position + 1
    if start < len(text):
        pieces.append(Piece(PieceKind.PLAIN, text[start:]))
    return pieces


def visible_plain(text: str) -> str:
    """Return `text` with the marks of `visible` written inline, as ⟨U+200B⟩; a look-alike letter stays before it."""
    return "".join(
        piece.text
        if piece.kind is PieceKind.PLAIN
        else f"⟨{piece.mark}⟩"
        if piece.kind is PieceKind.HIDDEN
        else f"{piece.text}⟨{piece.mark}⟩"
        for piece in visible(text)
    )


def _check_present(field: str, value: object, max_chars: int | None = None) -> Problem | None:
    if value is None:
        return Problem(field, "missing", MISSING)
    if not isinstance(value, str):
        return Problem(field, "wrong_type", WRONG_TYPE)
    if max_chars is not None and len(value) > max_chars:
        return Problem(field, "too_long", TOO_LONG, {"limit": max_chars, "length": len(value)})
    if not value.strip():
        return Problem(field, "missing", MISSING)
    return None


def _check_characters(field: str, text: str) -> Problem | None:
    """Refuse the first character that cannot be seen for what it is."""
    for position, character in enumerate(text):
        if character.isprintable() and not _SUSPECT.match(character):
            continue
        return _character_problem(field, position, character)
    return None


def _character_problem(field: str, position: int, character: str) -> Problem:
    category = unicodedata.category(character)
    code, sentence = {
        "Cc": ("control_character", CONTROL_CHARACTER),
        "Cs": ("bad_unicode", BAD_UNICODE),
        "Cn": ("bad_unicode", BAD_UNICODE),
    }.get(category, ("hidden_character", HIDDEN_CHARACTER))
    return Problem(field, code, sentence, _place(position, character))


def _check_form(field: str, text: str) -> Problem | None:
    if text != text.strip():
        return Problem(field, "bad_pattern", OUTER_SPACE)
    if not unicodedata.is_normalized("NFC", text):
        return Problem(field, "not_normalised", NOT_NORMALISED)
    for word in _WORD.finditer(text):
        scripts = [found for pattern in _SCRIPT.values() if (found := pattern.search(word.group()))]
        if len(scripts) > 1:
            found = scripts[1]
            values = _place(word.start() + found.start(), found.group())
            return Problem(field, "mixed_scripts", MIXED_SCRIPTS, values)
    return None


def _text_faults(text: str) -> Iterator[tuple[int, str]]:
    for found in re.finditer(f"[{_CONTROL}{_NO_CHARACTER}]", text):
        yield found.start(), found.group()


def _suspects(text: str) -> Iterator[int]:
    if _SUSPECT.search(text):
        yield from (found.start() for found in _MARKABLE.finditer(text) if found["suspect"])


def _lookalikes(text: str) -> Iterator[int]:
    if not _OTHER.search(text):
        return
    for word in _WORD.finditer(text):
        if _LATIN.search(word.group()):
            yield from (
                found.start()
                for found in _OTHER.finditer(text, word.start(), word.end())
                if _is_lookalike(text, found.start())
            )


def _is_lookalike(text: str, position: int) -> bool:
    letter = text[position]
    if not _SCRIPT["Greek"].match(letter) or _GREEK_TWIN.match(letter):
        return True
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    return bool(_GREEK_NEAR.match(letter) and _LATIN.match(before) and _LATIN.match(after))


def _place(position: int, character: str) -> dict[str, str | int]:
    return {"position": position + 1, "mark": _mark(character), "name": _name(character)}


def _mark(character: str) -> str:
    return f"U+{ord(character):04X}"


def _name(character: str) -> str:
    """Return the Unicode name in lower case; characters without one are named by what they are."""
    nameless = {"Cc": "control character", "Cs": "half of a character", "Co": "private-use character"}
    return unicodedata.name(
        character, nameless.get(unicodedata.category(character), "not a character")
    ).lower()

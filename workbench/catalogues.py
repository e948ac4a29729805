"""The translation catalogues: compared with the code, brought up to date and compiled.

The repository needs no compiled files and machines no gettext. A catalogue has no line numbers and is sorted by
its sentences, so that a change of it shows nothing but changed words.
"""

import io
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po, write_po

from workbench.extraction import Sentence

_LOCALES = Path(__file__).resolve().parent.parent / "contracts" / "locale"
CHINESE = _LOCALES / "zh_Hans" / "LC_MESSAGES" / "django.po"
_HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

"""


@dataclass(frozen=True, slots=True)
class Differences:
    """What keeps a catalogue from saying everything the code says: sentences, each in a sorted tuple."""

    missing: tuple[Sentence, ...]  # not in the catalogue, or without a translation
    fuzzy: tuple[Sentence, ...]  # there, but guessed
    dead: tuple[Sentence, ...]  # there, but no longer in the code

    def __bool__(self) -> bool:
        return bool(self.missing or self.fuzzy or self.dead)


def read_catalogue(source: Path) -> Catalog:
    """Return the catalogue at `source` (`<locale>/LC_MESSAGES/django.po`); an absent one is empty.

    Raises PoFileError where it is no catalogue.
    """
    locale = source.parent.parent.name
    if not source.exists():
        return Catalog(locale)
    with source.open("rb") as file:
        return read_po(file, locale=locale, abort_invalid=True)


def compare(source: Path, sentences: Iterable[Sentence]) -> Differences:
    """Return how the catalogue at `source` differs from the sentences of the code."""
    wanted, entries = set(sentences), entries_of(read_catalogue(source))
    return Differences(
        missing=tuple(sorted(one for one in wanted if one not in entries or not _is_said(entries[one]))),
        fuzzy=tuple(sorted(one for one in wanted if one in entries and entries[one].fuzzy)),
        dead=tuple(sorted(one for one in entries if one not in wanted)),
    )


def update(source: Path, sentences: Iterable[Sentence]) -> None:
    """Rewrite the catalogue at `source`: new sentences are added empty, dead ones leave, all others are kept."""
    kept = entries_of(read_catalogue(source))
    language = source.parent.parent.name
    fresh = Catalog(language)
    for sentence in sorted(sentences):
        message = kept.get(sentence)
        fresh.add(
            (sentence.text, sentence.plural) if sentence.plural else sentence.text,
            message.string if message else None,
            flags=(message.flags if message else set()) - {"python-format", "python-brace-format"},
            context=sentence.context or None,
        )
    # The header is ours, because the usual one carries dates and names that change with every run.
    entries = io.BytesIO()
    write_po(entries, fresh, no_location=True, omit_header=True, sort_output=True, width=110)
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_bytes(_HEADER.format(language=language).encode() + entries.getvalue())


def entries_of(catalogue: Catalog) -> dict[Sentence, Message]:
    """Return the entries of `catalogue` by the sentence they translate; its header is none."""
    return {_sentence(message): message for message in catalogue if message.id}


def _sentence(message: Message) -> Sentence:
    text, plural = message.id if isinstance(message.id, tuple | list) else (message.id, "")
    return Sentence(text, plural, message.context or "")


def _is_said(message: Message) -> bool:
    """Tell whether every form of an entry has its words."""
    return bool(message.string) and all(message.string or ())


def compile_catalogues(locales: Path = _LOCALES) -> list[Path]:
    """Compile every `*/LC_MESSAGES/django.po` whose `.mo` is missing or older; return what was written.

    A folder that cannot be written or a broken catalogue is a warning: the pages then speak English.
    """
    return [path for source in sorted(locales.glob("*/LC_MESSAGES/django.po")) if (path := _compile(source))]


def _compile(source: Path) -> Path | None:
    target = source.with_suffix(".mo")
    fresh = target.with_name(f".django-{os.getpid()}.mo")
    try:
        if target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            return None
        catalogue = read_catalogue(source)
        with fresh.open("wb") as file:
            write_mo(file, catalogue)
        # Renamed into place, because several processes start at once and none may read half a catalogue.
        fresh.replace(target)
    except (OSError, PoFileError, UnicodeDecodeError) as error:
        fresh.unlink(missing_ok=True) if os.access(target.parent, os.W_OK) else None
        warnings.warn(f"The translation {source} could not be compiled: {error}", stacklevel=2)
        return None
    return target

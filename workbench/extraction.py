"""Finds every sentence that people read, in Python and in templates, without GNU gettext on the machine."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from babel.messages.extract import extract
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
# Marker → which arguments are the sentence, its plural and (with "c") its context; as GNU gettext's --keyword.
KEYWORDS = {
    "N_": None,
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}


class Sentence(NamedTuple):
    """One message id: `plural` and `context` are empty where there is none."""

    text: str
    plural: str = ""
    context: str = ""


def sentences_of(root: Path = ROOT) -> dict[Sentence, Path]:
    """Return every sentence marked in the packages and templates below `root`, with the first file it is in."""
    found: dict[Sentence, Path] = {}
    for path in sorted([*root.glob("contracts/**/*.py"), *root.glob("workbench/**/*.py")]):
        for sentence in in_python(path.read_text("utf-8")):
            found.setdefault(sentence, path)
    for path in sorted(root.glob("templates/**/*.html")):
        for sentence in in_template(path.read_text("utf-8")):
            found.setdefault(sentence, path)
    return _without_twins(found)


def in_python(source: str) -> Iterator[Sentence]:
    """Yield the sentences marked in a Python file."""
    for _line, texts, _comments, context in extract(
        "python", io.BytesIO(source.encode()), keywords=KEYWORDS, options={"encoding": "utf-8"}
    ):
        text, plural = texts if isinstance(texts, tuple) else (texts, "")
        yield Sentence(text, plural, context or "")


def in_template(source: str) -> Iterator[Sentence]:
    """Yield the sentences of a template's `translate` and `blocktranslate` tags and of `_()` in any tag."""
    # Django turns everything but the marked sentences into X and blanks; only the indents are no Python.
    yield from in_python("\n".join(line.lstrip() for line in templatize(source).splitlines()))


def _without_twins(found: dict[Sentence, Path]) -> dict[Sentence, Path]:
    """Drop a sentence that is also the singular of one with a plural: a catalogue knows them as one entry."""
    plurals: Iterable[Sentence] = [sentence for sentence in found if sentence.plural]
    twins = {Sentence(sentence.text, "", sentence.context) for sentence in plurals}
    return {sentence: path for sentence, path in found.items() if sentence not in twins}

"""What the example workers say, line by line; in Chinese where `WORKER_LANGUAGE` is zh_Hans."""

import gettext
import os
from functools import cache
from pathlib import Path
from typing import Any

from contracts.client import Run
from contracts.rules.words import N_

__all__ = ["N_", "say", "say_begun", "spoken"]
LOCALES = Path(__file__).resolve().parents[2] / "locale"


def say(sentence: str, **values: Any) -> None:
    """Print a sentence, marked with `N_`, with its values; at once, also into a pipe."""
    print(_words().gettext(sentence) % values, flush=True)  # noqa: T201


def say_begun(run: Run) -> None:
    """Say which attempt this is, and what the workbench decided."""
    say(
        N_("attempt %(number)s, generation %(generation)s: %(verdict)s"),
        number=run.attempt.number,
        generation=run.generation,
        verdict=run.decision.verdict,
    )


def spoken() -> str:
    """Return the language of this worker, as the workbench is asked for it."""
    return os.environ.get("WORKER_LANGUAGE", "").replace("_", "-").lower()


@cache
def _words() -> gettext.NullTranslations:
    language = os.environ.get("WORKER_LANGUAGE", "")
    return gettext.translation("django", LOCALES, [language] if language else [], fallback=True)

"""A model that costs nothing: it words the same thing differently at every call, and every call is counted."""

import json
import os
import random
import time
from pathlib import Path

OPENINGS = ("Here one sees", "This shows", "We look at", "The eye meets", "Kept here is")
CLOSINGS = (
    "It was found in good order.",
    "Little of it is damaged.",
    "It has been in use.",
    "Nothing is missing.",
)


class FakeModel:
    """Writes short texts, slowly. `record`: the file that gets one line for each call, before it answers."""

    def __init__(self, record: str, *, seconds: float | None = None) -> None:
        self._record = Path(record)
        self._seconds = float(os.environ.get("MODEL_SECONDS", "1")) if seconds is None else seconds

    def write(self, subject: str) -> str:
        """Return a text about `subject`; no two calls give the same one."""
        chance = random.SystemRandom()
        with self._record.open("a") as record:
            record.write(json.dumps({"subject": subject, "pid": os.getpid()}) + "\n")
        time.sleep(self._seconds)
        opening, closing = chance.choice(OPENINGS), chance.choice(CLOSINGS)
        return f"{opening} {subject}. {closing} (wording {chance.randrange(10**6):06})"


def calls(record: str) -> list[str]:
    """Return the subject of every call so far."""
    lines = Path(record).read_text("utf-8").splitlines() if Path(record).exists() else []
    return [json.loads(line)["subject"] for line in lines]

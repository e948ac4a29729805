"""What a worker says while it is drilled, and where it may be stopped: to be used from the worker's own process.

Every mark is one line on standard output. At a crash point that `DRILL_CRASH` names the worker waits for a line on
its standard input; nothing else of the program changes. A worker in another language prints the same lines, or
creates the file `$DRILL_FOLDER/reached-POINT-OBJECT` and waits until it is gone.
"""

import http.client
import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

__all__ = ["AGAIN_LATER", "COMMITTED", "DRAFTED", "LEAVING", "READY", "SENT", "Marks", "TargetRefused"]
AGAIN_LATER = 75  # the exit code of a worker that stopped by itself: start it again
# Crash points. READY has the object "-".
READY, DRAFTED, COMMITTED, LEAVING, SENT = "ready", "drafted", "committed", "leaving", "sent"
SECONDS_FOR_AN_ANSWER = 5


class TargetRefused(Exception):
    """The target clearly said no: nothing was written."""


@dataclass(frozen=True, slots=True)
class Marks:
    """One start of one worker, as the runner describes it in the environment.

    `start`: how often a worker of this task was started, 1 for the first: the generation of workers that have none
    of their own. `approval`: the object whose page needs a person's yes, or empty.
    """

    task: str
    objects: tuple[str, ...]
    start: int
    folder: Path
    target: str
    approval: str = ""
    crash: str = ""
    database: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the environment of this process."""
        return cls(
            task=environ["DRILL_TASK"],
            objects=tuple(environ["DRILL_OBJECTS"].split(",")),
            start=int(environ["DRILL_START"]),
            folder=Path(environ["DRILL_FOLDER"]),
            target=environ["DRILL_TARGET"],
            approval=environ.get("DRILL_APPROVAL", ""),
            crash=environ.get("DRILL_CRASH", ""),
            database=environ.get("DRILL_DATABASE", ""),
        )

    def source(self, work_object: str) -> str:
        """Return the version label of the object's source, as it is now."""
        return self.folder.joinpath("sources", work_object).read_text("utf-8").strip()

    def model(self, work_object: str, source: str = "") -> str:
        """Return what a model words of the object; no two calls give the same text. `source` is read if not given."""
        say(f"model {work_object}")
        return f"{work_object} as of {source or self.source(work_object)} (wording {secrets.token_hex(4)})"

    def reach(self, point: str, work_object: str = "-") -> None:
        """Say that the program is here; stop, if this is where the runner wants it."""
        say(f"reached {point} {work_object}")
        if self.crash == f"{point}:{work_object}" and not sys.stdin.readline():
            os._exit(1)  # whoever should have said go on is gone

    def committed(self, work_object: str) -> None:
        """Say that the draft is stored for good."""
        say(f"committed {work_object}")

    def sent(self, work_object: str) -> None:
        """Say that the page's receipt is in hand."""
        say(f"sent {work_object}")

    def waiting(self, work_object: str) -> None:
        """Say that a person is asked for a yes."""
        say(f"waiting {work_object}")

    def done(self) -> None:
        """Say that, in the worker's own opinion, nothing is left."""
        say("done")

    def approved(self, work_object: str) -> bool:
        """Tell whether a person has said yes (for workers whose keeper writes files)."""
        return self.folder.joinpath("approved", work_object).exists()

    def publish(
        self, work_object: str, text: str, source: str, key: str, generation: int | None = None
    ) -> str:
        """Publish the page once and return the target's reference.

        `key`: the idempotency key the framework has. `generation`: its own fence; without one, the start's number.
        Raises TargetRefused on a clear no, and OSError or http.client.HTTPException where no answer comes.
        """
        body = {
            "key": key,
            "generation": self.start if generation is None else generation,
            "content": {"page": work_object, "text": text, "source": source},
        }
        # Not by a library: loading one takes longer than the work of a worker that is started many times, and a woken
        # worker that is slow to send would be told before that its time is over.
        line = http.client.HTTPConnection(urlsplit(self.target).netloc, timeout=SECONDS_FOR_AN_ANSWER)
        try:
            line.request("POST", "/pages", json.dumps(body), {"Content-Type": "application/json"})
            answer = line.getresponse()
            told = answer.read().decode()
        finally:
            line.close()
        if answer.status == http.HTTPStatus.CONFLICT:
            raise TargetRefused(told)
        if answer.status != http.HTTPStatus.CREATED:
            raise http.client.HTTPException(f"answered {answer.status}")
        return str(json.loads(told)["reference"])


def say(line: str) -> None:
    """Print one line at once, in one piece, also where several threads speak."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

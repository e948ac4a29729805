"""A small log of one's own in SQLite, as an article on resumable agents draws it: each step is noted, then done.

It is here with the faults that such a log has. A step found begun is simply done again, and leans on the target to
recognise the key. The key is made from the parameters, so that a text worded anew has another one. Every worker
takes the lease under the same name, so that a second one is let in. Nothing is compared with what was approved.
"""

import hashlib
import json
import sqlite3
import sys
import time
from typing import Any

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, module_command
from contracts.drills.marks import AGAIN_LATER, COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks
from contracts.rules.drilling import Target
from contracts.rules.words import N_

LEASE_NAME, LEASE_SECONDS = "w1", 2
SCHEMA = """
CREATE TABLE IF NOT EXISTS task (name TEXT PRIMARY KEY, held_by TEXT, held_until REAL);
CREATE TABLE IF NOT EXISTS step (
  task TEXT, number INTEGER, state TEXT, key TEXT, result TEXT, PRIMARY KEY (task, number));
"""

ADAPTERS = (
    Adapter(
        name="sqlite-sample",
        title=N_("SQLite log of an article"),
        command=module_command("sqlite_sample"),
        more_versions=lambda: {"sqlite": sqlite3.sqlite_version},
        cannot={Target.PROXY: PROXY_IS_OURS},
        lease=LEASE_SECONDS + 0.5,
    ),
)


class WaitsForPerson(Exception):
    """Nobody has said yes; the process ends, and is started again later."""


class StepLog:
    """The steps of one task. Each write is a commit of its own."""

    def __init__(self, marks: Marks) -> None:
        self._task = marks.task
        self._rows = sqlite3.connect(marks.folder / "steps.sqlite", isolation_level=None, timeout=30)
        self._rows.executescript(SCHEMA)

    def take_lease(self) -> bool:
        """Take the task if nobody holds it; whoever has the holder's name holds it too."""
        now = time.time()
        self._rows.execute("INSERT OR IGNORE INTO task VALUES (?, NULL, NULL)", (self._task,))
        taken = self._rows.execute(
            "UPDATE task SET held_by = ?, held_until = ? "
            "WHERE name = ? AND (held_until IS NULL OR held_until < ? OR held_by = ?)",
            (LEASE_NAME, now + LEASE_SECONDS, self._task, now, LEASE_NAME),
        )
        return taken.rowcount == 1

    def let_go(self) -> None:
        """Free the task."""
        self._rows.execute("UPDATE task SET held_until = NULL WHERE name = ?", (self._task,))

    def read(self, number: int) -> tuple[str, Any]:
        """Return state and result of a step; an empty state if there is none."""
        row = self._rows.execute(
            "SELECT state, result FROM step WHERE task = ? AND number = ?", (self._task, number)
        ).fetchone()
        return (row[0], json.loads(row[1])) if row else ("", None)

    def note(self, number: int, state: str, key: str = "", result: Any = None) -> None:
        """Store how far a step is."""
        row = (self._task, number, state, key, json.dumps(result))
        self._rows.execute("INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?, ?)", row)


def main() -> int:
    marks = Marks.from_environment()
    log = StepLog(marks)
    marks.reach(READY)
    if not log.take_lease():
        return AGAIN_LATER
    try:
        for position, name in enumerate(marks.objects):
            publish(marks, log, 2 * position + 1, name, draft(marks, log, 2 * position, name))
    except WaitsForPerson:
        log.let_go()
        return AGAIN_LATER
    log.let_go()
    marks.done()
    return 0


def draft(marks: Marks, log: StepLog, number: int, name: str) -> dict[str, str]:
    """Return the stored answer of the model; ask it only if there is none."""
    state, stored = log.read(number)
    if state != "done":
        source = marks.source(name)
        stored = {"text": marks.model(name, source), "source": source}
        marks.reach(DRAFTED, name)
        log.note(number, "done", result=stored)
        marks.committed(name)
        marks.reach(COMMITTED, name)
    return dict(stored)


def publish(marks: Marks, log: StepLog, number: int, name: str, page: dict[str, str]) -> None:
    """Note that it begins, send, note that it is done: three commits. What is found begun is sent again."""
    state, _ = log.read(number)
    if state == "done":
        return
    key = hashlib.sha256(json.dumps([marks.task, number, "publish", page]).encode()).hexdigest()
    if name == marks.approval and state not in ("approved", "started"):
        ask(marks, log, number, name, key)
    log.note(number, "started", key)
    marks.reach(LEAVING, name)
    reference = marks.publish(name, page["text"], page["source"], key)
    marks.sent(name)
    marks.reach(SENT, name)
    log.note(number, "done", key, reference)


def ask(marks: Marks, log: StepLog, number: int, name: str, key: str) -> None:
    """Leave it to a person, unless the person has said yes."""
    if marks.approved(name):
        log.note(number, "approved", key)
        return
    log.note(number, "waiting", key)
    marks.waiting(name)
    raise WaitsForPerson


if __name__ == "__main__":
    sys.exit(main())

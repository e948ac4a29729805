"""Writers that commit through the gates while their database is stopped.

`python -m tests.storms.writing PREFIX FOLDER SHAPE`. Eight processes, each with a task of its own, commit steps and
whole operations, one after the other. Each tells in `FOLDER/<number>` what it tried and what it was answered. SHAPE
says what a writer does when an answer does not come: `settle` asks again with the same step or key until the database
is back, `leave` ends. The process tells `ready`, lets its writers go on until a line arrives, and tells what was
counted afterwards, one JSON object.
"""

import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django

WRITERS = 8
PATIENCE = 120.0  # seconds until a database that was stopped must have come back
STATE = {"photo": 17, "draft": "Fired clay, found at the north gate. " * 4}
STOOD = {
    "exists",
    "operation_not_pending",
}  # answers to the same call once more: it had been committed after all
Write = tuple[str, str, Callable[[], str]]  # act, name, and how it is asked for
TOLD = {"acknowledged", "anew", "stood"}  # in one way or another the writer was told that it is committed
ACTS = ("commit_step", "intend", "dispatch", "report")


def main(prefix: str, folder: str, shape: str) -> None:
    """Make the tasks, let the writers write, and count."""
    django.setup()
    from django.db import connection

    from tests.benchmarks.contenders.tasks import make_tasks

    tasks = make_tasks(prefix, granted=True)[:WRITERS]
    connection.close()  # no writer may inherit it
    forked = multiprocessing.get_context("fork")
    enough = forked.Event()
    files = [Path(folder, str(number)) for number in range(WRITERS)]
    writers = [
        forked.Process(target=_write, args=(task, file, enough, shape))
        for task, file in zip(tasks, files, strict=True)
    ]
    for writer in writers:
        writer.start()
    _tell("ready")
    sys.stdin.readline()
    enough.set()
    for writer in writers:
        writer.join()
    _tell(_counted(tasks, files))


def _tell(words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _write(task: dict[str, Any], file: Path, enough: Any, shape: str) -> None:
    """Make one write after the other; each is on record in `file` before and after it is asked for."""
    from django.db import Error

    with file.open("w", buffering=1) as record:
        for act, name, call in _calls(task):
            if enough.is_set():
                return
            record.write(f"try {act} {name}\n")
            try:
                record.write(f"{_answered(call)} {act} {name}\n")
            except Error:
                record.write(f"unknown {act} {name}\n")
                if shape == "leave":
                    return
                record.write(f"{_settled(call)} {act} {name}\n")


def _settled(call: Callable[[], str]) -> str:
    """Ask again, with the same step or key, until there is an answer."""
    from django.db import Error, connection

    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection.close()
        try:
            code = call()
        except Error:
            time.sleep(0.05)
        else:
            return {"done": "anew"}.get(code, "stood" if code in STOOD else code)
    return "never"


def _answered(call: Callable[[], str]) -> str:
    code = call()
    return "acknowledged" if code == "done" else code


def _calls(task: dict[str, Any]) -> Iterator[Write]:
    """Give the writes of one worker without end: three steps, then an operation, and so on."""
    from contracts.rules.vocabulary import Actor, ActorKind

    actor = Actor(task["worker"], ActorKind.WORKER)
    known = {"contract_id": task["contract"], "actor": actor, "generation": task["generation"]}
    number = 0
    while True:
        number += 1
        yield "commit_step", f"C-{number}", _step(known, number)
        if number % 3 == 0:
            yield from _operation(known, task["task_id"], number)


def _step(known: dict[str, Any], number: int) -> Callable[[], str]:
    from decimal import Decimal

    from contracts.gates.workers.stepping import commit_step
    from contracts.rules.stepping import Point, Step, sealed
    from contracts.rules.vocabulary import Measure

    point = sealed(Point(f"C-{number}", "draft", 2, sequence=number, inline_state=STATE))
    step = Step(point, usage={Measure.TOKENS: Decimal(1)})
    return lambda: commit_step(**known, step=step).code


def _operation(known: dict[str, Any], task_id: str, number: int) -> Iterator[Write]:
    """Give the three writes of one operation: with the key of a request, or by the statement of each, in turn."""
    from contracts.gates.sending import dispatch
    from contracts.gates.workers.ledger import intend, report
    from contracts.rules.fingerprint import operation_key

    step, parameters = f"publish-{number}", {"page": f"label-{number}"}
    call = {"tool": "cms.publish", "step": step, "parameters": parameters}
    call |= {"target": f"cms://pages/label-{number}", "expected": "one page"}
    key = operation_key(task_id, step, 1, "cms.publish", parameters)
    told = {**known, "operation_key": key}
    asking = _by_key if number % 2 else _plainly
    yield "intend", step, asking(known, f"i-{number}", lambda: intend(**known, **call))
    yield "dispatch", step, asking(known, f"d-{number}", lambda: dispatch(**told))
    reported = {"result": "confirmed", "reference": call["target"]}
    yield "report", step, asking(known, f"r-{number}", lambda: report(**told, **reported))


def _plainly(_known: dict[str, Any], _key: str, gate: Callable[[], Any]) -> Callable[[], str]:
    return lambda: gate().code


def _by_key(known: dict[str, Any], key: str, gate: Callable[[], Any]) -> Callable[[], str]:
    from contracts.gates.answers import Answer, Asked, KeyAnswered, answering

    def call() -> str:
        asked = Asked(
            contract_id=known["contract_id"],
            worker=known["actor"].name,
            key=key,
            request_sha256="0" * 64,
            render=lambda verdict: Answer(200, "text/plain", verdict.code.encode()),
        )
        try:
            with answering(asked):
                return str(gate().code)
        except KeyAnswered:
            return "exists"

    return call


def _counted(tasks: list[dict[str, Any]], files: list[Path]) -> dict[str, Any]:
    """Compare what the writers were told with what is stored, and verify every chain."""
    from contracts.models import Contract, Event
    from tests.storms.counting import Counters

    total, stood, breaks = Counters(), 0, 0
    for task, file in zip(tasks, files, strict=True):
        lines = [tuple(line.split()) for line in file.read_text().splitlines()]
        words = Counter(word for word, _, _ in lines)
        told = {(act, name) for word, act, name in lines if word in TOLD}
        tried = {(act, name) for word, act, name in lines if word == "try"}
        there, amiss = _stored(task["contract"])
        total.attempted += words["try"]
        total.acknowledged += len(told)
        total.unknown += words["unknown"]
        total.recovered += words["anew"] + words["stood"]
        total.lost += len(told - there.keys())
        total.duplicated += sum(count - 1 for count in there.values())
        answers = sum(count for word, count in words.items() if word not in {"try", "unknown", *TOLD})
        total.unexpected += answers + amiss + len(there.keys() - tried)
        stood += words["stood"]
        breaks += Event.objects.first_break(Contract.objects.get(pk=task["contract"])) is not None
    return {"counters": asdict(total), "stood": stood, "breaks": breaks}


def _stored(contract: int) -> tuple[Counter[tuple[str, str]], int]:
    """Return how often each write was carried out, and how much of rows, events and usage does not fit together."""
    from django.db.models import Sum

    from contracts.models import Checkpoint, Event, Operation, UsageEntry

    events = Event.objects.of(contract).filter(act__in=ACTS, refused="")
    told = Counter((act, _name(act, subject)) for act, subject in events.values_list("act", "subject"))
    points = Checkpoint.objects.of(contract).values_list("checkpoint_id", flat=True)
    rows = Counter(("commit_step", name) for name in points)
    for step, tries, state in Operation.objects.of(contract).values_list("step", "tries", "state"):
        rows += Counter(
            {("intend", step): 1, ("dispatch", step): tries, ("report", step): int(state == "confirmed")}
        )
    entries = UsageEntry.objects.filter(contract=contract).values("measure").annotate(used=Sum("amount"))
    used = {entry["measure"]: entry["used"] for entry in entries}
    sent = sum(count for (act, _), count in rows.items() if act == "dispatch")
    amiss = (used.get("tokens", 0) != len(points)) + (used.get("tool_attempts", 0) != sent)
    return told | rows, amiss + ((told - rows) + (rows - told)).total()


def _name(act: str, subject: str) -> str:
    return subject.split(" · ")[1 if act == "commit_step" else 2]


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "workbench.settings"
    main(*sys.argv[1:])

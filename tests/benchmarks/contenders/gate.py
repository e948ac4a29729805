"""The gates in process: fenced step commits, and whole operations (intend, dispatch, report)."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.benchmarks.contenders import STATE, Place
from tests.benchmarks.contenders.tasks import make_tasks, migrate

NAMES = ("gate", "gate_operation")


def missing() -> str:
    return ""


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[dict[str, Any]]:
    migrate()
    yield {name: make_tasks(name.replace("_", "-"), granted=True) for name in NAMES}


def writer(name: str, place: Place, made: dict[str, Any], number: int) -> Callable[[float], int]:
    import django

    django.setup()
    from contracts.rules.vocabulary import Actor, ActorKind

    task = made[name][number]
    known = {
        "contract_id": task["contract"],
        "actor": Actor(task["worker"], ActorKind.WORKER),
        "generation": task["generation"],
    }
    return _operations(known) if name == "gate_operation" else _steps(known)


def _steps(known: dict[str, Any]) -> Callable[[float], int]:
    from contracts.gates.workers.stepping import commit_step
    from contracts.rules.stepping import Point, Step, sealed

    reached = [0]

    def write(until: float) -> int:
        count = 0
        while time.monotonic() < until:
            reached[0] += 1
            point = Point(f"C-{reached[0]}", "draft", 2, sequence=reached[0], inline_state=STATE)
            verdict = commit_step(**known, step=Step(sealed(point)))
            assert verdict.code == "done", verdict
            count += 1
        return count

    return write


def _operations(known: dict[str, Any]) -> Callable[[float], int]:
    from contracts.gates.sending import dispatch
    from contracts.gates.workers.ledger import intend, report

    reached = [0]

    def write(until: float) -> int:
        count = 0
        while time.monotonic() < until:
            reached[0] += 1
            page = f"label-{reached[0]}"
            call = {
                "tool": "cms.publish",
                "step": f"publish-{reached[0]}",
                "parameters": {"page": page, **STATE},
            }
            verdict = intend(**known, **call, target=f"cms://pages/{page}", expected="one page")
            assert verdict.code == "done", verdict
            told = {**known, "operation_key": verdict.outcome.key}
            sent = dispatch(**told)
            assert sent.code == "done", sent
            reported = report(**told, result="confirmed", reference=f"cms://pages/{page}")
            assert reported.code == "done", reported
            count += 1
        return count

    return write

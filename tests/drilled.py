"""Runs of drills for the tests, made through their gates: as if a process had carried them out."""

from decimal import Decimal
from typing import Any

from contracts.gates.drilling import Found, Runner, ask_for_run, begin_run, end_run, keep_result
from contracts.models import Contract, DrillRun
from contracts.rules.drill_runs import RunEnd
from contracts.rules.drilling import Counters, judge, tell
from contracts.rules.vocabulary import Actor, ActorKind
from contracts.rules.windows import Window, WindowVerdict
from tests.builders import done

OTTO = Actor("otto", ActorKind.OPERATOR)
CLEAN = Counters(
    repeat=2, expected=16, in_target=16, attempted=16, acknowledged=16, seconds_to_resume=Decimal("1.5")
)
DOUBLED = Counters(repeat=2, expected=16, in_target=18, duplicated=2, attempted=18, acknowledged=16)
HELD = Counters(repeat=2, expected=16, in_target=15, lost=1, left_open=1, unknown_held=1)
CANNOT = "This worker has no lease, so none can lapse."


def a_run(contract: Contract | None = None, **given: Any) -> DrillRun:
    """Return a run that waits for its turn."""
    known: dict[str, Any] = {
        "actor": OTTO,
        "adapter": "sqlite-sample",
        "target": "plain",
        "windows": ["before_commit", "receipt_lost"],
        "repeat": 2,
        "contract_id": contract.pk if contract else None,
    }
    run: DrillRun = done(ask_for_run(**{**known, **given}))
    return run


def begun(run: DrillRun, **runner: Any) -> DrillRun:
    """Let a process that is not there carry the run out."""
    known = {"host": "elsewhere", "pid": 7, "began": 1.0, "folder": "/tmp/nowhere"}
    assert begin_run(run_id=run.run_id, runner=Runner(**{**known, **runner}))
    run.refresh_from_db()
    return run


def found(window: str, counters: Counters) -> Found:
    """Return what a window came to if this was counted."""
    sentence, values = tell(Window(window), counters)
    return Found(window, judge(counters), counters, sentence, values, evidence=f"/tmp/{window}")


def not_expressible(window: str) -> Found:
    """Return what a window came to that the worker cannot express."""
    return Found(window, WindowVerdict.NOT_EXPRESSIBLE, Counters(), CANNOT)


def a_done_run(contract: Contract | None = None, **given: Any) -> DrillRun:
    """Return a run that ended with one held and one failed window."""
    run = begun(a_run(contract, **given))
    for window, counters in (("before_commit", CLEAN), ("receipt_lost", DOUBLED)):
        done(keep_result(run=run, found=found(window, counters)))
    assert end_run(run_id=run.run_id, reason=RunEnd.COMPLETED)
    run.refresh_from_db()
    return run

"""How the resume decision grows with the contract: a hundred objects against a hundred thousand.

Every object of the long contract has its own source, draft, write, checkpoint, step of the journal and entry of
usage, as it would have near the end of its work; what is left to do is as much as in the short one. Both are
decided in turns, from the rows to the verdict, in a snapshot of their own.
"""

import statistics
import time
from typing import Any

from tests.benchmarks.filling import a_worked_contract
from tests.benchmarks.places import analyse, workbench

FEW, MANY = 100, 100_000
LEFT = 40  # objects not begun, in both
ROUNDS = 31


def run() -> list[dict[str, Any]]:
    """Print and return the median milliseconds of the decision on the short and the long contract.

    Rows have `name`, `objects` and `milliseconds`; the last one has `ratio` (aim: at most 3).
    """
    with workbench():
        spent = _measure()
    middle = {count: statistics.median(times) for count, times in spent.items()}
    rows: list[dict[str, Any]] = [
        {"name": "decision", "objects": count, "milliseconds": round(value, 2)}
        for count, value in middle.items()
    ]
    growth = round(middle[MANY] / middle[FEW], 2)
    for row in rows:
        print(f"decision with {row['objects']:>7,} objects: {row['milliseconds']:>8.2f} ms")
    print(f"growth: {growth} (aim: at most 3), median of {ROUNDS} decisions each, in turns")
    return [*rows, {"name": "decision_growth", "ratio": growth}]


def _measure() -> dict[int, list[float]]:
    from contracts.gates.beats import database_now
    from contracts.models.standing import decision_for
    from contracts.rules.resume_facts import Caller
    from contracts.rules.vocabulary import ActorKind

    worker = Caller("label-writer", ActorKind.WORKER, may_see=True, may_continue=True)
    made = {count: a_worked_contract(f"decision-{count}", count, LEFT) for count in (FEW, MANY)}
    analyse()
    spent: dict[int, list[float]] = {FEW: [], MANY: []}
    for _ in range(ROUNDS):
        for count, contract in made.items():
            start = time.perf_counter()
            decision = decision_for(contract, worker, database_now())
            spent[count].append((time.perf_counter() - start) * 1_000)
            assert decision.work is not None, decision.verdict
            assert decision.work.to_do >= LEFT
    return spent

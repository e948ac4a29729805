"""How the work of one moment grows with all that is there: decisions and steps, and the list of contracts.

The sizes are compared in turns on one server that syncs to disk. `BENCHMARK_WHOLE=1` adds the largest: a million
objects, and a hundred thousand contracts. `bulk` asks the list more questions.
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from tests.benchmarks.contenders import STATE
from tests.benchmarks.filling import a_worked_contract, more_contracts
from tests.benchmarks.places import analyse, workbench
from tests.benchmarks.telling import Row, aim, in_turns, middle, table, tail

WHOLE = os.environ.get("BENCHMARK_WHOLE") == "1"
OBJECTS = (100, 10_000, 100_000, *([1_000_000] if WHOLE else []))
CONTRACTS = (100, 10_000, *([100_000] if WHOLE else []))
ROUNDS = 61
LEFT = 40  # objects not begun, in each
SMALL = {"objects": (50, 500), "contracts": (10, 60), "rounds": 3}


def run(
    objects: tuple[int, ...] = OBJECTS, *, contracts: tuple[int, ...] = CONTRACTS, rounds: int = ROUNDS
) -> list[Row]:
    """Print and return the median milliseconds for each size, the growth from the smallest, and the aims."""
    with workbench(durable=True):
        rows = [*_contracts(objects, rounds), *_lists(contracts, rounds)]
    table(f"Scale, {rounds} times each; growth from the smallest", rows)
    print()
    last = {row["what"]: row["growth"] for row in rows}  # the largest of each kind comes last
    return [
        *rows,
        *(aim(f"growth of the {what}", last[what], at_most=1.5) for what in ("decision", "step commit")),
    ]


def _contracts(sizes: tuple[int, ...], rounds: int) -> list[Row]:
    paused = {size: a_worked_contract(f"scale-decide-{size}", size, LEFT) for size in sizes}
    owned = {size: a_worked_contract(f"scale-step-{size}", size, LEFT) for size in sizes}
    analyse()
    deciding = in_turns({str(size): partial(_decide, contract) for size, contract in paused.items()}, rounds)
    steps = in_turns({str(size): _committer(contract, size) for size, contract in owned.items()}, rounds)
    return _grown("decision", deciding) + _grown("step commit", steps)


def _grown(what: str, spent: dict[str, list[float]]) -> list[Row]:
    first = middle(next(iter(spent.values())))
    return [
        {
            "what": what,
            "size": int(size),
            "p50_ms": middle(times),
            "p95_ms": tail(times),
            "growth": round(middle(times) / first, 2),
        }
        for size, times in spent.items()
    ]


def _decide(contract: Any) -> None:
    from contracts.gates.beats import database_now
    from contracts.models.standing import decision_for
    from contracts.rules.resume_facts import Caller
    from contracts.rules.vocabulary import ActorKind

    worker = Caller("label-writer", ActorKind.WORKER, may_see=True, may_continue=True)
    decision = decision_for(contract, worker, database_now())
    assert decision.work is not None, decision.verdict
    assert decision.work.to_do >= LEFT


def _committer(contract: Any, reached: int) -> Callable[[], None]:
    """Let a worker own the contract, and return how it commits its next step."""
    from contracts.gates.workers.owning import resume
    from contracts.gates.workers.stepping import commit_step
    from contracts.rules.granting import Offer
    from contracts.rules.stepping import Point, Step, sealed
    from contracts.rules.vocabulary import Actor, ActorKind
    from tests import builders

    worker = Actor("label-writer", ActorKind.WORKER)
    granted = builders.done(resume(contract_id=contract.pk, actor=worker, offer=Offer()))
    known = {"contract_id": contract.pk, "actor": worker, "generation": granted.attempt.generation}
    numbers = count(reached + 1)

    def commit() -> None:
        number = next(numbers)
        point = Point(f"N-{number}", "describe", 2, sequence=number, inline_state=STATE)
        verdict = commit_step(**known, step=Step(sealed(point)))
        assert verdict.code == "done", verdict

    return commit


def _lists(sizes: tuple[int, ...], rounds: int) -> list[Row]:
    """Look at the list as it grows: one size after the other, because there is one list."""
    from tests import builders, people
    from tests.benchmarks.visiting import Visit
    from tests.views.visiting import address, visitor

    like = builders.a_paused(task_id="like-this")
    visit = Visit(visitor(people.owner(like.team)), address("list"))
    spent: dict[str, list[float]] = {}
    there = 0
    for size in sizes:
        more_contracts(like, f"show-{size}", size - there)
        there = size
        analyse()
        spent |= in_turns({str(size): visit}, rounds)
    return _grown("list of contracts", spent)

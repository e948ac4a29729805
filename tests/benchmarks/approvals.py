"""Decisions per second while many decide on the same items, and how often each item was decided.

The control looks first and saves afterwards, as a page without a lock would: it decides an item many times.
`BENCHMARK_WHOLE=1` takes two hundred items, which is many minutes.
"""

import os
import threading
import time
from collections import Counter
from functools import partial
from typing import Any

from tests.benchmarks.places import analyse, workbench
from tests.benchmarks.telling import Row, aim, table

WHOLE = os.environ.get("BENCHMARK_WHOLE") == "1"
RIVALS, ITEMS, CONTROLS = 64, 200 if WHOLE else 20, 10
CONTRACTS = 5  # over which the items are spread
SMALL = {"rivals": 6, "items": 5, "controls": 3}


def run(rivals: int = RIVALS, *, items: int = ITEMS, controls: int = CONTROLS) -> list[Row]:
    """Print and return decisions per second and decisions per item, of the gate and of the control."""
    with workbench(durable=True):
        people = _curators(rivals)
        ours = _race("gate", _items("ours", items), people, _by_the_gate)
        control = _race("control", _items("control", controls), people, _look_then_save)
    table(f"{rivals} rivals decide on every item, each with a connection of its own", [ours, control])
    print()
    return [
        ours,
        control,
        aim("most decisions on one item", ours["most_on_one"], at_most=1),
        aim("fewest decisions on one item", ours["fewest_on_one"], at_least=1),
        aim("most decisions on one item, by the control (must lose)", control["most_on_one"], at_least=2),
    ]


def _curators(count: int) -> list[Any]:
    from contracts.rules.vocabulary import Role
    from tests import builders, people

    team = builders.a_team()
    return [people.person(f"curator-{number}", team, Role.CURATOR) for number in range(count)]


def _items(name: str, count: int) -> list[Any]:
    from tests import builders, scenes

    team, made = builders.a_team(), []
    contracts = [scenes.a_label_contract(team, f"{name}-{number}") for number in range(min(CONTRACTS, count))]
    for contract in contracts:
        scenes.change_rules(contract, login_fresh_seconds="3600")  # a slow machine is not what this is about
    for number in range(count):
        contract = contracts[number % len(contracts)]
        scenes.call(contract, number + 2)
        made.append(scenes.ask(contract, scenes.WHY))
    analyse()
    return made


def _race(name: str, items: list[Any], people: list[Any], decide: Any) -> Row:
    """Let all `people` decide on all `items` in the same order, let go together at each."""
    from tests.races.racing import race

    gather = threading.Barrier(len(people))
    start = time.perf_counter()
    told = race(*(partial(_go_through, items, person, decide, gather) for person in people))
    spent = time.perf_counter() - start
    decided = Counter(place for one in told for place, done in enumerate(one) if done)
    on_each = [decided[place] for place in range(len(items))]
    if name == "gate":
        assert on_each == _recorded(items), "what was answered is not what is recorded"
    return {
        "way": name,
        "items": len(items),
        "attempts": len(items) * len(people),
        "decisions": sum(on_each),
        "most_on_one": max(on_each),
        "fewest_on_one": min(on_each),
        "decided_per_second": round(len(items) / spent, 1),
        "attempts_per_second": round(len(items) * len(people) / spent, 1),
    }


def _recorded(items: list[Any]) -> list[int]:
    from contracts.models import ApprovalVote

    return [ApprovalVote.objects.filter(approval=item).count() for item in items]


def _go_through(items: list[Any], person: Any, decide: Any, gather: threading.Barrier) -> list[bool]:
    done = []
    for item in items:
        gather.wait(timeout=120)
        done.append(decide(item, person, gather))
    return done


def _by_the_gate(item: Any, person: Any, _gather: threading.Barrier) -> bool:
    from contracts.gates.approving import decide
    from tests.builders import word

    verdict = decide(contract_id=item.contract_id, **word(item, person))
    assert verdict.code in ("done", "already_decided"), verdict
    return bool(verdict.allowed)


def _look_then_save(item: Any, person: Any, gather: threading.Barrier) -> bool:
    from contracts.gates.beats import database_now
    from contracts.models import Approval

    row = Approval.objects.get(pk=item.pk)
    waits = row.state == "pending"
    gather.wait(timeout=120)  # a person reads the page as long as it takes
    if waits:
        row.state, row.decided_by, row.decided_at = "approved", person.username, database_now()
        row.save()
    return waits

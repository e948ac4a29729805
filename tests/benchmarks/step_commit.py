"""Durable step commits per second, this workbench beside its peers, in one interleaved run on one machine."""

import contextlib
import importlib
import os
import statistics
from collections import defaultdict
from typing import Any

import psycopg

from tests.benchmarks.contenders import MOST, Place
from tests.benchmarks.places import server
from tests.benchmarks.writers import Team, team

MODULES = ("raw", "langgraph_sync", "restate_steps", "dbos_steps", "gate", "http_client")
# Only these rows, such as "raw gate"; all of them where nothing is said. The table is told against `raw`.
ONLY = frozenset(os.environ.get("BENCHMARK_ONLY", "").split())
ROUNDS = max(
    5, int(os.environ.get("BENCHMARK_ROUNDS", "5"))
)  # never fewer than five: the median of them counts
SECONDS = 1.5  # of each single measurement
WRITERS = (1, MOST)
AIMS = (
    ("gate", "raw", 0.5, WRITERS),
    ("gate", "langgraph_sync", 2.5, WRITERS),
    ("gate", "restate", 1.5, WRITERS),
    ("gate_operation", "raw_three_commits", 0.5, WRITERS),
    ("http_client", "langgraph_sync", 1.0, (1,)),
)
HOW = f"""\
Each writer is a process of its own with one connection; contracts, threads and workflows are the writer's own.
One PostgreSQL for all but Restate (which has its own store) with fsync on; runs of 50 steps where a peer has runs.
The database is analysed after every round.
Median of {ROUNDS} rounds of {SECONDS} s each, every contender in every round, the order turned round by round.
"""
Figures = dict[tuple[str, int], list[float]]


def run() -> list[dict[str, Any]]:
    """Measure everything that is here, print the table, and return its rows."""
    with server(durable=True) as place, contextlib.ExitStack() as running:
        teams = _teams(place, running)
        figures = _measure(teams, place)
    rows = [
        {"name": name, "writers": writers, "per_second": round(statistics.median(found), 1)}
        for (name, writers), found in figures.items()
    ]
    _print(rows)
    return rows


def _teams(place: Place, running: contextlib.ExitStack) -> list[Team]:
    teams = []
    for module in MODULES:
        contender = importlib.import_module(f"tests.benchmarks.contenders.{module}")
        names = [name for name in contender.NAMES if not ONLY or name in ONLY | {"raw"}]
        if not names:
            continue
        reason = contender.missing()
        if reason:
            print(f"without {', '.join(contender.NAMES)}: {reason}")
            continue
        made = running.enter_context(contender.prepared(place))
        for name in names:
            print(f"starting {MOST} writers of {name}", flush=True)
            teams.append(running.enter_context(team(module, name, place, made, MOST)))
    return teams


def _measure(teams: list[Team], place: Place) -> Figures:
    figures: Figures = defaultdict(list)
    for turn in range(ROUNDS):
        for writers in WRITERS:
            order = teams[turn % len(teams) :] + teams[: turn % len(teams)]
            for each in order:
                figures[each.name, writers].append(each.measure(writers, SECONDS))
        _analyse(place)
        print(f"round {turn + 1} of {ROUNDS}", flush=True)
    return figures


def _analyse(place: Place) -> None:
    """Do what autovacuum does within a minute: tables that were empty a moment ago are planned for as they are."""
    with psycopg.connect(place.database, autocommit=True) as connection:
        connection.execute("ANALYZE")


def _print(rows: list[dict[str, Any]]) -> None:
    found = {(row["name"], row["writers"]): row["per_second"] for row in rows}
    print(f"\n{HOW}\n{'per second':<20}", *(f"{w:>9} writer{'s' * (w > 1):<1} × raw" for w in WRITERS))
    for name in dict.fromkeys(name for name, _ in found):
        cells = [f"{found[name, w]:>12,.0f} {found[name, w] / found['raw', w]:>10.2f}" for w in WRITERS]
        print(f"{name:<20}", *cells)
    print()
    for name, other, aim, counts in AIMS:
        for writers in counts:
            if (name, writers) in found and (other, writers) in found:
                ratio = found[name, writers] / found[other, writers]
                word = "reached" if ratio >= aim else "MISSED"
                print(f"{name} ≥ {aim} × {other}, {writers} writer(s): {ratio:.2f} {word}")

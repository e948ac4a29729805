"""Ten thousand contracts, and a contract of ten thousand objects, through the pages: find, sort, page, act."""

import time
from typing import Any

from tests.benchmarks.filling import more_contracts
from tests.benchmarks.places import analyse, workbench
from tests.benchmarks.telling import Row, aim, in_turns, middle, table, tail
from tests.benchmarks.visiting import HTMX, Visit, queries_of

CONTRACTS, OBJECTS, ROUNDS = 10_000, 10_000, 9
MOST_QUERIES = 12
# The questions to the list; `page` far behind, because the database must count its way there.
QUESTIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "search, many found": {"q": "Labels of show"},
    "search, one found": {"q": "show-9"},
    "search, none found": {"q": "nowhere"},
    "state": {"state": "paused"},
    "expired": {"state": "expired"},
    "team": {"team": "labels"},
    "needs me": {"mine": "on"},
    "by deadline": {"sort": "deadline"},
    "by title": {"sort": "title"},
    "by state": {"sort": "state"},
    "last page": {"page": "9999"},
    "everything at once": {
        "q": "show",
        "state": "draft",
        "team": "labels",
        "mine": "on",
        "sort": "title",
        "page": "2",
    },
}
SMALL = {"contracts": 60, "objects": 120, "rounds": 1}


def run(contracts: int = CONTRACTS, *, objects: int = OBJECTS, rounds: int = ROUNDS) -> list[Row]:
    """Print and return milliseconds and queries of each question and each act, and the aims."""
    with workbench():
        asked = _ask(contracts, rounds)
        found = _look(objects, rounds)
        acted = _act(objects)
    table(f"List of {contracts:,} contracts, {rounds} times each, in turns", asked)
    table(f"Objects of a contract of {objects:,}", found)
    table(f"One act on all {objects:,} objects", acted)
    print()
    most = max(row["queries"] for row in asked)
    return [*asked, *found, *acted, aim("queries of the list, whatever is asked", most, at_most=MOST_QUERIES)]


def _ask(count: int, rounds: int) -> list[Row]:
    from tests import builders, people
    from tests.views.visiting import address, visitor

    like = builders.a_paused(task_id="like-this")
    more_contracts(like, "show", count)
    analyse()
    olga = visitor(people.owner(like.team))
    visits = {name: Visit(olga, address("list", **question), HTMX) for name, question in QUESTIONS.items()}
    return _measured(visits, rounds)


def _look(count: int, rounds: int) -> list[Row]:
    from tests import people
    from tests.exports.telling import a_crowded_draft
    from tests.views.visiting import address, visitor

    draft = a_crowded_draft(count)
    analyse()
    olga = visitor(people.owner(draft.team))
    questions: dict[str, dict[str, str]] = {
        "first page": {},
        "search": {"object-q": "P-77"},
        "state": {"object-state": "pending"},
        "last page": {"object-page": "9999"},
    }
    visits = {
        f"objects, {name}": Visit(olga, address("section", draft.task_id, "objects", **question))
        for name, question in questions.items()
    }
    return _measured(visits, rounds)


def _measured(visits: dict[str, Visit], rounds: int) -> list[Row]:
    spent = in_turns(visits, rounds)
    return [
        {
            "asked": name,
            "p50_ms": middle(spent[name]),
            "p95_ms": tail(spent[name]),
            "queries": queries_of(visit),
        }
        for name, visit in visits.items()
    ]


def _act(count: int) -> list[Row]:
    """Do each act on everything that the table shows, on whatever page; each leads to the next."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from contracts.models import WorkObject
    from tests import people
    from tests.exports.telling import a_crowded_draft
    from tests.views.visiting import address, visitor

    draft = a_crowded_draft(count)
    client = visitor(people.owner(draft.team))
    rows = []
    for act, state in (
        ("begin", "in_progress"),
        ("send_back", "pending"),
        ("begin", "in_progress"),
        ("accept", "confirmed"),
    ):
        posted = {"act": act, "all": "1", "reason": ""}
        with CaptureQueriesContext(connection) as captured:
            start = time.perf_counter()
            answer = client.post(address("objects_act", draft.task_id), posted)
            spent = (time.perf_counter() - start) * 1_000
        assert answer.status_code == 302, answer.status_code
        assert WorkObject.objects.of(draft.pk).filter(state=state).count() == count
        rows.append({"act": act, "changed": count, "ms": round(spent, 2), "queries": len(captured)})
    return rows

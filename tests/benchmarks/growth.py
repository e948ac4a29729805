"""Bytes on disk for each contract, object, step and operation, indexes and events included.

Run it with `DATABASE_URL` and `DJANGO_SETTINGS_MODULE=workbench.settings`: `python -m tests.benchmarks.growth`.
The database must be empty and its own.
"""

import itertools
import json
from collections.abc import Callable
from typing import Any

CONTRACTS, OBJECTS, STEPS, OPERATIONS, RESULT = 100, 2_000, 3_000, 500, 1_000
TABLES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'contracts\\_%'
"""


def main() -> None:
    """Make so many of each, and print what each has added."""
    import django

    django.setup()
    from django.core.management import call_command

    from tests import builders
    from tests.benchmarks.contenders.tasks import migrate

    migrate()
    call_command("createcachetable", verbosity=0)
    team = builders.a_team()
    contract = builders.a_paused(team)
    _tell("contract", CONTRACTS, lambda: [builders.a_paused(team) for _ in range(CONTRACTS)])
    _tell("object", OBJECTS, lambda: _objects(contract))
    limits = [{**limit, "cap": "1000000"} for limit in builders.complete_keys()["limits"]]
    known = _owned(builders.a_paused(team, tools=[builders.EXAMPLES["tool"]], limits=limits))
    _tell("step", STEPS, lambda: _steps(known))
    _tell("operation", OPERATIONS, lambda: _operations(known))


def _tell(name: str, count: int, make: Callable[[], Any]) -> None:
    before = _sizes()
    make()
    after = _sizes()
    grown = {table: after[table] - before[table] for table in after if after[table] > before[table]}
    most = sorted(grown.items(), key=lambda row: -row[1])
    row = {
        "name": name,
        "count": count,
        "bytes_each": round(sum(grown.values()) / count),
        "tables": {table.removeprefix("contracts_"): round(size / count) for table, size in most[:5]},
    }
    print(json.dumps(row))


def _sizes() -> dict[str, int]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(TABLES)
        return dict(cursor.fetchall())


def _owned(contract: Any) -> dict[str, Any]:
    from contracts.gates.workers.owning import resume
    from contracts.rules.granting import Offer
    from contracts.rules.vocabulary import Actor, ActorKind

    actor = Actor("label-writer", ActorKind.WORKER)
    verdict = resume(contract_id=contract.pk, actor=actor, offer=Offer())
    assert verdict.allowed, verdict
    contract.refresh_from_db()
    return {"contract_id": contract.pk, "actor": actor, "generation": contract.generation}


def _objects(contract: Any) -> None:
    from contracts.gates.objects import add_lines
    from contracts.rules.parts import PARTS
    from contracts.rules.vocabulary import Actor

    lines = [{"object_id": f"photo-{number:06}", "source": "P-1"} for number in range(OBJECTS)]
    verdict = add_lines(contract_id=contract.pk, actor=Actor("olga"), part=PARTS["object"], lines=lines)
    assert verdict.allowed, verdict


def _steps(known: dict[str, Any]) -> None:
    from contracts.gates.workers.stepping import commit_step
    from contracts.rules.stepping import Entry, Point, Step, sealed
    from contracts.rules.vocabulary import StepKind

    for number in itertools.islice(itertools.count(1), STEPS):
        text = f"{number:>{RESULT}}"
        point = Point(f"C-{number}", "draft", 2, sequence=number, inline_state={"photo": number})
        entry = Entry(f"draft:photo-{number:06}", StepKind.MODEL_TURN, result=text)
        verdict = commit_step(**known, step=Step(sealed(point), entry=entry))
        assert verdict.code == "done", verdict


def _operations(known: dict[str, Any]) -> None:
    from contracts.gates.sending import dispatch
    from contracts.gates.workers.ledger import intend, report

    for number in range(OPERATIONS):
        page = f"photo-{number:06}"
        call = {"tool": "cms.publish", "step": f"publish:{page}", "parameters": {"page": page}}
        verdict = intend(**known, **call, target=f"cms://pages/{page}", expected="One page.")
        assert verdict.code == "done", verdict
        told = {**known, "operation_key": verdict.outcome.key}
        assert dispatch(**told).code == "done"
        assert report(**told, result="confirmed", reference=f"cms://pages/{page}").code == "done"


if __name__ == "__main__":
    main()

"""How the resume decision grows with the contract: a hundred objects against a hundred thousand.

Every object of the long contract has its own source, draft, write, checkpoint, step of the journal and entry of
usage, as it would have near the end of its work; what is left to do is as much as in the short one. Both are
decided in turns, from the rows to the verdict, in a snapshot of their own.
"""

import contextlib
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FEW, MANY = 100, 100_000
LEFT = 40  # objects not begun, in both
ROUNDS = 31
# One statement for each table: the gates would take many minutes for as many rows.
FILL = (
    """
    INSERT INTO contracts_source (contract_id, version, position, source_id, version_label, sha256, location,
        current, note)
    SELECT %(id)s, 1, n * 1024, 'S-' || n, '1', repeat('a', 64), 'archive://box-17/' || n, true, ''
    FROM generate_series(1, %(count)s) AS n
    """,
    """
    INSERT INTO contracts_artefact (contract_id, version, position, artefact_id, version_label, sha256, location,
        inline_text, source_id, author, accepted_by, current, note)
    SELECT contract_id, 1, position, 'D' || source_id, '1', sha256, '', 'Photograph ' || source_id, id, 'writer',
        '', true, ''
    FROM contracts_source WHERE contract_id = %(id)s AND source_id LIKE 'S-%%'
    """,
    """
    INSERT INTO contracts_workobject (contract_id, version, position, object_id, source_id, artefact_id, step, state,
        evidence, note, settled_by, settled_at)
    SELECT contract_id, 1, position, 'O' || artefact_id, source_id, id, 'describe',
        CASE WHEN position <= (%(count)s - %(left)s) * 1024 THEN 'confirmed' ELSE 'pending' END,
        'archive://receipts', '', 'carla', now()
    FROM contracts_artefact WHERE contract_id = %(id)s AND artefact_id LIKE 'DS-%%'
    """,
    """
    INSERT INTO contracts_operation (contract_id, version, key, work_object_id, tool_id, step, round, parameters,
        fingerprint, target, expected, state, generation, tries, response_sha256, target_reference, intended_at)
    SELECT o.contract_id, 1, encode(sha256(o.object_id::bytea), 'hex'), o.id, t.id, 'publish', 1,
        jsonb_build_object('page', o.object_id), repeat('b', 64), 'cms://pages', 'one page', 'confirmed', 1, 1, '',
        'cms://pages/' || o.id, now()
    FROM contracts_workobject o JOIN contracts_toolcontract t ON t.contract_id = o.contract_id
    WHERE o.contract_id = %(id)s AND o.state = 'confirmed'
    """,
    """
    INSERT INTO contracts_attempt (contract_id, version, number, attempt_id, generation, worker, framework,
        framework_handle, started_at, by_hand, synchronous, ended_at, end_reason, evidence, note)
    VALUES (%(id)s, 1, 1, 'A-1', 1, 'label-writer', '', '', now(), false, true, now(), 'released', '', '')
    """,
    """
    INSERT INTO contracts_checkpoint (contract_id, version, sequence, checkpoint_id, kind, attempt_id, generation,
        event_cursor, durability, next_step, schema_version, location, inline_state, sha256, size_bytes, committed_at,
        evidence, note)
    SELECT a.contract_id, 1, n, 'C-' || n, 'state', a.id, 1, '', 'sync', 'describe', 2, '',
        jsonb_build_object('photo', n), encode(sha256(('{"photo":' || n || '}')::bytea), 'hex'),
        length('{"photo":' || n || '}'), now(), '', ''
    FROM contracts_attempt a, generate_series(1, %(count)s) AS n WHERE a.contract_id = %(id)s
    """,
    """
    INSERT INTO contracts_journalstep (contract_id, version, sequence, kind, key, attempt_id, state, result,
        result_location, result_sha256, usage)
    SELECT a.contract_id, 1, n, 'model_turn', 'describe-' || n, a.id, 'done',
        jsonb_build_object('text', repeat('daylight ', 20)), '', '', '{}'
    FROM contracts_attempt a, generate_series(1, %(count)s) AS n WHERE a.contract_id = %(id)s
    """,
    """
    INSERT INTO contracts_usageentry (contract_id, version, entry_id, measure, amount, attempt_id, step, used_at,
        evidence, note)
    SELECT a.contract_id, 1, 'u-' || n, (ARRAY['tokens', 'tries_per_step'])[1 + n %% 2], 0.0001, a.id,
        'describe-' || n, now(), '', ''
    FROM contracts_attempt a, generate_series(1, %(count)s) AS n WHERE a.contract_id = %(id)s
    """,
)


def run() -> list[dict[str, Any]]:
    """Print and return the median milliseconds of the decision on the short and the long contract.

    Rows have `name`, `objects` and `milliseconds`; the last one has `ratio` (aim: at most 3).
    """
    with _workbench():
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


@contextlib.contextmanager
def _workbench() -> Iterator[None]:
    """Let Django work with a fresh database."""
    from workbench.postgres import throw_away

    with throw_away() as address, tempfile.TemporaryDirectory(prefix="workbench-benchmark-") as folder:
        Path(folder, "static").mkdir()
        os.environ |= {
            "DATABASE_URL": address,
            "WORKBENCH_DATA": folder,
            "WORKBENCH_SECRET_KEY": secrets.token_urlsafe(64),
            "WORKBENCH_POOL": "0",
            "DJANGO_SETTINGS_MODULE": "workbench.settings",
        }
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield
        from django.db import connection

        connection.close()


def _measure() -> dict[int, list[float]]:
    from django.db import connection

    from contracts.gates.beats import database_now
    from contracts.models import CONTENT
    from contracts.models.standing import decision_for
    from contracts.rules.resume_facts import Caller
    from contracts.rules.vocabulary import ActorKind

    worker = Caller("label-writer", ActorKind.WORKER, may_see=True, may_continue=True)
    made = {count: _a_worked_contract(count) for count in (FEW, MANY)}
    with connection.cursor() as cursor:  # as the database itself does after so many rows
        for table in CONTENT:
            cursor.execute(f"VACUUM ANALYZE {table._meta.db_table}")
    spent: dict[int, list[float]] = {FEW: [], MANY: []}
    for _ in range(ROUNDS):
        for count, contract in made.items():
            start = time.perf_counter()
            decision = decision_for(contract, worker, database_now())
            spent[count].append((time.perf_counter() - start) * 1_000)
            assert decision.work is not None, decision.verdict
            assert decision.work.to_do >= LEFT
    return spent


def _a_worked_contract(count: int) -> Any:
    """Return a paused contract with `count` objects of its own, all but `LEFT` of them confirmed."""
    from django.db import connection, transaction

    from contracts.gates.beats import Entry, append_events, database_now, lock_contract
    from contracts.rules.vocabulary import Actor, ActorKind
    from tests import builders

    known = builders.a_paused(task_id=f"decision-{count}")
    with transaction.atomic():
        with connection.cursor() as cursor:
            for statement in FILL:
                cursor.execute(statement, {"id": known.pk, "count": count, "left": LEFT})
        contract = lock_contract(known.pk)
        assert contract is not None
        contract.generation = 1
        entries = [Entry("accept", "object", f"O-{number}") for number in range(count)]
        append_events(contract, database_now(), Actor("label-writer", ActorKind.WORKER), entries)
        contract.save()
    return contract

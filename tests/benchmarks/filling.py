"""Contracts as they are near the end of their work, filled by one statement for each table.

The gates would take many minutes for as many rows.
"""

from typing import Any

STATEMENTS = (
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
# As `builders.created` leaves it: the rights of the team's groups and of the creator are copied from one contract.
MORE_CONTRACTS = (
    """
    INSERT INTO contracts_contract (task_id, title, purpose, accountable_owner, team_id, workflow_name,
        workflow_version, state_schema_version, readable_schema_versions, agent_version, acceptance, deadline, state,
        plan_digest, cancelled_by, cancel_reason, generation, revision, revised_at, version, event_count, event_head,
        created_by)
    SELECT %(prefix)s || '-' || n, 'Labels of show ' || n, c.purpose, c.accountable_owner, c.team_id, c.workflow_name,
        c.workflow_version, c.state_schema_version, c.readable_schema_versions, c.agent_version, c.acceptance,
        c.deadline + n * interval '1 minute', (ARRAY['draft', 'paused', 'paused', 'paused'])[1 + n %% 4],
        c.plan_digest, '', '', 0, 1, now() - n * interval '1 minute', 1, 0, '', c.created_by
    FROM contracts_contract c, generate_series(1, %(count)s) AS n WHERE c.id = %(id)s
    """,
    """
    INSERT INTO contracts_contractgrouppermission (group_id, permission_id, content_object_id)
    SELECT p.group_id, p.permission_id, c.id FROM contracts_contractgrouppermission p, contracts_contract c
    WHERE p.content_object_id = %(id)s AND c.task_id LIKE %(prefix)s || '-%%'
    """,
    """
    INSERT INTO contracts_contractuserpermission (user_id, permission_id, content_object_id)
    SELECT p.user_id, p.permission_id, c.id FROM contracts_contractuserpermission p, contracts_contract c
    WHERE p.content_object_id = %(id)s AND c.task_id LIKE %(prefix)s || '-%%'
    """,
    """
    INSERT INTO contracts_workobject (contract_id, version, position, object_id, step, state, evidence, note,
        settled_by)
    SELECT c.id, 1, n * 1024, 'O-' || n, 'describe', 'pending', '', '', ''
    FROM contracts_contract c, generate_series(1, 4) AS n WHERE c.task_id LIKE %(prefix)s || '-%%'
    """,
    """
    INSERT INTO contracts_sectionmark (contract_id, version, section, complete)
    SELECT c.id, 1, m.section, true FROM contracts_contract c, contracts_sectionmark m
    WHERE m.contract_id = %(id)s AND c.task_id LIKE %(prefix)s || '-%%'
    """,
)


def a_worked_contract(task_id: str, count: int, left: int) -> Any:
    """Return a paused contract with `count` objects of its own, all but `left` of them confirmed."""
    from django.db import transaction

    from contracts.gates.beats import Entry, append_events, database_now, lock_contract
    from contracts.rules.vocabulary import Actor, ActorKind
    from tests import builders

    known = builders.a_paused(task_id=task_id)
    with transaction.atomic():
        _fill(STATEMENTS, {"id": known.pk, "count": count, "left": left})
        contract = lock_contract(known.pk)
        assert contract is not None
        contract.generation = 1
        entries = [Entry("accept", "object", f"O-{number}") for number in range(count)]
        append_events(contract, database_now(), Actor("label-writer", ActorKind.WORKER), entries)
        contract.save()
    return contract


def more_contracts(like: Any, prefix: str, count: int) -> None:
    """Add `count` contracts like the paused contract `like`, of the same team, each with four objects."""
    from django.db import transaction

    with transaction.atomic():
        _fill(MORE_CONTRACTS, {"id": like.pk, "count": count, "prefix": prefix})


def _fill(statements: tuple[str, ...], given: dict[str, Any]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, given)

"""The single statements that intend, send and report one write in the ordinary case; see `statement_parts`.

They ask what the rules of the ledger ask, and write what the slow path would write. Whatever is out of the ordinary
(an approval, another round, a call that may have left before, the single write proxy) is left to the slow path.
"""

from contracts.gates.beats import SUBJECT_MAX
from contracts.gates.workers.statement_parts import (
    AFTER,
    AT,
    BEFORE,
    CONTRACT,
    HASH,
    INTO_EVENTS,
    KEY,
    LOCKED,
    MOMENT,
    MOVED,
    NUMBER,
    OWNED,
    SUBJECT,
    TASK,
    filled,
    no_cap,
    numbered,
)
from contracts.rules.limiting import PER_STEP
from contracts.rules.vocabulary import Measure

# ruff: noqa: S608  # the texts are put together from those of this folder alone; values are told apart from them

_WORKING = "'resuming', 'running'"
_TASK = "task.id, task.task_id, task.event_count, task.event_head, task.state"
_OVER_ALL = {measure.value: f"used.{measure.value}" for measure in Measure if measure not in PER_STEP}
_FREE = f"""
        AND (%(object)s::text = '' OR w.id IS NOT NULL)
        AND NOT EXISTS (SELECT FROM contracts_operation s
            WHERE s.contract_id = {CONTRACT} AND s.step = %(step)s::text AND s.tool_id = tool.id
                AND s.work_object_id IS NOT DISTINCT FROM w.id)
        AND NOT EXISTS (SELECT FROM contracts_operation s
            WHERE s.contract_id = {CONTRACT} AND s.key = call.key)"""
_KNOWN = {NUMBER: "(c.event_count + 1)::text", TASK: "c.task_id", AT: MOMENT}

INTEND = numbered(
    f"""
WITH c AS (
    SELECT {_TASK}, tool.id AS tool_id, w.id AS work_object_id, call.key,
        GREATEST(clock.now, task.revised_at + interval '1 microsecond') AS now"""
    + OWNED.format(
        states=_WORKING,
        sources=f"""
    JOIN contracts_toolcontract tool ON tool.contract_id = {CONTRACT} AND tool.tool = %(tool)s::text
    LEFT JOIN contracts_workobject w ON w.contract_id = {CONTRACT} AND w.object_id = %(object)s::text
    CROSS JOIN LATERAL (SELECT encode(sha256(convert_to('["' || task.task_id || %(call)s::text, 'UTF8')), 'hex')
        AS key) call""",
    )
    + _FREE
    + no_cap("<=", _OVER_ALL)
    + LOCKED
    + f"""
), stored AS (
    INSERT INTO contracts_operation (contract_id, version, key, work_object_id, tool_id, step, round, parameters,
        fingerprint, target, expected, state, tries, response_sha256, target_reference, intended_at)
    SELECT c.id, 1, c.key, c.work_object_id, c.tool_id, %(step)s::text, 1, %(parameters)s::jsonb,
        %(fingerprint)s, %(target)s, %(expected)s, 'pending', 0, '', '', c.now FROM c
    RETURNING *
), chain AS MATERIALIZED (
    SELECT {
        HASH.format(head="c.event_head", body=filled("%(body)s::text", {**_KNOWN, KEY: "c.key"}))
    } AS hash FROM c
), recorded AS (
    {
        INTO_EVENTS.format(
            n="1",
            told="'intend', 'operation', %(subject)s, NULL, "
            + filled("%(after)s::text", {AT: MOMENT, KEY: "c.key"})
            + "::jsonb",
            links="c.event_head, chain.hash FROM c, chain",
        )
    }
)"""
    + MOVED.format(state="c.state", events="1", head="chain.hash", chain=", chain")
    + "\nSELECT row_to_json(stored)::text FROM stored"
)


def _moment(column: str) -> str:
    return f"COALESCE('\"' || {MOMENT.replace('c.now', column)} || '\"', 'null')"


_NOW = f"""'"' || {MOMENT} || '"'"""
# The facts of an operation as they stand, each as JSON. The canonical form of its parameters is told from outside:
# the database keeps names in an order of its own.
_FACTS = {
    "expected": "to_json(c.expected)::text",
    "fingerprint": "to_json(c.fingerprint)::text",
    "generation": "COALESCE(c.sent_by::text, 'null')",
    "intended_at": _moment("c.intended_at"),
    "key": "to_json(c.key)::text",
    "object": "COALESCE(to_json(c.object_id)::text, 'null')",
    "parameters": "%(parameters)s::text",
    "reconciliation": "'null'",
    "response_sha256": "to_json(c.response_sha256)::text",
    "round": "c.round::text",
    "sent_at": _moment("c.sent_at"),
    "settled_at": _moment("c.settled_at"),
    "state": "to_json(c.was)::text",
    "step": "to_json(c.step)::text",
    "target": "to_json(c.target)::text",
    "target_reference": "to_json(c.target_reference)::text",
    "tool": "to_json(c.tool)::text",
    "tries": "c.tries::text",
}


def _facts(**changed: str) -> str:
    """Return the SQL of the facts as canonical JSON without its first brace."""
    pieces = [f"""'"{name}":' || {value}""" for name, value in sorted({**_FACTS, **changed}.items())]
    return " || ',' || ".join(pieces) + " || '}'"


_LOCK = (
    f"""
WITH c AS (
    SELECT {_TASK}, a.id AS attempt_id, clock.now,
        o.id AS operation_id, o.key, o.generation AS sent_by, o.state AS was, o.expected, o.fingerprint, o.intended_at,
        o.response_sha256, o.round, o.sent_at, o.settled_at, o.step, o.target, o.target_reference, o.tries,
        tool.tool, w.object_id"""
    + OWNED.replace(
        "{sources}",
        f"""
    JOIN contracts_operation o ON o.contract_id = {CONTRACT} AND o.key = %(key)s::text
    JOIN contracts_toolcontract tool ON tool.contract_id = {CONTRACT} AND tool.id = o.tool_id
    LEFT JOIN contracts_workobject w ON w.contract_id = {CONTRACT} AND w.id = o.work_object_id""",
    )
    + """
        AND o.reconciliation IS NULL AND o.parameters::text = %(parameters)s::text::jsonb::text
        AND tool.stale_owner <> 'single_write_proxy'"""
)
_TRIES = f"""GREATEST(
                1 + (SELECT COALESCE(sum(s.tries), 0) FROM contracts_operation s
                    WHERE s.contract_id = {CONTRACT} AND s.step = o.step AND s.tool_id = o.tool_id
                        AND s.work_object_id IS NOT DISTINCT FROM o.work_object_id),
                (SELECT COALESCE(sum(u.amount), 0) FROM contracts_usageentry u
                    WHERE u.contract_id = {CONTRACT} AND u.step = o.step AND u.measure = 'tries_per_step')
                + CASE WHEN EXISTS (SELECT FROM contracts_journalstep j
                    WHERE j.contract_id = {CONTRACT} AND j.key = o.step AND j.state = 'started') THEN 0 ELSE 1 END)"""
_SENDABLE = f"""
        AND o.state = 'pending' AND o.generation IS NULL AND NOT tool.needs_approval
        AND NOT EXISTS (SELECT FROM contracts_approval i
            WHERE i.contract_id = {CONTRACT} AND i.operation_id = o.id)
        AND NOT EXISTS (SELECT FROM contracts_operation s
            WHERE s.contract_id = {CONTRACT} AND s.state = 'unknown')
        AND (tool.concurrency = 'free' OR NOT EXISTS (SELECT FROM contracts_operation s
            WHERE s.contract_id = {CONTRACT} AND s.state = 'sending' AND s.tool_id = o.tool_id
                AND (tool.concurrency <> 'one_per_object'
                    OR s.work_object_id IS NOT DISTINCT FROM o.work_object_id)))"""
_TOLD = f"""
), told AS MATERIALIZED (
    SELECT left(c.tool || ' · ' || COALESCE(c.object_id, '–') || ' · ' || c.step || ' · ' || c.round, {
    SUBJECT_MAX
})
        AS subject, '{{{{' || {_facts().replace("{", "{{").replace("}", "}}")} AS before,
        {{after}} AS after FROM c
), chain AS MATERIALIZED (
    SELECT {
    HASH.format(
        head="c.event_head",
        body=filled(
            "%(body)s::text",
            {**_KNOWN, SUBJECT: "to_json(told.subject)::text", BEFORE: "told.before", AFTER: "told.after"},
        ),
    )
} AS hash FROM c, told
), recorded AS (
    {
    INTO_EVENTS.format(
        n="1",
        told="%(act)s, 'operation', told.subject, told.before::jsonb, told.after::jsonb",
        links="c.event_head, chain.hash FROM c, told, chain",
    )
}
)"""
_SENT = _facts(
    generation="%(generation)s::text",
    sent_at=_NOW,
    settled_at="'null'",
    state="'\"sending\"'",
    tries="(c.tries + 1)::text",
    usage="""'{"tool_attempts":"1"}'""",
)
DISPATCH = numbered(
    _LOCK.replace("{states}", _WORKING)
    + _SENDABLE
    + no_cap("<", {"tool_attempts": "used.tool_attempts + 1", "tries_per_step": _TRIES})
    + LOCKED
    + _TOLD.format(after=f"'{{' || {_SENT}")
    + f""", stored AS (
    UPDATE contracts_operation o SET state = 'sending', sent_at = c.now, settled_at = NULL,
        generation = %(generation)s::bigint, tries = o.tries + 1, version = o.version + 1
    FROM c WHERE o.contract_id = {CONTRACT} AND o.id = c.operation_id
    RETURNING o.*
), counted AS (
    INSERT INTO contracts_usageentry (contract_id, version, entry_id, measure, amount, attempt_id, step, used_at,
        evidence, note)
    SELECT c.id, 1, %(entry)s::text, 'tool_attempts', 1, c.attempt_id, c.step, c.now, 'operation:' || c.key, ''
    FROM c
)"""
    + MOVED.format(state="c.state", events="1", head="chain.hash", chain=", chain")
    + "\nSELECT row_to_json(stored)::text FROM stored"
)
_REPORTED = _facts(
    settled_at=_NOW,
    state="to_json(%(result)s::text)::text",
    response_sha256="to_json(%(response_sha256)s::text)::text",
    target_reference="to_json(%(reference)s::text)::text",
)
REPORT = numbered(
    _LOCK.replace("{states}", f"{_WORKING}, 'pause_requested'")
    + """
        AND o.state = 'sending' AND o.generation = %(generation)s::bigint"""
    + LOCKED
    + _TOLD.format(after=f"'{{' || %(detail)s::text || {_REPORTED}")
    + f""", stored AS (
    UPDATE contracts_operation o SET state = %(result)s::text, settled_at = c.now,
        response_sha256 = %(response_sha256)s::text, target_reference = %(reference)s::text,
        version = o.version + 1
    FROM c WHERE o.contract_id = {CONTRACT} AND o.id = c.operation_id
    RETURNING o.*
)"""
    + MOVED.format(state="c.state", events="1", head="chain.hash", chain=", chain")
    + "\nSELECT row_to_json(stored)::text FROM stored"
)

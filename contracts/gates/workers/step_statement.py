"""The one statement that commits a step: its conditions stand where it writes, and it is one round trip."""

from functools import cache

from contracts.gates.workers.statement_parts import (
    ACCEPTED,
    AFTER,
    AT,
    BEFORE,
    CONTRACT,
    HASH,
    INTO_EVENTS,
    LOCKED,
    MOMENT,
    MOVED,
    NUMBER,
    OWNED,
    POINT,
    TASK,
    filled,
    no_cap,
    numbered,
)
from contracts.rules.stepping import COUNTED_BY_WORKERS

# ruff: noqa: S608  # the texts are put together from those of this folder alone; values are told apart from them

_ACCEPTED = "w.accept AND c.acceptance = 'worker'"

_FROM = {
    "entry": f"""
    CROSS JOIN (SELECT 1 + COALESCE(max(sequence), 0) AS line FROM contracts_journalstep
        WHERE contract_id = {CONTRACT}) journal""",
    "made": f"""
    CROSS JOIN (SELECT COALESCE(max(position), 0) AS place FROM contracts_artefact
        WHERE contract_id = {CONTRACT}) shelf""",
}
_COLUMNS = {"entry": ", journal.line", "made": ", shelf.place"}
_TIME = {
    "active_seconds": """used.active_seconds + CASE WHEN a.by_hand THEN 0
                ELSE GREATEST(extract(epoch FROM clock.now - a.started_at), 0) END"""
}
_AMOUNTS = {
    name: f"CASE WHEN %({name})s::numeric > 0 THEN used.{name} + %({name})s::numeric END"
    for name in (measure.value for measure in COUNTED_BY_WORKERS)
}
_CONDITIONS = {
    "entry": f"""
        AND NOT EXISTS (SELECT FROM contracts_journalstep
            WHERE contract_id = {CONTRACT} AND key = %(key)s::text AND state = 'done')""",
    # A further version of an artefact lets older ones give way and items go stale: that is for the slow path.
    "made": f"""
        AND NOT EXISTS (SELECT FROM contracts_artefact
            WHERE contract_id = {CONTRACT} AND artefact_id = ANY (%(made)s::text[]))
        AND NOT EXISTS (SELECT FROM jsonb_to_recordset(%(artefacts)s::jsonb) AS w(source text, source_version text)
            WHERE w.source <> '' AND NOT EXISTS (SELECT FROM contracts_source s
                WHERE s.contract_id = {CONTRACT} AND s.source_id = w.source
                    AND (w.source_version = '' OR s.version_label = w.source_version)))""",
    "objects": f"""
        AND %(held)s::bigint = (SELECT count(*) FROM contracts_workobject o
            WHERE o.contract_id = {CONTRACT} AND o.object_id = ANY (%(names)s::text[])
                AND o.state = 'in_progress' AND o.attempt_id = a.id)
        AND NOT EXISTS (SELECT FROM jsonb_to_recordset(%(referred)s::jsonb) AS w(artefact text, version text,
            sha256 text) WHERE NOT EXISTS (SELECT FROM contracts_artefact v
                WHERE v.contract_id = {CONTRACT} AND v.artefact_id = w.artefact
                    AND (w.version = '' OR v.version_label = w.version)
                    AND (w.sha256 = '' OR v.sha256 = w.sha256)))""",
}
_SOURCES = f"""
    CROSS JOIN (SELECT 1 + COALESCE(max(sequence), 0) AS point FROM contracts_checkpoint
        WHERE contract_id = {CONTRACT}) newest{{sources}}"""
_LOCK = f"""
WITH RECURSIVE c AS (
    SELECT task.id, task.task_id, task.event_count, task.event_head, task.state, task.acceptance,
        a.id AS attempt_id, clock.now,
        CASE task.state WHEN 'resuming' THEN 'running' ELSE task.state END AS next_state, newest.point{{columns}}
    {OWNED.format(sources=_SOURCES, states="'resuming', 'running', 'pause_requested'").lstrip()}
        AND (%(sequence)s::bigint IS NULL OR newest.point = %(sequence)s::bigint){{caps}}{{conditions}}{
    LOCKED
}
), checkpoint AS (
    INSERT INTO contracts_checkpoint (contract_id, version, sequence, checkpoint_id, kind, attempt_id, generation,
        event_cursor, durability, next_step, schema_version, location, inline_state, sha256, size_bytes, write_ms,
        committed_at, evidence, note)
    SELECT c.id, 1, c.point, %(checkpoint)s::text, %(kind)s, c.attempt_id, %(generation)s::bigint, %(cursor)s,
        %(durability)s, %(next_step)s, %(schema)s::integer, %(location)s, %(state)s::jsonb, %(sha256)s,
        %(size)s::bigint, %(write_ms)s::integer, c.now, '', '' FROM c
)"""
_STORED = f"""(SELECT id, artefact_id, version_label, sha256, current FROM contracts_artefact
            WHERE contract_id = {CONTRACT})"""
_WITH_MADE = f"""(SELECT id, artefact_id, version_label, sha256, current FROM contracts_artefact
            WHERE contract_id = {CONTRACT} UNION ALL SELECT * FROM made)"""
_WRITES = {
    "progress": f""", progressed AS (
    UPDATE contracts_attempt a SET progressed_at = c.now FROM c
    WHERE a.id = c.attempt_id AND a.contract_id = {CONTRACT}
        AND (a.progressed_at IS NULL OR a.progressed_at < c.now - interval '1 second')
)""",
    "entry": """, entry AS (
    INSERT INTO contracts_journalstep AS known (contract_id, version, sequence, kind, key, attempt_id, state,
        result, result_location, result_sha256, usage)
    SELECT c.id, 1, c.line, %(step_kind)s, %(key)s::text, c.attempt_id, 'done', %(result)s::jsonb,
        %(result_location)s, %(result_sha256)s, %(usage)s::jsonb FROM c
    ON CONFLICT (contract_id, key) DO UPDATE SET state = 'done', attempt_id = excluded.attempt_id,
        result = excluded.result, result_location = excluded.result_location,
        result_sha256 = excluded.result_sha256, usage = excluded.usage, version = known.version + 1
)""",
    "usage": """, usage AS (
    INSERT INTO contracts_usageentry (contract_id, version, entry_id, measure, amount, attempt_id, step, used_at,
        evidence, note)
    SELECT c.id, 1, 'step-' || c.point || '-' || u.key, u.key, u.value::numeric, c.attempt_id, %(used_by)s,
        c.now, 'checkpoint:' || c.point, '' FROM c, jsonb_each_text(%(usage)s::jsonb) u
)""",
    "made": f""", made AS (
    INSERT INTO contracts_artefact (contract_id, version, position, artefact_id, version_label, sha256, location,
        inline_text, size_bytes, source_id, author, accepted_by, current, note)
    SELECT c.id, 1, c.place + w.place, w.artefact_id, w.version_label, w.sha256, w.location, w.inline_text,
        w.size_bytes, (SELECT s.id FROM contracts_source s
            WHERE s.contract_id = {CONTRACT} AND s.source_id = w.source
                AND (w.source_version = '' OR s.version_label = w.source_version)
            ORDER BY s.current DESC, s.id DESC LIMIT 1), %(actor)s, '', true, w.note
    FROM c, jsonb_to_recordset(%(artefacts)s::jsonb) AS w(place integer, artefact_id text, version_label text,
        sha256 text, location text, inline_text text, size_bytes bigint, source text, source_version text, note text)
    RETURNING id, artefact_id, version_label, sha256, current
)""",
    "objects": f""", touched AS (
    UPDATE contracts_workobject o SET version = o.version + 1,
        state = CASE WHEN {_ACCEPTED} THEN 'confirmed' ELSE o.state END,
        settled_by = CASE WHEN {_ACCEPTED} THEN %(actor)s ELSE '' END,
        settled_at = CASE WHEN {_ACCEPTED} THEN c.now END,
        step = COALESCE(NULLIF(w.step, ''), o.step), evidence = COALESCE(NULLIF(w.evidence, ''), o.evidence),
        note = COALESCE(NULLIF(w.note, ''), o.note),
        artefact_id = CASE w.artefact WHEN '' THEN o.artefact_id ELSE (SELECT v.id FROM {{versions}} v
            WHERE v.artefact_id = w.artefact AND (w.version = '' OR v.version_label = w.version)
                AND (w.sha256 = '' OR v.sha256 = w.sha256) ORDER BY v.current DESC, v.id DESC LIMIT 1) END
    FROM c, jsonb_to_recordset(%(objects)s::jsonb) AS w(object_id text, accept boolean, artefact text, version text,
        sha256 text, step text, evidence text, note text)
    WHERE o.contract_id = {CONTRACT} AND o.object_id = ANY (%(names)s::text[]) AND o.object_id = w.object_id
)""",
    "answer": """, answered AS (
    INSERT INTO contracts_storedanswer (contract_id, worker, key, request_sha256, status, content_type, body)
    SELECT c.id, %(asked_by)s, %(asked_key)s, %(asked_sha256)s, %(status)s::smallint, %(content_type)s,
        %(answer)s::bytea FROM c
)""",
}


_KNOWN = {
    AT: MOMENT,
    POINT: "c.point::text",
    TASK: "c.task_id",
    BEFORE: "c.state",
    AFTER: "c.next_state",
    ACCEPTED: "CASE c.acceptance WHEN 'worker' THEN 'confirmed' ELSE 'in_progress' END",
}


def _filled(text: str, number: str = "0", *, marks: str = "") -> str:
    """Return the SQL that puts what the database knows into the marks of `text`: into all, or only into `marks`."""
    known = {**_KNOWN, NUMBER: f"({number})::text"}
    return filled(text, {mark: known[mark] for mark in marks or known})


_ONE_EVENT = f""", chain AS MATERIALIZED (
    SELECT {
    HASH.format(head="c.event_head", body=_filled("%(body)s::text", "c.event_count + 1"))
} AS hash FROM c
), recorded AS (
    {
    INTO_EVENTS.format(
        n="1",
        told="%(act)s, 'checkpoint', "
        + _filled("%(subject)s::text", marks=POINT)
        + ", jsonb_build_object('state', c.state), "
        + _filled("%(after)s::text", marks=AFTER)
        + "::jsonb",
        links="c.event_head, chain.hash FROM c, chain",
    )
}
)"""
_MANY_EVENTS = f""", told AS MATERIALIZED (
    SELECT w.n, w.part, w.act, {_filled("w.subject")} AS subject, {_filled("w.before")}::jsonb AS before,
        {_filled("w.after")}::jsonb AS after, {_filled("w.body", "c.event_count + w.n")} AS body
    FROM c, jsonb_to_recordset(%(events)s::jsonb) AS w(n integer, part text, act text, subject text, before text,
        after text, body text)
), chain AS (
    SELECT 0 AS n, c.event_head::text AS hash, ''::text AS previous FROM c
    UNION ALL
    SELECT told.n, {HASH.format(head="chain.hash", body="told.body")}, chain.hash
    FROM chain JOIN told ON told.n = chain.n + 1
), recorded AS (
    {
    INTO_EVENTS.format(
        n="told.n",
        told="told.act, told.part, told.subject, told.before, told.after",
        links="chain.previous, chain.hash FROM c, told JOIN chain ON chain.n = told.n",
    )
}
)"""
_POINT = f"""
SELECT point::text, {MOMENT} FROM c"""
_MOVE_BY_ONE = MOVED.format(state="c.next_state", events="1", head="chain.hash", chain=", chain") + _POINT
_MOVE_BY_MANY = (
    MOVED.format(
        state="c.next_state",
        events="(SELECT max(n) FROM chain)",
        head="(SELECT hash FROM chain ORDER BY n DESC LIMIT 1)",
        chain="",
    )
    + _POINT
)


@cache
def compose(parts: frozenset[str]) -> tuple[bytes, tuple[str, ...]]:
    """Return the statement that writes a checkpoint and `parts` of progress, entry, usage, made, objects, answer.

    One fixed text for each combination, so that each is prepared once for a connection; with it the names of the
    values in the order of the placeholders.
    """
    many = bool(parts & {"made", "objects"})
    chosen = [name for name in _WRITES if name in parts]
    lock = _LOCK.format(
        columns="".join(_COLUMNS.get(name, "") for name in chosen),
        sources="".join(_FROM.get(name, "") for name in chosen),
        caps=no_cap("<", {**_TIME, **(_AMOUNTS if "usage" in parts else {})}),
        conditions="".join(_CONDITIONS.get(name, "") for name in chosen),
    )
    versions = _WITH_MADE if "made" in parts else _STORED
    writes = "".join(_WRITES[name].replace("{versions}", versions) for name in chosen)
    events = _MANY_EVENTS + _MOVE_BY_MANY if many else _ONE_EVENT + _MOVE_BY_ONE
    return numbered(lock + writes + events)

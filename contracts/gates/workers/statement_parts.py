"""What the single statements of workers' gates are put together from: marks, hashes, the owner, the caps.

Nothing stale can slip through them. Under READ COMMITTED a statement reads its snapshot, and only the row it locks
is read again. Every change of a contract's content, by whatever gate, changes `event_count` of the contract's row,
under its lock. So a statement joins the row it locks with the row of its snapshot (`seen`) and demands the same
`event_count`: if anything at all was committed in between, the locked row differs and nothing is written. The one
exception is a renewal, which only makes a lease longer. Whoever would have to wait for the lock writes nothing
either (SKIP LOCKED) and takes the slow path, so the clock is never older than the look.
"""

import re
from collections.abc import Mapping

from contracts.rules.fingerprint import event_json
from contracts.rules.vocabulary import Actor, ActorKind

# ruff: noqa: S608  # the texts are put together from those of this folder alone; values are told apart from them

Values = dict[str, str | None]

# Marks in the texts of events, where only the database knows what belongs there: time, sequence of the event and of
# the checkpoint, task id, what was before and after, the state of an object that was accepted, an operation's key,
# the event's subject. JSON never holds a control character bare, so that no text from outside is taken for a mark.
AT, NUMBER, POINT, TASK, BEFORE, AFTER, ACCEPTED, KEY, SUBJECT = map(chr, range(1, 10))

CONTRACT = "%(contract)s::bigint"
MOMENT = "to_char(c.now AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"

# The row to be locked, and whose it is. `{states}`: in which states of the contract the act is for its owner.
OWNED = f"""
    FROM contracts_contract task
    JOIN contracts_contract seen ON seen.id = {CONTRACT} AND seen.event_count = task.event_count
    JOIN contracts_usagetotal used ON used.contract_id = {CONTRACT}
    JOIN contracts_attempt a ON a.contract_id = {CONTRACT} AND a.generation = %(generation)s::bigint
    CROSS JOIN (SELECT clock_timestamp() AS now) clock{{sources}}
    WHERE task.id = {CONTRACT} AND task.generation = %(generation)s::bigint
        AND task.state IN ({{states}}) AND task.deadline > clock.now
        AND a.ended_at IS NULL AND a.lease_end > clock.now
        AND (%(worker)s::text IS NULL OR a.worker = %(worker)s::text)"""
LOCKED = """
    FOR NO KEY UPDATE OF task SKIP LOCKED"""
HASH = "encode(sha256(convert_to({head} || E'\\n' || {body}, 'UTF8')), 'hex')"
INTO_EVENTS = """INSERT INTO contracts_event (contract_id, sequence, at, actor, actor_kind, act, part, subject, before,
        after, refused, previous, hash)
    SELECT c.id, c.event_count + {n}, c.now, %(actor)s, %(actor_kind)s, {told}, '', {links}"""
MOVED = f""", moved AS (
    UPDATE contracts_contract t SET state = {{state}}, revision = t.revision + 1, revised_at = c.now,
        event_count = c.event_count + {{events}}, event_head = {{head}}
    FROM c{{chain}} WHERE t.id = {CONTRACT} AND t.id = c.id
)"""


def no_cap(compare: str, amounts: Mapping[str, str]) -> str:
    """Return the condition that no limit's cap is `compare` (< or <=) the amount of its measure, as SQL."""
    cases = "".join(
        f"""
            WHEN '{measure}' THEN {amount}"""
        for measure, amount in amounts.items()
    )
    return f"""
        AND NOT EXISTS (SELECT FROM contracts_limit l
            WHERE l.contract_id = {CONTRACT} AND l.cap {compare} CASE l.measure{cases} END)"""


def filled(text: str, known: Mapping[str, str]) -> str:
    """Return the SQL that puts what the database knows (mark → SQL) into the marks of `text`."""
    for mark, value in known.items():
        text = f"replace({text}, E'\\x{ord(mark):02x}', {value})"
    return text


def numbered(text: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the statement with placeholders $1, $2 … and the names of their values in that order.

    Texts of this length are not remembered by psycopg: reading them anew for their placeholders would cost more
    than all the rest.
    """
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] not in names:
            names.append(found[1])
        return f"${names.index(found[1]) + 1}"

    return re.sub(r"%\((\w+)\)s", number, text).encode(), tuple(names)


def told_of_owner(contract_id: int, actor: Actor, generation: int) -> Values:
    """Return the values that every statement is told; of a worker the name must be the owner's."""
    return {
        "contract": str(contract_id),
        "generation": str(generation),
        "worker": actor.name if actor.kind is ActorKind.WORKER else None,
        "actor": actor.name,
        "actor_kind": actor.kind.value,
    }


def event_body(actor: Actor, what: tuple[str, str, str], before: str, after: str) -> str:
    """Return the canonical form over which `rules.fingerprint.chain_hash` is taken, with marks.

    `what`: part, act and, as JSON, the subject.
    """
    part, act, subject = what
    return (
        f'{{"act":"{act}","actor":{event_json(actor.name)},"actor_kind":"{actor.kind.value}","after":{after},'
        f'"at":"{AT}","before":{before},"part":"{part}","refused":"","sequence":{NUMBER},"subject":{subject},'
        f'"task_id":"{TASK}"}}'
    )

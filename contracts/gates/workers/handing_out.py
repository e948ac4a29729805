"""Handing out what is left: each object to one worker, in the contract's order, and taking it back unfinished."""

from collections.abc import Sequence
from datetime import datetime

from django.db import OperationalError, connection

from contracts.gates import answers
from contracts.gates.beats import Turn, begin, conclude, may_be_tried_again, take_turn
from contracts.gates.rechecking import point_to_current
from contracts.gates.rows import check_reason
from contracts.gates.workers.fencing import live_owner
from contracts.models import Attempt, Operation, WorkObject
from contracts.models.prepared import run
from contracts.rules.fingerprint import event_json
from contracts.rules.granting import AT_WORK, HELD
from contracts.rules.refusals import refusal
from contracts.rules.repeating import object_after_loss
from contracts.rules.states import Act, ContractState, ObjectState, OperationState
from contracts.rules.stepping import STEP_MAX_ROWS
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind

ACT = "hand_out"
SHOWN = 5  # names of objects that a refusal repeats
# Objects not begun come first, those to be rechecked after them, each in the contract's order.
FROM = (ObjectState.PENDING, ObjectState.RECHECK)

# Many of one owner's threads ask at once and wait here for one another. What was read before the wait is asked
# again where it counts: the contract's row is read anew once it is locked (generation, state, chain), the clock
# after that, and a row of an object that somebody took meanwhile is passed over, because its state is looked at
# once more when it is locked. An attempt cannot end without a change of the contract's row, and its lease only
# grows. $1 contract, $2 generation, $3 worker, $4 state, $5 count, $6 and $7 the actor, $8 to $10 the event.
_STATEMENT = b"""
WITH c AS (
    SELECT task.id, task.task_id, task.event_count, task.event_head, task.deadline, a.id AS attempt_id, a.lease_end
    FROM contracts_contract task
    JOIN contracts_attempt a ON a.contract_id = $1::bigint AND a.generation = $2::bigint
    WHERE task.id = $1::bigint AND task.generation = $2::bigint AND task.state IN ('resuming', 'running')
        AND a.ended_at IS NULL AND ($3::text IS NULL OR a.worker = $3::text)
    FOR NO KEY UPDATE OF task
), timed AS MATERIALIZED (
    SELECT c.*, clock_timestamp() AS now FROM c
), live AS MATERIALIZED (
    SELECT *, to_char(now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM timed
    WHERE deadline > now AND lease_end > now
), picked AS MATERIALIZED (
    SELECT o.id, o.object_id, o.position FROM contracts_workobject o
    WHERE o.contract_id = (SELECT id FROM live) AND o.state = $4::text
    ORDER BY o.position, o.id LIMIT $5::integer
    FOR UPDATE OF o SKIP LOCKED
), taken AS (
    UPDATE contracts_workobject o SET state = 'in_progress', attempt_id = live.attempt_id, settled_by = '',
        settled_at = NULL, version = o.version + 1
    FROM live WHERE o.contract_id = $1::bigint AND o.id = ANY (ARRAY(SELECT id FROM picked))
), told AS MATERIALIZED (
    SELECT count(*) AS number, '{"objects":[' || string_agg(to_json(object_id)::text, ',' ORDER BY position, id)
        || '],"state":"in_progress"}' AS after FROM picked
), chain AS MATERIALIZED (
    SELECT told.after::jsonb AS after, encode(sha256(convert_to(live.event_head || E'\\n' || $8::text || told.after
        || ',"at":"' || live.at || $9::text || (live.event_count + 1)::text || $10::text || live.task_id || '"}',
        'UTF8')), 'hex') AS hash
    FROM live, told WHERE told.number > 0
), recorded AS (
    INSERT INTO contracts_event (contract_id, sequence, at, actor, actor_kind, act, part, subject, before, after,
        refused, previous, hash)
    SELECT live.id, live.event_count + 1, live.now, $6::text, $7::text, 'hand_out', 'object', '',
        jsonb_build_object('state', $4::text), chain.after, '', live.event_head, chain.hash FROM live, chain
), moved AS (
    UPDATE contracts_contract t SET revision = t.revision + 1, revised_at = live.now,
        event_count = live.event_count + 1, event_head = chain.hash
    FROM live, chain WHERE t.id = $1::bigint
)
SELECT live.at, (SELECT string_agg(id::text, ',') FROM picked) FROM live"""


def hand_out(*, contract_id: int, actor: Actor, generation: int, count: int) -> Verdict:
    """Give the live owner the next `count` objects (1 to STEP_MAX_ROWS). The outcome is a tuple of them.

    None is given twice, and none that is settled or whose result is unknown. An empty tuple: nothing is left.
    """
    if not 1 <= count <= STEP_MAX_ROWS:
        raise ValueError(f"between 1 and {STEP_MAX_ROWS} objects are handed out at once")
    if not connection.in_atomic_block and answers.asked() is None:
        taken = _at_once(contract_id, actor, generation, count)
        if taken is not None:
            return allow(taken)

    def body(turn: Turn) -> Verdict:
        if turn.contract.state == ContractState.PAUSE_REQUESTED:
            return refusal("pause_requested")
        owner = live_owner(turn, generation, states=AT_WORK)
        if isinstance(owner, Verdict):
            return owner
        turn.answer()
        taken: list[int] = []
        for state in FROM:
            if len(taken) < count and (
                row := _take(contract_id, actor, generation, state, count - len(taken))
            ):
                turn.now = datetime.fromisoformat(row[0])
                taken += row[1]
        turn.contract.refresh_from_db()
        rows = _rows(contract_id, taken)
        _bring_up_to_date(turn, rows)
        return allow(rows)

    return take_turn(contract_id=contract_id, actor=actor, act=ACT, part="object", body=body)


def give_back(
    *, contract_id: int, actor: Actor, generation: int, object_ids: Sequence[str], note: str = ""
) -> Verdict:
    """Take objects back that the live owner holds and does not finish. The outcome is their number.

    One of which a write may have left is not simply begun anew: it is refused with `operations_open`.
    """

    def body(turn: Turn) -> Verdict:
        attempt = live_owner(turn, generation, states=HELD)
        if isinstance(attempt, Verdict):
            return attempt
        refused = check_reason(note) if note.strip() else None
        if refused is not None:
            return refused
        return _give_back(turn, attempt, object_ids, note.strip())

    return take_turn(contract_id=contract_id, actor=actor, act="give_back", part="object", body=body)


def _at_once(contract_id: int, actor: Actor, generation: int, count: int) -> tuple[WorkObject, ...] | None:
    """Take objects by the statement alone; None leaves it to the slow path, which says why there are none."""
    try:
        begin(ACT)
        row = _take(contract_id, actor, generation, ObjectState.PENDING, count)
    except OperationalError as error:
        if not may_be_tried_again(error):
            raise
        return None
    if row is None or not row[1]:
        return None
    conclude(ACT)
    return _rows(contract_id, row[1])


def _take(
    contract_id: int, actor: Actor, generation: int, state: ObjectState, count: int
) -> tuple[str, list[int]] | None:
    """Run the statement; return (moment, keys of the rows taken), or None where the owner is not live."""
    kind = actor.kind.value
    name = event_json(actor.name)
    values = [
        str(contract_id),
        str(generation),
        actor.name if actor.kind is ActorKind.WORKER else None,
        state.value,
        str(count),
        actor.name,
        kind,
        f'{{"act":"{ACT}","actor":{name},"actor_kind":"{kind}","after":',
        f'","before":{{"state":"{state.value}"}},"part":"object","refused":"","sequence":',
        ',"subject":"","task_id":"',
    ]
    row = run(_STATEMENT, values)
    return None if row is None else (row[0] or "", [int(key) for key in (row[1] or "").split(",") if key])


def _bring_up_to_date(turn: Turn, rows: Sequence[WorkObject]) -> None:
    """Let objects be worked on in the versions in force: what changed under one is its basis from now on."""
    before = {row.pk: row.facts() for row in rows}
    moved = point_to_current(turn, rows)
    for row in moved:
        turn.note(Act.SOURCE_CHANGED.value, "object", row.natural_key(), before[row.pk], row.facts())
    WorkObject.objects.bulk_update(moved, ["source", "artefact"], batch_size=1_000)
    if moved:  # the statement counted this revision; what is noted beside it belongs to the same
        turn.contract.revision -= 1


def _rows(contract_id: int, keys: Sequence[int]) -> tuple[WorkObject, ...]:
    return tuple(WorkObject.objects.of(contract_id).joined().filter(pk__in=keys))


def _give_back(turn: Turn, attempt: Attempt, object_ids: Sequence[str], note: str) -> Verdict:
    rows = WorkObject.objects.joined().filter(
        contract=turn.contract,
        object_id__in=list(object_ids),
        state=ObjectState.IN_PROGRESS.value,
        attempt=attempt,
    )
    found = {row.object_id: row for row in rows.order_by("pk")}
    missing = [name for name in object_ids if name not in found]
    if missing or not object_ids:
        return refusal("object_not_held", outcome=tuple(missing), objects=", ".join(missing[:SHOWN]))
    left = [row for row in found.values() if _may_have_left(turn, row)]
    if left:
        return refusal("operations_open", count=len(left))
    turn.answer()
    for row in found.values():
        before = row.facts()
        row.state, row.attempt, row.note = ObjectState.PENDING.value, None, note or row.note
        row.version += 1
        turn.note(Act.SEND_BACK.value, "object", row.natural_key(), before, row.facts())
    WorkObject.objects.bulk_update(found.values(), ["state", "attempt", "note", "version"], batch_size=1_000)
    return allow(len(found))


def _may_have_left(turn: Turn, row: WorkObject) -> bool:
    states = Operation.objects.filter(contract=turn.contract, work_object=row).values_list("state", flat=True)
    after = object_after_loss(ObjectState.IN_PROGRESS, [OperationState(state) for state in states])
    return after is ObjectState.UNKNOWN

"""Committing a step: checkpoint, journal, objects, artefacts and usage in one transaction, fenced by the generation.

The one hot gate. It is one statement, one round trip and one sync of the disk; what that statement does not write
is looked at under the lock, where the rule says why, or lets it be written after all.
"""

from dataclasses import replace
from datetime import datetime
from time import perf_counter

from django.db import IntegrityError, OperationalError, connection

from contracts.gates import answers, witnesses
from contracts.gates.beats import Turn, begin, conclude, may_be_tried_again, take_turn
from contracts.gates.binding import stale_items
from contracts.gates.workers.fencing import live_owner
from contracts.gates.workers.statement_parts import Values
from contracts.gates.workers.step_ground import ground_of, store_artefacts
from contracts.gates.workers.step_statement import compose
from contracts.gates.workers.step_telling import ACT, progressed, tell
from contracts.models.prepared import Row, run
from contracts.rules.granting import HELD
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.stepping import Committed, Ground, Step, exceeded, may_commit, not_held
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor

SHOWN = 5  # names of objects that a refusal repeats
TURNS = 3  # a lease, or a cap on time, may run out between the rule's look and the statement's


class _ClockRanOn(Exception):
    """The rule let a step pass and the statement no longer did."""


def commit_step(*, contract_id: int, actor: Actor, generation: int, step: Step) -> Verdict:
    """Store everything of `step`, or nothing. The outcome is `Committed`.

    The owner must be live in `generation`, the checkpoint the next one, the objects in progress under its attempt,
    and the caps must leave what the step uses. The very same step sent once more is allowed with the code
    `exists` and changes nothing. Refusals: those of `fencing.live_owner`, checkpoint_id_once, sequence_not_next,
    step_done, object_not_held, unknown_reference, artefact_version_once, cap_reached.
    """
    begun = perf_counter()
    verdict = _at_once(contract_id, actor, generation, step)
    if verdict is None:
        verdict = _under_lock(contract_id, actor, generation, step)
    if verdict.code == "done" and witnesses.witnesses:
        witnesses.checkpoint_written(perf_counter() - begun, step.point.size_bytes or 0)
    return verdict


def _under_lock(contract_id: int, actor: Actor, generation: int, step: Step) -> Verdict:
    def body(turn: Turn) -> Verdict:
        return refused(turn, generation, step) or _write(turn, generation, step)

    for _ in range(TURNS):
        try:
            return take_turn(
                contract_id=contract_id,
                actor=actor,
                act=ACT,
                part="checkpoint",
                subject=step.point.checkpoint_id,
                body=body,
            )
        except _ClockRanOn:
            continue
    raise AssertionError("the statement of a step refuses what its rule allows")


def refused(turn: Turn, generation: int, step: Step) -> Verdict | None:
    """Return the rule's answer where nothing is to be written: a refusal, or that the step stands already."""
    attempt = live_owner(turn, generation, states=HELD)
    if isinstance(attempt, Verdict):
        return attempt
    ground = ground_of(turn, attempt, step)
    code = may_commit(step, ground)
    if code == "exists":
        return allow(Committed(ground.stored, step.point.checkpoint_id), code=code)
    return _refusal(code, step, ground) if code else None


def execute(contract_id: int, actor: Actor, generation: int, step: Step, answer: Values) -> Row | None:
    """Run the statement; return sequence and moment of the checkpoint as text, or None where it wrote nothing.

    `answer`: what is stored beside as the answer to a request, empty if there is none.
    """
    parts, values = tell(contract_id, actor, generation, step)
    if answer:
        parts.add("answer")
        values |= answer
    text, names = compose(frozenset(parts))
    row = run(text, [values[name] for name in names])
    if row is not None and "progress" in parts:
        progressed(contract_id, generation)
    return row


def _at_once(contract_id: int, actor: Actor, generation: int, step: Step) -> Verdict | None:
    """Commit the step by the statement alone; None leaves it to the slow path.

    The answer to a request must be known beforehand, and with it the sequence. Inside a transaction the statement
    would not be durable.
    """
    request = answers.asked()
    if connection.in_atomic_block or (request is not None and (request.held or step.point.sequence is None)):
        return None
    verdict = allow(Committed(step.point.sequence or 0, step.point.checkpoint_id))
    answer = request.render(verdict) if request is not None else None
    try:
        begin(ACT)
        row = execute(contract_id, actor, generation, step, _told(request, answer))
    except IntegrityError:
        return None
    except OperationalError as error:
        if not may_be_tried_again(error):
            raise
        return None
    if row is None:
        return None
    if request is not None:
        request.written = answer
    conclude(ACT)
    return allow(Committed(int(row[0] or 0), step.point.checkpoint_id))


def _told(request: answers.Asked | None, answer: answers.Answer | None) -> Values:
    if request is None or answer is None:
        return {}
    return {
        "asked_by": request.worker,
        "asked_key": request.key,
        "asked_sha256": request.request_sha256,
        "status": str(answer.status),
        "content_type": answer.content_type,
        "answer": "\\x" + answer.body.hex(),
    }


def _write(turn: Turn, generation: int, step: Step) -> Verdict:
    """Write under the lock what the rule allows, with everything that follows from it."""
    turn.answer()
    store_artefacts(turn, step.artefacts)
    row = execute(turn.contract.pk, turn.actor, generation, replace(step, artefacts=()), {})
    if row is None:
        raise _ClockRanOn
    sequence, at = row
    turn.contract.refresh_from_db()
    turn.now = datetime.fromisoformat(at or "")
    if step.artefacts:
        stale_items(turn)
    if turn.entries:  # the statement counted this revision; what is noted beside it belongs to the same
        turn.contract.revision -= 1
    return allow(Committed(int(sequence or 0), step.point.checkpoint_id))


def _refusal(code: str, step: Step, ground: Ground) -> Verdict:
    if code == "sequence_not_next":
        return refusal(code, outcome=ground.newest, sequence=ground.newest + 1)
    if code == "object_not_held":
        missing = not_held(step, ground)
        return refusal(code, outcome=missing, objects=", ".join(missing[:SHOWN]))
    if code == "cap_reached":
        left = exceeded(step, ground)
        return refusal(code, outcome=left, measure=left.measure if left else "")
    if code == "unknown_reference":
        return refusal(code, problems=tuple(Problem(name, code, SENTENCES[code]) for name in ground.unknown))
    return refusal(code)

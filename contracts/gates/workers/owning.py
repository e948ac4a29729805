"""One owner at a time: resuming grants the task, renewing keeps it, releasing and completing let it go."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.filling import next_number
from contracts.gates.lifecycle import unfinished
from contracts.gates.rechecking import recheck_drifted
from contracts.gates.workers.caps import refuse_time
from contracts.gates.workers.displaced import pause, settle_displaced, settle_lapsed
from contracts.gates.workers.fencing import holder, live_owner, overdue
from contracts.models import Attempt, OwnerGate
from contracts.models.standing import gather_facts
from contracts.rules.fields import Refused, check_field
from contracts.rules.granting import HELD, REFUSED, Offer, Released, Waiting, active_seconds, caller_of
from contracts.rules.parts import PARTS
from contracts.rules.parts.part import NOTE
from contracts.rules.refusals import refusal
from contracts.rules.resume_facts import Facts
from contracts.rules.resume_findings import Outcome
from contracts.rules.resuming import Decision, decide
from contracts.rules.states import CONTRACT_MOVES, Act, ContractState, may_move
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, AttemptEnd

__all__ = ["Grant", "complete", "live_owner", "release", "renew", "resume"]


@dataclass(frozen=True, slots=True)
class Grant:
    """The task is the caller's: under this attempt, from where the decision says. Lengths in seconds."""

    attempt: Attempt
    decision: Decision
    lease_seconds: int
    renew_seconds: int


def resume(
    *, contract_id: int, actor: Actor, offer: Offer, framework: str = "", framework_handle: str = ""
) -> Verdict:
    """Grant the task to a worker if the resume decision allows it. The outcome is the `Grant`.

    Check, settling of a lapsed owner, another generation and the new attempt are one transaction. Refused by
    `resume_wait` the outcome is `Waiting` and names the attempt that stands; by `resume_refuse`,
    `resume_escalate` and `resume_migrate` it is the decision.
    """

    def body(turn: Turn) -> Verdict:
        if turn.actor.kind is not ActorKind.WORKER:
            return refusal("workers_only")
        handle = _checked("attempt", framework=framework, framework_handle=framework_handle)
        if isinstance(handle, Verdict):
            return handle
        settle_lapsed(turn)
        facts = gather_facts(turn.contract)
        decision = decide(facts, caller_of(actor, offer), turn.now)
        if not decision.may_resume:
            return _not_now(decision, facts)
        if facts.drifted:
            recheck_drifted(turn)
        return allow(_granted(turn, decision, offer, handle))

    return take_turn(contract_id=contract_id, actor=actor, act=Act.RESUME.value, body=body, write_lock=True)


def renew(*, contract_id: int, actor: Actor, generation: int) -> Verdict:
    """Let the owner keep the task for another lease. The outcome is the attempt, with its contract.

    Late is in time while nobody took over. An owner whose active time has reached its cap is refused with
    `cap_reached`.
    """

    def body(turn: Turn) -> Verdict:
        attempt = holder(turn, generation, states=HELD)
        if isinstance(attempt, Verdict):
            return attempt
        refused = overdue(turn) or refuse_time(
            turn.contract, active_seconds(attempt.started_at, turn.now, None)
        )
        if refused is not None:
            return refused
        turn.answer()
        before = attempt.facts()
        length = timedelta(seconds=_gate(turn).lease_seconds)
        attempt.lease_end, attempt.renewed_at = turn.now + length, turn.now
        attempt.version += 1
        attempt.save()
        turn.note("renew", "attempt", attempt.natural_key(), before, attempt.facts())
        return allow(attempt)

    return take_turn(contract_id=contract_id, actor=actor, act="renew", part="attempt", body=body)


def release(*, contract_id: int, actor: Actor, generation: int, reason: Released, note: str = "") -> Verdict:
    """Let the owner go, so that another may resume at once. The outcome is the attempt, with its contract.

    What it leaves half done is settled. `finished` completes the task too: where something is left to do it is
    refused with `objects_unfinished` or `operations_open`, and the owner stays the owner.
    """

    def body(turn: Turn) -> Verdict:
        noted = _checked("attempt", note=note)
        if isinstance(noted, Verdict):
            return noted
        if reason is Released.FINISHED:
            return _finish(turn, generation, noted["note"])
        attempt = holder(turn, generation, states=HELD)
        if isinstance(attempt, Verdict):
            return attempt
        attempt.note = noted["note"] or attempt.note
        settle_displaced(turn, attempt, AttemptEnd.RELEASED)
        pause(turn)
        turn.note("release", "attempt", attempt.natural_key(), None, {"reason": reason.value})
        return allow(attempt)

    return take_turn(
        contract_id=contract_id, actor=actor, act="release", part="attempt", body=body, write_lock=True
    )


def complete(*, contract_id: int, actor: Actor, generation: int) -> Verdict:
    """Let the owner end a task of which nothing is left to do. The outcome is the attempt, with its contract."""
    return take_turn(
        contract_id=contract_id,
        actor=actor,
        act=Act.COMPLETE.value,
        body=lambda turn: _finish(turn, generation, ""),
        write_lock=True,
    )


def _not_now(decision: Decision, facts: Facts) -> Verdict:
    code, held = REFUSED[decision.verdict], facts.holder
    if decision.verdict is not Outcome.WAIT or held is None or held.lease_end is None:
        return refusal(code, outcome=decision)
    waiting = Waiting(decision, held.number, held.worker, held.lease_end)
    values: dict[str, Any] = {"worker": held.worker, "number": held.number, "until": held.lease_end}
    return refusal(code, outcome=waiting, **values)


def _granted(turn: Turn, decision: Decision, offer: Offer, handle: dict[str, Any]) -> Grant:
    turn.answer()
    contract, gate, number = turn.contract, _gate(turn), next_number(turn, Attempt, "number")
    before = contract.life()
    contract.generation += 1
    contract.state = ContractState.RESUMING.value
    attempt = Attempt(
        contract=contract,
        number=number,
        attempt_id=f"A-{number}-{secrets.token_hex(4)}",
        generation=contract.generation,
        worker=turn.actor.name,
        started_at=turn.now,
        lease_end=turn.now + timedelta(seconds=gate.lease_seconds),
        by_hand=False,
        synchronous=offer.synchronous,
        **handle,
    )
    attempt.save()
    turn.note(Act.RESUME.value, "contract", contract.task_id, before, contract.life())
    turn.note("grant", "attempt", attempt.natural_key(), None, attempt.facts())
    return Grant(attempt, decision, gate.lease_seconds, gate.renew_seconds)


def _finish(turn: Turn, generation: int, note: str) -> Verdict:
    attempt = live_owner(turn, generation, states=HELD)
    if isinstance(attempt, Verdict):
        return attempt
    refused = unfinished(turn)
    if refused is not None:
        return refused
    attempt.note = note or attempt.note
    settle_displaced(turn, attempt, AttemptEnd.FINISHED)
    contract, done = turn.contract, ContractState.COMPLETED
    if not may_move(CONTRACT_MOVES, contract.state, done, Act.COMPLETE):
        pause(turn)
    before = contract.life()
    contract.state, contract.completed_at = done.value, turn.now
    turn.note(Act.COMPLETE.value, "contract", contract.task_id, before, contract.life())
    return allow(attempt)


def _gate(turn: Turn) -> OwnerGate:
    gate: OwnerGate = OwnerGate.objects.get(contract=turn.contract)
    return gate


def _checked(part: str, **texts: str) -> Verdict | dict[str, Any]:
    """Return clean texts for the columns of `part`, or why one of them is not stored."""
    problems, clean = [], {}
    for name, text in texts.items():
        try:
            clean[name] = check_field(NOTE if name == "note" else PARTS[part].field(name), text)
        except Refused as refused:
            problems.append(refused.problem)
    return refusal("bad_values", problems=tuple(problems)) if problems else clean

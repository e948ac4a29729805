"""The journal of steps: begun before it runs, given back instead of run again once it is done."""

import secrets
from decimal import Decimal

from contracts.gates.beats import Turn, take_turn
from contracts.gates.filling import next_number
from contracts.gates.workers.fencing import live_owner
from contracts.gates.workers.step_ground import left_of
from contracts.models import Attempt, JournalStep, Operation, ToolContract, UsageEntry
from contracts.rules.fields import Refused, check_field
from contracts.rules.granting import HELD
from contracts.rules.limiting import first_reached
from contracts.rules.parts.records import STEP
from contracts.rules.refusals import refusal
from contracts.rules.repeating import may_repeat_step
from contracts.rules.resume_rows import read_begun
from contracts.rules.states import StepState
from contracts.rules.stepping import Begun
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, Effect, Measure, StepKind


def begin_step(*, contract_id: int, actor: Actor, generation: int, key: str, kind: StepKind) -> Verdict:
    """Record that a step begins, before it runs. The outcome is `Begun`: where it is done, its stored result.

    A step found begun may run again unless it may have written (`rules.repeating.may_repeat_step`): then it is
    refused with `step_undecided`. Each beginning is a try of the step; at a cap it is refused with `cap_reached`.
    """

    def body(turn: Turn) -> Verdict:
        attempt = live_owner(turn, generation, states=HELD)
        if isinstance(attempt, Verdict):
            return attempt
        try:
            check_field(STEP.field("key"), key)
        except Refused as refused:
            return refusal("bad_values", problems=(refused.problem,))
        row = JournalStep.objects.joined().filter(contract=turn.contract, key=key).first()
        if row is not None and row.state == StepState.DONE:
            return allow(_begun(row, first=False))
        return _may_begin(turn, attempt, key, row) or _begin(turn, attempt, key, kind, row)

    return take_turn(
        contract_id=contract_id, actor=actor, act="begin_step", part="step", subject=key, body=body
    )


def _may_begin(turn: Turn, attempt: Attempt, key: str, row: JournalStep | None) -> Verdict | None:
    reached = first_reached(left_of(turn, attempt, key))
    if reached is not None:
        return refusal("cap_reached", outcome=reached, measure=reached.measure)
    if row is None:
        return None
    writes = Operation.objects.filter(contract=turn.contract, step=key).values_list("tool__tool", "state")
    tools = ToolContract.objects.filter(contract=turn.contract).values_list("tool", "effect")
    effects = {tool: Effect(effect) for tool, effect in tools}
    begun = read_begun({"key": key, "kind": row.kind}, writes, effects)
    may = may_repeat_step(begun.kind, begun.effect, begun.operations)
    return None if may else refusal("step_undecided", outcome=_begun(row, first=False))


def _begin(turn: Turn, attempt: Attempt, key: str, kind: StepKind, row: JournalStep | None) -> Verdict:
    turn.answer()
    first, before = row is None, row.facts() if row is not None else None
    if row is None:
        number = next_number(turn, JournalStep, "sequence")
        row = JournalStep(contract=turn.contract, sequence=number, key=key, kind=kind.value)
    else:
        row.version += 1
    row.attempt = attempt
    row.save()
    turn.note("begin_step", "step", row.natural_key(), before, row.facts())
    _count(turn, attempt, key)
    return allow(_begun(row, first=first))


def _count(turn: Turn, attempt: Attempt, key: str) -> None:
    entry = UsageEntry(
        contract=turn.contract,
        entry_id=f"try-{secrets.token_hex(8)}",
        measure=Measure.TRIES_PER_STEP.value,
        amount=Decimal(1),
        attempt=attempt,
        step=key,
        used_at=turn.now,
        evidence=f"attempt:{attempt.attempt_id}",
    )
    entry.save()
    turn.note("add", "usage", entry.natural_key(), None, entry.facts())


def _begun(row: JournalStep, *, first: bool) -> Begun:
    state = StepState(row.state)
    return Begun(state, first, row.result, row.result_location, row.result_sha256)

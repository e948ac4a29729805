"""Who holds the task: the generation is the fence, a name alone is no ownership."""

from collections.abc import Collection

from contracts.gates.beats import Turn
from contracts.gates.rows import not_open
from contracts.models import Attempt
from contracts.rules.granting import AT_WORK
from contracts.rules.refusals import refusal
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import ActorKind


def live_owner(
    turn: Turn, generation: int, *, states: Collection[ContractState] = AT_WORK
) -> Attempt | Verdict:
    """Return the attempt that holds the task in `generation` under a running lease, or why it does not.

    Codes: those of `holder`, deadline_passed, lease_lapsed.
    """
    attempt = holder(turn, generation, states=states)
    if isinstance(attempt, Verdict):
        return attempt
    return overdue(turn) or (attempt if is_live(turn, attempt) else refusal("lease_lapsed"))


def holder(turn: Turn, generation: int, *, states: Collection[ContractState]) -> Attempt | Verdict:
    """Return the open attempt of `generation`, whether or not its lease still runs, or why there is none.

    Codes: task_cancelled, stale_generation, not_open, not_owner. Of a worker the name must fit too.
    """
    contract = turn.contract
    if contract.state == ContractState.CANCELLED:
        return refusal("task_cancelled")
    if generation < contract.generation:
        return refusal("stale_generation", generation=contract.generation)
    if contract.state not in states:
        return not_open(contract)
    attempt = open_attempt(turn)
    if attempt is None or not generation == contract.generation == attempt.generation:
        return refusal("stale_generation", generation=contract.generation)
    if turn.actor.kind is ActorKind.WORKER and attempt.worker != turn.actor.name:
        return refusal("not_owner")
    return attempt


def changed_hands(turn: Turn, generation: int | None) -> Verdict | None:
    """Refuse a person's act on another generation than was shown: whoever holds the task now was not looked at."""
    if generation is None or generation == turn.contract.generation:
        return None
    return refusal("owner_changed", generation=turn.contract.generation)


def open_attempt(turn: Turn) -> Attempt | None:
    """Return the attempt of the contract that has not ended, if there is one."""
    attempt = Attempt.objects.filter(contract=turn.contract, ended_at__isnull=True).first()
    if attempt is not None:
        attempt.contract = turn.contract
    return attempt


def is_live(turn: Turn, attempt: Attempt) -> bool:
    """Tell whether the attempt's lease still runs, by the database's clock."""
    return attempt.lease_end is not None and attempt.lease_end > turn.now


def overdue(turn: Turn) -> Verdict | None:
    """Refuse what would go on after the task's deadline: it blocks like a cancellation."""
    due = turn.contract.deadline
    return refusal("deadline_passed") if due is not None and due <= turn.now else None

"""The life of a contract as people steer it: leave draft, return, complete, cancel, archive."""

from collections.abc import Callable

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import drop_operation, stale_items
from contracts.gates.rows import check_reason, not_open
from contracts.gates.workers.displaced import end_open_attempt
from contracts.models import Operation, WorkObject
from contracts.models.progress import gather_progress, plan_digest
from contracts.rules.completeness import missing_things
from contracts.rules.refusals import refusal
from contracts.rules.states import CONTRACT_MOVES, Act, ContractState, ObjectState, OperationState, may_move
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, AttemptEnd

SETTLED = [ObjectState.CONFIRMED.value, ObjectState.SKIPPED.value]
OPEN_OPERATIONS = [OperationState.PENDING.value, OperationState.SENDING.value, OperationState.UNKNOWN.value]
# How an attempt ends that is still open when the contract moves to this state.
ENDS = {
    ContractState.DRAFT: AttemptEnd.RELEASED,
    ContractState.COMPLETED: AttemptEnd.FINISHED,
    ContractState.CANCELLED: AttemptEnd.TAKEN_OVER,
}


def leave_draft(*, contract_id: int, actor: Actor) -> Verdict:
    """Move a complete draft to paused and fix its plan digest.

    An incomplete one is refused; the outcome is then every missing thing (`rules.completeness.Missing`).
    """

    def ask(turn: Turn) -> Verdict | None:
        missing = missing_things(gather_progress(turn.contract), now=turn.now)
        if missing:
            return refusal("incomplete", outcome=missing, count=len(missing))
        turn.contract.plan_digest = plan_digest(turn.contract)
        return None

    return _move(contract_id, actor, (Act.LEAVE_DRAFT, ContractState.PAUSED), ask)


def return_to_draft(*, contract_id: int, actor: Actor, reason: str) -> Verdict:
    """Open the definition again; an operator's act with a reason."""
    return _move(
        contract_id,
        actor,
        (Act.RETURN_TO_DRAFT, ContractState.DRAFT),
        lambda _turn: check_reason(reason),
        reason,
    )


def complete(*, contract_id: int, actor: Actor) -> Verdict:
    """End a contract whose objects are all settled and whose operations are all answered; a person's act.

    A worker names its generation, see `workers.owning.complete`.
    """

    def ask(turn: Turn) -> Verdict | None:
        if turn.actor.kind is ActorKind.WORKER:
            return refusal("stale_generation", generation=turn.contract.generation)
        refused = unfinished(turn)
        if refused is None:
            turn.contract.completed_at = turn.now
        return refused

    return _move(contract_id, actor, (Act.COMPLETE, ContractState.COMPLETED), ask)


def unfinished(turn: Turn) -> Verdict | None:
    """Return what keeps the contract from being completed, or None."""
    left = WorkObject.objects.filter(contract=turn.contract).exclude(state__in=SETTLED).count()
    if left:
        return refusal("objects_unfinished", count=left)
    unanswered = Operation.objects.filter(contract=turn.contract, state__in=OPEN_OPERATIONS).count()
    if unanswered:
        return refusal("operations_open", count=unanswered)
    if turn.contract.deadline and turn.contract.deadline <= turn.now:
        return refusal("deadline_passed")
    return None


def cancel(*, contract_id: int, actor: Actor, reason: str) -> Verdict:
    """Cancel this contract and no other; nothing of it may be continued afterwards."""

    def ask(turn: Turn) -> Verdict | None:
        refused = check_reason(reason)
        if refused is not None:
            return refused
        turn.contract.cancelled_at = turn.now
        turn.contract.cancelled_by = actor.name
        turn.contract.cancel_reason = reason.strip()
        return None

    return _move(contract_id, actor, (Act.CANCEL, ContractState.CANCELLED), ask, reason)


def archive(*, contract_id: int, actor: Actor, archived: bool = True) -> Verdict:
    """Take an ended contract out of the lists, or bring it back; nothing is deleted."""

    def body(turn: Turn) -> Verdict:
        contract = turn.contract
        if contract.state not in (ContractState.COMPLETED, ContractState.CANCELLED):
            return not_open(contract)
        if bool(contract.archived_at) == archived:
            return allow(contract, code="unchanged")
        before = contract.life()
        contract.archived_at = turn.now if archived else None
        act = "archive" if archived else "unarchive"
        turn.note(act, "contract", contract.task_id, before, contract.life())
        return allow(contract)

    return take_turn(contract_id=contract_id, actor=actor, act="archive", body=body)


def _move(
    contract_id: int,
    actor: Actor,
    move: tuple[Act, ContractState],
    ask: Callable[[Turn], Verdict | None],
    reason: str = "",
) -> Verdict:
    act, after = move

    def body(turn: Turn) -> Verdict:
        contract = turn.contract
        if not may_move(CONTRACT_MOVES, contract.state, after, act):
            return refusal("illegal_move", state=ContractState(contract.state).label)
        before = contract.life()
        verdict = ask(turn)
        if verdict is not None:
            return verdict
        if after in ENDS:
            end_open_attempt(turn, ENDS[after])
        contract.state = after.value
        if after is ContractState.CANCELLED:
            stale_items(turn)
            for operation in Operation.objects.joined().filter(
                contract=contract, state=OperationState.PENDING.value
            ):
                drop_operation(turn, operation)
        told = {**contract.life(), "reason": reason.strip()} if reason else contract.life()
        turn.note(act.value, "contract", contract.task_id, before, told)
        return allow(contract)

    return take_turn(contract_id=contract_id, actor=actor, act=act.value, body=body, write_lock=after in ENDS)

"""Stopping an owner: a pause is asked for and takes place later; taking over ends the attempt at once."""

from contracts.gates.beats import Turn, may_lock_writes, take_turn
from contracts.gates.rows import check_reason, not_open
from contracts.gates.workers.displaced import end_open_attempt, pause, settle_lapsed
from contracts.gates.workers.fencing import changed_hands, holder, is_live, open_attempt
from contracts.rules.granting import HELD
from contracts.rules.refusals import refusal
from contracts.rules.states import Act, ContractState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, AttemptEnd

OPERATORS = frozenset({ActorKind.PERSON, ActorKind.OPERATOR})  # whether a person may is asked by the loader


def request_pause(*, contract_id: int, actor: Actor, reason: str, generation: int | None = None) -> Verdict:
    """Ask the owner to pause: nothing new is begun, and work in flight ends first. The outcome is the contract.

    Where no lease runs and no write is on its way, a person's request pauses at once. A worker may ask for its
    own pause, naming its generation.
    """

    def body(turn: Turn) -> Verdict:
        contract = turn.contract
        if contract.state not in HELD:
            return not_open(contract)
        refused = check_reason(reason) or _not_the_owner(turn, generation)
        if refused is not None:
            return refused
        gone = actor.kind is not ActorKind.WORKER and _nobody_works(turn)
        if not gone and contract.state == ContractState.PAUSE_REQUESTED:
            return allow(contract, code="unchanged")
        _ask(turn, reason)
        if gone:
            settle_lapsed(turn)
        return allow(contract)

    act = Act.REQUEST_PAUSE.value
    return take_turn(contract_id=contract_id, actor=actor, act=act, body=body)


def take_over(*, contract_id: int, actor: Actor, reason: str, generation: int | None = None) -> Verdict:
    """End the attempt of whoever holds the task, by an operator's word. The outcome is the contract.

    `generation`: that of the owner whom the operator was shown; another one is left alone. The former owner is
    fenced at once by another generation; what it left is settled, and the task is paused.
    """

    def body(turn: Turn) -> Verdict:
        contract = turn.contract
        if actor.kind not in OPERATORS:
            return refusal("operator_only")
        refused = check_reason(reason)
        if refused is not None:
            return refused
        if contract.state not in HELD:
            return not_open(contract)
        refused = changed_hands(turn, generation)
        if refused is not None:
            return refused
        before = contract.life()
        end_open_attempt(turn, AttemptEnd.TAKEN_OVER)
        pause(turn)
        turn.note(
            "take_over", "contract", contract.task_id, before, {**contract.life(), "reason": reason.strip()}
        )
        return allow(contract)

    return take_turn(contract_id=contract_id, actor=actor, act="take_over", body=body, write_lock=True)


def _nobody_works(turn: Turn) -> bool:
    """Tell whether nothing is left to wait for: no lease runs, and the proxy writes nothing at this moment."""
    attempt = open_attempt(turn)
    held = attempt is not None and is_live(turn, attempt)
    return not held and may_lock_writes(turn.contract.pk)


def _not_the_owner(turn: Turn, generation: int | None) -> Verdict | None:
    """Refuse a worker that would pause another one's task, and a person who was shown another owner."""
    if turn.actor.kind is not ActorKind.WORKER:
        return changed_hands(turn, generation)
    known = turn.contract.generation if generation is None else generation
    found = holder(turn, known, states=HELD)
    return found if isinstance(found, Verdict) else None


def _ask(turn: Turn, reason: str) -> None:
    contract = turn.contract
    if contract.state == ContractState.PAUSE_REQUESTED:
        return
    turn.answer()
    before = contract.life()
    contract.state = ContractState.PAUSE_REQUESTED.value
    told = {**contract.life(), "reason": reason.strip()}
    turn.note(Act.REQUEST_PAUSE.value, "contract", contract.task_id, before, told)

"""Going back to an earlier checkpoint: what came later stays, marked; what was decided later is told item by item."""

from dataclasses import asdict
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import Present, go_stale, run_out
from contracts.gates.rows import check_reason, closed
from contracts.gates.workers.displaced import end_open_attempt, pause
from contracts.gates.workers.fencing import changed_hands
from contracts.gates.workers.pausing import OPERATORS
from contracts.models import Approval, Checkpoint, Event
from contracts.rules.approving import Difference
from contracts.rules.fields import Field, Kind, Refused, check_field
from contracts.rules.granting import HELD, Fate, RollBack, Touched
from contracts.rules.refusals import refusal
from contracts.rules.states import ApprovalState, ContractState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, AttemptEnd
from contracts.rules.words import N_

ACT = "roll_back"
OPEN_IN = HELD | {ContractState.PAUSED}
REQUEST_KEY = Field("request_key", Kind.LINE, N_("Request key"), required=True)


def roll_back(
    *,
    contract_id: int,
    actor: Actor,
    checkpoint_id: str,
    reason: str,
    request_key: str,
    generation: int | None = None,
) -> Verdict:
    """Let work go on from an earlier committed checkpoint, by an operator's word. The outcome is a `RollBack`.

    Another generation fences whoever holds the task; later checkpoints stay, marked. Operation keys and used
    decisions survive. Items asked for after that checkpoint and not used yet go stale; items decided after it
    are told as they stand. `generation`: that which the operator was shown; under another one nothing is done. The
    same request key again changes nothing and gives the first outcome.
    """

    def body(turn: Turn) -> Verdict:
        if actor.kind not in OPERATORS:
            return refusal("operator_only")
        refused = _key_refused(request_key) or check_reason(reason)
        if refused is not None:
            return refused
        known = _known(turn, request_key, checkpoint_id)
        if known is not None:
            return known
        point = _point(turn, checkpoint_id)
        if isinstance(point, Verdict):
            return point
        refused = changed_hands(turn, generation)
        if refused is not None:
            return refused
        return allow(_roll_back(turn, point, {"request": request_key, "reason": reason.strip()}))

    return take_turn(
        contract_id=contract_id, actor=actor, act=ACT, part="checkpoint", body=body, write_lock=True
    )


def _key_refused(request_key: str) -> Verdict | None:
    try:
        check_field(REQUEST_KEY, request_key)
    except Refused as refused:
        return refusal("bad_values", problems=(refused.problem,))
    return None


def _known(turn: Turn, request_key: str, checkpoint_id: str) -> Verdict | None:
    """Return what the same request was answered before, or None; the events remember it."""
    told = Event.objects.filter(contract=turn.contract, act=ACT, refused="", after__request=request_key)
    after = told.values_list("after", flat=True).first()
    if after is None:
        return None
    if after["checkpoint_id"] != checkpoint_id:
        return refusal("request_key_used")
    items = tuple(Touched(item["item_id"], Fate(item["fate"]), item["why"]) for item in after["approvals"])
    outcome = RollBack(after["generation"], checkpoint_id, after["later_checkpoints"], items)
    return allow(outcome, code="unchanged")


def _point(turn: Turn, checkpoint_id: str) -> Checkpoint | Verdict:
    shut = closed(turn, OPEN_IN)
    if shut is not None:
        return shut
    point = Checkpoint.objects.filter(contract=turn.contract, checkpoint_id=checkpoint_id).first()
    if point is None:
        return refusal("no_such_checkpoint")
    turn.subject = point.natural_key()
    return point if point.rolled_back_at is None else refusal("checkpoint_rolled_back")


def _roll_back(turn: Turn, point: Checkpoint, told: dict[str, Any]) -> RollBack:
    turn.answer()
    contract, generation = turn.contract, turn.contract.generation
    end_open_attempt(turn, AttemptEnd.TAKEN_OVER)
    contract.generation = generation + 1  # also where nobody held the task: no former grant goes on from here
    pause(turn)
    later = Checkpoint.objects.filter(
        contract=contract, sequence__gt=point.sequence, rolled_back_at__isnull=True
    ).update(rolled_back_at=turn.now)
    items = tuple(_touched(turn, point))
    outcome = RollBack(contract.generation, point.checkpoint_id, later, items)
    before = {"generation": generation}
    turn.note(ACT, "checkpoint", point.natural_key(), before, {**told, **asdict(outcome)})
    return outcome


def _touched(turn: Turn, point: Checkpoint) -> list[Touched]:
    """Settle and tell every item asked for or decided after the checkpoint."""
    rows = Approval.objects.joined().filter(contract=turn.contract).order_by("asked_at", "pk")
    moment = point.committed_at
    items = [item for item in rows if max(item.asked_at, item.decided_at or item.asked_at) > moment]
    present = Present(turn.contract, items)
    return [_fate(turn, item, present, point) for item in items]


def _fate(turn: Turn, item: Approval, present: Present, point: Checkpoint) -> Touched:
    if item.consumed_at is not None:
        return Touched(item.item_id, Fate.USED)
    if item.state not in (ApprovalState.PENDING, ApprovalState.APPROVED):
        return Touched(item.item_id, Fate.ENDED, item.stale_member)
    difference = present.difference(item)
    if difference is None and item.asked_at > point.committed_at:
        difference = Difference("rolled_back", "", point.checkpoint_id)
    if difference is None and item.expires_at <= turn.now:
        run_out(turn, item)
        return Touched(item.item_id, Fate.ENDED, "expires_at")
    if difference is None:
        return Touched(item.item_id, Fate.VALID)
    go_stale(turn, item, difference)
    return Touched(item.item_id, Fate.STALE, difference.member)

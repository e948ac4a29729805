"""What time alone changes: items run out or are passed on, and people are told before and after."""

import logging
from datetime import timedelta

from contracts.gates.beats import Turn, database_now, take_turn
from contracts.gates.binding import Present, current_policy, go_stale, run_out
from contracts.gates.notices import tell, who_is_concerned, who_may_decide
from contracts.models import Approval, ApprovalVote, people_with
from contracts.rules.notices import Told
from contracts.rules.states import ApprovalState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, Right

log = logging.getLogger(__name__)
CLOCK = Actor("clock", ActorKind.SYSTEM)
NEAR = timedelta(hours=1)  # left of an item when those it waits for are reminded, once
UNUSED = timedelta(hours=1)  # since the decision when it is told that nobody uses it, once


def tend() -> int:
    """Do what is due in every contract, each in a turn of its own; return how many contracts changed."""
    due = Approval.objects.to_tend(database_now(), near=NEAR, unused=UNUSED)
    contracts = due.order_by().values_list("contract", flat=True).distinct()
    return sum(_tended(contract_id) for contract_id in list(contracts))


def _tended(contract_id: int) -> bool:
    """Tend one contract; one that fails is told to the log and keeps nobody else waiting."""
    try:
        return tend_contract(contract_id=contract_id).code == "done"
    except Exception:
        log.exception("contract %s could not be tended", contract_id)
        return False


def tend_contract(*, contract_id: int) -> Verdict:
    """Do what is due in one contract; the outcome is the number of items it was about."""

    def body(turn: Turn) -> Verdict:
        due = Approval.objects.to_tend(turn.now, near=NEAR, unused=UNUSED).filter(contract=turn.contract)
        items = list(due.joined())
        present = Present(turn.contract, items)
        for item in items:
            _tend(turn, item, present)
        return allow(len(items)) if items else allow(0, code="unchanged")

    return take_turn(contract_id=contract_id, actor=CLOCK, act="tend", part="approval", body=body)


def _tend(turn: Turn, item: Approval, present: Present) -> None:
    turn.answer()
    difference = present.difference(item)
    if difference is not None:
        go_stale(turn, item, difference)
    elif item.expires_at <= turn.now:
        run_out(turn, item)
    elif item.state == ApprovalState.PENDING:
        _warn(turn, item)
    else:
        _alarm(turn, item)


def _warn(turn: Turn, item: Approval) -> None:
    item.warned_at = turn.now
    item.save(update_fields=["warned_at"])
    voted = set(
        ApprovalVote.objects.filter(contract=turn.contract, approval=item).values_list("decider", flat=True)
    )
    asked = who_may_decide(item, current_policy(turn.contract))
    waiting = [person for person in asked if person.get_username() not in voted]
    tell(turn, Told.NEAR_EXPIRY, item, waiting, person=item.requester, until=item.expires_at.isoformat())


def _alarm(turn: Turn, item: Approval) -> None:
    item.alarmed_at = turn.now
    item.save(update_fields=["alarmed_at"])
    operators = people_with(Right.OPERATE, turn.contract.pk)
    tell(turn, Told.UNUSED, item, [*who_is_concerned(item), *operators], person=item.decided_by)

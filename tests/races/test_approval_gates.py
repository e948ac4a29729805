import pytest

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.form_keys import make_form_key
from contracts.gates.requesting import request_approval
from contracts.models import Approval, ApprovalVote, Event, Operation
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import Actor, ActorKind, Role
from tests import builders, people
from tests.races.racing import race

pytestmark = pytest.mark.django_db(transaction=True)
RIVALS, ITEMS = 8, 6
WORKER = Actor("label-writer", ActorKind.WORKER)


def a_waiting_item(number):
    contract = builders.a_paused()
    for part in ("tool", "source", "object", "operation"):
        model_has = Operation.objects.of(contract.pk).exists() if part == "operation" else False
        if not model_has and not _stands(contract, part):
            builders.a_row(contract, part)
    operation = Operation.objects.of(contract.pk).last()
    asked = request_approval(
        contract_id=contract.pk, actor=WORKER, operation_key=operation.key, reason=f"Round {number}."
    )
    assert asked.allowed, asked
    return asked.outcome


def _stands(contract, part):
    from contracts.models import ROWS

    return ROWS[part].objects.of(contract.pk).exists()


def rivals_of(item):
    team = item.contract.team
    return [people.person(f"curator-{n}-{item.pk}", team, Role.CURATOR) for n in range(RIVALS)]


def by_the_gate(item, person, decision):
    return lambda: (
        decide(
            contract_id=item.contract_id,
            actor=people.acting(person),
            user=person,
            item_id=item.item_id,
            seen=item.fingerprint,
            decision=decision,
            form_key=make_form_key(item, person),
            reason="Said at the same moment.",
            confirmed_at=database_now(),
        ).code
    )


def read_then_write(item, person, decision):
    """Decide as a view does that looks first and saves afterwards: the shape that must lose."""

    def act():
        row = Approval.objects.get(pk=item.pk)
        if row.state != ApprovalState.PENDING:
            return "already_decided"
        row.state, row.decided_by, row.decision_reason = decision, person.username, "x"
        row.decided_at = database_now()
        row.save()
        return "done"

    return act


def decisions():
    return ["approved" if number % 2 else "rejected" for number in range(RIVALS)]


def test_of_many_curators_at_once_one_decides_and_the_others_are_told():
    for number in range(ITEMS):
        item = a_waiting_item(number)
        rivals = rivals_of(item)
        codes = race(*(by_the_gate(item, p, d) for p, d in zip(rivals, decisions(), strict=True)))
        assert sorted(codes) == ["already_decided"] * (RIVALS - 1) + ["done"]
        assert ApprovalVote.objects.filter(approval=item).count() == 1
        item.refresh_from_db()
        assert item.decided_by == rivals[codes.index("done")].username
        refusals = Event.objects.filter(contract_id=item.contract_id, refused="already_decided")
        assert refusals.count() == RIVALS - 1


def test_control_looking_first_and_saving_afterwards_decides_more_than_once():
    times = 0
    for number in range(ITEMS):
        item = a_waiting_item(number)
        rivals = rivals_of(item)
        codes = race(*(read_then_write(item, p, d) for p, d in zip(rivals, decisions(), strict=True)))
        times += codes.count("done")
    assert times > ITEMS

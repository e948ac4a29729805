from decimal import Decimal

import pytest

from contracts.gates.workers.owning import release, resume
from contracts.gates.workers.pausing import take_over
from contracts.models import Attempt, Operation, UsageEntry, WorkObject
from contracts.rules.granting import Offer, Released
from contracts.rules.states import ContractState
from tests import builders
from tests.gates.watching import assert_allowed, force
from tests.gates.workers.owners import (
    OPERATOR,
    OTHER,
    WHY,
    WORKER,
    a_checkpoint,
    a_held,
    a_task,
    cap,
    granted,
    lapse,
    taken,
)

pytestmark = pytest.mark.django_db
OBJECTS = [{"object_id": name, "source": "P-1"} for name in ("O-1", "O-2", "O-3")]


def write(contract, state="pending", **values):
    """Add a write to the ledger of a task at work, in `state`."""
    former = contract.state
    force(contract, ContractState.PAUSED)
    row = builders.a_row(contract, "operation", **values)
    force(contract, ContractState(former))
    sent = {"generation": contract.generation, "sent_at": row.intended_at} if state != "pending" else {}
    Operation.objects.filter(pk=row.pk).update(state=state, **sent)
    return row


def ended_by(end, contract):
    """End the open attempt in one of four ways."""
    mine = {"actor": WORKER, "generation": contract.generation}
    if end == "lapsed":
        lapse(contract)
        return assert_allowed(contract, resume, actor=OTHER, offer=Offer())
    if end == "taken over":
        return assert_allowed(contract, take_over, actor=OPERATOR, reason=WHY)
    return assert_allowed(contract, release, **mine, reason=Released.GIVEN_UP)


ENDS = ["lapsed", "taken over", "released"]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("state", "synchronous", "after"),
    [
        ("sending", True, "unknown"),
        ("sending", False, "unknown"),
        ("pending", True, "pending"),
        ("pending", False, "unknown"),
        ("confirmed", False, "confirmed"),
        ("rejected", False, "rejected"),
        ("unknown", True, "unknown"),
        ("abandoned", False, "abandoned"),
    ],
)
def test_what_may_have_left_is_unknown_and_all_else_stays(end, state, synchronous, after):
    contract = a_held()
    Attempt.objects.filter(contract=contract).update(synchronous=synchronous)
    before = write(contract, state)
    _, events = ended_by(end, contract)
    row = Operation.objects.get(pk=before.pk)
    assert row.state == after
    if after != state:
        assert (row.settled_at, row.generation) == (events[0].at, 1)
        assert ("owner_lost", "operation") in [(event.act, event.part) for event in events]
    else:
        assert row.settled_at is None


@pytest.mark.parametrize("end", ENDS)
def test_half_a_draft_is_not_a_draft(end):
    contract = a_held(*OBJECTS)
    taken(contract, "O-1", "O-2")
    write(contract, "sending", object="O-2")
    ended_by(end, contract)
    first, second, third = WorkObject.objects.of(contract.pk)
    assert (first.state, first.attempt, "begins anew" in first.note) == ("pending", None, True)
    assert (second.state, second.attempt.number, "may have left" in second.note) == ("unknown", 1, True)
    assert (third.state, third.note) == ("pending", "")


def test_what_a_person_works_on_is_not_the_owners():
    contract = a_held(*OBJECTS)
    WorkObject.objects.filter(contract=contract, object_id="O-3").update(state="in_progress")
    ended_by("lapsed", contract)
    assert WorkObject.objects.get(contract=contract, object_id="O-3").state == "in_progress"


def usage(contract, measure):
    rows = UsageEntry.objects.of(contract.pk).filter(measure=measure)
    return [(row.amount, row.step, row.attempt.number) for row in rows]


def test_active_time_is_counted_from_the_lease_and_not_beyond_it():
    contract = a_held()
    lapse(contract, seconds=3_600, active=90)
    granted(contract, OTHER)
    assert usage(contract, "active_seconds") == [(Decimal(90), "", 1)]
    lapse(contract, seconds=-60, active=70)  # begun ten seconds ago, with a minute left
    ended_by("taken over", contract)
    (_, (amount, _, number)) = usage(contract, "active_seconds")
    assert number == 2
    assert Decimal(10) <= amount < Decimal(70)


@pytest.mark.parametrize(("end", "counted"), [("lapsed", 1), ("taken over", 1), ("released", 0)])
def test_an_owner_lost_without_a_checkpoint_has_failed_to_recover_its_step(end, counted):
    contract = a_held()
    ended_by(end, contract)
    assert len(usage(contract, "failed_recoveries_per_step")) == counted


def test_an_owner_lost_after_a_checkpoint_has_not_and_the_next_fails_at_its_step():
    contract = a_held()
    a_checkpoint(contract, 1, "publish")
    ended_by("lapsed", contract)
    assert usage(contract, "failed_recoveries_per_step") == []
    ended_by("lapsed", contract)
    assert usage(contract, "failed_recoveries_per_step") == [(Decimal(1), "publish", 2)]


def test_failed_recoveries_of_one_step_reach_their_cap():
    contract = a_task()
    cap(contract, "failed_recoveries_per_step", "3")
    for _ in range(3):
        granted(contract)
        lapse(contract)
    verdict = resume(contract_id=contract.pk, actor=WORKER, offer=Offer())
    assert verdict.code == "resume_escalate"
    assert verdict.outcome.deciding.values["cap"] == 3

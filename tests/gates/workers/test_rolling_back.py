from datetime import timedelta

import pytest

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.requesting import request_approval
from contracts.gates.sending import dispatch
from contracts.gates.workers.owning import renew
from contracts.gates.workers.rolling_back import roll_back
from contracts.models import Approval, Attempt, Checkpoint, Contract, Operation, WorkObject
from contracts.rules.granting import Fate, Touched
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders, people
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, force
from tests.gates.workers.owners import (
    OPERATOR,
    OTHER,
    WHY,
    WORKER,
    a_checkpoint,
    a_held,
    granted,
    settled,
)
from tests.gates.workers.test_displaced import write

pytestmark = pytest.mark.django_db
BACK = {"actor": OPERATOR, "checkpoint_id": "C-1", "reason": WHY, "request_key": "back-1"}
ENDED = [ContractState.DRAFT, ContractState.COMPLETED, ContractState.CANCELLED]


def three_points(**keys):
    """Return a held contract with three checkpoints and a label to be published."""
    contract = a_held(**builders.keys_of_a_call({}), **keys)
    for number in (1, 2, 3):
        a_checkpoint(contract, number, f"step-{number}")
    return contract


def an_item(contract, number, *, decision=""):
    """Ask for a call of its own, at a time after the checkpoints, and let a curator decide."""
    state = contract.state
    force(contract, ContractState.PAUSED)
    call = builders.a_call(contract, parameters=f'{{"page": "label-{number}"}}', step=f"publish-{number}")
    force(contract, ContractState(state))
    item = builders.a_waiting_item(call)
    if decision:
        person = people.curator(contract.team)
        builders.done(decide(contract_id=contract.pk, **builders.word(item, person, decision)))
    item.refresh_from_db()
    return item


def asked_before(item, point):
    """Let an item have been asked for before a checkpoint; what the events told of it stays."""
    Checkpoint.objects.filter(pk=point.pk).update(committed_at=item.asked_at + timedelta(microseconds=1))


def fates(verdict):
    return {touched.item_id: (touched.fate, touched.why) for touched in verdict.outcome.approvals}


def test_later_checkpoints_stay_marked_and_work_goes_on_from_the_earlier_one():
    contract = three_points()
    row = write(contract, "sending")
    verdict, events = assert_allowed(contract, roll_back, **BACK)
    back = verdict.outcome
    assert (contract.state, contract.generation, back.generation) == ("paused", 2, 2)
    assert (back.checkpoint_id, back.later_checkpoints, back.approvals) == ("C-1", 2, ())
    marked = [bool(row.rolled_back_at) for row in Checkpoint.objects.of(contract.pk)]
    assert marked == [False, True, True]
    assert Attempt.objects.get(contract=contract).end_reason == "taken_over"
    assert Operation.objects.get(pk=row.pk).state == "unknown"
    assert (events[-1].act, events[-1].part, events[-1].subject) == ("roll_back", "checkpoint", "1 · C-1")
    assert events[-1].after["reason"] == WHY
    assert_refused(contract, "stale_generation", renew, actor=WORKER, generation=1)
    Operation.objects.filter(pk=row.pk).update(state="rejected")
    grant = granted(contract, OTHER)
    assert (grant.attempt.generation, grant.decision.work.next_step) == (3, "step-1")


def test_the_same_request_again_changes_nothing_and_gets_the_first_answer():
    contract = three_points()
    an_item(contract, 1)
    first, _ = assert_allowed(contract, roll_back, **BACK)
    again = assert_unchanged(contract, roll_back, **BACK)
    assert again.outcome == first.outcome
    assert_refused(contract, "request_key_used", roll_back, **{**BACK, "checkpoint_id": "C-2"})
    second, _ = assert_allowed(contract, roll_back, **{**BACK, "request_key": "back-2"})
    assert (second.outcome.generation, second.outcome.later_checkpoints) == (3, 0)


def test_t47_what_was_asked_for_after_the_checkpoint_is_closed_and_its_id_is_never_given_again():
    contract = three_points()
    waiting, approved = an_item(contract, 1), an_item(contract, 2, decision="approved")
    verdict, _ = assert_allowed(contract, roll_back, **BACK)
    stale = (Fate.STALE, "rolled_back")
    assert fates(verdict) == {waiting.item_id: stale, approved.item_id: stale}
    for item in (waiting, approved):
        item.refresh_from_db()
        assert (item.state, item.stale_member, item.stale_now) == ("stale", "rolled_back", "C-1")
        word = builders.word(item, people.curator(contract.team))
        assert not decide(contract_id=contract.pk, **word).allowed
    assert Operation.objects.filter(contract=contract, state="pending").count() == 2  # their keys survive
    again = request_approval(
        contract_id=contract.pk,
        actor=WORKER,
        operation_key=waiting.operation_key,
        reason="Asked anew.",
        draft_id="L-1",
    )
    assert again.allowed
    assert again.outcome.item_id not in fates(verdict)


def test_an_approval_asked_for_before_and_given_after_is_still_valid_and_says_so():
    contract = three_points()
    item = an_item(contract, 1, decision="approved")
    point = Checkpoint.objects.get(contract=contract, checkpoint_id="C-3")
    asked_before(item, point)
    verdict, _ = assert_allowed(contract, roll_back, **{**BACK, "checkpoint_id": "C-3"})
    assert fates(verdict) == {item.item_id: (Fate.VALID, "")}
    item.refresh_from_db()
    assert item.state == "approved"
    grant = granted(contract)
    given = {"operation_key": item.operation_key, "generation": grant.attempt.generation}
    assert_allowed(contract, dispatch, actor=WORKER, **given)


def test_an_approval_whose_tuple_has_changed_or_whose_time_is_over_is_told_as_what_it_is():
    contract = three_points()
    moved, late = an_item(contract, 1, decision="approved"), an_item(contract, 2, decision="approved")
    point = Checkpoint.objects.get(contract=contract, checkpoint_id="C-3")
    for item in (moved, late):
        Approval.objects.filter(pk=item.pk).update(asked_at=point.committed_at - timedelta(seconds=1))
    Operation.objects.filter(key=moved.operation_key).update(target="cms://elsewhere")
    Approval.objects.filter(pk=late.pk).update(expires_at=database_now())
    verdict, _ = assert_allowed(contract, roll_back, **{**BACK, "checkpoint_id": "C-3"})
    assert fates(verdict) == {
        moved.item_id: (Fate.STALE, "target"),
        late.item_id: (Fate.ENDED, "expires_at"),
    }
    late.refresh_from_db()
    assert late.state == "expired"


def test_a_used_decision_survives_and_one_that_had_ended_is_told_too():
    contract = three_points()
    used, rejected = an_item(contract, 1, decision="approved"), an_item(contract, 2, decision="rejected")
    assert_allowed(contract, dispatch, actor=WORKER, operation_key=used.operation_key, generation=1)
    verdict, _ = assert_allowed(contract, roll_back, **BACK)
    assert verdict.outcome.approvals == (
        Touched(used.item_id, Fate.USED),
        Touched(rejected.item_id, Fate.ENDED),
    )
    used.refresh_from_db()
    assert (used.state, used.consumed_generation) == ("approved", 1)


def test_what_was_decided_before_the_checkpoint_is_not_touched():
    contract = a_held(**builders.keys_of_a_call({}))
    item = an_item(contract, 1, decision="approved")
    a_checkpoint(contract, 1)
    verdict, _ = assert_allowed(contract, roll_back, **BACK)
    assert verdict.outcome.approvals == ()
    item.refresh_from_db()
    assert item.state == "approved"


def test_objects_confirmed_later_stay_confirmed():
    contract = three_points()
    settled(contract)
    assert_allowed(contract, roll_back, **BACK)
    assert WorkObject.objects.get(contract=contract).state == "confirmed"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"actor": WORKER}, "operator_only"),
        ({"actor": Actor("clock", ActorKind.SYSTEM)}, "operator_only"),
        ({"reason": " "}, "reason_missing"),
        ({"request_key": ""}, "bad_values"),
        ({"request_key": "x" * 201}, "bad_values"),
        ({"checkpoint_id": "C-9"}, "no_such_checkpoint"),
    ],
)
def test_t35_an_operator_goes_back_with_a_reason_and_a_key_to_what_is_there(changed, code):
    assert_refused(three_points(), code, roll_back, **{**BACK, **changed})


def test_nothing_goes_on_from_what_was_rolled_back_itself():
    contract = three_points()
    assert_allowed(contract, roll_back, **BACK)
    given = {**BACK, "checkpoint_id": "C-2", "request_key": "back-2"}
    assert_refused(contract, "checkpoint_rolled_back", roll_back, **given)


@pytest.mark.parametrize("state", ENDED)
def test_what_has_not_begun_or_has_ended_is_not_rolled_back(state):
    assert_refused(force(three_points(), state), "not_open", roll_back, **BACK)


def test_after_the_deadline_nothing_is_rolled_back():
    contract = three_points()
    Contract.objects.filter(pk=contract.pk).update(deadline=contract.created_at)
    assert_refused(contract, "deadline_passed", roll_back, **BACK)


def test_where_nobody_holds_the_task_the_generation_rises_all_the_same():
    contract = three_points()
    Attempt.objects.filter(contract=contract).update(ended_at=database_now(), end_reason="released")
    force(contract, ContractState.PAUSED)
    verdict, _ = assert_allowed(contract, roll_back, **BACK)
    assert verdict.outcome.generation == contract.generation == 2


def test_an_owner_whom_the_operator_was_not_shown_is_not_rolled_back():
    contract = three_points()
    assert_refused(contract, "owner_changed", roll_back, **BACK, generation=contract.generation + 1)

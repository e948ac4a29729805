"""Another round: an explicit act, with a key and an item of its own, counted against the tries of the step."""

import pytest

from contracts.gates.approving import decide
from contracts.gates.requesting import withdraw
from contracts.gates.rounds import open_round
from contracts.gates.sending import dispatch
from contracts.models import Approval, Limit, Operation, UsageEntry
from contracts.rules.states import ContractState
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import assert_allowed, assert_refused, force, own

pytestmark = pytest.mark.django_db


def again(operation, **given):
    return {"actor": WORKER, "operation_key": operation.key, "parameters": operation.parameters, **given}


def sent_back(operation):
    item = builders.a_waiting_item(operation)
    carla = people.curator(item.contract.team)
    assert_allowed(item.contract, decide, **word(item, carla, "rejected"))
    operation.refresh_from_db()
    return item


def tries(contract):
    return UsageEntry.objects.filter(contract=contract).totals().get("tries_per_step", 0)


def test_t07_three_rounds_sent_back_are_three_items_and_nothing_is_sent_twice():
    operation = builders.a_call()
    contract = operation.contract
    Limit.objects.filter(contract=contract, measure="tries_per_step").update(cap=4)
    operations = [operation]
    for number in (2, 3, 4):
        sent_back(operations[-1])
        assert operations[-1].state == "abandoned"
        verdict, events = assert_allowed(contract, open_round, **again(operations[-1]))
        assert [(event.act, event.part) for event in events] == [
            ("open_round", "operation"),
            ("add", "usage"),
        ]
        operations.append(verdict.outcome)
        assert (verdict.outcome.round, verdict.outcome.state) == (number, "pending")
        assert verdict.outcome.target == operation.target
    assert tries(contract) == 3
    assert len({row.key for row in operations}) == 4
    assert len({row.fingerprint for row in operations}) == 1
    assert Approval.objects.filter(contract=contract).count() == 3
    sent_back(operations[-1])
    assert_refused(contract, "rounds_used_up", open_round, **again(operations[-1]))
    own(contract)
    for row in operations:
        known = {"actor": WORKER, "operation_key": row.key, "generation": contract.generation}
        assert_refused(contract, "operation_not_pending", dispatch, **known)
    assert not Operation.objects.filter(contract=contract, tries__gt=0).exists()


def test_without_a_cap_rounds_go_on_and_only_the_last_is_sent_once():
    operation = builders.a_call()
    contract = operation.contract
    Limit.objects.filter(contract=contract, measure="tries_per_step").update(cap=None)
    sent_back(operation)
    verdict, _ = assert_allowed(contract, open_round, **again(operation))
    builders.a_decided_item(verdict.outcome)
    own(contract)
    known = {"actor": WORKER, "operation_key": verdict.outcome.key, "generation": contract.generation}
    assert_allowed(contract, dispatch, **known)
    assert_refused(contract, "operation_not_pending", dispatch, **known)
    assert sum(Operation.objects.filter(contract=contract).values_list("tries", flat=True)) == 1


def test_only_the_last_round_of_a_slot_that_has_ended_is_followed():
    operation = builders.a_call()
    contract = operation.contract
    sent_back(operation)
    assert_allowed(contract, open_round, **again(operation))
    assert_refused(contract, "round_not_open", open_round, **again(operation))


@pytest.mark.parametrize("make", [builders.a_waiting_item, builders.a_decided_item])
def test_while_somebody_is_asked_or_has_allowed_it_no_round_opens(make):
    item = make()
    operation = Operation.objects.get(pk=item.operation_id)
    assert_refused(item.contract, "round_not_open", open_round, **again(operation))


def test_a_call_nobody_was_asked_about_gives_way_to_the_next_round():
    operation = builders.a_call()
    verdict, events = assert_allowed(operation.contract, open_round, **again(operation))
    operation.refresh_from_db()
    assert (operation.state, verdict.outcome.round) == ("abandoned", operation.round + 1)
    assert [event.act for event in events] == ["dropped", "open_round", "add"]


def test_what_the_target_refused_may_be_tried_again_with_other_parameters():
    operation = builders.a_call()
    Operation.objects.filter(pk=operation.pk).update(state="rejected", generation=1)
    operation.refresh_from_db()
    verdict, _ = assert_allowed(
        operation.contract, open_round, **again(operation, parameters='{"page": "9"}')
    )
    assert verdict.outcome.parameters == {"page": "9"}
    assert verdict.outcome.fingerprint != operation.fingerprint


def test_a_withdrawn_request_opens_a_round_too():
    item = builders.a_waiting_item()
    assert_allowed(item.contract, withdraw, actor=WORKER, item_id=item.item_id, reason="Not yet.")
    operation = Operation.objects.get(pk=item.operation_id)
    assert_allowed(item.contract, open_round, **again(operation))


def test_rounds_that_stand_already_count_even_without_an_entry():
    operation = builders.a_call(round="3")
    Limit.objects.filter(contract=operation.contract, measure="tries_per_step").update(cap=3)
    sent_back(operation)
    assert_refused(operation.contract, "rounds_used_up", open_round, **again(operation))


def test_what_is_no_call_opens_no_round():
    operation = builders.a_call()
    contract = operation.contract
    assert_refused(
        contract, "no_such_operation", open_round, **{**again(operation), "operation_key": "0" * 64}
    )
    sent_back(operation)
    assert_refused(contract, "bad_values", open_round, **again(operation, parameters="{"))
    force(contract, ContractState.CANCELLED)
    assert_refused(contract, "not_open", open_round, **again(operation))

import pytest
from django.db import OperationalError
from psycopg import errors

from contracts.gates.workers import handing_out
from contracts.gates.workers.handing_out import give_back, hand_out
from contracts.models import Attempt, Operation, WorkObject
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor
from tests import builders
from tests.gates.watching import assert_allowed, assert_refused, force, own
from tests.gates.workers.steps import WORKER, at_work, live

pytestmark = pytest.mark.django_db
# Outside a transaction of the test: only there the one statement commits by itself.
at_once = pytest.mark.django_db(transaction=True)


def wanted(contract, count, **given):
    return {"actor": WORKER, "generation": contract.generation, "count": count, **given}


def names(verdict):
    return [row.object_id for row in verdict.outcome]


@at_once
def test_objects_are_handed_out_in_the_contracts_order_and_never_twice():
    contract = at_work(5)
    WorkObject.objects.filter(contract=contract, object_id="O-1").update(position=90_000)
    first, (event,) = assert_allowed(contract, hand_out, **wanted(contract, 2))
    assert names(first) == ["O-2", "O-3"]
    row = first.outcome[0]
    assert (row.state, row.attempt, row.source.source_id) == ("in_progress", live(contract), "P-1")
    assert (event.act, event.part, event.before) == ("hand_out", "object", {"state": "pending"})
    assert event.after == {"objects": ["O-2", "O-3"], "state": "in_progress"}
    second, _ = assert_allowed(contract, hand_out, **wanted(contract, 10))
    assert names(second) == ["O-4", "O-5", "O-1"]
    third = hand_out(contract_id=contract.pk, **wanted(contract, 10))
    assert (third.allowed, third.outcome) == (True, ())


@at_once
def test_what_is_to_be_rechecked_comes_last_and_what_is_settled_or_unknown_never():
    contract = at_work(4)
    for name, state in (("O-1", "recheck"), ("O-2", "unknown"), ("O-3", "skipped")):
        settled = {"settled_by": "rita", "settled_at": contract.created_at, "note": "No."}
        WorkObject.objects.filter(contract=contract, object_id=name).update(state=state, **settled)
    assert names(hand_out(contract_id=contract.pk, **wanted(contract, 9))) == ["O-4"]
    verdict, (event,) = assert_allowed(contract, hand_out, **wanted(contract, 9))
    assert (names(verdict), event.before) == (["O-1"], {"state": "recheck"})
    row = WorkObject.objects.get(contract=contract, object_id="O-1")
    assert (row.state, row.settled_by, row.settled_at) == ("in_progress", "", None)


@at_once
def test_an_id_may_hold_what_json_must_escape():
    keys = {**builders.complete_keys(), "objects": [{"object_id": 'O-"\\1', "source": "P-1"}]}
    contract = own(builders.a_paused(**keys))
    verdict, (event,) = assert_allowed(contract, hand_out, **wanted(contract, 1))
    assert names(verdict) == event.after["objects"] == ['O-"\\1']


def refusing(contract):
    now = live(contract).started_at
    yield "not_open", lambda: force(contract, ContractState.PAUSED), {}
    yield "pause_requested", lambda: force(contract, ContractState.PAUSE_REQUESTED), {}
    yield "not_owner", lambda: None, {"actor": Actor("other", WORKER.kind)}
    yield "lease_lapsed", lambda: Attempt.objects.filter(contract=contract).update(lease_end=now), {}
    yield "stale_generation", lambda: None, {"generation": contract.generation - 1}


@pytest.mark.parametrize("number", range(5))
def test_who_is_not_the_live_owner_gets_nothing(number):
    contract = at_work()
    code, change, given = list(refusing(contract))[number]
    change()
    assert_refused(contract, code, hand_out, **wanted(contract, 1, **given))


@pytest.mark.parametrize("count", [0, 501])
def test_a_number_out_of_range_is_a_fault_of_the_program(count):
    with pytest.raises(ValueError, match="between 1 and 500"):
        hand_out(contract_id=1, actor=WORKER, generation=1, count=count)


@at_once
def test_a_conflict_is_tried_again_and_another_fault_is_raised(monkeypatch):
    contract, real, failures = (
        at_work(),
        handing_out._take,
        [errors.AdminShutdown(), errors.DeadlockDetected()],
    )

    def fail(*given):
        if not failures:
            return real(*given)
        raise OperationalError from failures.pop(0)

    monkeypatch.setattr(handing_out, "_take", fail)
    with pytest.raises(OperationalError):
        hand_out(contract_id=contract.pk, **wanted(contract, 1))
    assert names(hand_out(contract_id=contract.pk, **wanted(contract, 1))) == ["O-1"]
    assert failures == []


def returned(contract, *object_ids, **given):
    known = {
        "actor": WORKER,
        "generation": contract.generation,
        "object_ids": object_ids,
        "note": "Too dark.",
    }
    return known | given


def test_an_object_given_back_can_be_taken_again():
    contract = at_work(2)
    hand_out(contract_id=contract.pk, **wanted(contract, 2))
    verdict, events = assert_allowed(contract, give_back, **returned(contract, "O-1", "O-2"))
    assert verdict.outcome == 2
    assert {event.act for event in events} == {"send_back"}
    row = WorkObject.objects.get(contract=contract, object_id="O-1")
    assert (row.state, row.attempt, row.note) == ("pending", None, "Too dark.")
    assert names(hand_out(contract_id=contract.pk, **wanted(contract, 1))) == ["O-1"]
    assert_allowed(contract, give_back, **returned(contract, "O-1", note=""))
    row.refresh_from_db()
    assert row.note == "Too dark."


def test_only_what_this_attempt_holds_is_given_back():
    contract = at_work(2)
    hand_out(contract_id=contract.pk, **wanted(contract, 1))
    refused = assert_refused(contract, "object_not_held", give_back, **returned(contract, "O-1", "O-2"))
    assert refused.outcome == ("O-2",)
    assert_refused(contract, "object_not_held", give_back, **returned(contract))
    stale = returned(contract, "O-1", generation=contract.generation - 1)
    assert_refused(contract, "stale_generation", give_back, **stale)
    assert_refused(contract, "bad_values", give_back, **returned(contract, "O-1", note="x" * 3_000))


def test_an_object_of_which_a_write_may_have_left_is_not_begun_anew():
    contract = own(builders.a_paused(tools=[builders.EXAMPLES["tool"]]))
    force(contract, ContractState.PAUSED)
    builders.a_row(contract, "operation", object="O-1")
    force(contract, ContractState.RUNNING)
    hand_out(contract_id=contract.pk, **wanted(contract, 1))
    sent = {"generation": 1, "tries": 1, "sent_at": contract.created_at}
    Operation.objects.filter(contract=contract).update(state="unknown", **sent)
    assert_refused(contract, "operations_open", give_back, **returned(contract, "O-1"))

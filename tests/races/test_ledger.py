"""One slot, one sending: what holds when many write at the same moment, each with a control that must lose."""

import threading
from functools import partial

import pytest

from contracts.gates.sending import dispatch
from contracts.gates.workers.ledger import intend, report
from contracts.models import Event, Operation, ToolContract, UsageTotal
from contracts.rules.fingerprint import fingerprint, operation_key
from tests.gates.workers.ledgering import CALL, a_task, by, call, intended, sending
from tests.races.racing import codes, race

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 16


def whole(contract):
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None


def test_of_sixteen_who_word_one_draft_differently_one_holds_the_slot():
    contract = a_task()
    calls = [
        partial(intend, contract_id=contract.pk, **call(contract, parameters={"page": f"label {number}"}))
        for number in range(MANY)
    ]
    verdicts = race(*calls)
    assert codes(verdicts) == ["done"] + ["one_operation_per_slot"] * (MANY - 1)
    (row,) = Operation.objects.filter(contract=contract)
    assert {verdict.outcome.pk for verdict in verdicts} == {row.pk}  # each is shown what stands
    whole(contract)


def test_sixteen_times_the_same_call_is_one_operation():
    contract = a_task()
    verdicts = race(*[partial(intend, contract_id=contract.pk, **call(contract))] * MANY)
    assert codes(verdicts) == ["done"] + ["exists"] * (MANY - 1)
    assert Operation.objects.filter(contract=contract).count() == 1


def test_control_looking_before_writing_without_lock_or_slot_lets_both_through():
    """A key over the parameters alone, looked up and then stored: the shape that writes twice."""
    contract = a_task()
    tool = ToolContract.objects.get(contract=contract)
    looked = threading.Barrier(2)

    def naive(page):
        parameters = {"page": page}
        key = operation_key(contract.task_id, page, 1, tool.tool, parameters)
        known = Operation.objects.filter(contract=contract, key=key).exists()
        looked.wait(timeout=60)
        if not known:  # without the slot: a step worded differently is another one
            Operation.objects.create(
                contract=contract, tool=tool, step=page, parameters=parameters, key=key,
                fingerprint=fingerprint(parameters), target=CALL["target"], expected="one page",
                intended_at=contract.revised_at,
            )  # fmt: skip

    race(partial(naive, "label 1"), partial(naive, "label one"))
    assert Operation.objects.filter(contract=contract, target=CALL["target"]).count() == 2


@pytest.mark.parametrize("threads", [2, MANY])
def test_a_pending_operation_is_sent_by_one_alone(threads):
    contract = a_task()
    row = intended(contract)
    given = by(contract, operation_key=row.key)
    verdicts = race(*[partial(dispatch, contract_id=contract.pk, **given)] * threads)
    assert codes(verdicts) == ["done"] + ["operation_not_pending"] * (threads - 1)
    row.refresh_from_db()
    assert (row.state, row.tries) == ("sending", 1)
    assert UsageTotal.objects.get(contract=contract).tool_attempts == 1
    whole(contract)


def test_control_reading_the_state_and_then_storing_it_sends_twice():
    contract = a_task()
    row = intended(contract)
    read, sent = threading.Barrier(2), []

    def naive():
        found = Operation.objects.get(pk=row.pk)
        read.wait(timeout=60)
        if found.state == "pending":
            Operation.objects.filter(pk=row.pk).update(state="sending", generation=contract.generation)
            sent.append(row.key)

    race(naive, naive)
    assert sent == [row.key, row.key]


def test_of_two_tools_calls_that_must_not_overlap_one_waits():
    contract = a_task({"concurrency": "one_at_a_time"})
    rows = [intended(contract, step=step) for step in ("first", "second")]
    calls = [
        partial(dispatch, contract_id=contract.pk, **by(contract, operation_key=row.key)) for row in rows
    ]
    assert codes(race(*calls)) == ["done", "tool_busy"]
    assert Operation.objects.filter(contract=contract, state="sending").count() == 1


def test_of_two_reports_that_contradict_each_other_the_first_stands():
    contract = a_task()
    row = sending(contract)
    given = by(contract, operation_key=row.key)
    verdicts = race(
        *[
            partial(report, contract_id=contract.pk, **given, result=result)
            for result in ("confirmed", "rejected")
        ]
    )
    assert codes(verdicts) == ["done", "report_stands"]
    (first,) = (verdict.outcome for verdict in verdicts if verdict.allowed)
    row.refresh_from_db()
    assert row.state == first.state
    whole(contract)

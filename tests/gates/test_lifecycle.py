import pytest

from contracts.gates.lifecycle import archive, cancel, complete, leave_draft, return_to_draft
from contracts.models import Contract, Operation, WorkObject, plan_digest
from contracts.rules.states import CONTRACT_MOVES, ContractState
from tests import builders
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, force

pytestmark = pytest.mark.django_db
REASON = {"reason": "One object is missing."}
GATES = {
    "leave_draft": (leave_draft, {}),
    "return_to_draft": (return_to_draft, REASON),
    "complete": (complete, {}),
    "cancel": (cancel, REASON),
}
PAST = "2020-01-01T00:00Z"


def ready(state):
    """Return a contract in `state` from which every legal act succeeds."""
    contract = builders.a_complete_draft()
    WorkObject.objects.of(contract.pk).update(
        state="confirmed", settled_by="rita", settled_at=contract.created_at
    )
    return force(contract, state)


@pytest.mark.parametrize("state", ContractState)
@pytest.mark.parametrize("act", GATES)
def test_the_contract_moves_as_the_table_says_and_not_otherwise(act, state):
    contract = ready(state)
    gate, given = GATES[act]
    legal = {move.after for move in CONTRACT_MOVES if (move.before, move.act) == (state, act)}
    if not legal:
        verdict = assert_refused(contract, "illegal_move", gate, **given)
        assert verdict.values == {"state": state.label}
        return
    before = contract.life()
    _, (event,) = assert_allowed(contract, gate, **given)
    assert {contract.state} == legal
    assert (event.act, event.part, event.subject, event.before) == (act, "contract", contract.task_id, before)
    assert event.after == {**contract.life(), **given}


def test_leaving_draft_fixes_the_plan_digest():
    contract = builders.a_complete_draft()
    assert_allowed(contract, leave_draft)
    assert contract.plan_digest == plan_digest(contract)


def test_an_incomplete_draft_stays_and_everything_missing_is_told():
    contract = builders.a_draft()
    verdict = assert_refused(contract, "incomplete", leave_draft)
    assert verdict.values["count"] == len(verdict.outcome) > 20
    assert {missing.code for missing in verdict.outcome} >= {"empty", "none", "not_marked", "no_cap"}


def test_a_draft_whose_deadline_has_passed_stays():
    contract = builders.a_complete_draft()
    Contract.objects.filter(pk=contract.pk).update(deadline=PAST)
    verdict = assert_refused(contract, "incomplete", leave_draft)
    assert [missing.code for missing in verdict.outcome] == ["deadline_passed"]


def test_objects_left_keep_a_contract_from_being_completed():
    contract = builders.a_paused()
    assert assert_refused(contract, "objects_unfinished", complete).values == {"count": 1}


@pytest.mark.parametrize("state", ["pending", "sending", "unknown"])
def test_operations_without_an_answer_keep_a_contract_from_being_completed(state):
    contract = builders.a_complete_draft()
    builders.a_row(contract, "operation")
    Operation.objects.of(contract.pk).update(state=state, generation=1)
    contract = ready_again(contract)
    assert assert_refused(contract, "operations_open", complete).values == {"count": 1}


@pytest.mark.parametrize("state", ["confirmed", "rejected", "abandoned"])
def test_answered_operations_do_not(state):
    contract = builders.a_complete_draft()
    builders.a_row(contract, "operation")
    Operation.objects.of(contract.pk).update(state=state, generation=1)
    _, (event,) = assert_allowed(ready_again(contract), complete)
    assert event.after["completed_at"] is not None


def ready_again(contract):
    WorkObject.objects.of(contract.pk).update(
        state="confirmed", settled_by="rita", settled_at=contract.created_at
    )
    return force(contract, ContractState.PAUSED)


def test_after_the_deadline_a_contract_is_not_completed_but_may_be_cancelled():
    contract = ready(ContractState.PAUSED)
    Contract.objects.filter(pk=contract.pk).update(deadline=PAST)
    assert_refused(contract, "deadline_passed", complete)
    assert_allowed(contract, cancel, **REASON)


def test_a_cancellation_names_when_who_and_why():
    contract = builders.a_draft()
    assert_allowed(contract, cancel, reason="  The show was called off. ")
    assert contract.cancelled_at == contract.revised_at
    assert (contract.cancelled_by, contract.cancel_reason) == ("olga", "The show was called off.")


@pytest.mark.parametrize("gate", [cancel, return_to_draft])
@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("", "reason_missing"),
        (" \n", "reason_missing"),
        ("x" * 2_001, "bad_values"),
        ("a\x00b", "bad_values"),
        ("password=hunter2-and-more", "bad_values"),
    ],
)
def test_a_reason_is_needed_and_checked(gate, reason, code):
    verdict = assert_refused(builders.a_paused(), code, gate, reason=reason)
    assert {problem.field for problem in verdict.problems} == {"reason"}


@pytest.mark.parametrize("state", ContractState)
def test_only_an_ended_contract_is_archived_and_may_come_back(state):
    contract = ready(state)
    if state not in ("completed", "cancelled"):
        assert_refused(contract, "not_open", archive)
        return
    assert_unchanged(contract, archive, archived=False)
    _, (event,) = assert_allowed(contract, archive)
    assert (event.act, contract.archived_at) == ("archive", contract.revised_at)
    assert_unchanged(contract, archive)
    _, (event,) = assert_allowed(contract, archive, archived=False)
    assert (event.act, contract.archived_at) == ("unarchive", None)

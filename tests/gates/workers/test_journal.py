import pytest

from contracts.gates.workers.journal import begin_step
from contracts.gates.workers.stepping import commit_step
from contracts.models import Attempt, JournalStep, Operation, UsageEntry
from contracts.rules.states import ContractState, StepState
from contracts.rules.vocabulary import Measure, StepKind
from tests import builders
from tests.gates.watching import assert_allowed, assert_refused, events_of, force, own
from tests.gates.workers.steps import WORKER, a_step, at_work, cap, live, told, use

pytestmark = pytest.mark.django_db


def begun(contract, key="draft-1", kind=StepKind.MODEL_TURN, **given):
    return {"actor": WORKER, "generation": contract.generation, "key": key, "kind": kind, **given}


def test_a_step_is_recorded_before_it_runs_and_counted_as_a_try():
    contract = at_work()
    verdict, events = assert_allowed(contract, begin_step, **begun(contract))
    assert (verdict.outcome.state, verdict.outcome.first) == (StepState.STARTED, True)
    row = JournalStep.objects.get(contract=contract)
    assert (row.sequence, row.key, row.state, row.attempt) == (1, "draft-1", "started", live(contract))
    entry = UsageEntry.objects.get(contract=contract)
    assert (entry.measure, entry.amount, entry.step) == ("tries_per_step", 1, "draft-1")
    assert [event.act for event in events] == ["begin_step", "add"]


def test_a_step_that_is_done_gives_its_result_and_is_not_counted():
    contract = at_work()
    assert_allowed(contract, begin_step, **begun(contract))
    done = a_step(step={"key": "draft-1", "kind": "model_turn", "result": {"text": "Clay"}})
    assert_allowed(contract, commit_step, **told(contract, done))
    own(contract)
    known = len(events_of(contract))
    verdict = begin_step(contract_id=contract.pk, **begun(contract))
    assert (verdict.outcome.state, verdict.outcome.first) == (StepState.DONE, False)
    assert verdict.outcome.result == {"text": "Clay"}
    assert len(events_of(contract)) == known
    assert UsageEntry.objects.filter(contract=contract, measure="tries_per_step").count() == 1


def test_a_model_turn_found_begun_runs_again_under_the_new_owner():
    contract = at_work()
    assert_allowed(contract, begin_step, **begun(contract))
    own(contract)
    verdict, _ = assert_allowed(contract, begin_step, **begun(contract))
    assert (verdict.outcome.state, verdict.outcome.first) == (StepState.STARTED, False)
    assert JournalStep.objects.get(contract=contract).attempt == live(contract)


@pytest.mark.parametrize(
    ("effect", "state", "code"),
    [
        ("non_idempotent_write", "unknown", "step_undecided"),
        ("non_idempotent_write", "pending", "done"),
        ("idempotent_write", "unknown", "done"),
    ],
)
def test_a_tool_call_found_begun_is_decided_by_its_operations(effect, state, code):
    contract = own(builders.a_paused(tools=[{**builders.EXAMPLES["tool"], "effect": effect}]))
    assert_allowed(contract, begin_step, **begun(contract, "publish", StepKind.TOOL_CALL))
    force(contract, ContractState.PAUSED)
    Attempt.objects.filter(contract=contract).update(
        ended_at=live(contract).started_at, end_reason="released"
    )
    builders.a_row(contract, "operation")
    own(contract)
    sent = {"generation": 1, "tries": 1, "sent_at": contract.created_at} if state == "unknown" else {}
    Operation.objects.filter(contract=contract).update(state=state, **sent)
    given = begun(contract, "publish", StepKind.TOOL_CALL)
    if code == "done":
        assert_allowed(contract, begin_step, **given)
    else:
        refused = assert_refused(contract, code, begin_step, **given)
        assert refused.outcome.state is StepState.STARTED


def test_tries_of_one_step_end_at_their_cap_and_those_of_another_do_not():
    contract = at_work()
    cap(contract, Measure.TRIES_PER_STEP, 2)
    for _ in range(2):
        assert_allowed(contract, begin_step, **begun(contract))
        own(contract)
    refused = assert_refused(contract, "cap_reached", begin_step, **begun(contract))
    assert refused.values == {"measure": Measure.TRIES_PER_STEP}
    assert_allowed(contract, begin_step, **begun(contract, "draft-2"))


def test_nothing_begins_at_a_cap_over_the_whole_task():
    contract = at_work()
    use(contract, Measure.MODEL_TURNS, 100)
    assert_refused(contract, "cap_reached", begin_step, **begun(contract))


def test_who_is_not_the_live_owner_begins_nothing():
    contract = at_work()
    stale = begun(contract, generation=contract.generation - 1)
    assert_refused(contract, "stale_generation", begin_step, **stale)


def test_a_key_is_an_id():
    contract = at_work()
    assert_refused(contract, "bad_values", begin_step, **begun(contract, "two\nlines"))

import pytest
from django.db import connection

from contracts.gates.beats import WRITE_LOCK
from contracts.gates.sending import dispatch
from contracts.gates.workers.owning import release, renew, resume
from contracts.gates.workers.pausing import request_pause, take_over
from contracts.models import Attempt, Operation
from contracts.rules.granting import HELD, Offer, Released
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, force
from tests.gates.workers.owners import OPERATOR, OTHER, WHY, WORKER, a_held, a_task, granted, lapse
from tests.gates.workers.test_displaced import write

pytestmark = pytest.mark.django_db
ASKED = {"actor": OPERATOR, "reason": WHY}
MINE = {"actor": WORKER, "generation": 1}


@pytest.mark.parametrize("state", [ContractState.RESUMING, ContractState.RUNNING])
def test_t36_a_pause_is_requested_and_takes_place_when_the_owner_lets_go(state):
    contract = force(a_held(), state)
    row = write(contract, "sending")
    _, (event,) = assert_allowed(contract, request_pause, **ASKED)
    assert (contract.state, contract.generation) == ("pause_requested", 1)
    assert (event.act, event.after["reason"]) == ("request_pause", WHY)
    assert Operation.objects.get(pk=row.pk).state == "sending"  # in flight, and still the owner's
    verdict = dispatch(contract_id=contract.pk, **MINE, operation_key=row.key)
    assert verdict.code == "pause_requested"
    assert_allowed(contract, renew, **MINE)
    assert_unchanged(contract, request_pause, **ASKED)
    assert_allowed(contract, release, **MINE, reason=Released.WAITING_FOR_APPROVAL)
    assert contract.state == "paused"
    assert Operation.objects.get(pk=row.pk).state == "unknown"


@pytest.mark.parametrize("state", HELD)
def test_where_no_lease_runs_the_pause_takes_place_at_once(state):
    contract = force(a_held(), state)
    lapse(contract)
    _, events = assert_allowed(contract, request_pause, **ASKED)
    assert contract.state == "paused"
    assert Attempt.objects.get(contract=contract).end_reason == "lease_lapsed"
    asked = [] if state is ContractState.PAUSE_REQUESTED else ["request_pause"]
    assert [event.act for event in events if event.part == "contract"] == [*asked, "pause"]


def test_a_task_at_work_that_nobody_holds_is_paused_at_once():
    contract = force(a_task(), ContractState.RUNNING)
    assert_allowed(contract, request_pause, **ASKED)
    assert contract.state == "paused"


@pytest.mark.parametrize("given", [{}, {"generation": 1}])
def test_a_worker_asks_for_the_pause_of_its_own_task_alone(given):
    contract = a_held()
    assert_refused(contract, "not_owner", request_pause, actor=OTHER, reason=WHY, **given)
    lapse(contract)
    assert_allowed(contract, request_pause, actor=WORKER, reason=WHY, **given)
    assert contract.state == "pause_requested"


def test_a_displaced_worker_does_not_pause_its_successor():
    contract = a_held()
    lapse(contract)
    granted(contract, WORKER)
    assert_refused(contract, "stale_generation", request_pause, **MINE, reason=WHY)


@pytest.mark.parametrize("gate", [request_pause, take_over])
@pytest.mark.parametrize("state", [state for state in ContractState if state not in HELD])
def test_nothing_is_paused_or_taken_over_that_is_not_at_work(gate, state):
    assert_refused(force(a_held(), state), "not_open", gate, **ASKED)


@pytest.mark.parametrize("gate", [request_pause, take_over])
@pytest.mark.parametrize(("reason", "code"), [("", "reason_missing"), ("a\x00b", "bad_values")])
def test_t35_a_reason_is_needed_and_checked(gate, reason, code):
    assert_refused(a_held(), code, gate, actor=OPERATOR, reason=reason)


@pytest.mark.parametrize("kind", [ActorKind.WORKER, ActorKind.SYSTEM])
def test_t35_only_an_operator_takes_over(kind):
    assert_refused(a_held(), "operator_only", take_over, actor=Actor("label-writer", kind), reason=WHY)


@pytest.mark.parametrize("state", HELD)
def test_t35_an_operator_takes_over_with_a_reason_and_the_former_owner_is_fenced_at_once(state):
    contract = force(a_held(), state)
    row = write(contract, "sending")
    _, events = assert_allowed(contract, take_over, **ASKED)
    assert (contract.state, contract.generation) == ("paused", 2)
    assert Attempt.objects.get(contract=contract).end_reason == "taken_over"
    assert Operation.objects.get(pk=row.pk).state == "unknown"
    assert (events[-1].act, events[-1].after["reason"]) == ("take_over", WHY)
    assert (events[-1].before["generation"], events[-1].after["generation"]) == (1, 2)
    assert_refused(contract, "stale_generation", renew, **MINE)
    assert granted(contract, OTHER).attempt.generation == 3
    assert_refused(contract, "stale_generation", renew, **MINE)


def test_an_operator_takes_over_a_task_that_nobody_holds():
    contract = force(a_task(), ContractState.RUNNING)
    assert_allowed(contract, take_over, **ASKED)
    assert contract.state == "paused"


def test_a_pause_request_survives_nobody_but_blocks_no_successor():
    contract = force(a_held(), ContractState.PAUSE_REQUESTED)
    assert_refused(contract, "resume_wait", resume, actor=OTHER, offer=Offer())
    lapse(contract)
    assert_allowed(contract, resume, actor=OTHER, offer=Offer())


@pytest.mark.django_db(transaction=True)
def test_while_the_proxy_writes_a_pause_is_only_requested():
    contract = a_held()
    lapse(contract)
    with connection.copy().cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [WRITE_LOCK, contract.pk])
        assert_allowed(contract, request_pause, **ASKED)
        assert contract.state == "pause_requested"
        assert_unchanged(contract, request_pause, **ASKED)
        cursor.execute("ROLLBACK")
        cursor.db.close()
    assert_allowed(contract, request_pause, **ASKED)
    assert contract.state == "paused"


def test_an_owner_whom_the_operator_was_not_shown_is_left_alone():
    contract = a_held()
    lapse(contract)
    granted(contract, OTHER)
    for gate in (take_over, request_pause):
        assert_refused(contract, "owner_changed", gate, **ASKED, generation=1)
    assert_allowed(contract, take_over, **ASKED, generation=2)


def test_control_an_act_that_names_no_generation_displaces_whoever_holds_the_task():
    contract = a_held()
    lapse(contract)
    attempt = granted(contract, OTHER).attempt
    assert_allowed(contract, take_over, **ASKED)
    attempt.refresh_from_db()
    assert attempt.end_reason == "taken_over"

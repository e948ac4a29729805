from datetime import timedelta

import pytest

from contracts.gates.lifecycle import cancel
from contracts.gates.lifecycle import complete as complete_by_person
from contracts.gates.objects import change_objects
from contracts.gates.sending import dispatch
from contracts.gates.workers.owning import complete, release, renew, resume
from contracts.gates.workers.pausing import take_over
from contracts.models import Attempt, Contract, Operation, UsageEntry, WorkObject
from contracts.rules.granting import Offer, Released
from contracts.rules.resuming import Outcome, Permit
from contracts.rules.states import Act, ContractState
from contracts.rules.vocabulary import Actor, ActorKind, Measure
from tests import builders
from tests.gates.watching import assert_allowed, assert_refused, events_of, force
from tests.gates.workers.owners import (
    OTHER,
    WHY,
    WORKER,
    a_held,
    a_task,
    cap,
    granted,
    lapse,
    settled,
    taken,
)

pytestmark = pytest.mark.django_db
OFFER = {"offer": Offer()}
MINE = {"actor": WORKER}
THEIRS = {"actor": OTHER}


def attempt_of(contract):
    return Attempt.objects.of(contract.pk).last()


def said(events):
    return [(event.act, event.part) for event in events]


def test_the_task_is_granted_under_a_new_generation_and_a_new_attempt():
    contract = a_task()
    verdict, events = assert_allowed(
        contract, resume, **MINE, **OFFER, framework="langgraph", framework_handle="thread-7"
    )
    grant, attempt = verdict.outcome, attempt_of(contract)
    assert (contract.state, contract.generation) == ("resuming", 1)
    assert grant.attempt == attempt
    assert (attempt.number, attempt.generation, attempt.worker) == (1, 1, "label-writer")
    assert (attempt.framework, attempt.framework_handle) == ("langgraph", "thread-7")
    assert attempt.attempt_id.startswith("A-1-")
    assert attempt.lease_end - attempt.started_at == timedelta(seconds=grant.lease_seconds)
    assert (grant.lease_seconds, grant.renew_seconds) == (120, 30)
    assert (attempt.by_hand, attempt.synchronous, attempt.ended_at) == (False, True, None)
    assert grant.decision.verdict is Outcome.CONTINUE
    assert said(events) == [("resume", "contract"), ("grant", "attempt")]


def test_each_grant_raises_generation_and_number_and_makes_another_id():
    contract = a_task()
    seen = set()
    for number in range(1, 6):
        attempt = granted(contract, synchronous=False).attempt
        assert (attempt.number, attempt.generation, attempt.synchronous) == (number, number, False)
        seen.add(attempt.attempt_id)
        lapse(contract)
    assert len(seen) == 5


def test_t26_who_comes_second_is_told_the_attempt_that_stands():
    contract = a_held(running=False)
    held = attempt_of(contract)
    verdict = assert_refused(contract, "resume_wait", resume, **THEIRS, **OFFER)
    waiting = verdict.outcome
    assert (waiting.attempt_number, waiting.worker, waiting.lease_end) == (1, "label-writer", held.lease_end)
    assert waiting.decision.verdict is Outcome.WAIT
    assert Attempt.objects.filter(contract=contract).count() == 1


def test_t29_the_same_name_is_no_ownership():
    contract = a_held()
    assert assert_refused(contract, "resume_wait", resume, **MINE, **OFFER).outcome.attempt_number == 1
    lapse(contract)
    assert granted(contract).attempt.generation == 2
    assert_refused(contract, "stale_generation", renew, **MINE, generation=1)


@pytest.mark.parametrize("kind", [kind for kind in ActorKind if kind is not ActorKind.WORKER])
def test_t40_people_do_not_take_a_task_up(kind):
    contract = a_task()
    assert_refused(contract, "workers_only", resume, actor=Actor("carla", kind), **OFFER)


def test_t40_a_worker_resumes_and_neither_takes_over_nor_confirms_what_people_confirm():
    contract = a_held()
    assert_refused(contract, "operator_only", take_over, **MINE, reason=WHY)


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ContractState.DRAFT, "resume_refuse"),
        (ContractState.COMPLETED, "resume_refuse"),
        (ContractState.CANCELLED, "resume_refuse"),
    ],
)
def test_what_has_not_begun_or_has_ended_is_not_taken_up(state, code):
    contract = force(a_task(), state)
    assert assert_refused(contract, code, resume, **MINE, **OFFER).outcome.verdict is Outcome.REFUSE


def test_after_the_deadline_nobody_resumes_renews_or_completes_but_all_may_let_go():
    contract = a_task()
    Contract.objects.filter(pk=contract.pk).update(deadline=contract.created_at)
    assert_refused(contract, "resume_refuse", resume, **MINE, **OFFER)
    contract = a_held()
    settled(contract)
    Contract.objects.filter(pk=contract.pk).update(deadline=contract.created_at)
    given = {**MINE, "generation": 1}
    assert_refused(contract, "deadline_passed", renew, **given)
    assert_refused(contract, "deadline_passed", complete, **given)
    assert_allowed(contract, release, **given, reason=Released.GIVEN_UP)


@pytest.mark.parametrize(
    "brought", [{"workflow": "other"}, {"workflow_version": "5"}, {"schema_version": 3}, {"policy_number": 2}]
)
def test_a_worker_made_for_another_version_is_not_granted_the_task(brought):
    contract = a_task()
    verdict = assert_refused(contract, "resume_migrate", resume, **MINE, offer=Offer(**brought))
    assert verdict.outcome.verdict is Outcome.MIGRATE


def test_a_worker_of_the_agreed_versions_is():
    offer = Offer("labels", "4", 2, "agent 1.2", 1)
    assert_allowed(a_task(), resume, **MINE, offer=offer)


def test_t66_a_new_owner_gets_no_fresh_allowance():
    contract = a_task()
    builders.a_row(contract, "usage", amount="95")
    assert granted(contract).decision.work.left[3].left == 5
    lapse(contract)
    builders_usage(contract, "5")
    verdict = resume(contract_id=contract.pk, **THEIRS, **OFFER)
    assert (verdict.code, verdict.outcome.verdict) == ("resume_escalate", Outcome.ESCALATE)


def builders_usage(contract, amount):
    UsageEntry.objects.create(
        contract=contract, entry_id="more", measure="tokens", amount=amount, used_at=contract.created_at
    )


def test_an_unknown_operation_lets_an_owner_in_who_may_reconcile_and_no_more():
    contract = a_task()
    builders.a_row(contract, "operation")
    Operation.objects.filter(contract=contract).update(state="unknown", generation=1)
    assert granted(contract).decision.permits == {Permit.RECONCILE}


@pytest.mark.parametrize("name", ["framework", "framework_handle"])
def test_what_a_worker_tells_of_its_framework_is_checked(name):
    contract = a_task()
    verdict = assert_refused(contract, "bad_values", resume, **MINE, **OFFER, **{name: "x" * 201})
    assert [problem.field for problem in verdict.problems] == [name]


def test_t39_a_lapsed_owner_is_settled_in_the_transaction_that_grants_the_task_anew():
    contract = a_held()
    taken(contract, "O-1")
    lapse(contract)
    verdict, events = assert_allowed(contract, resume, **THEIRS, **OFFER)
    first = Attempt.objects.get(contract=contract, number=1)
    assert (first.end_reason, first.ended_at) == ("lease_lapsed", verdict.outcome.attempt.started_at)
    assert (contract.state, contract.generation) == ("resuming", 2)
    assert WorkObject.objects.get(contract=contract).state == "pending"
    assert said(events) == [
        ("lease_lapsed", "attempt"),
        ("never_left", "object"),
        ("add", "usage"),
        ("add", "usage"),
        ("pause", "contract"),
        ("resume", "contract"),
        ("grant", "attempt"),
    ]


def test_settling_a_lapsed_owner_stands_even_where_nobody_else_is_let_in():
    contract = a_held()
    lapse(contract)
    revision, known = contract.revision, len(events_of(contract))
    verdict = resume(contract_id=contract.pk, **THEIRS, offer=Offer(workflow="other"))
    assert verdict.code == "resume_migrate"
    events = events_of(contract)[known:]
    assert (contract.state, contract.generation, contract.revision) == ("paused", 1, revision + 1)
    assert attempt_of(contract).end_reason == "lease_lapsed"
    assert [event.refused for event in events] == ["", "", "", "", "resume_migrate"]


def test_a_task_at_work_that_nobody_holds_is_paused_first():
    contract = force(a_task(), ContractState.RUNNING)
    _, events = assert_allowed(contract, resume, **MINE, **OFFER)
    assert said(events) == [("pause", "contract"), ("resume", "contract"), ("grant", "attempt")]


def test_an_attempt_kept_by_hand_gives_way_and_its_time_is_not_counted():
    contract = a_task()
    values = {"ended_at": "", "end_reason": "", "lease_end": ""}
    builders.a_row(contract, "attempt", **values)
    contract.refresh_from_db()
    assert_allowed(contract, resume, **MINE, **OFFER)
    first = Attempt.objects.get(contract=contract, number=1)
    assert (first.end_reason, first.ended_at >= first.started_at) == ("lease_lapsed", True)
    assert not UsageEntry.objects.filter(contract=contract).exists()


def test_a_renewal_prolongs_the_lease_by_its_whole_length():
    contract = a_held()
    before = attempt_of(contract)
    verdict, (event,) = assert_allowed(contract, renew, **MINE, generation=1)
    after = verdict.outcome
    assert after.lease_end > before.lease_end
    assert after.lease_end - after.renewed_at == timedelta(seconds=120)
    assert (event.act, event.part, after.contract.state) == ("renew", "attempt", "running")


def test_t38_a_late_renewal_is_in_time_while_nobody_took_over():
    contract = a_held()
    lapse(contract, seconds=600)
    assert_allowed(contract, renew, **MINE, generation=1)
    assert_refused(contract, "resume_wait", resume, **THEIRS, **OFFER)


def test_t38_a_slow_but_living_owner_is_fenced_once_another_holds_the_task():
    contract = a_held()
    builders_operation(contract)
    lapse(contract)
    granted(contract, OTHER)
    key = Operation.objects.get(contract=contract).key
    given = {**MINE, "generation": 1}
    assert_refused(contract, "stale_generation", renew, **given)
    assert_refused(contract, "stale_generation", release, **given, reason=Released.GIVEN_UP)
    assert_refused(contract, "stale_generation", complete, **given)
    assert_refused(contract, "stale_generation", dispatch, **given, operation_key=key)


def builders_operation(contract):
    state = contract.state
    force(contract, ContractState.PAUSED)
    builders.a_row(contract, "operation")
    force(contract, ContractState(state))


def test_a_renewal_tells_that_a_pause_is_requested():
    contract = force(a_held(), ContractState.PAUSE_REQUESTED)
    verdict, _ = assert_allowed(contract, renew, **MINE, generation=1)
    assert verdict.outcome.contract.state == "pause_requested"


@pytest.mark.parametrize(
    "state", [s for s in ContractState if s not in ("resuming", "running", "pause_requested")]
)
@pytest.mark.parametrize("gate", [renew, complete, release])
def test_nothing_is_renewed_completed_or_released_that_is_not_held(gate, state):
    contract = force(a_held(), state)
    given = {"reason": Released.GIVEN_UP} if gate is release else {}
    code = "task_cancelled" if state == ContractState.CANCELLED else "not_open"
    assert_refused(contract, code, gate, **MINE, generation=1, **given)


@pytest.mark.parametrize("gate", [renew, complete, release])
def test_only_the_owner_of_this_generation_keeps_or_leaves_the_task(gate):
    contract = a_held()
    given = {"reason": Released.FINISHED} if gate is release else {}
    assert_refused(contract, "not_owner", gate, **THEIRS, generation=1, **given)
    for generation in (0, 2):
        verdict = assert_refused(contract, "stale_generation", gate, **MINE, generation=generation, **given)
        assert verdict.values == {"generation": 1}
    Attempt.objects.filter(contract=contract).update(ended_at=contract.revised_at, end_reason="taken_over")
    assert_refused(contract, "stale_generation", gate, **MINE, generation=1, **given)


def test_an_owner_whose_time_is_used_up_is_not_renewed():
    contract = a_held()
    cap(contract, "active_seconds", "100")
    attempt = lapse(contract, seconds=-60, active=160)  # began 100 seconds ago
    verdict = assert_refused(contract, "cap_reached", renew, **MINE, generation=1)
    assert verdict.values == {"measure": Measure.ACTIVE_SECONDS}
    cap(contract, "active_seconds", "105")
    assert_allowed(contract, renew, **MINE, generation=1)
    UsageEntry.objects.create(
        contract=contract,
        entry_id="before",
        measure="active_seconds",
        amount=20,
        used_at=attempt.started_at,
    )
    assert_refused(contract, "cap_reached", renew, **MINE, generation=1)
    cap(contract, "active_seconds", None)
    assert_allowed(contract, renew, **MINE, generation=1)


@pytest.mark.parametrize("reason", [Released.WAITING_FOR_APPROVAL, Released.GIVEN_UP])
@pytest.mark.parametrize(
    "state", [ContractState.RESUMING, ContractState.RUNNING, ContractState.PAUSE_REQUESTED]
)
def test_an_owner_lets_go_and_another_may_resume_at_once(reason, state):
    contract = force(a_held(), state)
    taken(contract, "O-1")
    verdict, events = assert_allowed(
        contract, release, **MINE, generation=1, reason=reason, note="The curator is asked."
    )
    attempt = attempt_of(contract)
    assert (attempt.end_reason, attempt.note, contract.state) == (
        "released",
        "The curator is asked.",
        "paused",
    )
    assert verdict.outcome.contract.state == "paused"
    assert WorkObject.objects.get(contract=contract).state == "pending"
    assert events[-1].after == {"reason": reason.value}
    assert granted(contract, OTHER).attempt.generation == 2


def test_letting_go_late_is_in_time_while_nobody_took_over():
    contract = a_held()
    lapse(contract)
    assert_allowed(contract, release, **MINE, generation=1, reason=Released.GIVEN_UP)


def test_a_note_is_checked():
    contract = a_held()
    given = {**MINE, "generation": 1, "reason": Released.GIVEN_UP, "note": "password=hunter2-and-more"}
    verdict = assert_refused(contract, "bad_values", release, **given)
    assert [problem.field for problem in verdict.problems] == ["note"]


@pytest.mark.parametrize(
    "state", [ContractState.RESUMING, ContractState.RUNNING, ContractState.PAUSE_REQUESTED]
)
@pytest.mark.parametrize("finishing", [complete, release])
def test_an_owner_completes_a_task_of_which_nothing_is_left(finishing, state):
    contract = force(a_held(), state)
    settled(contract)
    given = {"reason": Released.FINISHED} if finishing is release else {}
    verdict, events = assert_allowed(contract, finishing, **MINE, generation=1, **given)
    assert (contract.state, contract.completed_at) == ("completed", contract.revised_at)
    assert attempt_of(contract).end_reason == "finished"
    assert verdict.outcome.contract.state == "completed"
    moved = [event.act for event in events if event.part == "contract"]
    assert moved == (["complete"] if state is ContractState.RUNNING else ["pause", "complete"])


@pytest.mark.parametrize("finishing", [complete, release])
def test_while_something_is_left_the_owner_stays_the_owner(finishing):
    contract = a_held()
    given = {**MINE, "generation": 1} | ({"reason": Released.FINISHED} if finishing is release else {})
    assert assert_refused(contract, "objects_unfinished", finishing, **given).values == {"count": 1}
    builders_operation(contract)
    settled(contract)
    assert assert_refused(contract, "operations_open", finishing, **given).values == {"count": 1}
    Operation.objects.filter(contract=contract).update(state="abandoned")
    lapse(contract)
    assert_refused(contract, "lease_lapsed", finishing, **given)


def test_a_worker_completes_through_its_generation_alone():
    contract = a_held()
    settled(contract)
    assert_refused(contract, "stale_generation", complete_by_person, **MINE)
    assert_allowed(contract, complete_by_person)
    assert attempt_of(contract).end_reason == "finished"


def test_t43_cancelling_one_ends_its_attempt_and_no_other():
    contract, other = a_held(), a_held()
    builders_operation(contract)
    taken(contract, "O-1")
    _, events = assert_allowed(contract, cancel, reason=WHY)
    assert (contract.state, contract.generation) == ("cancelled", 2)
    assert attempt_of(contract).end_reason == "taken_over"
    assert Operation.objects.get(contract=contract).state == "abandoned"
    assert WorkObject.objects.get(contract=contract).state == "pending"
    assert events[-1].after["generation"] == 2
    key = Operation.objects.get(contract=contract).key
    assert_refused(contract, "task_cancelled", dispatch, **MINE, generation=1, operation_key=key)
    assert_refused(contract, "task_cancelled", renew, **MINE, generation=1)
    assert_allowed(other, renew, **MINE, generation=1)


def test_t02_an_owner_lost_before_any_checkpoint_stays_on_record():
    contract = a_held(running=False)
    lapse(contract)
    grant = granted(contract, OTHER)
    assert [row.number for row in Attempt.objects.of(contract.pk)] == [1, 2]
    integrity = next(check for check in grant.decision.checks if check.name == "integrity")
    assert integrity.standing == "attention"
    assert "no checkpoint" in integrity.sentence
    builders_operation(contract)
    Operation.objects.filter(contract=contract).update(state="sending", generation=2)
    lapse(contract)
    third = granted(contract)
    assert third.decision.verdict is Outcome.RECONCILE  # one write could have left: it is asked about first
    assert Permit.STEP not in third.decision.permits


def test_t61_what_was_accepted_is_skipped_by_the_next_attempt():
    rows = [{"object_id": f"O-{number}", "source": "P-1"} for number in range(15)]
    contract = a_task(*rows)
    first = [f"O-{number}" for number in range(12)]
    for act in (Act.BEGIN, Act.ACCEPT):
        assert_allowed(contract, change_objects, act=act, object_ids=first)
    work = granted(contract).decision.work
    assert (work.to_skip, work.to_do) == (12, 3)
    assert not set(first) & set(work.objects)

import pytest
from django.contrib.auth import get_user_model

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.requesting import request_approval
from contracts.gates.sending import dispatch
from contracts.models import (
    Approval,
    ApprovalPolicy,
    Attempt,
    Contract,
    Limit,
    Operation,
    ToolContract,
    UsageEntry,
)
from contracts.rules.approving import MEMBERS
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind, Role
from tests import builders, people
from tests.gates.test_approving import ask, contract, curator, key, new_draft, word  # noqa: F401  # fixtures
from tests.gates.watching import assert_allowed, assert_refused, force, own

pytestmark = pytest.mark.django_db
WORKER = Actor("label-writer", ActorKind.WORKER)


@pytest.fixture
def at_work(contract):  # noqa: F811
    """A contract whose worker owns it; the gate that grants ownership is still to come."""
    ToolContract.objects.filter(contract=contract).update(needs_approval=True)
    return own(contract)


def sent(contract, **given):  # noqa: F811
    known = {"actor": WORKER, "operation_key": key(contract), "generation": contract.generation}
    return known | given


def approved(contract):  # noqa: F811
    item = ask(contract)
    assert_allowed(contract, decide, **word(item, people.curator(contract.team)))
    item.refresh_from_db()
    return item


def test_an_approval_is_used_in_the_transaction_that_stores_sending(at_work):
    item = approved(at_work)
    verdict, events = assert_allowed(at_work, dispatch, **sent(at_work))
    item.refresh_from_db()
    operation = verdict.outcome
    assert (operation.state, operation.tries, operation.generation) == ("sending", 1, at_work.generation)
    assert (item.consumed_at, item.consumed_generation) == (operation.sent_at, at_work.generation)
    assert [(event.act, event.part) for event in events] == [
        ("use", "approval"),
        ("dispatch", "operation"),
    ]
    assert events[-1].after["usage"] == {"tool_attempts": "1"}
    assert UsageEntry.objects.of(at_work.pk).last().step == operation.step


def test_t25_a_second_use_is_refused_for_good(at_work):
    approved(at_work)
    assert_allowed(at_work, dispatch, **sent(at_work))
    assert_refused(at_work, "operation_not_pending", dispatch, **sent(at_work))
    Operation.objects.filter(contract=at_work).update(state="pending", generation=None)
    assert_refused(at_work, "approval_used", dispatch, **sent(at_work))


def test_t14_what_was_rejected_or_never_asked_is_not_sent(at_work):
    assert_refused(at_work, "not_approved", dispatch, **sent(at_work))
    item = ask(at_work)
    assert_refused(at_work, "not_approved", dispatch, **sent(at_work))
    carla = people.curator(at_work.team)
    assert_allowed(at_work, decide, **word(item, carla, "rejected", reason="Not like this."))
    operation = Operation.objects.get(contract=at_work)
    assert (operation.state, operation.settled_at) == ("abandoned", item_of(at_work).decided_at)
    assert_refused(at_work, "operation_not_pending", dispatch, **sent(at_work))
    Operation.objects.filter(contract=at_work).update(state="pending")
    assert_refused(at_work, "not_approved", dispatch, **sent(at_work))


def test_a_tool_that_needs_no_approval_sends_without_one(at_work):
    ToolContract.objects.filter(contract=at_work).update(needs_approval=False)
    assert_allowed(at_work, dispatch, **sent(at_work))


def test_t44_a_new_draft_inherits_no_decision(at_work):
    item = approved(at_work)
    new_draft_while_paused(at_work)
    item.refresh_from_db()  # in the transaction of the new draft, not only when it is used
    assert (item.state, item.stale_member) == ("stale", "draft_version")
    assert (item.stale_was, item.stale_now) == ("1", "2")
    verdict = assert_refused(at_work, "item_stale", dispatch, **sent(at_work))
    assert verdict.values == {"member": MEMBERS["draft_version"]}
    assert Operation.objects.get(contract=at_work).state == "pending"


def item_of(contract):  # noqa: F811
    return Approval.objects.filter(contract=contract).latest("asked_at")


def new_draft_while_paused(at_work):
    force(at_work, ContractState.PAUSED)
    new_draft(at_work, "Fired clay, 1931.")
    force(at_work, ContractState.RUNNING)


@pytest.mark.parametrize("loss", ["role", "account"])
def test_a_right_taken_away_before_the_use_makes_the_approval_stale(at_work, loss):
    item = approved(at_work)
    carla = get_user_model().objects.get(username="carla")
    if loss == "role":
        carla.groups.clear()
    else:
        get_user_model().objects.filter(pk=carla.pk).update(is_active=False)
    verdict = dispatch(contract_id=at_work.pk, **sent(at_work))
    item.refresh_from_db()
    assert (verdict.code, item.state, item.stale_member, item.stale_was) == (
        "item_stale",
        "stale",
        "decider",
        "carla",
    )


def test_whose_right_was_taken_away_is_named_and_not_who_decided_last(at_work):
    policy = ApprovalPolicy.objects.get(contract=at_work)
    ApprovalPolicy.objects.filter(pk=policy.pk).update(quorum=2)
    item, dora = ask(at_work), people.person("dora", at_work.team, Role.CURATOR)
    for person in (people.curator(at_work.team), dora):
        assert_allowed(at_work, decide, **word(item, person))
    people.curator(at_work.team).groups.clear()
    dispatch(contract_id=at_work.pk, **sent(at_work))
    item.refresh_from_db()
    assert (item.decided_by, item.stale_member, item.stale_was) == ("dora", "decider", "carla")


def test_nothing_is_sent_under_a_policy_that_cannot_be_read(at_work):
    item = approved(at_work)
    ApprovalPolicy.objects.filter(contract=at_work).update(note="a\x07b")
    assert_refused(at_work, "policy_unreadable", dispatch, **sent(at_work))
    item.refresh_from_db()
    assert (item.state, item.consumed_at) == ("approved", None)


def test_an_approval_out_of_time_is_not_used(at_work):
    item = approved(at_work)
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
    verdict = dispatch(contract_id=at_work.pk, **sent(at_work))
    item.refresh_from_db()
    assert (verdict.code, item.state, item.consumed_at) == ("approval_expired", "expired", None)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"state": ContractState.PAUSE_REQUESTED}, "pause_requested"),
        ({"state": ContractState.CANCELLED}, "task_cancelled"),
        ({"state": ContractState.PAUSED}, "not_open"),
        ({"state": ContractState.RUNNING, "generation": 500}, "stale_generation"),
    ],
)
def test_only_the_live_owner_of_a_contract_at_work_sends(at_work, change, code):
    given = sent(at_work)
    force(at_work, **change)
    assert_refused(at_work, code, dispatch, **given)


def test_t27_a_displaced_owner_and_a_lapsed_lease_send_nothing(at_work):
    assert_refused(at_work, "stale_generation", dispatch, **sent(at_work, generation=at_work.generation - 1))
    live = Attempt.objects.filter(contract=at_work, generation=at_work.generation)
    live.update(lease_end=database_now())
    assert_refused(at_work, "lease_lapsed", dispatch, **sent(at_work))
    live.update(lease_end=None)
    assert_refused(at_work, "lease_lapsed", dispatch, **sent(at_work))
    live.update(ended_at=database_now(), end_reason="finished")
    assert_refused(at_work, "stale_generation", dispatch, **sent(at_work))


def test_after_the_deadline_nothing_is_sent(at_work):
    Contract.objects.filter(pk=at_work.pk).update(deadline=database_now())
    assert_refused(at_work, "deadline_passed", dispatch, **sent(at_work))


def test_while_an_operation_is_unknown_no_other_is_sent(at_work):
    first = Operation.objects.get(contract=at_work)
    force(at_work, ContractState.PAUSED)
    builders.a_row(at_work, "operation", step="publish-again")
    force(at_work, ContractState.RUNNING)
    Operation.objects.filter(pk=first.pk).update(state="unknown", generation=1)
    assert_refused(at_work, "unknown_first", dispatch, **sent(at_work))
    assert_refused(at_work, "no_such_operation", dispatch, **sent(at_work, operation_key="0" * 64))


def test_a_cap_on_tool_attempts_is_kept(at_work):
    ToolContract.objects.filter(contract=at_work).update(needs_approval=False)
    used = UsageEntry.objects.of(at_work.pk).totals().get("tool_attempts", 0)
    Limit.objects.filter(contract=at_work, measure="tool_attempts").update(cap=used + 1)
    assert_allowed(at_work, dispatch, **sent(at_work))
    Operation.objects.filter(contract=at_work).update(state="pending")
    assert_refused(at_work, "cap_reached", dispatch, **sent(at_work))


def test_nothing_can_be_asked_for_what_is_being_sent(at_work):
    approved(at_work)
    assert_allowed(at_work, dispatch, **sent(at_work))
    assert_refused(
        at_work,
        "operation_not_pending",
        request_approval,
        actor=WORKER,
        operation_key=key(at_work),
        reason="Again.",
    )


def test_a_worker_who_is_not_the_owner_sends_nothing(at_work):
    approved(at_work)
    assert_refused(at_work, "not_owner", dispatch, **sent(at_work, actor=Actor("other", ActorKind.WORKER)))


def test_where_somebody_was_asked_the_answer_counts_whatever_became_of_the_tool(at_work):
    ask(at_work)
    ToolContract.objects.filter(contract=at_work).update(needs_approval=False)
    assert_refused(at_work, "not_approved", dispatch, **sent(at_work))

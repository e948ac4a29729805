"""Approving while something takes the ground away from it: whoever is first, nothing is sent that no longer holds."""

from functools import partial

import pytest
from django.contrib.auth import get_user_model

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.clock import tend
from contracts.gates.correcting import correct_draft
from contracts.gates.people import share
from contracts.gates.requesting import request_approval, withdraw
from contracts.gates.sending import dispatch
from contracts.models import Approval, ApprovalVote, Event, Notice, Operation
from contracts.rules.notices import Told
from contracts.rules.vocabulary import Right, Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import own
from tests.races.racing import codes, race

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 8


def items(**asked):
    for _ in range(TIMES):
        item = builders.a_waiting_item(**asked)
        own(item.contract)
        yield item


def approving(item, name="carla"):
    person = people.person(name, item.contract.team, Role.CURATOR)
    return partial(decide, contract_id=item.contract_id, **word(item, person))


def send(item):
    contract = item.contract
    given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    return dispatch(contract_id=contract.pk, **given)


def end_of(item):
    item.refresh_from_db()
    operation = Operation.objects.get(pk=item.operation_id)
    assert (operation.tries, item.consumed_at) == (0, None)
    return item.state, operation.state


def test_approving_while_the_right_is_taken_away_sends_nothing():
    for number, item in enumerate(items()):
        name = f"carla-{number}"
        person = people.person(name, item.contract.team, Role.CURATOR)
        verdict, _ = race(approving(item, name), person.groups.clear)
        assert verdict.code in ("done", "no_right_to_decide")
        assert send(item).code == ("item_stale" if verdict.allowed else "not_approved")
        assert end_of(item) == (("stale" if verdict.allowed else "pending"), "pending")


def test_approving_while_an_own_grant_is_taken_away_sends_nothing():
    for item in items():
        greta = people.person("greta", item.contract.team)
        owner = people.acting(people.owner(item.contract.team))
        given = {"contract_id": item.contract_id, "actor": owner, "username": "greta"}
        assert share(**given, rights=frozenset({Right.DECIDE})).allowed
        verdict, taken = race(
            partial(decide, contract_id=item.contract_id, **word(item, greta)),
            partial(share, **given, rights=frozenset()),
        )
        assert (verdict.code in ("done", "no_right_to_decide"), taken.code) == (True, "done")
        assert not send(item).allowed
        assert end_of(item)[0] in ("stale", "pending")


def test_approving_while_the_account_is_closed_sends_nothing():
    for number, item in enumerate(items()):
        name = f"dora-{number}"
        people.person(name, item.contract.team, Role.CURATOR)
        accounts = get_user_model().objects.filter(username=name)
        verdict, _ = race(approving(item, name), partial(accounts.update, is_active=False))
        assert verdict.code in ("done", "no_right_to_decide")
        assert not send(item).allowed
        assert end_of(item)[0] in ("stale", "pending")


def test_approving_while_it_is_withdrawn_ends_withdrawn():
    for item in items():
        verdict, back = race(
            approving(item),
            partial(
                withdraw, contract_id=item.contract_id, actor=WORKER, item_id=item.item_id, reason="Not yet."
            ),
        )
        assert back.code == "done"
        assert verdict.code in ("done", "item_withdrawn")
        assert send(item).code == "operation_not_pending"
        assert end_of(item) == ("withdrawn", "abandoned")


def test_approving_while_the_draft_is_corrected_never_covers_the_former_text():
    for item in items():
        edda = people.person("edda", item.contract.team, Role.CURATOR)
        correcting = partial(
            correct_draft,
            contract_id=item.contract_id,
            actor=people.acting(edda),
            user=edda,
            item_id=item.item_id,
            seen=item.fingerprint,
            text="Fired clay, 1931.",
            reason="The date.",
            confirmed_at=database_now(),
        )
        verdict, corrected = race(approving(item), correcting)
        assert codes([verdict, corrected]) in (["already_decided", "done"], ["done", "item_stale"])
        if corrected.allowed:
            assert send(item).code == "operation_not_pending"
            assert end_of(item) == ("stale", "abandoned")
        else:
            assert send(item).code == "done"


def test_approving_while_the_time_runs_out_is_a_decision_or_nobodys():
    for item in items():
        Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
        verdict, _ = race(approving(item), tend)
        assert verdict.code == "item_expired"
        assert end_of(item) == ("expired", "pending")
        assert (item.decided_by, ApprovalVote.objects.filter(approval=item).count()) == ("", 0)
        assert Event.objects.filter(contract=item.contract, act="time_ran_out").count() == 1


def test_of_two_clocks_one_ends_the_item_passes_it_on_and_tells_it_once():
    policy = {"on_timeout": "pass_on", "pass_on_to": "carla", "pass_on_hours": 4}
    for item in items(policy=policy):
        people.curator(item.contract.team)
        Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
        assert sum(race(tend, tend, tend)) == 1
        following = Approval.objects.get(contract=item.contract, passed_from=item.item_id)
        assert end_of(item) == ("expired", "pending")
        assert Event.objects.filter(contract=item.contract, act="time_ran_out").count() == 1
        told = Notice.objects.filter(contract=item.contract, kind=Told.PASSED_ON)
        assert [(notice.item_id, notice.person.username) for notice in told] == [(following.item_id, "carla")]


def test_t25_of_two_workers_who_use_one_approval_one_sends():
    for _ in range(TIMES):
        item = builders.a_decided_item()
        own(item.contract)
        answers = codes(race(partial(send, item), partial(send, item), partial(send, item)))
        assert answers == ["done", "operation_not_pending", "operation_not_pending"]
        assert Operation.objects.get(pk=item.operation_id).tries == 1
        assert Event.objects.filter(contract=item.contract, act="use").count() == 1


def test_of_two_requests_for_one_call_one_item_waits():
    for _ in range(TIMES):
        call = builders.a_call()
        answers = race(*[partial(ask, call)] * 3)
        assert codes(answers) == ["done", "one_waiting_item_per_operation", "one_waiting_item_per_operation"]
        assert Approval.objects.filter(contract=call.contract).count() == 1


def ask(call):
    return request_approval(contract_id=call.contract_id, actor=WORKER, operation_key=call.key, reason="Now.")


def test_a_quorum_of_two_who_approve_at_once_is_reached_once():
    for item in items(policy={"quorum": 2}):
        verdicts = race(approving(item, "carla"), approving(item, "dora"))
        assert codes(verdicts) == ["done", "done"]
        item.refresh_from_db()
        assert (item.state, ApprovalVote.objects.filter(approval=item).count()) == ("approved", 2)
        assert Event.objects.filter(contract=item.contract, act="decide", refused="").count() == 1
        assert send(item).allowed

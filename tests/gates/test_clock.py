"""What time alone does: items end or are passed on, people are told once, and nobody is made to have decided."""

from datetime import timedelta

import pytest

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.clock import CLOCK, NEAR, UNUSED, tend, tend_contract
from contracts.gates.sending import dispatch
from contracts.models import Approval, Contract, Notice, Operation
from contracts.rules.notices import Told
from contracts.rules.vocabulary import Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import assert_allowed, assert_refused, events_of, own

pytestmark = pytest.mark.django_db
PASSED_ON = {"on_timeout": "pass_on", "pass_on_to": "carla", "pass_on_hours": 4}


def late(item, **columns):
    Approval.objects.filter(pk=item.pk).update(**{"expires_at": database_now(), **columns})
    item.refresh_from_db()
    return item


def told(item):
    notices = Notice.objects.filter(item_id=item.item_id).order_by("id")
    return [(notice.kind, notice.person.username) for notice in notices]


def tended(contract):
    return tend_contract(contract_id=contract.pk)


def test_nothing_is_due_and_nothing_is_written():
    item = builders.a_waiting_item()
    known = len(events_of(item.contract))
    assert tend() == 0
    verdict = tended(item.contract)
    assert (verdict.code, verdict.outcome) == ("unchanged", 0)
    assert len(events_of(item.contract)) == known


def test_t59_what_nobody_decided_ends_without_a_name():
    item = late(builders.a_waiting_item())
    assert tend() == 1
    item.refresh_from_db()
    assert (item.state, item.decided_by, item.decided_at) == ("expired", "", None)
    event = events_of(item.contract)[-1]
    assert (event.act, event.actor, event.actor_kind) == ("time_ran_out", CLOCK.name, "system")
    assert told(item)[-1] == (Told.EXPIRED, "olga")  # she stored the draft
    assert tend() == 0


def test_t63_overdue_items_are_listed():
    waiting, overdue = builders.a_waiting_item(), late(builders.a_waiting_item())
    due = Approval.objects.to_tend(database_now(), near=NEAR, unused=UNUSED)
    assert list(due) == [overdue]
    assert waiting not in due


def test_what_runs_out_is_passed_on_once_with_a_time_of_its_own():
    item = late(builders.a_waiting_item(policy=PASSED_ON))
    people.person("dora", item.contract.team, Role.CURATOR)
    people.curator(item.contract.team)
    assert tend() == 1
    item.refresh_from_db()
    following = Approval.objects.get(passed_from=item.item_id)
    assert item.state == "expired"
    assert (following.state, following.passed_to, following.decided_by) == ("pending", "carla", "")
    assert following.expires_at == following.asked_at + timedelta(hours=4)
    assert following.bound() == item.bound()
    assert told(following) == [(Told.PASSED_ON, "carla")]
    assert tend() == 0
    late(following)
    assert tend() == 1
    assert not Approval.objects.filter(passed_from=following.item_id).exists()
    following.refresh_from_db()
    assert (following.state, following.decided_by) == ("expired", "")


def test_what_was_passed_on_is_decided_by_that_person_alone_and_used():
    item = late(builders.a_waiting_item(policy=PASSED_ON))
    team = item.contract.team
    tend()
    following = Approval.objects.get(passed_from=item.item_id)
    dora = people.person("dora", team, Role.CURATOR)
    assert_refused(item.contract, "passed_to_another", decide, **word(following, dora))
    assert_allowed(item.contract, decide, **word(following, people.curator(team)))
    contract = own(item.contract)
    assert_allowed(
        contract,
        dispatch,
        actor=WORKER,
        operation_key=following.operation_key,
        generation=contract.generation,
    )


def test_it_is_passed_on_to_everybody_of_a_role():
    item = late(builders.a_waiting_item(policy={**PASSED_ON, "pass_on_to": "curator"}))
    team = item.contract.team
    people.curator(team)
    dora = people.person("dora", team, Role.CURATOR)
    people.operator(team)
    tend()
    following = Approval.objects.get(passed_from=item.item_id)
    assert sorted(told(following)) == [(Told.PASSED_ON, "carla"), (Told.PASSED_ON, "dora")]
    assert_allowed(item.contract, decide, **word(following, dora))


def test_nothing_that_was_passed_on_outlives_the_deadline():
    item = builders.a_waiting_item(policy=PASSED_ON)
    soon = database_now() + timedelta(hours=1)
    Contract.objects.filter(pk=item.contract_id).update(deadline=soon)
    late(item, task_deadline=soon)
    tend()
    assert Approval.objects.get(passed_from=item.item_id).expires_at == soon


@pytest.mark.parametrize("end", ["deadline", "operation"])
def test_what_can_no_longer_be_done_is_not_passed_on(end):
    item = late(builders.a_waiting_item(policy=PASSED_ON))
    if end == "deadline":
        past = database_now()
        Contract.objects.filter(pk=item.contract_id).update(deadline=past)
        late(item, task_deadline=past)
    else:
        Operation.objects.filter(pk=item.operation_id).update(state="abandoned")
    assert tend() == 1
    item.refresh_from_db()
    assert item.state == "expired"
    assert not Approval.objects.filter(passed_from=item.item_id).exists()


def test_a_refused_decision_passes_on_too():
    item = late(builders.a_waiting_item(policy=PASSED_ON))
    carla = people.curator(item.contract.team)
    assert decide(contract_id=item.contract_id, **word(item, carla)).code == "item_expired"
    assert Approval.objects.get(passed_from=item.item_id).passed_to == "carla"


def test_those_it_waits_for_are_reminded_once_but_not_who_gave_a_word():
    item = builders.a_waiting_item(policy={"quorum": 3})
    team = item.contract.team
    carla, dora = people.curator(team), people.person("dora", team, Role.CURATOR)
    assert_allowed(item.contract, decide, **word(item, carla))
    late(item, expires_at=database_now() + NEAR / 2)
    known = len(events_of(item.contract))
    assert tend() == 1
    assert told(item)[-1:] == [(Told.NEAR_EXPIRY, dora.username)]
    assert len(told(item)) == 1  # nobody was a curator yet when it was asked
    assert tend() == 0
    assert len(events_of(item.contract)) == known


def test_t25_t44_what_was_decided_and_not_used_raises_one_alarm():
    item = builders.a_decided_item()
    otto = people.operator(item.contract.team)
    late(item, expires_at=item.expires_at, decided_at=database_now() - UNUSED - timedelta(minutes=1))
    assert tend() == 1
    item.refresh_from_db()
    assert (item.state, item.consumed_at) == ("approved", None)
    alarmed = [name for kind, name in told(item) if kind == Told.UNUSED]
    assert sorted(alarmed) == ["carla", "olga", otto.username]
    assert tend() == 0


def test_an_approval_out_of_time_ends_as_expired_and_keeps_who_decided():
    item = builders.a_decided_item(policy=PASSED_ON)
    late(item)
    assert tend() == 1
    item.refresh_from_db()
    assert (item.state, item.decided_by) == ("expired", "carla")
    assert not Approval.objects.filter(passed_from=item.item_id).exists()


def test_the_clock_finds_what_has_gone_stale():
    item = late(builders.a_waiting_item())
    Operation.objects.filter(pk=item.operation_id).update(target="cms://pages/elsewhere")
    assert tend() == 1
    item.refresh_from_db()
    assert (item.state, item.stale_member, item.stale_now) == ("stale", "target", "cms://pages/elsewhere")


def test_every_contract_has_a_turn_of_its_own():
    items = [late(builders.a_waiting_item()) for _ in range(3)]
    assert tend() == 3
    assert set(
        Approval.objects.filter(pk__in=[item.pk for item in items]).values_list("state", flat=True)
    ) == {"expired"}


def test_a_contract_that_cannot_be_tended_keeps_no_other_waiting(monkeypatch, caplog):
    first, second = late(builders.a_waiting_item()), late(builders.a_waiting_item())
    broken = first.contract_id

    def failing(item, policy):
        raise RuntimeError("no ground")

    from contracts.gates import binding

    real = binding.run_out
    monkeypatch.setattr(
        "contracts.gates.clock.run_out",
        lambda turn, item: failing(item, None) if item.contract_id == broken else real(turn, item),
    )
    assert tend() == 1
    second.refresh_from_db()
    assert (second.state, "could not be tended" in caplog.text) == ("expired", True)

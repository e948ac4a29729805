import json
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contracts.gates.beats import database_now
from contracts.models import Checkpoint, Contract, Event, UsageTotal, standing_rows
from contracts.models.standing import EVENTS_LOOKED_AT, decision_for, gather_facts
from contracts.models.standing_rows import deciders_who_lost_it
from contracts.rules import resume_reading
from contracts.rules.resume_facts import SAMPLE, Caller, FaultKind
from contracts.rules.resume_findings import CheckName, Outcome, Standing
from contracts.rules.resume_reading import facts_of
from contracts.rules.resume_writes import NOT_COVERED
from contracts.rules.vocabulary import ActorKind
from tests import builders, documents, people
from tests.exports.telling import a_crowded_draft, as_json, store

pytestmark = pytest.mark.django_db
WORKER = Caller("worker-2", ActorKind.WORKER, may_see=True, may_continue=True)


def facts(contract):
    contract.refresh_from_db()
    return gather_facts(contract)


def exported(contract):
    return facts_of(json.loads(as_json(contract)))


def test_rows_and_export_of_a_full_contract_give_the_same_facts():
    contract = store(documents.full_document())
    contract.refresh_from_db()
    people.curator(contract.team)
    mine, theirs = facts(contract), exported(contract)
    for name in (
        "task",
        "policy",
        "point",
        "caps",
        "tools",
        "operations",
        "counts",
        "rows",
        "begun",
        "planes",
    ):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert {name: total for name, total in mine.totals.items() if total} == theirs.totals


def asked(contract):
    contract.refresh_from_db()
    with CaptureQueriesContext(connection) as queries:
        decision_for(contract, WORKER, database_now())
    return len(queries)


def test_two_thousand_objects_are_decided_with_as_many_queries_as_ten():
    counts = {asked(a_crowded_draft(count)) for count in (10, 2_000)}
    assert len(counts) == 1
    assert counts.pop() <= 24  # of which four begin and end the moment, and read the contract


def test_the_chain_of_few_events_is_verified_whole():
    found = facts(builders.a_draft())
    assert (found.chain_whole, found.chain_from) == (True, 1)


def a_long_chain():
    contract = builders.a_draft()
    for number in range(EVENTS_LOOKED_AT + 5):
        builders.a_row(contract, "source", source_id=f"P-{number}")
    contract.refresh_from_db()
    return contract


def test_of_many_events_the_newest_are_verified_up_to_the_head():
    contract = a_long_chain()
    found = facts(contract)
    assert (found.chain_whole, found.chain_from) == (True, contract.event_count - EVENTS_LOOKED_AT + 1)
    decision = decision_for(contract, WORKER, database_now())
    assert checked(decision, CheckName.INTEGRITY).standing is Standing.PASSED
    contract.event_head = "0" * 64
    assert gather_facts(contract).chain_whole is False
    contract.refresh_from_db()
    contract.event_count += 1
    assert gather_facts(contract).chain_whole is False


def checked(decision, name):
    return next(check for check in decision.checks if check.name is name)


def test_an_event_changed_lately_stops_the_task_and_one_changed_long_ago_is_found_with_the_events():
    contract = a_long_chain()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE contracts_event DISABLE TRIGGER event_is_final")
    chain = Event.objects.filter(contract=contract)
    chain.filter(sequence=2).update(actor="somebody")
    assert facts(contract).chain_whole
    assert Event.objects.first_break(contract) == 2
    chain.filter(sequence=contract.event_count - 2).update(actor="somebody")
    integrity = checked(decision_for(contract, WORKER, database_now()), CheckName.INTEGRITY)
    assert (integrity.standing, integrity.leads_to) == (Standing.BLOCKED, Outcome.ESCALATE)


def test_the_row_in_memory_does_not_count():
    contract = builders.a_paused()
    ended = {"cancelled_at": database_now(), "cancelled_by": "otto", "cancel_reason": "Called off."}
    Contract.objects.filter(pk=contract.pk).update(state="cancelled", **ended)
    assert decision_for(contract, WORKER, database_now()).verdict is Outcome.REFUSE


def test_an_approval_of_who_lost_the_right_to_decide_covers_no_write():
    item = builders.a_decided_item()
    contract = item.contract
    assert deciders_who_lost_it(contract.pk, [item.pk]) == {}
    assert decision_for(contract, WORKER, database_now()).verdict is Outcome.CONTINUE
    curator = people.curator(contract.team)
    curator.is_active = False
    curator.save()
    assert deciders_who_lost_it(contract.pk, [item.pk]) == {item.pk: ["carla"]}
    approvals = checked(decision_for(contract, WORKER, database_now()), CheckName.APPROVALS)
    assert (approvals.leads_to, approvals.sentence) == (Outcome.APPROVE, NOT_COVERED["item_stale"])


def test_only_the_newest_checkpoints_are_looked_at_in_rows_and_export_alike(monkeypatch):
    for reader in (standing_rows, resume_reading):
        monkeypatch.setattr(reader, "LOOKED_BACK", 3)
    contract = store(documents.full_document())
    former = Checkpoint.objects.of(contract.pk).last()
    for sequence in range(4, 9):  # the third is missing
        former.pk, former.sequence, former.checkpoint_id = None, sequence, f"C-{sequence}"
        former.save()
    assert facts(contract).faults == exported(contract).faults == ()
    Checkpoint.objects.filter(contract=contract, sequence=7).delete()
    found = facts(contract).faults
    assert [(fault.kind, fault.key) for fault in found] == [(FaultKind.MISSING, "8 · C-8")]
    assert found == exported(contract).faults


def test_the_state_to_go_on_from_is_measured_however_far_back_it_lies():
    contract = store(documents.full_document())
    former = Checkpoint.objects.of(contract.pk).last()
    for sequence in range(3, 3 + 2 * SAMPLE):
        former.pk, former.sequence, former.checkpoint_id = None, sequence, f"C-{sequence}"
        former.rolled_back_at = database_now()
        former.save()
    Checkpoint.objects.filter(contract=contract, sequence__in=(2, 3)).update(sha256=builders.A)
    found = facts(contract)
    assert found.point.sequence == 2
    assert [(fault.kind, fault.key) for fault in found.faults] == [(FaultKind.CHECKSUM, "2 · C-2")]
    assert found.faults == exported(contract).faults


def test_a_contract_of_which_nothing_was_used_has_totals_of_nothing():
    contract = builders.a_draft()
    UsageTotal.objects.filter(contract=contract).delete()
    assert set(facts(contract).totals.values()) == {Decimal(0)}

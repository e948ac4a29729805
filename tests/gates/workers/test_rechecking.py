"""A changed source: its objects alone are looked at again, in the version in force, and rest on that afterwards."""

import pytest

from contracts.gates.objects import change_objects
from contracts.gates.workers.changing import change_source
from contracts.gates.workers.handing_out import hand_out
from contracts.models import Source, WorkObject
from contracts.models.standing import gather_facts
from contracts.rules.states import Act
from contracts.rules.vocabulary import Actor
from tests import builders
from tests.gates.watching import events_of
from tests.gates.workers import owners
from tests.gates.workers.owners import WORKER

pytestmark = pytest.mark.django_db


def replace_source(contract):
    known = {"version_label": "2", "sha256": builders.B, "location": "archive://p/1/2"}
    done = change_source(contract_id=contract.pk, actor=WORKER, source_id="P-1", **known)
    assert done.allowed, done.code


def test_what_is_looked_at_again_is_worked_on_in_the_version_in_force():
    contract = owners.a_held()
    owners.settled(contract)
    replace_source(contract)
    contract.refresh_from_db()
    (row,) = builders.done(
        hand_out(contract_id=contract.pk, actor=WORKER, generation=contract.generation, count=1)
    )
    row.refresh_from_db()
    assert (row.state, row.source.version_label) == ("in_progress", "2")
    assert gather_facts(contract).drifted == 0
    told = events_of(contract)[-1]
    assert (told.act, told.before["source_version"], told.after["source_version"]) == (
        "source_changed",
        "1",
        "2",
    )


def test_what_a_person_accepts_again_rests_on_the_version_in_force():
    contract = owners.a_held()
    owners.settled(contract)
    replace_source(contract)
    accepted = change_objects(
        contract_id=contract.pk, actor=Actor("rita"), act=Act.ACCEPT, object_ids=["O-1"]
    )
    assert accepted.allowed
    (row,) = WorkObject.objects.of(contract.pk).joined()
    assert (row.state, row.source.version_label, gather_facts(contract).drifted) == ("confirmed", "2", 0)


def test_what_was_accepted_of_a_former_version_is_looked_at_again_with_the_next_grant():
    contract = owners.a_held()
    owners.taken(contract, "O-1")
    replace_source(contract)
    owners.settled(contract)
    assert gather_facts(contract).drifted == 1
    owners.lapse(contract)
    grant = owners.granted(contract)
    assert grant.decision.verdict == "recheck"
    (row,) = WorkObject.objects.of(contract.pk)
    assert (row.state, gather_facts(contract).drifted) == ("recheck", 0)


def handed_out(contract):
    owners.granted(contract)
    verdict = hand_out(contract_id=contract.pk, actor=WORKER, generation=contract.generation, count=1)
    (row,) = builders.done(verdict)
    row.refresh_from_db()
    return row


def test_an_artefact_that_gave_way_is_brought_up_to_date_too():
    contract = owners.a_task()
    former = builders.a_row(contract, "artefact")
    newer = builders.a_row(contract, "artefact", version_label="2", inline_text="Fired clay, about 1120.")
    WorkObject.objects.filter(contract=contract).update(state="recheck", artefact=former)
    assert handed_out(contract).artefact == newer


def test_what_has_no_version_in_force_keeps_the_one_it_has():
    contract = owners.a_task()
    former = Source.objects.get(contract=contract)
    Source.objects.filter(contract=contract).update(current=False)
    WorkObject.objects.filter(contract=contract).update(state="recheck")
    assert handed_out(contract).source == former

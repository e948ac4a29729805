"""The chain of events: nothing in it can be changed, and whatever was changed past the triggers is found."""

import random
from contextlib import contextmanager

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from contracts.gates.objects import add_lines
from contracts.models import Contract, Event
from contracts.rules.parts import PARTS
from tests import builders, documents
from tests.gates.watching import ACTOR

pytestmark = pytest.mark.django_db
EDITED = {
    "actor": "'mallory'",
    "actor_kind": "'system'",
    "act": "'accept'",
    "part": "'source'",
    "subject": "'O-0'",
    "refused": "'not_open'",
    "at": "at + interval '1 microsecond'",
    "before": "'{}'::jsonb",
    "after": "jsonb_set(after, '{note}', '\"other\"')",
    "hash": "repeat('0', 64)",
    "previous": "repeat('0', 64)",
}


@pytest.fixture
def contract():
    contract = builders.a_draft()
    lines = [{"object_id": f"O-{number}", "note": "kept", "evidence": "a://b"} for number in range(1, 30)]
    add_lines(contract_id=contract.pk, actor=ACTOR, part=PARTS["object"], lines=lines)
    contract.refresh_from_db()
    return contract


def run(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


@contextmanager
def past_the_triggers():
    run("SET CONSTRAINTS ALL IMMEDIATE")
    run("ALTER TABLE contracts_event DISABLE TRIGGER USER")
    try:
        yield
    finally:
        run("ALTER TABLE contracts_event ENABLE TRIGGER event_is_final")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE contracts_event SET actor = 'mallory'",
        "UPDATE contracts_event SET id = id",
        "DELETE FROM contracts_event",
    ],
)
def test_the_database_refuses_to_change_or_delete_an_event(contract, statement):
    with pytest.raises(IntegrityError, match="only ever added"), transaction.atomic():
        run(statement)
    assert Event.objects.first_break(contract) is None


def test_models_and_querysets_cannot_change_or_delete_one_either(contract):
    event = Event.objects.of(contract.pk).first()
    event.actor = "mallory"
    for change in (event.save, event.delete, Event.objects.all().delete):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.update(actor="mallory")


def test_a_migrated_database_refuses_truncate_too():
    """The tests' own database switches this one off to be emptied; the migrations bring it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname, tgtype & 32 > 0 FROM pg_trigger WHERE tgrelid = 'contracts_event'::regclass "
            "AND NOT tgisinternal ORDER BY tgname"
        )
        assert cursor.fetchall() == [("event_is_final", False), ("event_table_is_final", True)]
    run("ALTER TABLE contracts_event ENABLE TRIGGER event_table_is_final")
    with pytest.raises(IntegrityError, match="only ever added"), transaction.atomic():
        run("TRUNCATE contracts_event")
    run("ALTER TABLE contracts_event DISABLE TRIGGER event_table_is_final")
    guards = MigrationLoader(connection).get_migration("contracts", "0002_guard_rows_by_contract")
    assert any("event_table_is_final" in str(getattr(step, "sql", "")) for step in guards.operations)


def test_an_untouched_chain_is_whole_and_an_empty_one_too(contract):
    assert Event.objects.first_break(contract) is None
    assert Event.objects.first_break(Contract(pk=0)) is None


@pytest.mark.parametrize("column", EDITED)
def test_every_column_of_an_event_is_covered(contract, column):
    with past_the_triggers():
        run(
            f"UPDATE contracts_event SET {column} = {EDITED[column]} WHERE contract_id = %s AND sequence = 7",
            contract.pk,
        )
    assert Event.objects.first_break(contract) == 7


def edit(_contract, chance, sequence):
    column = chance.choice(list(EDITED))
    return f"UPDATE contracts_event SET {column} = {EDITED[column]} WHERE contract_id = %s AND sequence = {sequence}"


def deletion(_contract, _chance, sequence):
    return f"DELETE FROM contracts_event WHERE contract_id = %s AND sequence = {sequence}"


def swap(contract, chance, sequence):
    other = chance.choice([n for n in range(2, contract.event_count + 1) if n != sequence])
    return (
        f"UPDATE contracts_event SET sequence = CASE sequence WHEN {sequence} THEN {other} ELSE {sequence} END "
        f"WHERE contract_id = %s AND sequence IN ({sequence}, {other})"
    )


def insertion(contract, _chance, sequence):
    """A copy of an event at the end, or squeezed in with all later ones moved up."""
    return (
        "INSERT INTO contracts_event (contract_id, sequence, at, actor, actor_kind, act, part, subject, before, "
        "after, refused, previous, hash) SELECT contract_id, "
        f"{contract.event_count + 1}, at, actor, actor_kind, act, part, subject, before, after, refused, "
        f"previous, hash FROM contracts_event WHERE contract_id = %s AND sequence = {sequence}"
    )


@pytest.mark.parametrize("forge", [edit, deletion, swap, insertion])
def test_every_forgery_is_found(contract, forge):
    """Swapping needs a unique key that is checked at the end of the statement; the forger drops it."""
    chance = random.Random(forge.__name__)
    attempted = found = 0
    with past_the_triggers():
        run("ALTER TABLE contracts_event DROP CONSTRAINT event_sequence_once")
        for _ in range(250):
            with transaction.atomic():
                run(forge(contract, chance, chance.randint(2, contract.event_count)), contract.pk)
                attempted += 1
                found += Event.objects.first_break(contract) is not None
                transaction.set_rollback(True)
        assert Event.objects.first_break(contract) is None
        run("ALTER TABLE contracts_event ADD CONSTRAINT event_sequence_once UNIQUE (contract_id, sequence)")
    print(f"attempted {attempted}, found {found}")  # the report of this figure
    assert found == attempted == 250


def test_cutting_off_the_end_and_a_false_head_are_found(contract):
    with past_the_triggers():
        run("DELETE FROM contracts_event WHERE contract_id = %s AND sequence > 20", contract.pk)
    assert Event.objects.first_break(contract) == 21
    contract.event_count = 20
    assert Event.objects.first_break(contract) == 21
    contract.event_head = Event.objects.of(contract.pk).last().hash
    assert Event.objects.first_break(contract) is None
    assert Event.objects.first_break(Contract(pk=contract.pk, task_id="another")) == 1


def test_whatever_a_document_may_hold_survives_the_chain():
    team = builders.a_team()
    document = documents.full_document(team=team)
    strange = {
        "tiny": 1e-7,
        "least": 5e-324,
        "zero": 0.0,
        "whole": 1.0,
        "words": '标签 \u2028 \\ " é \x7f',
        "far": 2**53 - 1,
        "empty": [{}, [], "", None, True],
    }
    document["checkpoints"][1].update(inline_state=strange, sha256="", size_bytes=None)
    contract = builders.done(builders.created(team, builders.people.owner(team), document))
    parameters = '{"x": 1e-7, "y": -0.0, "z": 5e-324, "words": "标签"}'
    Contract.objects.filter(pk=contract.pk).update(state="draft")
    builders.a_row(contract, "operation", parameters=parameters, round="2")
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None

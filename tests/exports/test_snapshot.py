import gc
import hashlib
import tracemalloc
from threading import Thread

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contracts.exports.definition import definition_of
from contracts.exports.json_form import stream_json
from contracts.exports.snapshot import open_snapshot
from contracts.exports.text_form import stream_text
from contracts.gates.rows import edit_row
from contracts.models import Contract, OwnerGate
from contracts.rules.parts import PARTS
from tests import builders, people
from tests.exports.telling import a_crowded_draft

MIB = 2**20
FORMS = (lambda shot: stream_text(shot, "zh-hans"), stream_json)


def growth(pieces, keep):
    """Return by how many bytes the memory in use grew at most while `pieces` were read."""
    gc.collect()
    kept, digest = [], hashlib.sha256()
    tracemalloc.start()
    try:
        for piece in pieces:
            digest.update(piece)
            if keep:
                kept.append(piece)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.django_db
def test_many_objects_are_told_in_constant_memory(whole):
    contract = a_crowded_draft(100_000 if whole else 40_000)
    for form in FORMS:
        with open_snapshot(contract.pk) as shot:
            assert growth(form(shot), keep=False) <= 15 * MIB
    with open_snapshot(contract.pk) as shot:  # control: the same bytes do not fit when they are gathered
        assert growth(stream_json(shot), keep=True) > 15 * MIB


@pytest.mark.django_db
def test_the_number_of_queries_does_not_depend_on_the_number_of_objects():
    for form in FORMS:
        counts = []
        for count in (10, 3_000):
            contract = a_crowded_draft(count)
            with CaptureQueriesContext(connection) as log, open_snapshot(contract.pk) as shot:
                assert sum(len(piece) for piece in form(shot)) > 0
            counts.append(len(log))
        assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_a_change_in_the_middle_of_an_export_is_not_in_it():
    contract = builders.a_draft()
    gate = OwnerGate.objects.get(contract=contract)
    person = people.acting(people.owner(contract.team))

    def change():
        values = {"named_person": "Bo", "lease_seconds": "60"}
        edit_row(
            contract_id=contract.pk,
            actor=person,
            part=PARTS["gate"],
            row_id=gate.pk,
            version=1,
            values=values,
        )
        connection.close()

    with open_snapshot(contract.pk) as shot:
        other = Thread(target=change)
        other.start()
        other.join()
        told = b"".join(stream_json(shot))
        assert b'"named_person": "",' in told
        assert b'"revision": 1,' in told
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_read_only")
            assert cursor.fetchone() == ("on",)
    with open_snapshot(contract.pk) as shot:
        assert b'"named_person": "Bo"' in b"".join(stream_json(shot))


@pytest.mark.django_db
def test_there_is_no_snapshot_of_a_contract_that_is_not_there():
    with pytest.raises(Contract.DoesNotExist), open_snapshot(-1):
        pass


@pytest.mark.django_db
def test_the_definition_of_a_crowded_contract_has_all_its_objects():
    assert len(definition_of(a_crowded_draft(3_000))["objects"]) == 3_000

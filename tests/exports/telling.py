"""What the tests of exports share: telling a contract whole, and filling one with very many objects."""

from django.db import connection, transaction

from contracts.exports.json_form import stream_json
from contracts.exports.snapshot import open_snapshot
from contracts.exports.text_form import stream_text
from contracts.gates.creating import create_contract
from contracts.rules.document import check_document
from tests import builders, people

# One statement: the gate that reads a pasted table would take minutes for this many lines.
MANY = """
INSERT INTO contracts_workobject
    (contract_id, version, position, object_id, source_id, step, state, evidence, note, settled_by)
SELECT %s, 1, number * 1024, 'P-' || number, source.id, 'describe', 'pending',
    'archive://box-17/' || number, '照片 ' || number || ', seen by daylight', ''
FROM generate_series(1, %s) AS number,
    (SELECT id FROM contracts_source WHERE contract_id = %s LIMIT 1) AS source
"""


def as_json(contract):
    with open_snapshot(contract.pk) as snapshot:
        return b"".join(stream_json(snapshot))


def as_text(contract, language="en"):
    with open_snapshot(contract.pk) as snapshot:
        return b"".join(stream_text(snapshot, language)).decode()


def store(raw, task_id=""):
    """Create a contract from the document `raw` through the gate."""
    team = builders.a_team()
    person = people.owner(team)
    document = check_document(raw, task_id=task_id)
    verdict = create_contract(user=person, actor=people.acting(person), team=team, document=document)
    assert verdict.code == "done", (verdict.code, verdict.problems)
    return verdict.outcome


def a_crowded_draft(count):
    """Return a draft with `count` objects, all of one source."""
    contract = builders.a_draft(sources=[builders.EXAMPLES["source"]])
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(MANY, [contract.pk, count, contract.pk])
    return contract

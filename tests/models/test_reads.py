from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contracts.gates.objects import add_lines
from contracts.models import (
    ROWS,
    Contract,
    JournalStep,
    Limit,
    OwnerGate,
    UsageEntry,
    WindowRow,
    WorkObject,
    gather_progress,
    plan_digest,
    rights_of,
)
from contracts.models.content import plain
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Right
from tests import builders, documents, people
from tests.gates.watching import ACTOR

pytestmark = pytest.mark.django_db


@pytest.fixture
def contract():
    team = builders.a_team()
    return builders.done(builders.created(team, people.owner(team), documents.full_document(team=team)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("a", "a"),
        (True, True),
        (3, 3),
        ([1], [1]),
        (Decimal("1.250000"), "1.25"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.000000"), "0"),
        (date(2030, 1, 2), "2030-01-02"),
        (datetime(2030, 1, 2, tzinfo=UTC), "2030-01-02T00:00:00.000000Z"),
        (datetime(2030, 1, 2, 8, tzinfo=timezone(timedelta(hours=8))), "2030-01-02T00:00:00.000000Z"),
    ],
)
def test_values_are_told_as_json_holds_them(value, expected):
    assert plain(value) == expected


@pytest.mark.parametrize("part", ROWS)
def test_facts_are_the_same_streamed_and_row_by_row(contract, part):
    rows = ROWS[part].objects.of(contract.pk)
    assert list(rows.stream_facts()) == [row.facts() for row in rows]
    assert set(rows[0].facts()) == {field.name for field in PARTS[part].fields}
    with CaptureQueriesContext(connection) as queries:
        for row in ROWS[part].objects.of(contract.pk).joined():
            row.facts()
    assert len(queries) == 1


@pytest.mark.parametrize("part", ROWS)
def test_every_row_has_words_by_which_people_know_it(contract, part):
    row = ROWS[part].objects.of(contract.pk).first()
    assert bool(row.natural_key()) is (part != "gate")
    assert str(row)


def test_an_operation_without_an_object_has_words_too(contract):
    Contract.objects.filter(pk=contract.pk).update(state="draft")
    assert builders.a_row(contract, "operation", object="").natural_key() == "cms.publish · – · publish · 1"


def test_what_belongs_to_the_contract_itself_reads_well(contract):
    team = contract.team
    assert str(contract) == contract.task_id
    assert str(team) == "Labels"
    assert str(team.roles.get(role="curator")) == "labels:curator"
    assert str(Contract.objects.get().team.roles.count()) == "5"


def test_rights_come_by_grant_or_by_role_and_are_read_in_one_query(contract):
    curator = people.curator(contract.team)
    with CaptureQueriesContext(connection) as queries:
        assert rights_of(curator, contract.pk) == {Right.VIEW, Right.DECIDE}
    assert len(queries) == 1


def test_nobody_sees_what_was_not_granted(contract):
    seen = Contract.objects.visible_to
    assert list(seen(people.viewer(contract.team))) == [contract]
    assert list(Contract.objects.granted(people.curator(contract.team), Right.DECIDE)) == [contract]
    assert not Contract.objects.granted(people.viewer(contract.team), Right.FILL).exists()
    gone = people.reviewer(contract.team)
    gone.is_active = False
    for person in (people.stranger(), people.neighbour(), AnonymousUser(), gone):
        assert not seen(person).exists()
    root = people.stranger()
    root.is_superuser = True
    root.save()
    assert not seen(root).exists()
    assert rights_of(root, contract.pk) == frozenset()


def test_totals_are_sums_over_all_entries(contract):
    Contract.objects.filter(pk=contract.pk).update(state="draft")
    builders.a_row(contract, "usage", measure="cost", amount="0.75")
    builders.a_row(contract, "usage", measure="tokens", amount="10")
    totals = UsageEntry.objects.of(contract.pk).totals()
    assert totals == {"cost": Decimal(2), "tokens": Decimal(10)}


def test_progress_takes_as_many_queries_for_much_as_for_little():
    contract = builders.a_complete_draft()
    with CaptureQueriesContext(connection) as few:
        progress = gather_progress(contract)
    assert progress.touched == {"source", "object", "tool"}
    lines = [{"object_id": f"L-{number}"} for number in range(200)]
    add_lines(contract_id=contract.pk, actor=ACTOR, part=PARTS["object"], lines=lines)
    with CaptureQueriesContext(connection) as many:
        gather_progress(contract)
    assert len(few) == len(many) == 1


def test_progress_tells_the_rows_as_they_are_read_one_by_one():
    contract = builders.a_complete_draft()
    progress = gather_progress(contract)
    WindowRow.objects.of(contract.pk).update(
        verdict="held", run_at=contract.created_at, run_by="otto", evidence="logs://1"
    )
    Limit.objects.of(contract.pk).filter(measure="cost").update(cap=Decimal("123456789012.123456"))
    told = gather_progress(contract).rows
    assert told != progress.rows
    assert told == {
        name: [row.facts() for row in ROWS[name].objects.of(contract.pk)]
        for name in ("plane", "tool", "limit", "gate", "window")
    }
    assert all(told.values())


def test_progress_tells_what_people_touched():
    contract = builders.a_draft()
    assert gather_progress(contract).touched == frozenset()
    OwnerGate.objects.of(contract.pk).update(version=2)
    contract.version = 2
    assert gather_progress(contract).touched == {"gate", "identity"}


def test_the_plan_digest_covers_the_definition_and_not_the_work():
    contract = builders.a_complete_draft()
    digest = plan_digest(contract)
    WorkObject.objects.of(contract.pk).update(note="seen", state="in_progress")
    WindowRow.objects.of(contract.pk).update(
        verdict="held", run_at=contract.created_at, run_by="otto", evidence="logs://1"
    )
    builders.a_row(contract, "step")
    assert JournalStep.objects.of(contract.pk).exists()
    assert plan_digest(contract) == digest
    for model, columns in (
        (OwnerGate, {"lease_seconds": 60}),
        (WorkObject, {"object_id": "O-9"}),
        (WindowRow, {"setting": "Two workers"}),
    ):
        model.objects.of(contract.pk).update(**columns)
        assert plan_digest(contract) != digest
        digest = plan_digest(contract)
    contract.title = "Another title"
    assert plan_digest(contract) != digest

import pytest

from contracts.gates.grids import Edit, edit_rows
from contracts.models import Limit, PlaneRow
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from tests import builders, people
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, force

pytestmark = pytest.mark.django_db
PLANE, LIMIT = PARTS["plane"], PARTS["limit"]


@pytest.fixture
def draft():
    return builders.a_draft()


def planes(contract):
    return list(PlaneRow.objects.of(contract.pk))


def edits(rows, **values):
    return [
        Edit(row.pk, row.version, {"authority": row.authority, "readers": "", "note": "", **values})
        for row in rows
    ]


def test_all_rows_are_stored_in_one_revision(draft):
    rows = planes(draft)
    verdict, events = assert_allowed(draft, edit_rows, part=PLANE, edits=edits(rows, readers="all"))
    assert [row.readers for row in planes(draft)] == ["all"] * 5
    assert [row.version for row in verdict.outcome] == [2] * 5
    assert [(event.act, event.subject) for event in events] == [("edit", row.plane) for row in rows]


def test_rows_that_do_not_change_are_not_recorded(draft):
    rows = planes(draft)
    _, events = assert_allowed(
        draft, edit_rows, part=PLANE, edits=edits(rows[:2]) + edits(rows[2:3], readers="all")
    )
    assert [event.subject for event in events] == [rows[2].plane]
    assert [row.version for row in planes(draft)] == [1, 1, 2, 1, 1]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_nothing_changed_records_nothing(draft, count):
    assert_unchanged(draft, edit_rows, part=PLANE, edits=edits(planes(draft)[:count]))


def test_one_bad_row_refuses_all_and_every_fault_is_named(draft):
    rows = planes(draft)
    given = (
        edits(rows[:2], readers="all")
        + edits(rows[2:4], retention_days="0")
        + edits(rows[4:], readers="a\nb")
    )
    verdict = assert_refused(draft, "bad_values", edit_rows, part=PLANE, edits=given)
    assert [(problem.field, problem.code) for problem in verdict.problems] == [
        (f"{rows[2].pk}:retention_days", "out_of_range"),
        (f"{rows[3].pk}:retention_days", "out_of_range"),
        (f"{rows[4].pk}:readers", "control_character"),
    ]


def test_one_stale_row_refuses_all_and_comes_back_as_it_stands(draft):
    rows = planes(draft)
    assert_allowed(draft, edit_rows, part=PLANE, edits=edits(rows[3:4], readers="theirs"))
    verdict = assert_refused(draft, "stale_version", edit_rows, part=PLANE, edits=edits(rows, readers="mine"))
    assert (verdict.outcome.pk, verdict.outcome.readers, verdict.outcome.version) == (rows[3].pk, "theirs", 2)


def test_a_row_twice_in_one_saving_is_refused(draft):
    rows = planes(draft)
    given = edits(rows[:1], readers="one") + edits(rows[:1], readers="two")
    assert_refused(draft, "stale_version", edit_rows, part=PLANE, edits=given)


def test_a_row_of_another_contract_or_part_is_not_there(draft):
    other = builders.a_draft(draft.team)
    assert_refused(draft, "row_gone", edit_rows, part=PLANE, edits=edits(planes(other)[:1], readers="x"))
    limit = Limit.objects.of(draft.pk).last()
    foreign = Edit(limit.pk + 10**6, 1, {"readers": "x"})
    assert_refused(draft, "row_gone", edit_rows, part=PLANE, edits=[foreign])
    assert planes(other)[0].readers == ""


@pytest.mark.parametrize("state", [one for one in ContractState if one is not ContractState.DRAFT])
def test_where_the_contract_is_not_open_nothing_is_stored(state):
    contract = builders.a_complete_draft()
    rows = planes(contract)
    force(contract, state)
    assert_refused(contract, "not_open", edit_rows, part=PLANE, edits=edits(rows, readers="x"))


def test_what_nobody_gives_is_refused_by_name(draft):
    verdict = assert_refused(
        draft, "bad_values", edit_rows, part=PLANE, edits=edits(planes(draft)[:1], plane="effects")
    )
    assert [problem.code for problem in verdict.problems] == ["unknown_field"]


def test_a_currency_is_taken_by_the_row_of_cost_alone(draft):
    rows = list(Limit.objects.of(draft.pk))
    given = [Edit(row.pk, row.version, {"cap": "1", "currency": "EUR"}) for row in rows]
    verdict = assert_refused(draft, "bad_values", edit_rows, part=LIMIT, edits=given)
    assert {problem.code for problem in verdict.problems} == {"no_currency_here"}
    assert len(verdict.problems) == len(rows) - 1
    cost = next(row for row in rows if row.measure == "cost")
    assert_allowed(draft, edit_rows, part=LIMIT, edits=[Edit(cost.pk, 1, {"cap": "1", "currency": "EUR"})])


def test_the_actor_stands_in_every_event(draft):
    actor = people.acting(people.reviewer(draft.team))
    _, events = assert_allowed(
        draft, edit_rows, actor=actor, part=PLANE, edits=edits(planes(draft), readers="x")
    )
    assert {event.actor for event in events} == {"rita"}

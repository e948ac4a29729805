"""What holds when several people act at the same moment, each time with a control that must lose."""

import threading
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction

from contracts.gates.beats import lock_contract, take_turn
from contracts.gates.grids import Edit, edit_rows
from contracts.gates.lifecycle import cancel, leave_draft
from contracts.gates.objects import add_lines, change_objects
from contracts.gates.rows import add_row, edit_row, move_row
from contracts.models import (
    Attempt,
    Contract,
    Event,
    PlaneRow,
    ReservedTaskId,
    Source,
    ToolContract,
    WorkObject,
)
from contracts.rules.parts import PARTS
from contracts.rules.states import Act
from contracts.rules.verdict import allow
from tests import builders, documents, people
from tests.gates.watching import ACTOR
from tests.races.racing import codes, race

pytestmark = pytest.mark.django_db(transaction=True)


def whole(contract):
    """Return the number of events of a chain that must not be broken."""
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None
    return contract.event_count


def call(gate, contract, **given):
    return partial(gate, contract_id=contract.pk, actor=ACTOR, **given)


def test_of_two_who_edit_one_row_at_once_one_wins_and_the_other_is_told():
    contract = builders.a_draft()
    row = builders.a_row(contract, "tool")
    known = whole(contract)
    for _ in range(10):
        edits = [
            call(
                edit_row,
                contract,
                part=PARTS["tool"],
                row_id=row.pk,
                version=row.version,
                values={**builders.EXAMPLES["tool"], "note": f"{name} {row.version}"},
            )
            for name in ("first", "second")
        ]
        verdicts = race(*edits)
        assert codes(verdicts) == ["done", "stale_version"]
        (lost,) = (verdict for verdict in verdicts if not verdict.allowed)
        row.refresh_from_db()
        assert lost.outcome.note == row.note
    assert row.version == 11
    assert whole(contract) == known + 20


def test_control_read_then_write_without_the_version_loses_an_edit():
    contract = builders.a_draft()
    row = builders.a_row(contract, "tool")
    read = threading.Barrier(2)

    def edit(column, value):
        stored = ToolContract.objects.get(pk=row.pk)
        read.wait(timeout=60)
        setattr(stored, column, value)
        stored.save()

    race(partial(edit, "note", "changed"), partial(edit, "compensation", "changed"))
    row.refresh_from_db()
    assert sorted([row.note, row.compensation]) == ["", "changed"]


def test_of_two_who_add_the_same_id_one_is_refused():
    contract = builders.a_draft()
    for number in range(10):
        values = {**builders.EXAMPLES["tool"], "tool": f"tool-{number}"}
        add = call(add_row, contract, part=PARTS["tool"], values=values)
        assert codes(race(add, add)) == ["done", "tool_once"]
    assert ToolContract.objects.of(contract.pk).count() == 10
    whole(contract)


def test_of_two_new_versions_of_one_source_one_is_current():
    contract = builders.a_draft()
    builders.a_row(contract, "source")
    adds = [
        call(
            add_row,
            contract,
            part=PARTS["source"],
            values={**builders.EXAMPLES["source"], "version_label": label, "sha256": sha256},
        )
        for label, sha256 in (("2", builders.B), ("3", builders.C))
    ]
    assert codes(race(*adds)) == ["done", "done"]
    assert Source.objects.of(contract.pk).filter(current=True).count() == 1
    whole(contract)


def test_attempts_added_at_once_are_numbered_without_gap_or_twin():
    contract = builders.a_draft()
    adds = [
        call(
            add_row,
            contract,
            part=PARTS["attempt"],
            values={**builders.EXAMPLES["attempt"], "attempt_id": f"A-{number}"},
        )
        for number in range(16)
    ]
    assert codes(race(*adds)) == ["done"] * 16
    attempts = Attempt.objects.of(contract.pk)
    expected = [(number, number) for number in range(1, 17)]
    assert list(attempts.values_list("number", "generation")) == expected
    whole(contract)
    assert contract.generation == 16


def test_two_hundred_edits_of_eight_people_all_survive():
    contract = builders.a_draft()
    rows = [builders.a_row(contract, "tool", tool=f"tool-{number}") for number in range(8)]
    known, revision = whole(contract), contract.revision

    def edit(row):
        for number in range(25):
            verdict = edit_row(
                contract_id=contract.pk,
                actor=ACTOR,
                part=PARTS["tool"],
                row_id=row.pk,
                version=1 + number,
                values={**builders.EXAMPLES["tool"], "tool": row.tool, "note": f"edit {number}"},
            )
            assert verdict.code == "done"

    race(*(partial(edit, row) for row in rows))
    found = set(ToolContract.objects.of(contract.pk).values_list("version", "note"))
    assert found == {(26, "edit 24")}
    assert whole(contract) == known + 200
    assert contract.revision == revision + 200


def test_sixteen_who_create_the_same_id_get_one_contract():
    team = builders.a_team()
    person = people.owner(team)
    document = documents.full_document("task-race", team)
    verdicts = race(*[partial(builders.created, team, person, document)] * 16)
    assert codes(verdicts) == ["done"] + ["exists"] * 15
    assert {verdict.outcome.pk for verdict in verdicts} == {Contract.objects.get().pk}
    assert ReservedTaskId.objects.count() == 1
    assert whole(Contract.objects.get()) == 1


def test_of_sixteen_plans_for_one_id_the_first_stands():
    team = builders.a_team()
    person = people.owner(team)
    documents = [
        {**builders.head("task-race", team), "identity": {"title": f"Plan {number}"}} for number in range(16)
    ]
    verdicts = race(*(partial(builders.created, team, person, document) for document in documents))
    assert codes(verdicts) == ["done"] + ["task_id_taken"] * 15
    winner = next(number for number, verdict in enumerate(verdicts) if verdict.allowed)
    assert Contract.objects.get().title == f"Plan {winner}"


def test_two_grids_saved_at_once_are_never_mixed():
    contract = builders.a_draft()
    rows = list(PlaneRow.objects.of(contract.pk))
    grids = [
        [Edit(row.pk, row.version, {"authority": f"postgres://{name}"}) for row in rows]
        for name in ("first", "second")
    ]
    verdicts = race(*(call(edit_rows, contract, part=PARTS["plane"], edits=grid) for grid in grids))
    assert codes(verdicts) == ["done", "stale_version"]
    assert len(set(PlaneRow.objects.of(contract.pk).values_list("authority", flat=True))) == 1


def test_objects_are_begun_by_one_of_many():
    contract = builders.a_draft()
    builders.a_row(contract, "object")
    begin = call(change_objects, contract, act=Act.BEGIN, object_ids=["O-1"])
    assert codes(race(*[begin] * 8)) == ["done"] + ["illegal_move"] * 7
    assert WorkObject.objects.of(contract.pk).get().version == 2


def test_pasting_moving_and_cancelling_at_once_leave_a_whole_chain():
    contract = builders.a_complete_draft()
    row = builders.a_row(contract, "object", object_id="O-2")
    lines = [[{"object_id": f"L-{paste}-{number}"} for number in range(50)] for paste in range(4)]
    race(
        *(call(add_lines, contract, part=PARTS["object"], lines=each) for each in lines),
        *[call(move_row, contract, part=PARTS["object"], row_id=row.pk, down=False)] * 2,
        call(leave_draft, contract),
        call(cancel, contract, reason="No show."),
    )
    whole(contract)
    assert contract.state == "cancelled"
    positions = list(WorkObject.objects.of(contract.pk).values_list("position", flat=True))
    assert len(set(positions)) == len(positions)
    pasted = WorkObject.objects.of(contract.pk).filter(object_id__startswith="L-").count()
    assert pasted % 50 == 0


def test_two_turns_that_lock_each_others_contract_are_untangled():
    one, other = builders.a_draft(), builders.a_draft()
    met = threading.Barrier(2)

    def body(mine, its):
        def reach(turn):
            if not met.broken:
                met.wait(timeout=60)
            met.abort()  # a second try does not wait again
            locked = lock_contract(its.pk)
            turn.note("edit", "identity", mine.task_id, None, {"seen": locked.task_id})
            return allow()

        return reach

    def meet(mine, its):
        return take_turn(contract_id=mine.pk, actor=ACTOR, act="edit", body=body(mine, its))

    def wait_and_meet(mine, its):
        try:
            return meet(mine, its)
        except threading.BrokenBarrierError:
            return meet(mine, its)

    verdicts = race(partial(wait_and_meet, one, other), partial(wait_and_meet, other, one))
    assert codes(verdicts) == ["done", "done"]
    assert [whole(one), whole(other)] == [2, 2]


def test_a_real_serialisation_failure_is_tried_again():
    contract = builders.a_draft()
    row = builders.a_row(contract, "tool")
    tries = []

    def write(note):
        ToolContract.objects.filter(pk=row.pk).update(note=note)

    def body(turn):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM contracts_toolcontract")
        tries.append(turn.now)
        if len(tries) == 1:  # somebody else commits between our reading and our writing
            race(partial(write, "theirs"))
        write("ours")
        turn.note("edit", "tool", row.tool)
        return allow()

    with connection.cursor() as cursor:
        cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    try:
        verdict = take_turn(contract_id=contract.pk, actor=ACTOR, act="edit", body=body)
    finally:
        connection.close()
    assert (verdict.code, len(tries)) == ("done", 2)
    row.refresh_from_db()
    assert row.note == "ours"


def test_control_a_lock_that_is_not_taken_lets_numbers_collide():
    contract = builders.a_draft()
    read = threading.Barrier(2)

    def add(number):
        with transaction.atomic():
            next_one = Attempt.objects.of(contract.pk).count() + 1
            read.wait(timeout=60)
            return next_one, number

    assert [found for found, _ in race(partial(add, 1), partial(add, 2))] == [1, 1]


def test_a_commit_refuses_a_row_that_points_into_another_contract():
    one, other = builders.a_draft(), builders.a_draft()
    builders.a_row(one, "object")
    foreign = builders.a_row(other, "source")
    with pytest.raises(IntegrityError, match="workobject_source_in_same_contract"), transaction.atomic():
        WorkObject.objects.of(one.pk).update(source=foreign)
    assert WorkObject.objects.of(one.pk).get().source.contract_id == one.pk

import ast
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import DataError, IntegrityError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from contracts.gates import beats
from contracts.gates.beats import (
    RETRIES,
    Entry,
    append_events,
    declared_constraints,
    lock_contract,
    take_turn,
)
from contracts.gates.grids import Edit, edit_rows
from contracts.gates.lifecycle import archive, cancel, complete, leave_draft, return_to_draft
from contracts.gates.objects import add_lines, change_objects
from contracts.gates.people import share
from contracts.gates.rows import add_row, edit_row, mark_section, move_row, remove_row
from contracts.models import Contract, Event, ReservedTaskId, WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.states import Act, ContractState
from contracts.rules.verdict import allow
from contracts.rules.vocabulary import Actor, ActorKind, Right, Section
from contracts.rules.windows import Seam
from tests import builders, documents, people
from tests.gates.watching import ACTOR, assert_refused, events_of, force

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
WRITES = ("INSERT", "UPDATE", "DELETE", "COPY")


@contextmanager
def listening(listener):
    beats.listeners.append(listener)
    try:
        yield
    finally:
        beats.listeners.remove(listener)


def conflict(code):
    """Let the database itself fail as it does when transactions collide."""
    with connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'collision' USING ERRCODE = '{code}'; END $$")


def failing(times, code):
    """Return a listener that lets the first `times` passages of one seam fail, and the list of all of them."""
    passed = []

    def listener(seam, gate):
        if seam is Seam.WRITTEN:
            passed.append(gate)
            if len(passed) <= times:
                conflict(code)

    return listener, passed


def gates():
    """Return the name of each gate with a call of it that is allowed, on a contract of its own."""

    def on(contract, gate, **given):
        return lambda: gate(contract_id=contract.pk, actor=ACTOR, **given)

    def draft_with(part):
        contract = builders.a_draft()
        row = builders.a_row(contract, part)
        return contract, {"part": PARTS[part], "row_id": row.pk}

    contract, source = draft_with("source")
    yield "add", on(contract, add_row, part=PARTS["object"], values=builders.EXAMPLES["object"])
    values = {**builders.EXAMPLES["source"], "note": "changed"}
    yield "edit", on(contract, edit_row, **source, version=1, values=values)
    contract, source = draft_with("source")
    edits = [Edit(source["row_id"], 1, values)]
    yield "edit", on(contract, edit_rows, part=PARTS["source"], edits=edits)
    yield "remove", on(*_removal(*draft_with("source")))
    contract, source = draft_with("source")
    builders.a_row(contract, "source", source_id="P-2")
    yield "move", on(contract, move_row, **source, down=True)
    yield "mark", on(contract, mark_section, section=Section.LIMITS, complete=True)
    lines = [{"object_id": "O-1"}, {"object_id": "O-2"}]
    yield "add_lines", on(builders.a_draft(), add_lines, part=PARTS["object"], lines=lines)
    yield "begin", on(draft_with("object")[0], change_objects, act=Act.BEGIN, object_ids=["O-1"])
    yield "leave_draft", on(builders.a_complete_draft(), leave_draft)
    yield "return_to_draft", on(builders.a_paused(), return_to_draft, reason="One object is missing.")
    done = builders.a_paused()
    WorkObject.objects.of(done.pk).update(state="confirmed", settled_by="rita", settled_at=done.created_at)
    yield "complete", on(done, complete)
    yield "cancel", on(builders.a_draft(), cancel, reason="No show.")
    yield "archive", on(builders.a_cancelled(), archive)
    username = people.stranger().username
    yield "share", on(builders.a_draft(), share, username=username, rights=frozenset({Right.VIEW}))
    team, person = builders.a_team(), people.owner(builders.a_team())
    yield "create", lambda: builders.created(team, person, documents.full_document())


def _removal(contract, given):
    return contract, lambda **more: remove_row(**more, **given, version=1)


def test_every_gate_passes_each_seam_once_in_order_and_writes_between_two_of_them():
    for name, call in list(gates()):
        passed, writes = [], []
        with CaptureQueriesContext(connection) as queries:

            def listener(seam, gate, passed=passed, writes=writes, queries=queries):
                passed.append((seam, gate))
                kinds = [query["sql"].split()[0] for query in queries.captured_queries]
                writes.append(sum(kind in WRITES for kind in kinds))

            with listening(listener):
                verdict = call()
        assert verdict.code == "done", (name, verdict)
        assert passed == [(seam, name) for seam in Seam], name
        begun, locked, answered, written, recorded, committed = writes
        reserving = int(
            name == "create"
        )  # reserving the id is how a contract that is not yet there is locked
        assert (begun, locked, answered) == (0, reserving, reserving), name
        assert answered <= written < recorded == committed, name


def test_a_refusal_passes_every_seam_too():
    contract, passed = builders.a_draft(), []
    with listening(lambda seam, _gate: passed.append(seam)):
        assert_refused(contract, "reason_missing", cancel, reason=" ")
    assert passed == list(Seam)


def test_seams_are_marked_in_one_place_and_listeners_installed_in_none():
    marked, touched = [], []
    for path in (ROOT / "contracts").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "pass_seam":
                marked.append(node.args[0].attr)
            names = {getattr(node, "id", ""), getattr(node, "attr", "")}
            names |= {alias.name for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)}
            if "listeners" in names:
                touched.append(path.relative_to(ROOT).as_posix())
    assert sorted(marked) == sorted(seam.name for seam in Seam)
    assert set(touched) == {"contracts/gates/beats.py"}


@pytest.mark.parametrize("code", ["40001", "40P01"])
@pytest.mark.parametrize("times", [1, RETRIES])
def test_every_gate_is_tried_again_after_a_conflict(times, code):
    for name, call in list(gates()):
        listener, passed = failing(times, code)
        with listening(listener):
            verdict = call()
        assert (verdict.code, len(passed)) == ("done", times + 1), name
    for contract in Contract.objects.all():
        events_of(contract)


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_a_sixth_conflict_is_an_error_and_leaves_nothing(code):
    contract = builders.a_draft()
    before = Event.objects.count()
    listener, passed = failing(RETRIES + 1, code)
    with listening(listener), pytest.raises(OperationalError):
        cancel(contract_id=contract.pk, actor=ACTOR, reason="No show.")
    assert len(passed) == RETRIES + 1 == 6
    contract.refresh_from_db()
    assert (contract.state, Event.objects.count()) == ("draft", before)


def test_a_sixth_conflict_while_creating_leaves_no_reserved_id():
    team = builders.a_team()
    listener, _ = failing(RETRIES + 1, "40001")
    with listening(listener), pytest.raises(OperationalError):
        builders.created(team, people.owner(team), builders.head("task-never"))
    assert not ReservedTaskId.objects.filter(task_id="task-never").exists()
    assert builders.created(team, people.owner(team), builders.head("task-never")).code == "done"


def test_other_failures_of_the_database_are_not_tried_again():
    contract = builders.a_draft()
    for code, error in (("57014", OperationalError), ("22023", DataError)):
        listener, passed = failing(1, code)
        with listening(listener), pytest.raises(error):
            cancel(contract_id=contract.pk, actor=ACTOR, reason="No show.")
        assert len(passed) == 1


def test_a_contract_that_is_gone_is_refused_without_a_trace():
    before = Event.objects.count()
    verdict = cancel(contract_id=0, actor=ACTOR, reason="No show.")
    assert (verdict.code, Event.objects.count()) == ("contract_gone", before)


def breaking(name):
    def body(_turn):
        with connection.cursor() as cursor:
            cursor.execute(
                f"DO $$ BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = '23514', CONSTRAINT = '{name}'; END $$"
            )
        return allow()

    return body


def test_a_broken_constraint_with_a_sentence_becomes_that_refusal():
    assert_refused(builders.a_draft(), "tool_once", take_turn, act="edit", body=breaking("tool_once"))


def test_a_broken_constraint_without_a_sentence_is_a_problem_of_that_code():
    name = min(declared_constraints() - set(SENTENCES))
    verdict = assert_refused(builders.a_draft(), "bad_values", take_turn, act="edit", body=breaking(name))
    assert [problem.code for problem in verdict.problems] == [name]


def test_a_broken_constraint_that_nobody_declared_stays_an_error():
    contract = builders.a_draft()
    with pytest.raises(IntegrityError):
        take_turn(contract_id=contract.pk, actor=ACTOR, act="edit", body=breaking("somebody_elses"))


def test_an_error_that_is_no_broken_constraint_stays_an_error():
    def body(_turn):
        raise IntegrityError

    with pytest.raises(IntegrityError):
        take_turn(contract_id=builders.a_draft().pk, actor=ACTOR, act="edit", body=body)


def test_a_turn_takes_its_time_from_the_database_after_the_lock():
    contract = builders.a_draft()
    times = []

    def body(turn):
        times.append(turn.now)
        return refusal("nothing_selected")

    for _ in range(2):
        take_turn(contract_id=contract.pk, actor=ACTOR, act="edit", body=body)
    assert contract.created_at < times[0] < times[1] < beats.database_now()
    assert lock_contract(0) is None


def test_what_a_refused_act_set_in_memory_is_not_stored():
    contract = builders.a_draft()

    def body(turn):
        turn.contract.title = "Changed before the answer was known"
        turn.note("edit", "identity", "x")
        return refusal("nothing_selected")

    assert_refused(contract, "nothing_selected", take_turn, act="edit", body=body)


def test_an_event_names_actor_kind_act_part_and_subject():
    contract = builders.a_draft()
    operator = Actor("otto", ActorKind.OPERATOR)
    cancel(contract_id=contract.pk, actor=operator, reason="No show.")
    event = events_of(contract)[-1]
    told = (event.actor, event.actor_kind, event.act, event.part, event.subject)
    assert told == ("otto", "operator", "cancel", "contract", contract.task_id)


def test_a_long_subject_is_cut_and_many_events_keep_their_chain():
    contract = builders.a_draft()
    entries = [Entry("add", "object", "x" * 500) for _ in range(60)]
    append_events(contract, beats.database_now(), ACTOR, entries)
    contract.save()
    assert len(events_of(contract)[-1].subject) == 400


def test_the_wrong_state_of_an_archived_contract_is_told_by_its_label():
    verdict = assert_refused(
        force(builders.a_draft(), ContractState.RUNNING, deadline="2031-01-01T00:00Z"),
        "illegal_move",
        leave_draft,
    )
    assert verdict.values == {"state": "Running"}

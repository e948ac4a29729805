"""The tables of moves, held against the specification written down a second time."""

from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from django.core.management import call_command

from contracts.rules import states
from contracts.rules.states import (
    APPROVAL_MOVES,
    CONTRACT_MOVES,
    OBJECT_MOVES,
    OPERATION_MOVES,
    STEP_MOVES,
    TABLES,
    Act,
    ApprovalState,
    ContractState,
    ObjectState,
    OperationState,
    StepState,
    acts_from,
    diagram,
    may_move,
)

WORDS = {
    "Contract": ContractState,
    "Object": ObjectState,
    "Operation": OperationState,
    "Approval": ApprovalState,
    "Journal step": StepState,
}
# From → what may follow, as the specification tells it; acts aside.
SPECIFIED = {
    "Contract": {
        "draft": {"paused", "cancelled"},
        "paused": {"draft", "resuming", "completed", "cancelled"},
        "resuming": {"running", "paused", "pause_requested", "cancelled"},
        "running": {"pause_requested", "paused", "completed", "cancelled"},
        "pause_requested": {"paused", "cancelled"},
    },
    "Object": {
        "pending": {"in_progress", "skipped"},
        "in_progress": {"confirmed", "unknown", "pending", "skipped"},
        "unknown": {"confirmed", "pending"},
        "confirmed": {"recheck"},
        "recheck": {"in_progress", "confirmed", "skipped"},
        "skipped": {"pending"},
    },
    "Operation": {
        "pending": {"sending", "unknown", "abandoned"},
        "sending": {"confirmed", "rejected", "unknown"},
        "unknown": {"confirmed", "rejected", "pending"},
    },
    "Approval": {
        "pending": {"approved", "rejected", "stale", "expired", "withdrawn"},
        "approved": {"stale", "expired", "withdrawn"},
    },
    "Journal step": {"started": {"done"}},
}
TERMINAL = {
    "Contract": {"completed", "cancelled"},
    "Object": set(),
    "Operation": {"confirmed", "rejected", "abandoned"},
    "Approval": {"rejected", "stale", "expired", "withdrawn"},
    "Journal step": {"done"},
}
# The table of external operations, row by row, with the act that stands for each "when".
LEDGER = {
    ("pending", "sending", "dispatch"),
    ("sending", "confirmed", "report"),
    ("sending", "rejected", "report"),
    ("sending", "unknown", "report"),
    ("sending", "unknown", "owner_lost"),
    ("pending", "unknown", "owner_lost"),
    ("unknown", "confirmed", "reconciled"),
    ("unknown", "rejected", "reconciled"),
    ("pending", "abandoned", "dropped"),
    ("unknown", "pending", "certainly_absent"),
}


def listed(table):
    return {(move.before.value, move.after.value, move.act.value) for move in table}


@pytest.mark.parametrize("name", TABLES)
def test_a_move_is_legal_exactly_if_it_is_listed(name):
    table, words = TABLES[name], [word.value for word in WORDS[name]]
    moves = listed(table)
    assert len(moves) == len(table)
    for before, after, act in product(words, words, [act.value for act in Act]):
        assert may_move(table, before, after, act) is ((before, after, act) in moves)
    for before in words:
        assert acts_from(table, before) == {act for origin, _, act in moves if origin == before}


@pytest.mark.parametrize("name", TABLES)
def test_what_does_not_exist_never_moves(name):
    move = TABLES[name][0]
    for before, after, act in [
        ("", move.after, move.act),
        (move.before, "nothing", move.act),
        ("x", "y", "z"),
    ]:
        assert not may_move(TABLES[name], before, after, act)
    assert acts_from(TABLES[name], "nothing") == frozenset()


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_specification(name):
    found = {}
    for before, after, _ in listed(TABLES[name]):
        found.setdefault(before, set()).add(after)
    assert found == SPECIFIED[name]


@pytest.mark.parametrize("name", TABLES)
def test_every_state_is_reached_and_the_last_ones_have_no_way_out(name):
    table, words = TABLES[name], {word.value for word in WORDS[name]}
    reached = {table[0].before.value}
    for _ in words:
        reached |= {move.after.value for move in table if move.before.value in reached}
    assert reached == words
    assert {word for word in words if not acts_from(table, word)} == TERMINAL[name]
    assert not any(move.before == move.after for move in table)


def test_the_ledger_of_operations_holds_the_ten_rows_and_nothing_else():
    assert listed(OPERATION_MOVES) == LEDGER


def test_only_an_acceptance_or_the_target_itself_confirms_an_object():
    acts = {(move.before.value, move.act) for move in OBJECT_MOVES if move.after == ObjectState.CONFIRMED}
    assert acts == {("in_progress", Act.ACCEPT), ("recheck", Act.ACCEPT), ("unknown", Act.RECONCILED)}


def test_a_confirmed_object_is_never_handed_out_again():
    assert acts_from(OBJECT_MOVES, "confirmed") == {"source_changed", "artefact_withdrawn"}
    begun = {move.before.value for move in OBJECT_MOVES if move.act is Act.BEGIN}
    assert begun == {"pending", "recheck"}


def test_a_new_generation_leaves_no_object_in_progress():
    lost = {
        (m.before.value, m.after.value) for m in OBJECT_MOVES if m.act in (Act.OWNER_LOST, Act.NEVER_LEFT)
    }
    assert lost == {("in_progress", "unknown"), ("in_progress", "pending")}


def test_a_changed_source_touches_only_what_was_confirmed():
    changed = [(m.before.value, m.after.value) for m in OBJECT_MOVES if m.act is Act.SOURCE_CHANGED]
    assert changed == [("confirmed", "recheck")]


def test_a_decision_is_made_once_and_expiry_is_nobodys_no():
    decided = {(m.before.value, m.after.value) for m in APPROVAL_MOVES if m.act is Act.DECIDE}
    assert decided == {("pending", "approved"), ("pending", "rejected")}
    assert {m.after.value for m in APPROVAL_MOVES if m.act is Act.TIME_RAN_OUT} == {"expired"}
    assert listed(STEP_MOVES) == {("started", "done", "finish")}


def test_work_begins_by_resuming_and_by_nothing_else():
    assert {(m.before.value, m.act) for m in CONTRACT_MOVES if m.after == ContractState.RESUMING} == {
        ("paused", Act.RESUME)
    }
    assert {m.before.value for m in CONTRACT_MOVES if m.act is Act.CANCEL} == {
        "draft", "paused", "resuming", "running", "pause_requested",
    }  # fmt: skip


def test_every_act_is_used_and_has_a_label():
    assert {move.act for table in TABLES.values() for move in table} == set(Act)
    for words in (Act, *WORDS.values()):
        labels = [word.label for word in words]
        assert all(labels)
        assert words is ApprovalState or len(set(labels)) == len(labels)


def test_the_printed_diagram_is_the_one_in_the_tables():
    page = Path(states.__file__).with_name("STATES.md").read_text("utf-8")
    assert page == diagram(), "run: manage.py state_diagram --write"
    for table in TABLES.values():
        for move in table:
            assert f"    {move.before.value} --> {move.after.value}: {move.act.label}\n" in page


def test_the_command_prints_the_diagram_and_writes_it_only_when_asked(monkeypatch, tmp_path):
    target = tmp_path / "STATES.md"
    monkeypatch.setattr("contracts.management.commands.state_diagram.PAGE", target)
    out = StringIO()
    call_command("state_diagram", stdout=out)
    assert out.getvalue() == diagram()
    assert not target.exists()
    call_command("state_diagram", "--write", stdout=StringIO())
    assert target.read_text("utf-8") == diagram()

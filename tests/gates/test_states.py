"""Which part may be changed in which state of the contract: the whole matrix."""

import pytest

from contracts.gates.rows import add_row, edit_row, mark_section, move_row, remove_row
from contracts.models import ROWS
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Section
from tests import builders, documents
from tests.gates.watching import assert_allowed, assert_refused, force

pytestmark = pytest.mark.django_db

DRAFT = {"draft"}
KEPT = {"draft", "paused"}
ALIVE = {"draft", "paused", "resuming", "running", "pause_requested", "completed"}
NEVER: set[str] = set()
# part → states in which rows are added, edited, removed.
OPEN = {
    "identity": (NEVER, DRAFT, NEVER),
    "plane": (NEVER, DRAFT, NEVER),
    "policy": (NEVER, DRAFT, NEVER),
    "limit": (NEVER, DRAFT, NEVER),
    "gate": (NEVER, DRAFT, NEVER),
    "tool": (DRAFT, DRAFT, DRAFT),
    "attempt": (KEPT, DRAFT, DRAFT),
    "checkpoint": (KEPT, DRAFT, DRAFT),
    "step": (KEPT, DRAFT, DRAFT),
    "operation": (KEPT, DRAFT, DRAFT),
    "usage": (KEPT, DRAFT, DRAFT),
    "source": (KEPT, KEPT, DRAFT),
    "artefact": (KEPT, KEPT, DRAFT),
    "object": (KEPT, KEPT, DRAFT),
    "window": (DRAFT, ALIVE, DRAFT),
    "approval": (NEVER, NEVER, NEVER),
    "vote": (NEVER, NEVER, NEVER),
}
FRESH = {
    "attempt": {"attempt_id": "A-2"},
    "checkpoint": {"checkpoint_id": "C-2"},
    "step": {"key": "draft-2"},
    "source": {"source_id": "P-2"},
    "artefact": {"artefact_id": "L-2"},
    "object": {"object_id": "O-2"},
    "tool": {"tool": "cms.read"},
    "operation": {"round": "2"},
    "usage": {},
    "window": {"window": "flood"},
}
CHANGED = {
    "identity": {"title": "Labels of the summer show"},
    "plane": {"authority": "postgres://elsewhere"},
    "policy": {"quorum": "2"},
    "limit": {"cap": "7"},
    "gate": {"named_person": "Head of the archive"},
    "step": {"state": "started"},
    "operation": {"expected": "one page, not two"},
    "window": {
        "verdict": "held",
        "counted": "12",
        "run_at": "2030-03-01T10:00Z",
        "run_by": "otto",
        "evidence": "drills://2030/3",
    },
    "approval": {},
    "vote": {},
}


def target(part):
    """Return a draft and a row of `part` in it that nothing refers to."""
    if part in ("approval", "vote"):
        document = documents.full_document()
        team = builders.a_team()
        contract = builders.done(builders.created(team, builders.people.owner(team), document))
        return contract, ROWS[part].objects.of(contract.pk).last()
    contract = builders.a_draft(identity={"title": "Labels", "deadline": builders.DEADLINE})
    if part in builders.EXAMPLES:
        return contract, builders.a_row(contract, part)
    return contract, contract if part == "identity" else ROWS[part].objects.of(contract.pk).first()


def test_the_matrix_names_every_part():
    assert set(OPEN) == set(PARTS)


def closed(part, number):
    return [state for state in ContractState if state not in OPEN[part][number]]


def opened(part, number):
    return [state for state in ContractState if state in OPEN[part][number]]


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_added_in_their_states_alone(part):
    values = {**builders.EXAMPLES.get(part, {}), **FRESH.get(part, {})}
    given = {"part": PARTS[part], "values": values}
    contract, _ = target(part)
    for state in closed(part, 0):
        force(contract, state)
        assert_refused(contract, "not_open" if PARTS[part].addable else "not_addable", add_row, **given)
    for state in opened(part, 0):
        contract = force(target(part)[0], state)
        verdict, (*_, event) = assert_allowed(contract, add_row, **given)
        assert (event.act, event.part, event.before, event.after) == (
            "add",
            part,
            None,
            verdict.outcome.facts(),
        )


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_edited_in_their_states_alone(part):
    standing = builders.EXAMPLES.get(part, {})
    values = {**standing, **CHANGED.get(part, {"note": "changed"})}
    contract, row = target(part)
    given = {"part": PARTS[part], "row_id": row.pk, "version": row.version, "values": values}
    for state in closed(part, 1):
        force(contract, state)
        by_worker = part in ("approval", "vote") and state in KEPT
        assert_refused(contract, "kept_by_worker" if by_worker else "not_open", edit_row, **given)
    for state in opened(part, 1):
        contract, row = target(part)
        force(contract, state)
        before = row.facts()
        verdict, (event,) = assert_allowed(contract, edit_row, **{**given, "row_id": row.pk})
        assert (event.act, event.part, event.before) == ("edit", part, before)
        assert event.after == verdict.outcome.facts() != before
        assert verdict.outcome.version == row.version + (0 if part == "identity" else 1)


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_removed_in_their_states_alone(part):
    contract, row = target(part)
    given = {"part": PARTS[part], "row_id": row.pk, "version": row.version}
    for state in closed(part, 2):
        force(contract, state)
        assert_refused(contract, why_it_stays(part, state), remove_row, **given)
    for state in opened(part, 2):
        contract, row = target(part)
        force(contract, state)
        before = row.facts()
        given["row_id"] = row.pk
        verdict, (event,) = assert_allowed(contract, remove_row, **given)
        assert (event.act, event.part, event.before, event.after) == ("remove", part, before, None)
        assert verdict.outcome == before
        assert_refused(contract, "row_gone", remove_row, **given)


def why_it_stays(part, state):
    if state != ContractState.DRAFT:
        return "not_open"
    if part == "approval":
        return "row_in_use"  # a vote refers to it
    return "fixed_row" if PARTS[part].fixed else "kept_by_worker"


@pytest.mark.parametrize("part", [part.name for part in PARTS.values() if part.ordered])
def test_rows_are_moved_where_rows_are_added(part):
    contract, _ = target(part)
    builders.a_row(contract, part, **FRESH[part])
    first, *_, last = [row.pk for row in ROWS[part].objects.of(contract.pk)]
    for state in closed(part, 0):
        force(contract, state)
        assert_refused(contract, "not_open", move_row, part=PARTS[part], row_id=last, down=False)
    for state in opened(part, 0):
        force(contract, state)
        first, *_, last = [row.pk for row in ROWS[part].objects.of(contract.pk)]
        _, (event,) = assert_allowed(contract, move_row, part=PARTS[part], row_id=last, down=False)
        assert event.act == "move"
        assert event.before["position"] > event.after["position"]
        assert [row.pk for row in ROWS[part].objects.of(contract.pk)][-2] == last
        first = ROWS[part].objects.of(contract.pk).first().pk
        assert_refused(contract, "nothing_to_move", move_row, part=PARTS[part], row_id=first, down=False)


@pytest.mark.parametrize("state", ContractState)
def test_sections_are_marked_until_the_contract_is_cancelled(state):
    contract = force(builders.a_complete_draft(complete_sections=[]), state)
    given = {"section": Section.LIMITS, "complete": True}
    if state is ContractState.CANCELLED:
        assert_refused(contract, "not_open", mark_section, **given)
    else:
        _, (event,) = assert_allowed(contract, mark_section, **given)
        assert (event.act, event.subject, event.after["complete"]) == ("mark", "limits", True)

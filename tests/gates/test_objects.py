import pytest

from contracts.gates.objects import IDENTITY_OF, PERSONS_ACTS, add_lines, change_objects, check_lines
from contracts.models import Artefact, Contract, Source, WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.states import OBJECT_MOVES, Act, ContractState, ObjectState, may_move
from tests import builders
from tests.gates.watching import assert_allowed, assert_refused, force

pytestmark = pytest.mark.django_db
OBJECT, SOURCE, ARTEFACT = PARTS["object"], PARTS["source"], PARTS["artefact"]


@pytest.fixture
def draft():
    return builders.a_draft()


def sources(*versions):
    return [
        {"source_id": "P-1", "version_label": label, "sha256": sha256, "location": "archive://p/1"}
        for label, sha256 in versions
    ]


def told(verdict):
    return [(problem.field, problem.code) for problem in verdict.problems]


def test_pasted_parts_and_their_identities_are_the_same_list():
    assert set(IDENTITY_OF) == {name for name, part in PARTS.items() if part.pasteable}


def test_lines_are_stored_in_their_order_each_with_its_event(draft):
    builders.a_row(draft, "object")
    lines = [{"object_id": f"L-{number:03}", "source": "P-1"} for number in range(120)]
    verdict, events = assert_allowed(draft, add_lines, part=OBJECT, lines=lines)
    assert verdict.outcome == len(events) == 120
    rows = list(WorkObject.objects.of(draft.pk).joined())
    assert [row.object_id for row in rows] == ["O-1", *(line["object_id"] for line in lines)]
    assert [event.after for event in events] == [row.facts() for row in rows[1:]]
    assert {event.subject for event in events} == {line["object_id"] for line in lines}
    assert all(row.version == 1 and row.stored_at >= draft.created_at for row in rows)


def test_one_bad_line_refuses_all_and_is_named_by_number_and_field(draft):
    builders.a_row(draft, "object")
    lines = [
        {"object_id": "L-1"},
        {"object_id": "", "colour": "red"},
        {"object_id": "L-2", "source": "P-9"},
        {"object_id": "L-1"},
        {"object_id": "O-1"},
    ]
    verdict = assert_refused(draft, "lines_bad", add_lines, part=OBJECT, lines=lines)
    assert verdict.values == {"count": 4}
    assert sorted(told(verdict)) == [
        ("2:colour", "unknown_field"),
        ("2:object_id", "missing"),
        ("3:source", "unknown_reference"),
        ("4:object_id", "object_id_once"),
        ("5:object_id", "object_id_once"),
    ]
    assert check_lines(draft.pk, OBJECT, lines) == verdict.problems


def test_checking_lines_stores_nothing(draft):
    assert check_lines(draft.pk, OBJECT, [{"object_id": "L-1"}]) == ()
    assert not WorkObject.objects.exists()


def test_the_same_version_with_the_same_checksum_is_there_once(draft):
    builders.a_row(draft, "source")
    lines = sources(("1", builders.A), ("1", builders.B), ("1", builders.B))
    verdict = assert_refused(draft, "lines_bad", add_lines, part=SOURCE, lines=lines)
    assert told(verdict) == [("1:source_id", "source_version_once"), ("3:source_id", "source_version_once")]


@pytest.mark.parametrize("part", ["attempt", "tool", "window", "limit"])
def test_other_parts_are_not_pasted(draft, part):
    assert_refused(draft, "not_addable", add_lines, part=PARTS[part], lines=[])


@pytest.mark.parametrize("state", ContractState)
def test_lines_are_taken_in_draft_and_while_paused(draft, state):
    force(draft, state, deadline="2031-01-01T00:00Z")
    if state in ("draft", "paused"):
        assert_allowed(draft, add_lines, part=OBJECT, lines=[{"object_id": "L-1"}])
    else:
        assert_refused(draft, "not_open", add_lines, part=OBJECT, lines=[{"object_id": "L-1"}])


def test_the_last_of_several_versions_is_current_and_objects_follow(draft):
    builders.a_row(draft, "object")
    lines = sources(("2", builders.B), ("3", builders.C))
    _, events = assert_allowed(draft, add_lines, part=SOURCE, lines=lines)
    assert [event.act for event in events] == ["superseded", "add", "add", "source_changed"]
    current = {row.version_label: row.current for row in Source.objects.of(draft.pk)}
    assert current == {"1": False, "2": False, "3": True}
    assert WorkObject.objects.of(draft.pk).get().source.version_label == "3"


def test_pasted_artefacts_are_digested_and_retire_their_former_versions(draft):
    builders.a_row(draft, "artefact")
    lines = [{"artefact_id": "L-1", "version_label": "2", "inline_text": "Fired clay, 500."}]
    assert_allowed(draft, add_lines, part=ARTEFACT, lines=lines)
    old, new = Artefact.objects.of(draft.pk)
    assert (old.current, new.current, new.size_bytes, len(new.sha256)) == (False, True, 16, 64)


# What people do with objects


def objects_in(contract, state, count=2):
    """Give `contract` objects in `state`; return their ids."""
    ids = [f"O-{number}" for number in range(1, count + 1)]
    for object_id in ids:
        builders.a_row(contract, "object", object_id=object_id, note="kept")
    settled = {"settled_by": "rita", "settled_at": contract.created_at}
    columns = settled if state in ("confirmed", "skipped") else {}
    WorkObject.objects.of(contract.pk).update(state=state, **columns)
    return ids


@pytest.mark.parametrize("state", ObjectState)
@pytest.mark.parametrize("act", PERSONS_ACTS)
def test_objects_move_as_the_table_says_and_not_otherwise(draft, act, state):
    ids = objects_in(draft, state.value)
    given = {"act": act, "object_ids": ids, "reason": "Not on show."}
    after = PERSONS_ACTS[act]
    if not may_move(OBJECT_MOVES, state, after, act):
        verdict = assert_refused(draft, "illegal_move", change_objects, **given)
        assert told(verdict) == [("O-1", "illegal_move")]
        return
    verdict, events = assert_allowed(draft, change_objects, **given)
    assert verdict.outcome == 2
    for row, event in zip(WorkObject.objects.of(draft.pk).joined(), events, strict=True):
        assert (event.act, event.subject, event.before["state"]) == (act.value, row.object_id, state.value)
        assert event.after == row.facts()
        assert (row.state, row.note, row.version) == (after.value, "Not on show.", 2)
        settled = after in ("confirmed", "skipped")
        assert (row.settled_by, bool(row.settled_at)) == (("olga" if settled else ""), settled)


def test_a_note_is_kept_where_no_reason_is_given(draft):
    assert_allowed(draft, change_objects, act=Act.BEGIN, object_ids=objects_in(draft, "pending"))
    assert {row.note for row in WorkObject.objects.of(draft.pk)} == {"kept"}


def test_one_object_in_another_state_refuses_all(draft):
    ids = objects_in(draft, "pending", 3)
    WorkObject.objects.of(draft.pk).filter(object_id="O-3").update(state="in_progress")
    verdict = assert_refused(draft, "illegal_move", change_objects, act=Act.BEGIN, object_ids=ids)
    assert told(verdict) == [("O-3", "illegal_move")]


def test_skipping_needs_a_reason(draft):
    ids = objects_in(draft, "pending")
    assert_refused(draft, "reason_missing", change_objects, act=Act.SKIP, object_ids=ids, reason=" ")


def test_a_reason_holds_no_credential_and_no_control_character(draft):
    ids = objects_in(draft, "pending")
    for reason, code in (("password=hunter2-and-more", "credential"), ("a\x00b", "control_character")):
        given = {"act": Act.SKIP, "object_ids": ids, "reason": reason}
        verdict = assert_refused(draft, "bad_values", change_objects, **given)
        assert told(verdict) == [("reason", code)]


def test_nothing_selected_and_something_gone_are_told_apart(draft):
    ids = objects_in(draft, "pending")
    assert_refused(draft, "nothing_selected", change_objects, act=Act.BEGIN, object_ids=[])
    assert_refused(draft, "row_gone", change_objects, act=Act.BEGIN, object_ids=[*ids, "O-9"])


def test_objects_of_another_contract_are_gone(draft):
    other = builders.a_draft()
    ids = objects_in(other, "pending")
    assert_refused(draft, "row_gone", change_objects, act=Act.BEGIN, object_ids=ids)
    assert {row.state for row in WorkObject.objects.of(other.pk)} == {"pending"}


@pytest.mark.parametrize("state", ContractState)
def test_objects_move_until_the_contract_has_ended(draft, state):
    ids = objects_in(draft, "pending")
    force(draft, state, deadline="2031-01-01T00:00Z")
    given = {"act": Act.BEGIN, "object_ids": ids}
    if state in ("completed", "cancelled"):
        assert_refused(draft, "not_open", change_objects, **given)
    else:
        assert_allowed(draft, change_objects, **given)
    assert Contract.objects.get(pk=draft.pk).state == state

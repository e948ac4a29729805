import pytest

from contracts.gates.beats import database_now
from contracts.gates.grids import Edit, edit_rows
from contracts.gates.lifecycle import return_to_draft
from contracts.gates.objects import add_lines, change_objects
from contracts.gates.rows import add_row, edit_row, mark_section, move_row, remove_row
from contracts.models import (
    ROWS,
    Attempt,
    Contract,
    Limit,
    Operation,
    OwnerGate,
    PlaneRow,
    Source,
    WorkObject,
)
from contracts.rules.fingerprint import canonical, digest_bytes, fingerprint, operation_key
from contracts.rules.parts import PARTS
from contracts.rules.states import Act, ContractState
from contracts.rules.vocabulary import Actor, ActorKind, Section
from tests import builders, documents
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, events_of, force

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft():
    return builders.a_draft()


def example(part, **values):
    return {**builders.EXAMPLES[part], **values}


def edit(contract, part, row, **values):
    """Return the arguments of an edit of an example row."""
    return {"part": PARTS[part], "row_id": row.pk, "version": row.version, "values": example(part, **values)}


def codes(verdict):
    return {(problem.field, problem.code) for problem in verdict.problems}


# Adding


def test_bad_values_are_named_field_by_field_and_nothing_is_stored(draft):
    values = {"source_id": "", "version_label": "1", "sha256": "x", "location": "a b", "colour": "red"}
    verdict = assert_refused(draft, "bad_values", add_row, part=PARTS["source"], values=values)
    assert {field for field, _ in codes(verdict)} == {"source_id", "sha256", "location", "colour"}


@pytest.mark.parametrize(
    "part", ["source", "tool", "object", "step", "checkpoint", "attempt", "window", "artefact"]
)
def test_what_is_unique_is_there_once(draft, part):
    builders.a_row(draft, part)
    code = {
        "source": "source_version_once",
        "artefact": "artefact_version_once",
        "tool": "tool_once",
        "object": "object_id_once",
        "step": "step_key_once",
        "checkpoint": "checkpoint_id_once",
        "attempt": "attempt_id_once",
        "window": "one_row_per_window",
    }[part]
    verdict = assert_refused(draft, code, add_row, part=PARTS[part], values=builders.EXAMPLES[part])
    assert [problem.code for problem in verdict.problems] == [code]


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("object", "source", "P-9"),
        ("object", "artefact", "L-9"),
        ("artefact", "source", "P-9"),
        ("artefact", "source_version", "9"),
        ("operation", "tool", "cms.unknown"),
        ("operation", "object", "O-9"),
        ("checkpoint", "attempt", "9"),
        ("usage", "attempt", "9"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(draft, part, field, value):
    builders.a_row(draft, part)
    verdict = assert_refused(
        draft, "bad_values", add_row, part=PARTS[part], values=example(part, **{field: value})
    )
    expected = "source" if field == "source_version" else field
    assert codes(verdict) == {(expected, "unknown_reference")}


def test_a_row_of_another_contract_is_no_reference(draft):
    other = builders.a_draft()
    builders.a_row(other, "source")
    verdict = assert_refused(draft, "bad_values", add_row, part=PARTS["object"], values=example("object"))
    assert codes(verdict) == {("source", "unknown_reference")}


def test_without_a_version_the_current_one_is_meant(draft):
    builders.a_row(draft, "source")
    builders.a_row(draft, "source", version_label="2", sha256=builders.B)
    assert builders.a_row(draft, "object").source.version_label == "2"
    assert builders.a_row(draft, "object", object_id="O-2", source_version="1").source.version_label == "1"


def test_attempts_are_numbered_and_take_the_next_generation(draft):
    first = builders.a_row(draft, "attempt")
    second = builders.a_row(draft, "attempt", attempt_id="A-2")
    assert [(a.number, a.generation, a.by_hand) for a in (first, second)] == [(1, 1, True), (2, 2, True)]
    draft.refresh_from_db()
    assert draft.generation == 2
    assert_allowed(draft, remove_row, part=PARTS["attempt"], row_id=second.pk, version=1)
    third = builders.a_row(draft, "attempt", attempt_id="A-3")
    assert (third.number, third.generation) == (2, 3)


def test_only_one_attempt_may_be_open(draft):
    open_end = {"ended_at": "", "end_reason": ""}
    builders.a_row(draft, "attempt", **open_end)
    values = example("attempt", attempt_id="A-2", **open_end)
    assert_refused(draft, "one_open_attempt", add_row, part=PARTS["attempt"], values=values)


def test_a_checkpoint_takes_sequence_generation_and_digest_from_the_workbench(draft):
    first = builders.a_row(draft, "checkpoint")
    second = builders.a_row(draft, "checkpoint", checkpoint_id="C-2")
    content = canonical({"photo": 3})
    assert [first.sequence, second.sequence, first.generation] == [1, 2, 1]
    assert (first.sha256, first.size_bytes) == (digest_bytes(content), len(content))
    located = {"inline_state": "", "location": "s3://c", "sha256": builders.C, "size_bytes": "9"}
    third = builders.a_row(draft, "checkpoint", checkpoint_id="C-3", **located)
    assert (third.sha256, third.size_bytes) == (builders.C, 9)


def test_journal_steps_and_usage_entries_are_numbered(draft):
    assert builders.a_row(draft, "step").sequence == 1
    assert builders.a_row(draft, "step", key="draft-2").sequence == 2
    first, second = builders.a_row(draft, "usage"), builders.a_row(draft, "usage")
    assert first.entry_id != second.entry_id
    assert first.used_at < second.used_at


def test_an_inline_text_is_digested_with_its_line_ends_made_one(draft):
    row = builders.a_row(draft, "artefact", inline_text="Fired\r\nclay")
    assert (row.sha256, row.size_bytes) == (digest_bytes(b"Fired\nclay"), 10)


def test_an_operation_is_sealed_by_its_own_call(draft):
    row = builders.a_row(draft, "operation")
    parameters = {"page": "label-1"}
    assert row.fingerprint == fingerprint(parameters)
    assert row.key == operation_key(draft.task_id, "publish", 1, "cms.publish", parameters)
    assert row.intended_at > draft.created_at
    same = example("operation", parameters='{ "page" : "label-1" }')
    assert_refused(draft, "operation_key_once", add_row, part=PARTS["operation"], values=same)
    worded = example("operation", parameters='{"page": "label-1", "text": "other words"}')
    assert_refused(draft, "one_operation_per_slot", add_row, part=PARTS["operation"], values=worded)
    without = {**worded, "object": ""}
    assert_allowed(draft, add_row, part=PARTS["operation"], values=without)
    assert_refused(
        draft,
        "one_operation_per_slot",
        add_row,
        part=PARTS["operation"],
        values={**without, "parameters": '{"page": "label-2"}'},
    )


def test_a_new_version_retires_the_former_and_rechecks_only_what_was_confirmed_for_it(draft):
    builders.a_row(draft, "source")
    builders.a_row(draft, "source", source_id="P-2", sha256=builders.B)
    states = {"O-1": "confirmed", "O-2": "pending", "O-3": "in_progress", "O-4": "confirmed"}
    for object_id, state in states.items():
        builders.a_row(draft, "object", object_id=object_id, source="P-2" if object_id == "O-4" else "P-1")
        settled = {"settled_by": "rita", "settled_at": draft.created_at} if state == "confirmed" else {}
        WorkObject.objects.of(draft.pk).filter(object_id=object_id).update(state=state, **settled)
    values = example("source", version_label="2", sha256=builders.C)
    verdict, events = assert_allowed(draft, add_row, part=PARTS["source"], values=values)
    assert [event.act for event in events] == ["superseded", "add", "source_changed", "source_changed"]
    assert verdict.outcome.current
    assert not Source.objects.of(draft.pk).get(source_id="P-1", version_label="1").current
    found = {o.object_id: (o.state, o.source.version_label) for o in WorkObject.objects.of(draft.pk)}
    assert found == {
        "O-1": ("recheck", "1"),
        "O-2": ("pending", "2"),
        "O-3": ("in_progress", "1"),
        "O-4": ("confirmed", "1"),
    }


def test_a_new_artefact_version_retires_the_former(draft):
    first = builders.a_row(draft, "artefact")
    second = builders.a_row(draft, "artefact", version_label="2", inline_text="Fired clay, 500.")
    first.refresh_from_db()
    assert (first.current, first.version, second.current) == (False, 2, True)


# Editing


@pytest.mark.parametrize("part", builders.EXAMPLES)
def test_saving_what_stands_changes_nothing(draft, part):
    row = builders.a_row(draft, part)
    assert_unchanged(draft, edit_row, **edit(draft, part, row))


def test_saving_an_unchanged_identity_changes_nothing(draft):
    values = {"title": draft.title}
    assert_unchanged(draft, edit_row, part=PARTS["identity"], row_id=draft.pk, version=1, values=values)


def test_the_identity_is_edited_as_a_row_with_its_own_version(draft):
    given = {"part": PARTS["identity"], "row_id": draft.pk, "values": {"title": "Labels, second hanging"}}
    before = draft.facts()
    _, (event,) = assert_allowed(draft, edit_row, **given, version=1)
    assert (event.subject, event.before, event.after) == (draft.task_id, before, draft.facts())
    assert draft.version == 2
    verdict = assert_refused(draft, "stale_version", edit_row, **given, version=1)
    assert verdict.outcome.title == "Labels, second hanging"
    assert_refused(draft, "row_gone", edit_row, **{**given, "row_id": draft.pk + 1}, version=2)
    assert_refused(draft, "bad_values", edit_row, **{**given, "values": {"title": ""}}, version=2)


def test_a_stale_version_is_refused_and_shows_the_row_as_it_stands(draft):
    row = builders.a_row(draft, "tool")
    assert_allowed(draft, edit_row, **edit(draft, "tool", row, note="first"))
    verdict = assert_refused(draft, "stale_version", edit_row, **edit(draft, "tool", row, note="second"))
    assert verdict.outcome.note == "first"
    given = {"part": PARTS["tool"], "row_id": row.pk}
    verdict = assert_refused(draft, "stale_version", remove_row, **given, version=row.version)
    assert verdict.outcome.note == "first"


def test_the_refusal_of_an_edit_names_the_row_it_was_about(draft):
    row = builders.a_row(draft, "tool")
    assert_refused(draft, "stale_version", edit_row, **{**edit(draft, "tool", row), "version": 9})
    assert events_of(draft)[-1].subject == "cms.publish"


@pytest.mark.parametrize("part", [*builders.EXAMPLES, "plane", "limit", "gate", "policy"])
def test_a_row_of_another_contract_is_gone(draft, part):
    other = builders.a_draft()
    row = (
        builders.a_row(other, part) if part in builders.EXAMPLES else ROWS[part].objects.of(other.pk).first()
    )
    before = row.facts()
    given = {"part": PARTS[part], "row_id": row.pk}
    assert_refused(draft, "row_gone", edit_row, **given, version=1, values={})
    assert_refused(draft, "row_gone", remove_row, **given, version=1)
    assert_refused(draft, "row_gone", move_row, **given, down=True)
    row.refresh_from_db()
    assert row.facts() == before


def test_rules_across_fields_know_what_stands(draft):
    cost = Limit.objects.of(draft.pk).get(measure="cost")
    tokens = Limit.objects.of(draft.pk).get(measure="tokens")
    given = {"part": PARTS["limit"], "version": 1}
    assert_refused(draft, "bad_values", edit_row, **given, row_id=cost.pk, values={"cap": "5"})
    assert_refused(
        draft, "bad_values", edit_row, **given, row_id=tokens.pk, values={"cap": "5", "currency": "EUR"}
    )
    assert_allowed(draft, edit_row, **given, row_id=cost.pk, values={"cap": "5", "currency": "EUR"})


@pytest.mark.parametrize("part", ["attempt", "checkpoint", "step"])
def test_what_a_worker_recorded_is_not_changed_by_people(draft, part):
    row = builders.a_row(draft, part)
    Attempt.objects.of(draft.pk).update(by_hand=False)
    assert_refused(draft, "kept_by_worker", edit_row, **edit(draft, part, row))
    code = "kept_by_worker"
    assert_refused(draft, code, remove_row, part=PARTS[part], row_id=row.pk, version=row.version)


@pytest.mark.parametrize("state", ["sending", "confirmed", "rejected", "unknown", "abandoned"])
def test_a_call_that_may_have_left_stays_as_it_was(draft, state):
    row = builders.a_row(draft, "operation")
    Operation.objects.of(draft.pk).update(state=state, generation=1)
    assert_refused(draft, "kept_by_worker", edit_row, **edit(draft, "operation", row, expected="two pages"))
    given = {"part": PARTS["operation"], "row_id": row.pk, "version": 1}
    assert_refused(draft, "kept_by_worker", remove_row, **given)


def test_the_six_windows_keep_their_names_and_rows_of_ones_own_may_change_theirs(draft):
    fixed = ROWS["window"].objects.of(draft.pk).first()
    given = {"part": PARTS["window"], "row_id": fixed.pk, "version": 1}
    verdict = assert_refused(draft, "bad_values", edit_row, **given, values=example("window"))
    assert codes(verdict) == {("window", "fixed_row")}
    assert_refused(draft, "fixed_row", remove_row, **given)
    own = builders.a_row(draft, "window")
    assert_allowed(draft, edit_row, **edit(draft, "window", own, window="blackout"))


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("source", "source_id", "P-9"),
        ("source", "version_label", "9"),
        ("source", "sha256", builders.C),
        ("source", "location", "archive://elsewhere"),
        ("artefact", "artefact_id", "L-9"),
        ("artefact", "version_label", "9"),
        ("artefact", "inline_text", "Other words."),
        ("artefact", "inline_text", ""),
        ("artefact", "location", "cms://l/1"),
    ],
)
def test_a_version_never_changes_outside_draft(draft, part, field, value):
    row = builders.a_row(draft, part, **({"location": "cms://l"} if part == "artefact" else {}))
    force(draft, ContractState.PAUSED, deadline="2031-01-01T00:00Z")
    values = example(part, **({"location": "cms://l"} if part == "artefact" else {}))
    given = {"part": PARTS[part], "row_id": row.pk, "version": 1}
    if part == "artefact" and not value:
        values["sha256"] = builders.C
    verdict = assert_refused(draft, "bad_values", edit_row, **given, values={**values, field: value})
    assert (field, "new_version_needed") in codes(verdict)
    assert_allowed(draft, edit_row, **given, values={**values, "sha256": row.sha256, "note": "as scanned"})


def test_an_inline_text_may_be_saved_again_without_its_computed_checksum(draft):
    row = builders.a_row(draft, "artefact")
    force(draft, ContractState.PAUSED, deadline="2031-01-01T00:00Z")
    assert_allowed(draft, edit_row, **edit(draft, "artefact", row, sha256="", note="read twice"))


def confirm(contract):
    WorkObject.objects.of(contract.pk).update(
        state="confirmed", settled_by="rita", settled_at=contract.created_at
    )


@pytest.mark.parametrize(("field", "value"), [("sha256", builders.C), ("version_label", "1a")])
def test_a_corrected_source_rechecks_what_was_confirmed_for_it(draft, field, value):
    builders.a_row(draft, "object")
    confirm(draft)
    source = Source.objects.of(draft.pk).get()
    _, events = assert_allowed(draft, edit_row, **edit(draft, "source", source, **{field: value}))
    assert [event.act for event in events] == ["source_changed", "edit"]
    assert events[0].before["state"] == "confirmed"
    assert WorkObject.objects.of(draft.pk).get().state == "recheck"


def test_a_note_on_a_source_rechecks_nothing(draft):
    builders.a_row(draft, "object")
    confirm(draft)
    source = Source.objects.of(draft.pk).get()
    assert_allowed(draft, edit_row, **edit(draft, "source", source, note="scanned twice"))
    assert WorkObject.objects.of(draft.pk).get().state == "confirmed"


def test_a_corrected_artefact_rechecks_what_was_confirmed_with_it(draft):
    artefact = builders.a_row(draft, "artefact")
    builders.a_row(draft, "object", artefact="L-1")
    confirm(draft)
    _, events = assert_allowed(
        draft, edit_row, **edit(draft, "artefact", artefact, inline_text="Other words.")
    )
    assert [event.act for event in events] == ["artefact_withdrawn", "edit"]


def test_an_object_confirmed_for_one_source_is_rechecked_with_another(draft):
    row = builders.a_row(draft, "object")
    builders.a_row(draft, "source", source_id="P-2", sha256=builders.B)
    confirm(draft)
    assert_allowed(draft, edit_row, **edit(draft, "object", row, note="seen"))
    assert WorkObject.objects.of(draft.pk).get().state == "confirmed"
    row.refresh_from_db()
    verdict, _ = assert_allowed(draft, edit_row, **edit(draft, "object", row, source="P-2"))
    assert verdict.outcome.state == "recheck"


def test_a_tool_that_sealed_operations_keeps_its_name(draft):
    builders.a_row(draft, "operation")
    tool = ROWS["tool"].objects.of(draft.pk).get()
    assert_refused(draft, "row_in_use", edit_row, **edit(draft, "tool", tool, tool="cms.other"))
    assert_allowed(draft, edit_row, **edit(draft, "tool", tool, note="since spring"))
    assert draft.task_id
    unused = builders.a_row(draft, "tool", tool="cms.read")
    assert_allowed(draft, edit_row, **edit(draft, "tool", unused, tool="cms.list"))


def test_an_operation_that_an_approval_is_bound_to_keeps_its_key():
    document = documents.full_document()
    document["operations"][0].update(state="pending", generation=None, sent_at=None, tries=0)
    document["life"] = {**document["life"], "state": "draft"}
    team = builders.a_team()
    contract = builders.done(builders.created(team, builders.people.owner(team), document))
    row = Operation.objects.of(contract.pk).get()
    values = {name: row.facts()[name] for name in builders.EXAMPLES["operation"]}
    given = {"part": PARTS["operation"], "row_id": row.pk, "version": 1}
    changed = {**values, "parameters": '{"page": "label-2"}'}
    assert_refused(contract, "row_in_use", edit_row, **given, values=changed)
    assert_allowed(contract, edit_row, **given, values={**values, "expected": "one page, signed"})


# Removing and moving


@pytest.mark.parametrize(
    ("part", "user"),
    [
        ("attempt", "checkpoint"),
        ("source", "object"),
        ("source", "artefact"),
        ("tool", "operation"),
        ("object", "operation"),
    ],
)
def test_a_row_that_another_refers_to_stays(draft, part, user):
    builders.a_row(draft, user)
    row = ROWS[part].objects.of(draft.pk).get()
    given = {"part": PARTS[part], "row_id": row.pk, "version": row.version}
    verdict = assert_refused(draft, "row_in_use", remove_row, **given)
    assert PARTS[user].title in verdict.values["users"]


@pytest.mark.parametrize("part", ["source", "artefact"])
def test_the_version_before_becomes_current_when_the_current_one_is_removed(draft, part):
    builders.a_row(draft, part)
    second = builders.a_row(
        draft, part, version_label="2", **({"sha256": builders.B} if part == "source" else {})
    )
    given = {"part": PARTS[part], "row_id": second.pk, "version": 1}
    _, events = assert_allowed(draft, remove_row, **given)
    assert [event.act for event in events] == ["remove", "promoted"]
    assert ROWS[part].objects.of(draft.pk).get().current


def test_removing_an_older_version_promotes_nothing(draft):
    first = builders.a_row(draft, "source")
    builders.a_row(draft, "source", version_label="2", sha256=builders.B)
    _, events = assert_allowed(draft, remove_row, part=PARTS["source"], row_id=first.pk, version=2)
    assert [event.act for event in events] == ["remove"]


def test_moving_swaps_neighbours_both_ways(draft):
    for object_id in ("O-1", "O-2", "O-3"):
        builders.a_row(draft, "object", object_id=object_id)

    def order():
        return [row.object_id for row in WorkObject.objects.of(draft.pk)]

    first, _, third = [row.pk for row in WorkObject.objects.of(draft.pk)]
    part = PARTS["object"]
    assert_allowed(draft, move_row, part=part, row_id=first, down=True)
    assert order() == ["O-2", "O-1", "O-3"]
    assert_allowed(draft, move_row, part=part, row_id=third, down=False)
    assert order() == ["O-2", "O-3", "O-1"]
    assert_refused(draft, "nothing_to_move", move_row, part=part, row_id=first, down=True)


def test_rows_without_an_order_are_not_moved(draft):
    row = builders.a_row(draft, "attempt")
    assert_refused(draft, "row_gone", move_row, part=PARTS["attempt"], row_id=row.pk, down=True)


# Marks


def test_a_mark_is_set_once_and_taken_back(draft):
    assert_unchanged(draft, mark_section, section=Section.OWNER, complete=False)
    _, (event,) = assert_allowed(draft, mark_section, section=Section.OWNER, complete=True)
    assert (event.subject, event.before["complete"], event.after["complete"]) == ("owner", False, True)
    assert_unchanged(draft, mark_section, section=Section.OWNER, complete=True)
    verdict, _ = assert_allowed(draft, mark_section, section=Section.OWNER, complete=False)
    assert verdict.outcome.version == 2


# Grids


def planes(contract, **values):
    rows = list(PlaneRow.objects.of(contract.pk))
    return [Edit(row.pk, row.version, {"authority": f"postgres://{row.plane}", **values}) for row in rows]


def test_a_grid_is_saved_together_with_one_revision(draft):
    verdict, events = assert_allowed(draft, edit_rows, part=PARTS["plane"], edits=planes(draft))
    assert len(verdict.outcome) == len(events) == 5
    assert {row.version for row in PlaneRow.objects.of(draft.pk)} == {2}
    verdict = assert_unchanged(draft, edit_rows, part=PARTS["plane"], edits=planes(draft))
    assert len(verdict.outcome) == 5


def test_a_grid_stores_only_the_rows_that_changed(draft):
    first, *others = planes(draft)
    edits = [first, *(Edit(other.row_id, 1, {}) for other in others)]
    _, events = assert_allowed(draft, edit_rows, part=PARTS["plane"], edits=edits)
    assert [event.subject for event in events] == ["conversation"]


def test_one_bad_row_refuses_the_whole_grid(draft):
    first, second, *others = planes(draft)
    bad = Edit(second.row_id, 1, {"retention_days": "-1"})
    verdict = assert_refused(draft, "bad_values", edit_rows, part=PARTS["plane"], edits=[first, bad, *others])
    assert codes(verdict) == {(f"{second.row_id}:retention_days", "out_of_range")}


def test_a_stale_row_refuses_the_whole_grid_and_is_shown(draft):
    edits = planes(draft)
    assert_allowed(draft, edit_rows, part=PARTS["plane"], edits=edits[:1])
    verdict = assert_refused(draft, "stale_version", edit_rows, part=PARTS["plane"], edits=edits)
    assert verdict.outcome.pk == edits[0].row_id


def test_a_row_that_stands_twice_in_a_grid_is_refused(draft):
    first, *_ = planes(draft)
    twice = [first, Edit(first.row_id, 1, {"authority": "postgres://other"})]
    assert_refused(draft, "stale_version", edit_rows, part=PARTS["plane"], edits=twice)


def test_a_grid_is_closed_outside_draft(draft):
    edits = planes(force(draft, ContractState.RUNNING, deadline="2031-01-01T00:00Z"))
    assert_refused(draft, "not_open", edit_rows, part=PARTS["plane"], edits=edits)


def test_the_owner_gate_names_nobody_by_its_row(draft):
    gate = OwnerGate.objects.of(draft.pk).get()
    given = {"part": PARTS["gate"], "row_id": gate.pk, "version": 1}
    assert_refused(
        draft, "bad_values", edit_row, **given, values={"lease_seconds": "60", "renew_seconds": "60"}
    )
    assert_refused(draft, "fixed_row", remove_row, **given)


def test_after_draft_what_was_agreed_stays_and_results_come():
    paused = builders.a_paused()
    window = ROWS["window"].objects.of(paused.pk).first()
    given = {"part": PARTS["window"], "row_id": window.pk, "version": window.version}
    stands = {field.name: window.facts()[field.name] for field in PARTS["window"].given}
    verdict = assert_refused(paused, "bad_values", edit_row, **given, values={**stands, "setting": "Other"})
    assert codes(verdict) == {("setting", "agreed_in_draft")}
    result = {"verdict": "held", "run_at": "2030-03-01T10:00Z", "run_by": "otto", "evidence": "drills://1"}
    assert_allowed(paused, edit_row, **given, values={**stands, **result})
    work = ROWS["object"].objects.of(paused.pk).first()
    stands = {field.name: work.facts()[field.name] for field in PARTS["object"].given}
    given = {"part": PARTS["object"], "row_id": work.pk, "version": work.version}
    verdict = assert_refused(paused, "bad_values", edit_row, **given, values={**stands, "object_id": "O-9"})
    assert codes(verdict) == {("object_id", "agreed_in_draft")}
    assert_refused(paused, "not_open", remove_row, **given)


def test_a_passed_deadline_blocks_like_a_cancellation():
    paused = builders.a_paused()
    Contract.objects.filter(pk=paused.pk).update(deadline=database_now())
    assert_refused(paused, "deadline_passed", add_row, part=PARTS["source"], values=example("source"))
    work = ROWS["object"].objects.of(paused.pk).first()
    given = {"part": PARTS["object"], "row_id": work.pk}
    assert_refused(paused, "deadline_passed", edit_row, **given, version=work.version, values={})
    assert_refused(paused, "deadline_passed", move_row, **given, down=True)
    assert_refused(paused, "deadline_passed", mark_section, section=Section.LIMITS, complete=False)
    assert_refused(paused, "deadline_passed", change_objects, act=Act.BEGIN, object_ids=[work.object_id])
    assert_refused(paused, "deadline_passed", add_lines, part=PARTS["object"], lines=[{"object_id": "O-9"}])


@pytest.fixture
def reopened():
    """A contract that had left draft, with usage, and is a draft again."""
    paused = builders.a_paused()
    for part in ("attempt", "usage"):
        if not ROWS[part].objects.of(paused.pk).exists():
            builders.a_row(paused, part)
    operator = Actor("otto", ActorKind.OPERATOR)
    assert return_to_draft(contract_id=paused.pk, actor=operator, reason="A cap was wrong.").allowed
    paused.refresh_from_db()
    return paused


def test_what_was_recorded_before_stays_when_the_draft_is_open_again(reopened):
    row = ROWS["usage"].objects.of(reopened.pk).first()
    given = {"part": PARTS["usage"], "row_id": row.pk, "version": row.version}
    assert_refused(reopened, "record_stays", remove_row, **given)
    assert_refused(reopened, "record_stays", edit_row, **given, values=example("usage", amount="1"))


def test_an_agreed_cap_is_raised_by_an_operator_alone(reopened):
    limit = ROWS["limit"].objects.of(reopened.pk).filter(cap__isnull=False).exclude(measure="cost").first()
    given = {"part": PARTS["limit"], "row_id": limit.pk, "version": limit.version}
    for cap in (str(limit.cap + 1), ""):
        assert_refused(reopened, "cap_needs_operator", edit_row, **given, values={"cap": cap})
    operator = Actor("otto", ActorKind.OPERATOR)
    assert_allowed(reopened, edit_row, actor=operator, **given, values={"cap": str(limit.cap + 1)})
    given["version"] += 1
    assert_allowed(reopened, edit_row, **given, values={"cap": "1"})


def test_t65_a_changed_policy_is_another_version_once_something_is_bound_to_it(reopened):
    policy = ROWS["policy"].objects.of(reopened.pk).last()
    given = {"part": PARTS["policy"], "row_id": policy.pk, "version": policy.version}
    verdict, _ = assert_allowed(reopened, edit_row, **given, values={"quorum": "2"})
    assert verdict.outcome.number == policy.number + 1
    draft = builders.a_draft()
    first = ROWS["policy"].objects.of(draft.pk).last()
    given = {"part": PARTS["policy"], "row_id": first.pk, "version": first.version}
    verdict, _ = assert_allowed(draft, edit_row, **given, values={"quorum": "2"})
    assert verdict.outcome.number == 1

import pytest
from django.db import connection

from contracts.gates.creating import create_contract
from contracts.models import (
    CONTENT,
    ROWS,
    Contract,
    ContractGroupPermission,
    Event,
    ReservedTaskId,
    SectionMark,
    rights_of,
)
from contracts.rules.document import LISTS, check_document
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Measure, Plane, Right
from contracts.rules.windows import Window
from tests import builders, documents, people
from tests.gates.watching import events_of, snapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def rita(team):
    return people.reviewer(team)


def stored(contract):
    """Return a contract as the document that was given."""
    rows = {key: [row.facts() for row in ROWS[part].objects.of(contract.pk)] for key, part in LISTS.items()}
    (gate,) = (row.facts() for row in ROWS["gate"].objects.of(contract.pk))
    return {"identity": contract.facts(), "life": contract.life(), "gate": gate, **rows}


def erase(contract):
    """Delete a contract in the database itself, past every gate."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE contracts_event DISABLE TRIGGER event_is_final")
        for model in reversed(CONTENT):
            cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE contract_id = %s", [contract.pk])
        for table in ("contracts_contractuserpermission", "contracts_contractgrouppermission"):
            cursor.execute(f"DELETE FROM {table} WHERE content_object_id = %s", [contract.pk])
        cursor.execute("DELETE FROM contracts_usagetotal WHERE contract_id = %s", [contract.pk])
        cursor.execute("DELETE FROM contracts_contract WHERE id = %s", [contract.pk])
        cursor.execute("ALTER TABLE contracts_event ENABLE TRIGGER event_is_final")


def test_a_document_with_everything_is_stored_as_it_was_given(team, rita):
    document = documents.full_document(team=team)
    contract = builders.done(builders.created(team, rita, document))
    found = stored(contract)
    assert all(found[key] for key in LISTS)
    for key, given in found.items():
        expected = document[key]
        if isinstance(given, list):
            assert len(given) == len(expected), key
            for row, raw in zip(given, expected, strict=True):
                assert {name: row[name] for name in raw} == raw
                missing = {name: value for name, value in row.items() if name not in raw}
                part = PARTS[LISTS[key]]
                assert missing == {name: part.field(name).empty for name in missing}
        else:
            assert {name: given[name] for name in expected} == expected
    assert (contract.revision, contract.revised_at.isoformat()) == (7, "2030-01-04T08:00:00+00:00")
    marks = SectionMark.objects.of(contract.pk).filter(complete=True).values_list("section", flat=True)
    assert sorted(marks) == sorted(document["complete_sections"])


def test_a_small_document_gets_the_rows_every_contract_has(team, rita):
    contract = builders.a_draft(team, rita)
    counts = {part: model.objects.of(contract.pk).count() for part, model in ROWS.items()}
    fixed = {"plane": 5, "gate": 1, "policy": 1, "limit": 7, "window": 6}
    assert counts == {**dict.fromkeys(ROWS, 0), **fixed}
    assert [row.plane for row in ROWS["plane"].objects.of(contract.pk)] == [plane.value for plane in Plane]
    assert [row.measure for row in ROWS["limit"].objects.of(contract.pk)] == [m.value for m in Measure]
    assert [row.window for row in ROWS["window"].objects.of(contract.pk)] == [w.value for w in Window]
    assert (contract.state, contract.revision, contract.version, contract.generation) == ("draft", 1, 1, 0)


def test_rows_of_ones_own_follow_the_fixed_ones_unless_all_were_given(team, rita):
    own = {"window": "flood", "setting": "Water"}
    contract = builders.a_draft(team, rita, windows=[own, {"window": "two_resumes", "setting": "Two"}])
    names = [row.window for row in ROWS["window"].objects.of(contract.pk)]
    assert names == [*(window.value for window in Window), "flood"]
    moved = [own, *({"window": window.value} for window in reversed(Window))]
    contract = builders.a_draft(team, rita, windows=moved)
    assert [row.window for row in ROWS["window"].objects.of(contract.pk)] == [row["window"] for row in moved]


def test_the_first_event_tells_what_was_created(team, rita):
    contract = builders.a_complete_draft(team, rita)
    (event,) = events_of(contract)
    assert (event.act, event.actor, event.refused, event.before) == ("create", "rita", "", None)
    assert event.after["rows"]["window"] == 6
    assert event.after["identity"] == contract.facts()
    assert (contract.event_count, contract.event_head) == (1, event.hash)
    assert contract.revised_at == event.at


def test_the_creator_becomes_owner_and_the_team_gets_its_roles(team, rita):
    contract = builders.a_draft(team, rita)
    assert rights_of(rita, contract.pk) == {Right.VIEW, Right.FILL, Right.EXPORT, Right.SHARE}
    assert rights_of(people.viewer(team), contract.pk) == {Right.VIEW}
    assert rights_of(people.owner(team), contract.pk) == {Right.VIEW, Right.FILL}
    assert rights_of(people.curator(team), contract.pk) == {Right.VIEW, Right.DECIDE}
    assert rights_of(people.operator(team), contract.pk) == {Right.VIEW, Right.OPERATE}
    assert rights_of(people.exporter(team), contract.pk) == {Right.VIEW, Right.EXPORT}
    assert (
        rights_of(people.stranger(), contract.pk) == rights_of(people.neighbour(), contract.pk) == frozenset()
    )
    assert set(Contract.objects.visible_to(people.neighbour())) == set()
    assert list(Contract.objects.visible_to(people.viewer(team))) == [contract]


def test_a_team_without_some_role_group_can_still_create(team, rita):
    team.roles.filter(role="curator").delete()
    contract = builders.a_draft(team, rita)
    held = ContractGroupPermission.objects.filter(content_object=contract)
    assert set(held.values_list("group__team_role__role", flat=True)) == {
        "viewer",
        "reviewer",
        "operator",
        "exporter",
    }


@pytest.mark.parametrize("who", ["viewer", "curator", "operator", "exporter", "neighbour", "stranger"])
def test_only_a_reviewer_of_the_team_creates(team, who):
    person = people.stranger() if who == "stranger" else None
    person = person or (people.neighbour() if who == "neighbour" else getattr(people, who)(team))
    verdict = builders.created(team, person, builders.head("task-refused"))
    assert (verdict.allowed, verdict.code) == (False, "not_a_member")
    assert not Contract.objects.exists()
    assert not ReservedTaskId.objects.exists()


def test_a_bad_document_is_refused_with_every_problem(team, rita):
    verdict = builders.created(team, rita, {**builders.head(), "identity": {"title": ""}, "colour": "red"})
    assert (verdict.allowed, verdict.code) == (False, "bad_values")
    assert {problem.code for problem in verdict.problems} >= {"unknown_field"}
    assert not ReservedTaskId.objects.exists()


def test_the_same_id_with_the_same_plan_gives_the_contract_that_is_there(team, rita):
    document = documents.full_document(team=team)
    first = builders.created(team, rita, document).outcome
    before = snapshot(first)
    verdict = builders.created(team, people.owner(team), dict(reversed(document.items())))
    assert (verdict.allowed, verdict.code, verdict.outcome) == (True, "exists", first)
    assert snapshot(first) == before
    assert len(events_of(first)) == 1


def test_the_same_id_with_another_plan_is_refused_and_the_first_untouched(team, rita):
    first = builders.a_complete_draft(team, rita, task_id="task-taken")
    before = snapshot(first)
    verdict = builders.created(team, rita, builders.head("task-taken", team))
    assert (verdict.allowed, verdict.code, verdict.outcome) == (False, "task_id_taken", None)
    assert [problem.field for problem in verdict.problems] == ["task_id"]
    assert snapshot(first) == before
    assert Contract.objects.count() == 1


def test_another_teams_contract_is_not_given_out_even_for_the_same_plan(team, rita):
    document = builders.head("task-taken", team)
    builders.done(builders.created(team, rita, document))
    nora = people.neighbour()
    verdict = builders.created(builders.a_team("archive"), nora, document)
    assert (verdict.code, verdict.outcome) == ("task_id_taken", None)


def test_an_id_is_never_used_again_even_after_its_contract_is_gone(team, rita):
    document = documents.full_document("task-once", team)
    erase(builders.done(builders.created(team, rita, document)))
    assert not Contract.objects.exists()
    for again in (document, builders.head("task-once", team)):
        verdict = builders.created(team, rita, again)
        assert (verdict.allowed, verdict.code) == (False, "task_id_taken")
    assert not Event.objects.exists()


def change(document, key, **values):
    return {**document, key: [{**document[key][0], **values}, *document[key][1:]]}


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("approvals", {"decided_by": "label-worker"}),
        ("approvals", {"state": "rejected", "decision_reason": ""}),
        ("approvals", {"state": "stale"}),
        ("approvals", {"decided_by": ""}),
        ("approvals", {"scope": "everything"}),
        ("approvals", {"draft": "L-9"}),
        ("votes", {"decision": "pending"}),
        ("operations", {"generation": None}),
        ("objects", {"state": "skipped", "note": ""}),
        ("objects", {"source_sha256": builders.C}),
        ("sources", {"current": True}),
        ("attempts", {"generation": 2}),
    ],
)
def test_a_document_that_contradicts_itself_is_refused_whole(team, rita, key, values):
    document = change(documents.full_document("task-judged", team), key, **values)
    verdict = builders.created(team, rita, document)
    assert not verdict.allowed
    assert verdict.problems
    assert not ReservedTaskId.objects.exists()
    assert builders.created(team, rita, documents.full_document("task-judged", team)).code == "done"


def forced(team, person, part, **values):
    """Let a gate have a document in which one row was changed behind the back of its rules."""
    document = check_document(documents.full_document("task-forced", team))
    document.rows[part][0].update(values)
    return create_contract(user=person, actor=people.acting(person), team=team, document=document)


@pytest.mark.parametrize(
    ("part", "values", "code"),
    [
        ("approval", {"decided_by": "label-worker"}, "requester_cannot_decide"),
        ("source", {"current": True}, "one_current_source_version"),
        ("attempt", {"generation": 2}, "generation_once"),
        ("plane", {"plane": "dreams"}, "plane_is_known"),
    ],
)
def test_what_the_rules_let_pass_the_database_refuses_by_a_code(team, rita, part, values, code):
    verdict = forced(team, rita, part, **values)
    assert not verdict.allowed
    assert code in {verdict.code, *(problem.code for problem in verdict.problems)}
    assert not ReservedTaskId.objects.exists()
    assert not Contract.objects.exists()


@pytest.mark.parametrize(
    ("part", "values", "field"),
    [
        ("approval", {"draft": "L-9"}, "/approvals/0/draft"),
        ("object", {"source_sha256": builders.C}, "/objects/0/source"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_and_never_dropped(team, rita, part, values, field):
    verdict = forced(team, rita, part, **values)
    assert (verdict.allowed, verdict.code) == (False, "bad_values")
    assert [(problem.field, problem.code) for problem in verdict.problems] == [(field, "unknown_reference")]
    assert not ReservedTaskId.objects.exists()


def test_an_approval_of_a_call_without_a_draft_is_stored(team, rita):
    document = documents.full_document(team=team)
    document = change(document, "approvals", draft="", draft_version="", draft_sha256="")
    contract = builders.done(builders.created(team, rita, document))
    assert ROWS["approval"].objects.of(contract.pk).get().draft is None


def test_of_two_versions_with_one_label_the_one_with_the_checksum_is_meant(team, rita):
    document = documents.full_document(team=team)
    first, second = document["sources"]
    document["sources"] = [{**first, "version_label": "2"}, second]
    for key in ("objects", "artefacts"):
        document = change(document, key, source_sha256=builders.A)
    contract = builders.done(builders.created(team, rita, document))
    assert ROWS["object"].objects.of(contract.pk).get().facts()["source_sha256"] == builders.A
    assert ROWS["artefact"].objects.of(contract.pk).get().facts()["source_sha256"] == builders.A


def test_an_approval_is_bound_to_the_very_draft_version_it_names(team, rita):
    document = documents.full_document(team=team)
    later = {
        **document["artefacts"][0],
        "version_label": "2",
        "inline_text": "Other words.",
        "sha256": "",
        "size_bytes": None,
    }
    document["artefacts"] = [{**document["artefacts"][0], "current": False}, later]
    contract = builders.done(builders.created(team, rita, document))
    approval = ROWS["approval"].objects.of(contract.pk).get()
    assert (approval.draft.version_label, approval.operation.key) == ("1", approval.operation_key)

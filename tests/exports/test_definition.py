import json
from datetime import UTC, datetime, timedelta

import jsonschema_rs
import pytest

from contracts.exports.definition import CASE_LANGUAGES, CASES, blank, case, definition_of
from contracts.exports.schema import contract_schema
from contracts.gates.lifecycle import leave_draft
from contracts.models import gather_progress
from contracts.rules.completeness import missing_things
from contracts.rules.document import check_document
from contracts.rules.rows import RESULT_FIELDS
from contracts.rules.vocabulary import Section
from tests import builders, documents, people
from tests.exports.telling import as_text, store

NOW = datetime(2029, 3, 31, 13, 47, 12, 345, tzinfo=UTC)
EVERY_CASE = pytest.mark.parametrize(
    ("name", "language"), [(name, language) for name in CASES for language in CASE_LANGUAGES]
)


@EVERY_CASE
def test_each_case_is_a_document_without_problems(name, language):
    raw = case(name, language, NOW)
    assert check_document(raw).problems == []
    assert check_document(raw, task_id="of-my-own").problems == []
    assert [str(error) for error in jsonschema_rs.validator_for(contract_schema()).iter_errors(raw)] == []
    assert raw["task_id"] == name


@EVERY_CASE
def test_each_case_is_a_week_before_its_deadline_and_lies_in_the_past_otherwise(name, language):
    raw = case(name, language, NOW)
    assert raw["revised_at"] == "2029-03-31T13:00:00.000000Z"
    assert raw["identity"]["deadline"] == "2029-04-07T13:00:00.000000Z"
    for attempt in raw["attempts"]:
        assert datetime.fromisoformat(attempt["ended_at"]) < NOW
    for source in raw["objects"]:
        assert source["settled_at"] is None or datetime.fromisoformat(source["settled_at"]) < NOW


@EVERY_CASE
def test_no_case_invents_a_result_of_a_drill(name, language):
    for window in case(name, language, NOW)["windows"]:
        assert window["setting"]
        assert not any(window[field] for field in RESULT_FIELDS)


@pytest.mark.parametrize("name", CASES)
def test_a_case_differs_between_languages_in_words_alone(name):
    english, chinese = (case(name, language, NOW) for language in CASE_LANGUAGES)
    for key, rows in english.items():
        if isinstance(rows, list):
            assert len(rows) == len(chinese[key]), key
    assert json.dumps(chinese, ensure_ascii=False).isascii() is False
    assert json.dumps(english, ensure_ascii=False).replace("’", "").isascii()


@pytest.mark.django_db
@pytest.mark.parametrize("language", CASE_LANGUAGES)
def test_the_archive_is_complete_and_leaves_draft(language):
    now = datetime.now(UTC)
    contract = store(case("archive-photographs", language, now))
    assert len(case("archive-photographs", language, now)["objects"]) >= 12
    verdict = leave_draft(contract_id=contract.pk, actor=people.acting(people.owner(contract.team)))
    assert (verdict.code, verdict.outcome.state) == ("done", "paused")


@pytest.mark.django_db
@pytest.mark.parametrize("language", CASE_LANGUAGES)
def test_the_museum_label_lacks_exactly_two_things(language):
    contract = store(case("museum-label", language, datetime.now(UTC)))
    missing = missing_things(gather_progress(contract), now=datetime.now(UTC))
    found = [(thing.section, thing.code) for thing in missing]
    assert found == [
        (Section.LIMITS, "empty"),
        (Section.LIMITS, "not_marked"),
        (Section.OWNER, "empty"),
        (Section.OWNER, "not_marked"),
    ]
    assert "label-case-7" in as_text(contract)


@pytest.mark.parametrize(("name", "language"), [("museum-label", "de"), ("../secrets", "en")])
def test_there_is_no_other_case(name, language):
    with pytest.raises(KeyError):
        case(name, language, NOW)


@pytest.mark.django_db
def test_a_blank_document_can_be_created():
    assert store(blank("a-blank-one", "labels", "A title")).title == "A title"


@pytest.mark.django_db
def test_a_copy_holds_what_is_agreed_and_nothing_that_happened():
    raw = documents.full_document()
    raw["windows"][0] |= {
        "verdict": "held",
        "run_at": builders.NEAR["start"],
        "run_by": "otto",
        "evidence": "logs://9",
    }
    origin = store(raw)
    copy = definition_of(origin)
    document = check_document(copy, task_id="the-copy")
    assert document.problems == []
    assert set(copy) >= {"planes", "tools", "limits", "windows", "objects", "sources", "gate", "policies"}
    assert not {
        "attempts",
        "checkpoints",
        "journal",
        "artefacts",
        "operations",
        "approvals",
        "usage",
        "life",
    } & set(copy)
    made = store(copy, "the-copy")
    assert (made.state, made.revision, made.generation) == ("draft", 1, 0)
    assert made.deadline == origin.deadline
    assert "[marked complete]" not in as_text(made)
    told = definition_of(made)
    assert {row.get("state", "pending") for row in told["objects"]} == {"pending"}
    assert [policy["number"] for policy in told["policies"]] == [1]
    assert all(not window.get("verdict") for window in told["windows"])


def test_a_case_moves_all_times_by_one_span():
    earlier, later = (case("museum-label", "en", NOW + timedelta(days=days)) for days in (0, 3))
    spans = {
        datetime.fromisoformat(second["used_at"]) - datetime.fromisoformat(first["used_at"])
        for first, second in zip(earlier["usage"], later["usage"], strict=True)
    }
    assert spans == {timedelta(days=3)}

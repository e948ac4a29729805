from datetime import UTC, datetime, timedelta

import pytest

from contracts.rules.ledger import (
    ASKED,
    DECIDED,
    REPORT,
    AskedForm,
    Decided,
    Reported,
    asked_amiss,
    record_of,
)
from contracts.rules.resume_rows import read_asked
from contracts.rules.rows import check_row
from contracts.rules.states import OperationState

NOW = datetime(2030, 1, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FORM = AskedForm("found", NOW - HOUR, "cms://pages?key=1")


def clean(form):
    checked = check_row(ASKED, form.raw())
    assert not checked.problems
    return checked.values


def test_what_is_reported_and_decided_is_a_state_of_an_operation():
    states = {state.value: state.label for state in OperationState}
    assert {word.value: word.label for word in (*Reported, *Decided)}.items() <= states.items()


def test_a_moment_may_come_as_text_or_as_a_moment():
    text = AskedForm("found", "2030-01-02T11:00:00Z", "cms://pages?key=1")
    assert clean(text) == clean(FORM)


def test_the_record_of_an_asking_is_read_back_as_it_was_told():
    form = AskedForm(
        "absent",
        NOW - HOUR,
        "cms://pages?key=1",
        count=0,
        announced_generation=4,
        announced_at=NOW - 2 * HOUR,
    )
    record = record_of(clean(form), asked_by="w", generation=4, certified_at=NOW)
    asked = read_asked(record)
    assert asked is not None
    assert (asked.answer, asked.at, asked.generation, asked.count) == ("absent", NOW - HOUR, 4, 0)
    assert (asked.announced, asked.announced_at, asked.certified_at) == (4, NOW - 2 * HOUR, NOW)
    bare = read_asked(record_of(clean(FORM), asked_by="w", generation=None, certified_at=None))
    assert bare is not None
    assert (bare.generation, bare.announced_at, bare.certified_at) == (None, None, None)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, ""),
        ({"asked_at": NOW}, ""),
        ({"asked_at": NOW - 2 * HOUR}, ""),
        ({"asked_at": NOW + timedelta(microseconds=1)}, "asked_at_wrong"),
        ({"asked_at": NOW - 2 * HOUR - timedelta(microseconds=1)}, "asked_at_wrong"),
        ({"announced_generation": 4}, "announcement_incomplete"),
        ({"announced_at": NOW}, "announcement_incomplete"),
        ({"announced_generation": 4, "announced_at": NOW}, ""),
        ({"announced_generation": 5, "announced_at": NOW}, "announcement_wrong"),
        ({"announced_generation": 4, "announced_at": NOW + HOUR}, "announcement_wrong"),
    ],
)
def test_an_asking_lies_between_the_sending_and_now(given, code):
    values = {**clean(FORM), **given}
    assert asked_amiss(values, since=NOW - 2 * HOUR, generation=4, now=NOW) == code


@pytest.mark.parametrize("part", [REPORT, ASKED, DECIDED])
def test_no_credential_enters_with_what_is_told(part):
    text = next(field.name for field in part.fields if field.kind.name == "TEXT")
    checked = check_row(part, {text: "ghp_" + "a1B2" * 9})
    assert text in {problem.field for problem in checked.problems if problem.code == "credential"}

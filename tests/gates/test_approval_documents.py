"""What a document may say of decisions: who asked, wrote or edited has not decided, and nothing leads nowhere."""

import json

import pytest

from contracts.models import Approval
from contracts.rules.document import check_document
from tests import builders, documents
from tests.exports.telling import as_json, store

pytestmark = pytest.mark.django_db


def problems(raw):
    return [(problem.field, problem.code) for problem in check_document(raw).problems]


def a_document(*, lenient=False, **approval):
    raw = documents.full_document(builders.a_task_id())
    raw["approvals"][0] |= approval
    raw["policies"][0]["author_may_decide"] = lenient
    return raw


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("rita", "author_cannot_decide"),
        ("olga", "author_cannot_decide"),
        ("label-worker", "requester_cannot_decide"),
    ],
)
def test_who_asked_wrote_or_edited_has_decided_in_no_document(name, code):
    assert problems(a_document(decided_by=name)) == [("/approvals/0/decided_by", code)]
    voted = a_document()
    voted["votes"][0]["decider"] = name
    assert problems(voted) == [("/votes/0/decider", code)]


@pytest.mark.parametrize("name", ["rita", "olga"])
def test_where_the_policy_of_that_time_let_the_author_decide_it_is_taken_over(name):
    raw = a_document(lenient=True, decided_by=name)
    assert problems(raw) == []
    assert Approval.objects.get(contract=store(raw)).decided_by == name
    assert problems(a_document(lenient=True, decided_by=name, policy_number=2)) == [
        ("/approvals/0/decided_by", "author_cannot_decide")
    ]


def test_nobody_is_barred_for_an_empty_name():
    raw = a_document(author="", last_editor="")
    assert problems(raw) == []


def test_a_vote_on_no_item_is_reported_once():
    raw = a_document()
    raw["votes"][0]["item"] = "I-9"
    assert problems(raw) == [("/votes/0/item", "unknown_reference")]


def test_what_was_passed_on_refers_to_an_item_and_comes_back_as_it_left():
    raw = a_document(passed_from="I-9", passed_to="carla")
    assert problems(raw) == [("/approvals/0/passed_from", "unknown_reference")]
    first = {**raw["approvals"][0], "item_id": "I-9", "state": "expired", "passed_from": "", "passed_to": ""}
    first |= dict.fromkeys(("decided_at", "consumed_at", "consumed_generation"))
    first |= dict.fromkeys(("decided_by", "decision_reason"), "")
    raw["approvals"].insert(0, first)
    exported = as_json(store(raw))
    row = next(row for row in json.loads(exported)["approvals"] if row["item_id"] == "I-1")
    assert (row["passed_from"], row["passed_to"]) == ("I-9", "carla")
    assert problems(json.loads(exported)) == []

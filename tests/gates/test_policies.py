"""The rules of deciding change by an act of their own, as another version; nothing bound to the former holds."""

import pytest

from contracts.gates.approving import decide
from contracts.gates.lifecycle import return_to_draft
from contracts.gates.policies import change_policy
from contracts.gates.requesting import request_approval
from contracts.gates.rows import edit_row
from contracts.models import Approval, ApprovalPolicy
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, force

pytestmark = pytest.mark.django_db
POLICY = PARTS["policy"]
OTTO = {"reason": "Two pairs of eyes."}


def in_force(contract):
    return ApprovalPolicy.objects.of(contract.pk).last()


def change(contract, **values):
    row = in_force(contract)
    facts = {field.name: row.facts()[field.name] for field in POLICY.given}
    return {"version": row.version, "values": {**facts, **values}, **OTTO}


def test_a_change_is_another_version_and_open_items_go_stale():
    waiting = builders.a_waiting_item()
    contract = waiting.contract
    approved = builders.a_decided_item(builders.a_call(contract, step="again"))
    verdict, events = assert_allowed(contract, change_policy, **change(contract, quorum=2))
    assert (verdict.outcome.number, verdict.outcome.quorum) == (2, 2)
    assert list(ApprovalPolicy.objects.of(contract.pk).values_list("number", "quorum")) == [(1, 1), (2, 2)]
    for item in (waiting, approved):
        item.refresh_from_db()
        assert (item.state, item.stale_member, item.stale_was, item.stale_now) == (
            "stale",
            "policy_number",
            "1",
            "2",
        )
    assert [event.act for event in events] == ["change_policy", "tuple_changed", "tuple_changed"]
    assert (events[0].before["quorum"], events[0].after["reason"]) == (1, "Two pairs of eyes.")
    carla = people.curator(contract.team)
    assert_refused(contract, "item_stale", decide, **word(waiting, carla))
    asked, _ = assert_allowed(
        contract, request_approval, actor=WORKER, operation_key=waiting.operation_key, reason="Again."
    )
    assert asked.outcome.policy_number == 2


def test_what_stands_already_changes_nothing():
    item = builders.a_waiting_item()
    assert_unchanged(item.contract, change_policy, **change(item.contract))
    item.refresh_from_db()
    assert item.state == "pending"


def test_of_two_changes_the_second_is_shown_the_first():
    contract = builders.a_paused()
    late = change(contract, quorum=3)
    assert_allowed(contract, change_policy, **change(contract, quorum=2))
    verdict = assert_refused(contract, "stale_version", change_policy, **late)
    assert (verdict.outcome.number, verdict.outcome.quorum) == (2, 2)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"quorum": 0}, "bad_values"),
        ({"on_timeout": "approve"}, "bad_values"),
        ({"on_timeout": ""}, "bad_values"),
        ({"quorum": ""}, "bad_values"),
        ({"quorum": None}, "bad_values"),
        ({"login_fresh_seconds": " "}, "bad_values"),
        ({"default_expiry_hours": 80, "longest_expiry_hours": 72}, "bad_values"),
        ({"on_timeout": "pass_on", "pass_on_to": "", "pass_on_hours": 4}, "bad_values"),
        ({"on_timeout": "pass_on", "pass_on_to": "nobody", "pass_on_hours": 4}, "no_such_recipient"),
        ({"on_timeout": "pass_on", "pass_on_to": "rita", "pass_on_hours": 4}, "no_such_recipient"),
        ({"on_timeout": "pass_on", "pass_on_to": "reviewer", "pass_on_hours": 4}, "no_such_recipient"),
        ({"decisions": []}, "bad_values"),
    ],
)
def test_t15_a_policy_that_does_not_hold_is_not_stored(values, code):
    contract = builders.a_paused()
    people.curator(contract.team)
    people.reviewer(contract.team)
    assert_refused(contract, code, change_policy, **change(contract, **values))


@pytest.mark.parametrize("to", ["carla", "curator"])
def test_passing_on_names_a_person_or_a_role_that_may_decide(to):
    contract = builders.a_paused()
    people.curator(contract.team)
    given = change(contract, on_timeout="pass_on", pass_on_to=to, pass_on_hours=4)
    assert assert_allowed(contract, change_policy, **given)[0].outcome.pass_on_to == to


def test_a_change_has_a_reason_and_a_contract_in_use():
    contract = builders.a_paused()
    given = change(contract, quorum=2)
    assert_refused(contract, "reason_missing", change_policy, **{**given, "reason": " "})
    draft = builders.a_draft()
    assert_refused(draft, "not_open", change_policy, **change(draft, quorum=2))
    force(contract, ContractState.CANCELLED)
    assert_refused(contract, "not_open", change_policy, **given)


def test_where_no_policy_is_there_is_nothing_to_change():
    contract = builders.a_paused()
    given = change(contract, quorum=2)
    ApprovalPolicy.objects.filter(contract=contract).delete()
    assert_refused(contract, "policy_unreadable", change_policy, **given)


def test_in_draft_a_first_policy_is_edited_in_place_and_an_agreed_one_is_followed():
    contract = builders.a_complete_draft()
    row = in_force(contract)
    given = {"part": POLICY, "row_id": row.pk, "version": row.version}
    facts = {field.name: row.facts()[field.name] for field in POLICY.given}
    assert_allowed(contract, edit_row, **given, values={**facts, "quorum": 2})
    assert list(ApprovalPolicy.objects.of(contract.pk).values_list("number", "quorum")) == [(1, 2)]


def test_a_former_version_is_never_edited_again():
    item = builders.a_waiting_item()
    contract = item.contract
    former = in_force(contract)
    assert return_to_draft(contract_id=contract.pk, actor=builders.WORKER, reason="Reworked.").allowed
    facts = {field.name: former.facts()[field.name] for field in POLICY.given}
    given = {"part": POLICY, "row_id": former.pk, "version": former.version, "values": {**facts, "quorum": 2}}
    assert_allowed(contract, edit_row, **given)
    item.refresh_from_db()
    assert (item.state, item.stale_member) == ("stale", "policy_number")
    verdict = assert_refused(contract, "stale_version", edit_row, **given)
    assert (verdict.outcome.number, verdict.outcome.quorum) == (2, 2)
    former.refresh_from_db()
    assert former.quorum == 1
    assert Approval.objects.get(pk=item.pk).policy_number == 1

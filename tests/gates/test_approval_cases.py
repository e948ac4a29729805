"""Faults met elsewhere, as far as gates and the database can show them (the numbers are those of the list)."""

import json
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.requesting import request_approval
from contracts.gates.sending import dispatch
from contracts.models import Approval, ApprovalVote, Contract, Operation
from contracts.rules.vocabulary import Actor, ActorKind, Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.exports.telling import as_json, as_text
from tests.gates.watching import assert_allowed, assert_refused, own

pytestmark = pytest.mark.django_db


def carla(item):
    return people.curator(item.contract.team)


def sending(item, contract):
    return {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}


def broken(write):
    """Return the name of the constraint, or the column that is not null, that `write` breaks."""
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        write()
    diag = caught.value.__cause__.diag
    return diag.constraint_name or diag.column_name


def test_t06_yes_then_no_is_yes_and_the_second_sees_it():
    item = builders.a_waiting_item()
    assert_allowed(item.contract, decide, **word(item, carla(item), reason="Reads well."))
    dora = people.person("dora", item.contract.team, Role.CURATOR)
    verdict = assert_refused(item.contract, "already_decided", decide, **word(item, dora, "rejected"))
    stored = verdict.outcome
    assert (stored.state, stored.decided_by, stored.decision_reason) == ("approved", "carla", "Reads well.")


def test_t09_who_decides_is_who_is_logged_in_whatever_a_worker_says():
    item = builders.a_waiting_item()
    for kind in (ActorKind.WORKER, ActorKind.SYSTEM):
        claimed = word(item, carla(item), actor=Actor("carla", kind))
        assert_refused(item.contract, "workers_never_decide", decide, **claimed)
    assert_allowed(item.contract, decide, **word(item, carla(item)))
    item.refresh_from_db()
    assert (item.decided_by, ApprovalVote.objects.get(approval=item).decider) == ("carla", "carla")


@pytest.mark.parametrize(
    ("given", "field", "code"),
    [
        ({"reason": ""}, "reason", "missing"),
        ({"reason": " \n"}, "reason", "missing"),
        ({"hours": 0}, "hours", "expiry_out_of_range"),
        ({"hours": 73}, "hours", "expiry_out_of_range"),
        ({"draft_id": "L-9"}, "draft", "unknown_reference"),
        ({"operation_key": ""}, "operation_key", "no_such_operation"),
        ({"actor": Actor("", ActorKind.WORKER)}, "requester", "missing"),
        ({"actor": Actor(" ", ActorKind.WORKER)}, "requester", "missing"),
    ],
)
def test_t10_a_request_that_lacks_a_member_is_not_stored_and_names_it(given, field, code):
    call = builders.a_call()
    known = {"actor": WORKER, "operation_key": call.key, "reason": "Ready.", "draft_id": "L-1"}
    refused = "bad_values" if code in ("missing", "unknown_reference") else code
    verdict = assert_refused(call.contract, refused, request_approval, **{**known, **given})
    assert [(problem.field, problem.code) for problem in verdict.problems] == [(field, code)]
    assert not Approval.objects.filter(contract=call.contract).exists()


TUPLE = "approval_names_requester_reason_fingerprint"


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"requester": ""}, TUPLE),
        ({"reason": ""}, TUPLE),
        ({"fingerprint": ""}, TUPLE),
        ({"fingerprint": "x" * 64}, TUPLE),
        ({"expires_at": None}, "expires_at"),
        ({"task_deadline": None}, "task_deadline"),
        ({"policy_number": None}, "policy_number"),
        ({"target": None}, "target"),
        ({"operation": None}, "operation_id"),
        ({"state": "approved"}, "decision_names_who_and_when"),
        ({"state": "maybe"}, "approval_state_is_known"),
        ({"state": "stale"}, "stale_item_names_the_member"),
        ({"scope": "all_later_calls"}, "no_blanket_scope"),
        ({"scope": ""}, "no_blanket_scope"),
    ],
)
def test_t10_t18_t63_no_program_stores_an_item_that_lacks_a_member_or_covers_more(columns, name):
    item = builders.a_waiting_item()
    assert broken(lambda: Approval.objects.filter(pk=item.pk).update(**columns)) == name


def test_t63_a_contract_that_waits_has_a_deadline():
    item = builders.a_waiting_item()
    contracts = Contract.objects.filter(pk=item.contract_id)
    assert broken(lambda: contracts.update(deadline=None)) == "deadline_needed_outside_draft"


def test_t18_a_yes_for_one_call_is_none_for_the_next_and_a_no_always_wins():
    item = builders.a_decided_item()
    contract = item.contract
    following = builders.a_call(contract, step="again", parameters='{"page": "label-1"}')
    own(contract)
    assert_refused(
        contract,
        "not_approved",
        dispatch,
        actor=WORKER,
        operation_key=following.key,
        generation=contract.generation,
    )
    quorum = builders.a_waiting_item(policy={"quorum": 2})
    dora = people.person("dora", contract.team, Role.CURATOR)
    assert_allowed(quorum.contract, decide, **word(quorum, carla(quorum)))
    assert_allowed(quorum.contract, decide, **word(quorum, dora, "rejected"))
    quorum.refresh_from_db()
    assert (quorum.state, quorum.decided_by) == ("rejected", "dora")
    assert Operation.objects.get(pk=quorum.operation_id).state == "abandoned"


def test_t44_a_new_draft_under_the_old_key_inherits_no_decision():
    item = builders.a_decided_item()
    contract = item.contract
    builders.a_row(contract, "artefact", version_label="2", inline_text="Fired clay, 1931.")
    own(contract)
    assert_refused(contract, "item_stale", dispatch, **sending(item, contract))
    again, _ = assert_allowed(
        contract,
        request_approval,
        actor=WORKER,
        operation_key=item.operation_key,
        reason="With the date.",
        draft_id="L-1",
    )
    assert (again.outcome.state, again.outcome.draft_version) == ("pending", "2")
    assert_refused(contract, "not_approved", dispatch, **sending(item, contract))
    assert_allowed(contract, decide, **word(again.outcome, carla(item)))
    assert_allowed(contract, dispatch, **sending(item, contract))


@pytest.mark.parametrize("decision", ["approved", "rejected"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_t49_t62_what_leaves_tells_who_decided_what_when_why_and_on_which_version(decision, language):
    item = builders.a_waiting_item()
    assert_allowed(item.contract, decide, **word(item, carla(item), decision, reason="It says 1931."))
    item.refresh_from_db()
    text = as_text(item.contract, language)
    for told in (
        item.item_id,
        item.decision_reason,
        item.decided_by,
        item.decided_at.strftime("%Y-%m-%d %H:%M"),
        item.draft_version,
        item.draft_sha256,
        item.fingerprint,
        item.requester,
        item.reason,
    ):
        assert told in text
    words = {
        ("approved", "en"): "Approved",
        ("rejected", "en"): "Rejected",
        ("approved", "zh-hans"): "已批准",
    }
    assert ("Kind of decider: Person" if language == "en" else "人员") in text
    assert words.get((decision, language), "已拒绝") in text
    row = json.loads(as_json(item.contract))["approvals"][0]
    assert (row["state"], row["decided_by"], row["decision_reason"]) == (decision, "carla", "It says 1931.")
    assert (row["fingerprint"], row["draft_version"], row["policy_number"]) == (item.fingerprint, "1", 1)
    vote = json.loads(as_json(item.contract))["votes"][0]
    assert (vote["decider"], vote["decision"], vote["reason"]) == ("carla", decision, "It says 1931.")


def test_t59_t62_what_nobody_decided_leaves_without_a_name():
    item = builders.a_waiting_item()
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now() - timedelta(hours=1))
    decide(contract_id=item.contract_id, **word(item, carla(item)))
    row = json.loads(as_json(item.contract))["approvals"][0]
    assert (row["state"], row["decided_by"], row["decided_at"], row["decision_reason"]) == (
        "expired",
        "",
        None,
        "",
    )
    assert "carla" not in as_text(item.contract)


def test_t65_an_approval_of_another_text_under_the_same_label_is_stale():
    item = builders.a_decided_item()
    contract = item.contract
    builders.a_row(contract, "artefact", version_label="1", inline_text="Fired clay, 1931.")
    item.refresh_from_db()
    assert (item.state, item.stale_member) == ("stale", "draft_sha256")
    own(contract)
    assert_refused(contract, "item_stale", dispatch, **sending(item, contract))

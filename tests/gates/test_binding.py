"""Whatever changes a member of the tuple lets the open items go stale in its own transaction, and names it."""

from datetime import timedelta

import pytest

from contracts.gates.approving import decide, record_refusal
from contracts.gates.beats import database_now
from contracts.gates.binding import Present, touches_a_binding
from contracts.gates.lifecycle import cancel, return_to_draft
from contracts.gates.objects import add_lines
from contracts.gates.requesting import request_approval, withdraw
from contracts.gates.rows import edit_row, remove_row
from contracts.gates.sending import dispatch
from contracts.models import Approval, ApprovalVote, Artefact, Contract, Operation, ToolContract
from contracts.rules.approving import MEMBERS
from contracts.rules.parts import PARTS
from contracts.rules.refusals import refusal
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import ACTOR, assert_allowed, assert_refused, events_of, force, own

pytestmark = pytest.mark.django_db


def facts(row, part):
    return {field.name: row.facts()[field.name] for field in PARTS[part].given}


def edit(contract, part, row, **values):
    given = {"part": PARTS[part], "row_id": row.pk, "version": row.version}
    return edit_row(contract_id=contract.pk, actor=ACTOR, **given, values={**facts(row, part), **values})


def by_new_draft(item):
    builders.a_row(item.contract, "artefact", version_label="2", inline_text="Fired clay, 1931.")


def by_pasted_draft(item):
    line = {**builders.EXAMPLES["artefact"], "version_label": "2", "inline_text": "Fired clay, 1931."}
    builders.done(add_lines(contract_id=item.contract_id, actor=ACTOR, part=PARTS["artefact"], lines=[line]))


def by_deadline(item):
    builders.done(return_to_draft(contract_id=item.contract_id, actor=ACTOR, reason="Reworked."))
    contract = Contract.objects.get(pk=item.contract_id)
    builders.done(edit(contract, "identity", contract, deadline="2031-06-30T18:00:00.000000Z"))


def by_cancelling(item):
    builders.done(cancel(contract_id=item.contract_id, actor=ACTOR, reason="Called off."))


def by_removing_the_draft(item):
    builders.done(return_to_draft(contract_id=item.contract_id, actor=ACTOR, reason="Reworked."))
    builders.a_row(item.contract, "artefact", version_label="2", inline_text="Fired clay, 1931.")


CHANGES = {
    "a new draft": (by_new_draft, "draft_version", "1", "2"),
    "a pasted draft": (by_pasted_draft, "draft_version", "1", "2"),
    "another deadline": (
        by_deadline,
        "task_deadline",
        "2031-05-31T18:00:00+00:00",
        "2031-06-30T18:00:00+00:00",
    ),
    "cancelling": (by_cancelling, "cancelled", "", "olga: Called off."),
    "a draft in draft": (by_removing_the_draft, "draft_version", "1", "2"),
}


@pytest.mark.parametrize("decided", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_t51_t65_a_change_makes_open_items_stale_at_once(name, decided):
    change, member, was, now = CHANGES[name]
    item = builders.a_decided_item() if decided else builders.a_waiting_item()
    change(item)
    item.refresh_from_db()
    assert (item.state, item.stale_member, item.stale_was, item.stale_now) == ("stale", member, was, now)
    told = [event for event in events_of(item.contract) if event.act == "tuple_changed"]
    assert [event.after["stale_member"] for event in told] == [member]
    verdict = assert_refused(
        item.contract, "already_decided" if decided else "item_stale", decide, **word(item, carla(item))
    )
    assert decided or verdict.values == {"member": MEMBERS[member]}


def carla(item):
    return people.curator(item.contract.team)


def test_t52_what_is_saved_again_unchanged_keeps_every_item():
    waiting = builders.a_waiting_item()
    contract = waiting.contract
    approved = builders.a_decided_item(builders.a_call(contract, step="again"))
    draft = Artefact.objects.joined().get(contract=contract)
    assert edit(contract, "artefact", draft).code == "unchanged"
    operation = Operation.objects.joined().get(pk=waiting.operation_id)
    operation.save()
    draft.save()
    for item in (waiting, approved):
        item.refresh_from_db()
    assert (waiting.state, approved.state) == ("pending", "approved")
    assert_allowed(contract, decide, **word(waiting, carla(waiting)))


def test_a_note_in_the_draft_row_is_no_member():
    item = builders.a_waiting_item()
    draft = Artefact.objects.joined().get(contract=item.contract)
    assert edit(item.contract, "artefact", draft, note="Seen by the designer.").code == "done"
    item.refresh_from_db()
    assert item.state == "pending"


def test_t20_the_same_operation_with_other_parameters_is_not_covered():
    item = builders.a_decided_item()
    from contracts.rules.fingerprint import fingerprint

    other = {"page": "label-2"}
    Operation.objects.filter(pk=item.operation_id).update(parameters=other, fingerprint=fingerprint(other))
    contract = own(item.contract)
    given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    verdict = dispatch(contract_id=contract.pk, **given)
    fresh = Approval.objects.get(pk=item.pk)
    assert (verdict.code, verdict.values) == ("item_stale", {"member": MEMBERS["fingerprint"]})
    assert (fresh.state, fresh.stale_member) == ("stale", "fingerprint")
    assert (fresh.stale_was, fresh.stale_now) == (item.fingerprint, fingerprint(other))
    assert Operation.objects.get(pk=item.operation_id).state == "pending"
    assert_refused(contract, "item_stale", dispatch, **given)


def test_t19_using_either_sends_or_names_the_one_member_that_differs():
    item = builders.a_decided_item()
    contract = own(item.contract)
    given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    ToolContract.objects.filter(contract=contract).update(tool="cms.print")
    verdict = dispatch(contract_id=contract.pk, **given)
    assert (verdict.code, verdict.values) == ("item_stale", {"member": MEMBERS["tool"]})
    ToolContract.objects.filter(contract=contract).update(tool="cms.publish")
    asked, _ = assert_allowed(
        contract,
        request_approval,
        actor=WORKER,
        operation_key=item.operation_key,
        reason="Again.",
        draft_id="L-1",
    )
    assert_allowed(contract, decide, **word(asked.outcome, carla(item)))
    assert_allowed(contract, dispatch, **given)


def test_who_asks_instead_of_another_is_another_member():
    item = builders.a_waiting_item()
    second = builders.a_waiting_item(item.operation, actor=Actor("rita"))
    item.refresh_from_db()
    assert (item.state, item.stale_member, item.stale_was, item.stale_now) == (
        "stale",
        "requester",
        "label-writer",
        "rita",
    )
    assert second.state == "pending"


def test_what_is_approved_already_is_not_asked_again_until_it_is_out_of_time():
    item = builders.a_decided_item()
    given = {"operation_key": item.operation_key, "reason": "Again.", "draft_id": "L-1"}
    for actor in (WORKER, Actor("rita")):
        verdict = assert_refused(item.contract, "approval_stands", request_approval, actor=actor, **given)
        assert verdict.outcome == item
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
    assert_allowed(item.contract, request_approval, actor=WORKER, **given)
    item.refresh_from_db()
    assert item.state == "expired"


def test_a_call_that_names_another_version_than_the_one_shown_is_not_asked_for():
    call = builders.a_call(parameters='{"label": {"artefact": "L-1", "version": "9"}}')
    given = {"actor": WORKER, "operation_key": call.key, "reason": "Now.", "draft_id": "L-1"}
    verdict = assert_refused(call.contract, "other_version_named", request_approval, **given)
    assert [problem.field for problem in verdict.problems] == ["draft_id"]


@pytest.mark.parametrize("names", ['"L-1"', '"L-1", "version": "1"'])
def test_a_call_is_asked_for_with_the_draft_it_names_and_no_other(names):
    call = builders.a_call(parameters=f'{{"label": {{"artefact": {names}}}}}')
    builders.a_row(call.contract, "artefact", artefact_id="L-2", inline_text="Glass.")
    given = {"actor": WORKER, "operation_key": call.key, "reason": "Now."}
    for draft in ("", "L-2"):
        assert_refused(call.contract, "draft_not_shown", request_approval, **given, draft_id=draft)
    assert_allowed(call.contract, request_approval, **given, draft_id="L-1")


def test_a_call_that_names_what_is_not_kept_here_needs_no_draft():
    call = builders.a_call(parameters='{"picture": {"artefact": "scan-9", "version": "4"}, "sizes": [1, 2]}')
    given = {"actor": WORKER, "operation_key": call.key, "reason": "Now."}
    assert_allowed(call.contract, request_approval, **given, draft_id="")


def test_a_draft_that_moved_since_it_was_shown_is_not_asked_for():
    call = builders.a_call()
    given = {"actor": WORKER, "operation_key": call.key, "reason": "Now.", "draft_id": "L-1"}
    assert_refused(call.contract, "draft_moved", request_approval, **given, draft_seen="0" * 64)
    assert_refused(
        call.contract, "draft_moved", request_approval, **{**given, "draft_id": ""}, draft_seen="0" * 64
    )


def test_an_item_that_waits_longer_than_it_was_asked_to_is_stale():
    item = builders.a_waiting_item()
    Approval.objects.filter(pk=item.pk).update(expires_at=item.expires_at + timedelta(hours=1))
    item.refresh_from_db()
    assert Present(item.contract, [item]).difference(item).member == "expires_at"


@pytest.mark.parametrize("place", ["decide", "dispatch"])
def test_a_member_that_only_a_document_names_is_shown_as_it_stands(place):
    item = builders.a_waiting_item()
    Approval.objects.filter(pk=item.pk).update(state="stale", stale_member="colour")
    if place == "decide":
        verdict = assert_refused(item.contract, "item_stale", decide, **word(item, carla(item)))
    else:
        contract = own(item.contract)
        given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
        verdict = assert_refused(contract, "item_stale", dispatch, **given)
    assert verdict.values == {"member": "colour"}


def test_a_contract_that_is_a_draft_again_decides_nothing():
    item = builders.a_waiting_item()
    force(item.contract, ContractState.DRAFT)
    assert_refused(item.contract, "not_open", decide, **word(item, carla(item)))


def test_a_policy_that_is_gone_fits_no_item():
    item = builders.a_waiting_item()
    from contracts.models import ApprovalPolicy

    ApprovalPolicy.objects.filter(contract=item.contract).delete()
    difference = Present(item.contract, [item]).difference(item)
    assert (difference.member, difference.was, difference.now) == ("policy_number", "1", "0")


def test_an_item_nobody_recorded_is_compared_with_itself():
    item = builders.a_waiting_item()
    Approval.objects.filter(pk=item.pk).update(item_id="item-unheard")
    item.refresh_from_db()
    assert Present(item.contract, [item]).difference(item) is None


def test_which_parts_touch_a_binding():
    assert touches_a_binding(["window", "artefact"])
    assert not touches_a_binding(["window", "usage"])


def test_t21_a_post_of_another_shape_is_refused_and_recorded():
    item = builders.a_waiting_item()
    verdict = refusal("unknown_fields", names="state, approvals")
    assert_refused(
        item.contract,
        "unknown_fields",
        record_refusal,
        actor=Actor("carla"),
        item_id=item.item_id,
        verdict=verdict,
    )
    event = events_of(item.contract)[-1]
    assert (event.act, event.part, event.subject) == ("decide", "approval", item.item_id)


def test_t25_a_decision_delivered_again_changes_nothing():
    item = builders.a_waiting_item()
    delivered = word(item, carla(item))
    assert_allowed(item.contract, decide, **delivered)
    verdict = assert_refused(item.contract, "already_decided", decide, **delivered)
    assert (verdict.outcome.decided_by, verdict.outcome.state) == ("carla", "approved")
    assert ApprovalVote.objects.filter(approval=item).count() == 1


def test_t23_what_was_consumed_and_confirmed_stays_whatever_fails_later():
    item = builders.a_decided_item()
    contract = own(item.contract)
    given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    assert_allowed(contract, dispatch, **given)
    Operation.objects.filter(pk=item.operation_id).update(state="confirmed", settled_at=database_now())
    own(contract)  # the model failed, another attempt goes on
    item.refresh_from_db()
    used = (item.state, item.consumed_at, item.consumed_generation)
    given["generation"] = contract.generation
    assert_refused(contract, "operation_not_pending", dispatch, **given)
    again = {"actor": WORKER, "operation_key": item.operation_key, "reason": "Again."}
    assert_refused(contract, "operation_not_pending", request_approval, **again)
    assert_refused(contract, "already_decided", decide, **word(item, carla(item)))
    assert_refused(contract, "illegal_move", withdraw, actor=WORKER, item_id=item.item_id, reason="Too late.")
    item.refresh_from_db()
    assert (item.state, item.consumed_at, item.consumed_generation) == used
    assert Operation.objects.get(pk=item.operation_id).tries == 1


def test_a_used_approval_does_not_go_stale_afterwards():
    item = builders.a_decided_item()
    contract = own(item.contract)
    given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    assert_allowed(contract, dispatch, **given)
    by_cancelling(item)
    item.refresh_from_db()
    assert item.state == "approved"
    assert Operation.objects.get(pk=item.operation_id).state == "unknown"  # its owner lost it


def test_cancelling_drops_pending_calls_alone_and_of_this_contract_alone():
    item, other = builders.a_waiting_item(), builders.a_waiting_item()
    by_cancelling(item)
    other.refresh_from_db()
    assert other.state == "pending"
    assert Operation.objects.get(pk=item.operation_id).state == "abandoned"
    assert Operation.objects.get(pk=other.operation_id).state == "pending"


def test_a_rejection_leaves_a_call_alone_that_is_no_longer_pending():
    item = builders.a_waiting_item()
    Operation.objects.filter(pk=item.operation_id).update(state="confirmed", generation=1)
    assert_allowed(item.contract, decide, **word(item, carla(item), "rejected"))
    assert Operation.objects.get(pk=item.operation_id).state == "confirmed"


def test_removing_a_draft_version_in_draft_looks_at_the_items():
    item = builders.a_waiting_item(draft_id="")
    builders.done(return_to_draft(contract_id=item.contract_id, actor=ACTOR, reason="Reworked."))
    draft = Artefact.objects.joined().get(contract=item.contract)
    given = {"part": PARTS["artefact"], "row_id": draft.pk, "version": draft.version}
    assert_allowed(item.contract, remove_row, **given)
    item.refresh_from_db()
    assert item.state == "pending"


def test_of_a_quorum_everyone_must_still_have_the_right_when_it_is_used():
    item = builders.a_waiting_item(policy={"quorum": 2})
    contract, dora = item.contract, people.person("dora", item.contract.team, Role.CURATOR)
    for person in (carla(item), dora):
        assert_allowed(contract, decide, **word(item, person))
    carla(item).groups.clear()  # the first of the two, not who is named as the decider
    contract = own(contract)
    given = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    assert dispatch(contract_id=contract.pk, **given).code == "item_stale"
    item.refresh_from_db()
    assert (item.stale_member, item.decided_by) == ("decider", "dora")


def test_items_expire_with_the_deadline_at_the_latest():
    call = builders.a_call()
    soon = database_now() + timedelta(hours=2)
    Contract.objects.filter(pk=call.contract_id).update(deadline=soon)
    assert builders.a_waiting_item(call).expires_at == soon

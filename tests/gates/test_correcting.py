"""A curator corrects a draft: another version, another call, another person's decision."""

import pytest

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.correcting import correct_draft
from contracts.gates.requesting import request_approval
from contracts.gates.rounds import open_round
from contracts.gates.sending import dispatch
from contracts.models import Approval, Artefact, Notice, Operation
from contracts.rules.notices import Told
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import assert_allowed, assert_refused, force, own

pytestmark = pytest.mark.django_db
TEXT = "Fired clay, 1931."


@pytest.fixture
def item():
    call = builders.a_call(parameters='{"label": {"artefact": "L-1", "version": "1"}}')
    return builders.a_waiting_item(call)


def correction(item, person=None, **given):
    person = person or people.curator(item.contract.team)
    known = {
        "actor": people.acting(person),
        "user": person,
        "item_id": item.item_id,
        "seen": item.fingerprint,
        "text": TEXT,
        "reason": "The date was wrong.",
        "confirmed_at": database_now(),
    }
    return known | given


def test_a_correction_is_a_new_version_with_the_corrector_as_author(item):
    verdict, events = assert_allowed(item.contract, correct_draft, **correction(item))
    row = verdict.outcome
    assert (row.version_label, row.inline_text, row.author, row.current) == ("2", TEXT, "carla", True)
    assert Artefact.objects.of(item.contract_id).filter(current=True).get() == row
    assert Artefact.objects.filter(contract=item.contract).count() == 2
    item.refresh_from_db()
    assert (item.state, item.stale_member, item.stale_was, item.stale_now) == (
        "stale",
        "draft_version",
        "1",
        "2",
    )
    assert Operation.objects.get(pk=item.operation_id).state == "abandoned"
    assert [event.act for event in events] == ["superseded", "correct", "tuple_changed", "dropped"]
    assert events[1].after["reason"] == "The date was wrong."
    kinds = list(
        Notice.objects.filter(item_id=item.item_id, person__username="olga").values_list("kind", flat=True)
    )
    assert kinds == [Told.STALE, Told.CORRECTED]


def test_t16_the_old_text_is_refused_and_proposed_again_it_is_another_item(item):
    contract = item.contract
    assert_allowed(contract, correct_draft, **correction(item))
    own(contract)
    sent = {"actor": WORKER, "operation_key": item.operation_key, "generation": contract.generation}
    assert_refused(contract, "operation_not_pending", dispatch, **sent)
    assert_refused(
        contract, "item_stale", decide, **word(item, people.person("dora", contract.team, Role.CURATOR))
    )
    again = {"actor": WORKER, "operation_key": item.operation_key, "reason": "As it was.", "draft_id": "L-1"}
    assert_refused(contract, "operation_not_pending", request_approval, **again)
    old = {"label": {"artefact": "L-1", "version": "1"}}
    verdict, _ = assert_allowed(
        contract, open_round, actor=WORKER, operation_key=item.operation_key, parameters=old
    )
    proposed = verdict.outcome
    assert proposed.fingerprint == item.fingerprint
    assert proposed.key != item.operation_key
    given = {**again, "operation_key": proposed.key}
    assert_refused(contract, "other_version_named", request_approval, **given)
    assert_refused(contract, "draft_not_shown", request_approval, **{**given, "draft_id": ""})
    # The old words once more are a new version, and another call that shows what differs from the correction.
    force(contract, ContractState.PAUSED)
    version = builders.a_row(contract, "artefact", version_label="3", inline_text=item.preview)
    third, _ = assert_allowed(
        contract,
        open_round,
        actor=WORKER,
        operation_key=proposed.key,
        parameters={"label": {"artefact": "L-1", "version": "3", "sha256": version.sha256}},
    )
    verdict, _ = assert_allowed(contract, request_approval, **{**given, "operation_key": third.outcome.key})
    assert verdict.outcome.item_id != item.item_id
    assert (verdict.outcome.preview, verdict.outcome.draft_version) == (item.preview, "3")
    assert Approval.objects.filter(contract=contract).count() == 2


def test_the_corrector_does_not_decide_on_the_own_correction(item):
    contract = item.contract
    assert_allowed(contract, correct_draft, **correction(item))
    new = {"label": {"artefact": "L-1", "version": "2"}}
    round_two, _ = assert_allowed(
        contract, open_round, actor=WORKER, operation_key=item.operation_key, parameters=new
    )
    asked, _ = assert_allowed(
        contract,
        request_approval,
        actor=WORKER,
        operation_key=round_two.outcome.key,
        reason="With the corrected date.",
        draft_id="L-1",
    )
    second = asked.outcome
    assert (second.author, second.draft_version, second.preview) == ("carla", "2", TEXT)
    assert_refused(contract, "own_draft", decide, **word(second, people.curator(contract.team)))
    assert_allowed(contract, decide, **word(second, people.person("dora", contract.team, Role.CURATOR)))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"text": "Fired clay."}, "nothing_corrected"),
        ({"text": " "}, "nothing_corrected"),
        ({"text": "a\x00"}, "bad_values"),
        ({"reason": " "}, "reason_missing"),
        ({"seen": "0" * 64}, "fingerprint_differs"),
        ({"item_id": "item-0"}, "no_such_item"),
        ({"confirmed_at": None}, "login_not_fresh"),
    ],
)
def test_a_correction_that_does_not_fit_changes_nothing(item, given, code):
    assert_refused(item.contract, code, correct_draft, **correction(item, **given))


def test_who_may_not_decide_may_not_correct(item):
    team = item.contract.team
    assert_refused(
        item.contract, "no_right_to_decide", correct_draft, **correction(item, people.reviewer(team))
    )
    assert_refused(item.contract, "own_draft", correct_draft, **correction(item, people.owner(team)))


def test_an_item_without_a_text_has_nothing_to_correct():
    item = builders.a_waiting_item(draft_id="")
    assert_refused(item.contract, "no_text_to_correct", correct_draft, **correction(item))


def test_a_draft_kept_elsewhere_is_not_corrected_here():
    call = builders.a_call(draft=False)
    located = {"inline_text": "", "location": "dms://labels/1", "sha256": builders.A}
    builders.a_row(call.contract, "artefact", **located)
    item = builders.a_waiting_item(call)
    assert_refused(item.contract, "no_text_to_correct", correct_draft, **correction(item))


def test_labels_that_are_taken_are_passed_over(item):
    item.contract.refresh_from_db()
    for label in ("2", "3"):
        builders.a_row(item.contract, "artefact", version_label=label, inline_text=f"Draft {label}.")
    item.refresh_from_db()
    assert item.state == "stale"
    fresh = builders.a_waiting_item(builders.a_call(item.contract, step="publish-again"))
    verdict, _ = assert_allowed(item.contract, correct_draft, **correction(fresh))
    assert verdict.outcome.version_label == "4"


def test_every_item_about_that_draft_goes_stale_and_no_other_call_is_dropped(item):
    other = builders.a_waiting_item(builders.a_call(item.contract, step="publish-again"))
    bare = builders.a_waiting_item(builders.a_call(item.contract, step="announce"), draft_id="")
    assert_allowed(item.contract, correct_draft, **correction(item))
    for row in (other, bare):
        row.refresh_from_db()
    assert (other.state, bare.state) == ("stale", "pending")
    assert Operation.objects.get(pk=other.operation_id).state == "pending"

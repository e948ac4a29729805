"""Unknown for good: paused and handed to the named person. A confirmed write is taken back by another."""

from datetime import timedelta

import pytest
from django.core import mail

from contracts.forms.notices import address_of, compose, reason, told
from contracts.gates.beats import database_now
from contracts.gates.lifecycle import cancel
from contracts.gates.sending import dispatch
from contracts.gates.workers.handing_over import compensate, escalate
from contracts.gates.workers.ledger import report
from contracts.gates.workers.owning import release
from contracts.models import Attempt, Notice, Operation, OwnerGate
from contracts.rules.granting import Released
from contracts.rules.notices import MailState, Told
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders, people
from tests.gates.watching import assert_allowed, assert_refused, force, own
from tests.gates.workers.ledgering import OPERATOR, WORKER, a_task, by, describe, intended, sending, unknown

pytestmark = pytest.mark.django_db


def handed(contract, row, **given):
    known = by(contract, operation_key=row.key, reason="The CMS was moved; nobody can ask it.")
    return assert_allowed(contract, escalate, **known | given)


def test_what_nobody_can_know_pauses_the_task_and_is_handed_over():
    contract = a_task()
    row = unknown(contract)
    _, events = handed(contract, row)
    row.refresh_from_db()
    attempt = Attempt.objects.get(contract=contract, generation=contract.generation)
    assert (row.state, contract.state, attempt.end_reason) == ("unknown", "paused", "released")
    (event,) = [event for event in events if event.act == "hand_over"]
    assert event.after == {"reason": "The CMS was moved; nobody can ask it."}


def test_the_named_person_and_the_operators_are_told_once_each():
    contract = a_task()
    row = unknown(contract)
    otto, rita = people.operator(contract.team), people.reviewer(contract.team)
    victor = people.viewer(contract.team)
    describe(contract, named_person="rita")
    OwnerGate.objects.filter(contract=contract).update(named_person=victor.get_full_name())
    handed(contract, row)
    notices = Notice.objects.filter(contract=contract)
    assert sorted(notices.values_list("person__username", flat=True)) == ["otto", "rita", "victor"]
    assert {*notices.values_list("kind", "item_id")} == {("handed_over", "")}
    assert notices.get(person=otto).words["operation"] == row.key
    assert Notice.objects.of(rita).unread().count() == 1


def test_a_name_that_only_begins_alike_is_nobody():
    contract = a_task()
    row = unknown(contract)
    people.person("ritamae", contract.team)
    describe(contract, named_person="rita")
    OwnerGate.objects.filter(contract=contract).update(named_person="")
    handed(contract, row)
    assert not Notice.objects.filter(contract=contract).exists()


def a_notice(contract):
    row = unknown(contract)
    otto = people.operator(contract.team)
    type(otto).objects.filter(pk=otto.pk).update(email="otto@example.org")
    handed(contract, row)
    notice = Notice.objects.select_related("contract", "person").get(person=otto)
    return row, notice


def test_the_notice_leads_to_the_operation_in_the_page_and_in_the_mail(client):
    contract = a_task()
    row, notice = a_notice(contract)
    assert Told(notice.kind) is Told.HANDED_OVER
    assert notice.mail == MailState.PENDING
    assert "cms.publish → cms://pages/label-1" in told(notice)
    assert reason(notice) == "The CMS was moved; nobody can ask it."
    address = address_of(notice)
    assert address.startswith(f"/contracts/{contract.task_id}/")
    assert address in compose(notice).text
    assert "approvals" not in address
    client.force_login(notice.person)
    page = client.get("/notices/")
    assert address in page.content.decode()
    assert not mail.outbox
    assert row.key in address


@pytest.mark.parametrize("text", ["", " "])
def test_handing_over_needs_a_reason(text):
    contract = a_task()
    row = unknown(contract)
    assert_refused(contract, "reason_missing", escalate, **by(contract, operation_key=row.key, reason=text))


def gone(contract, how="released"):
    """Let nobody be at work on it: the owner let it go, or its lease ran out."""
    if how == "released":
        builders.done(release(contract_id=contract.pk, reason=Released.GIVEN_UP, **by(contract)))
    else:
        past = database_now() - timedelta(minutes=5)
        Attempt.objects.filter(contract=contract).update(lease_end=past)
    contract.refresh_from_db()


def person(name, kind=ActorKind.PERSON):
    return Actor(name, kind)


def handed_by(contract, row, actor, **given):
    return {"actor": actor, "operation_key": row.key, "reason": "The CMS was moved.", **given}


@pytest.mark.parametrize("how", ["released", "lapsed"])
@pytest.mark.parametrize("who", ["operator", "named"])
def test_people_hand_over_what_no_owner_is_at_work_on(who, how):
    contract = a_task()
    row = unknown(contract)
    otto, rita = people.operator(contract.team), people.reviewer(contract.team)
    describe(contract, named_person="rita")
    gone(contract, how)
    actor = OPERATOR if who == "operator" else person("rita")
    assert_allowed(contract, escalate, **handed_by(contract, row, actor))
    row.refresh_from_db()
    contract.refresh_from_db()
    assert (row.state, contract.state) == ("unknown", "paused")
    assert not Attempt.objects.filter(contract=contract, ended_at__isnull=True).exists()
    told_of = Notice.objects.filter(contract=contract, kind="handed_over").values_list("person", flat=True)
    assert [*told_of] == [rita.pk if who == "operator" else otto.pk]  # nobody is told of an own deed


def test_only_an_operator_stops_an_owner_at_work_to_hand_it_over():
    contract = a_task()
    row = unknown(contract)
    people.reviewer(contract.team)
    describe(contract, named_person="rita")
    assert_refused(contract, "operator_only", escalate, **handed_by(contract, row, person("rita")))
    assert_allowed(contract, escalate, **handed_by(contract, row, OPERATOR))
    attempt = Attempt.objects.get(contract=contract, generation=contract.generation)
    assert (contract.state, attempt.end_reason) == ("paused", "released")


@pytest.mark.parametrize("actor", [person("victor"), person("nobody"), WORKER])
def test_nobody_else_hands_it_over_without_a_generation(actor):
    contract = a_task()
    row = unknown(contract)
    people.viewer(contract.team)
    gone(contract)
    assert_refused(contract, "not_the_named_person", escalate, **handed_by(contract, row, actor))


def test_a_cancelled_task_is_handed_over_and_stays_cancelled():
    contract = a_task()
    row = unknown(contract)
    gone(contract)
    builders.done(cancel(contract_id=contract.pk, actor=OPERATOR, reason="No longer wanted."))
    assert_allowed(contract, escalate, **handed_by(contract, row, OPERATOR))
    contract.refresh_from_db()
    assert contract.state == "cancelled"


def test_a_task_of_which_nothing_can_be_told_any_more_is_not_handed_over():
    contract = a_task()
    row = unknown(contract)
    gone(contract)
    force(contract, ContractState.COMPLETED)
    assert_refused(contract, "not_open", escalate, **handed_by(contract, row, OPERATOR))


# --- taking back ------------------------------------------------------------------------------------------------------

BACK = {
    "tool": "cms.publish",
    "parameters": {"page": "label-1", "remove": True},
    "target": "cms://pages/label-1",
    "expected": "no page",
}


def written(contract, **given):
    row = sending(contract, **given)
    known = by(contract, operation_key=row.key, result="confirmed", reference="cms://pages/1")
    return builders.done(report(contract_id=contract.pk, **known))


def test_a_confirmed_write_is_taken_back_by_an_operation_of_its_own():
    contract = a_task({"compensation": "cms.publish with remove"})
    row = written(contract)
    verdict, (event,) = assert_allowed(contract, compensate, **by(contract, operation_key=row.key, **BACK))
    back = verdict.outcome
    assert (back.step, back.state, back.work_object_id) == (
        "compensate:publish",
        "pending",
        row.work_object_id,
    )
    assert (event.act, event.subject) == ("intend", "cms.publish · O-1 · compensate:publish · 1")
    row.refresh_from_db()
    assert row.state == "confirmed"
    again = compensate(contract_id=contract.pk, **by(contract, operation_key=row.key, **BACK))
    assert (again.code, again.outcome.pk) == ("exists", back.pk)
    assert_allowed(contract, dispatch, **by(contract, operation_key=back.key))


def test_a_write_of_no_object_is_taken_back_too():
    contract = a_task({"compensation": "by hand"})
    row = written(contract, object_id="")
    verdict, _ = assert_allowed(contract, compensate, **by(contract, operation_key=row.key, **BACK))
    assert verdict.outcome.work_object is None


def test_only_a_confirmed_write_whose_tool_names_a_way_back_is_taken_back():
    contract = a_task()
    row = intended(contract)
    given = by(contract, operation_key=row.key, **BACK)
    assert_refused(contract, "operation_not_confirmed", compensate, **given)
    Operation.objects.filter(pk=row.pk).update(state="confirmed", generation=contract.generation)
    assert_refused(contract, "no_compensation", compensate, **given)


def test_what_a_former_owner_wrote_is_taken_back_by_the_present_one():
    contract = a_task({"compensation": "by hand"})
    row = written(contract)
    own(contract)
    given = by(contract, operation_key=row.key, **BACK)
    assert_refused(contract, "unknown_tool", compensate, **given | {"tool": "cms.unpublish"})
    verdict = assert_refused(contract, "bad_values", compensate, **given | {"parameters": [1]})
    assert [problem.field for problem in verdict.problems] == ["parameters"]
    assert_allowed(contract, compensate, **given)

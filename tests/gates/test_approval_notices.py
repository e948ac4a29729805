"""Who is told what: in the transaction of what is told, once each, and never who acts."""

import pytest

from contracts.gates.approving import decide
from contracts.gates.requesting import withdraw
from contracts.models import Notice
from contracts.rules.notices import MailState, Told
from contracts.rules.vocabulary import Actor, Right, Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import assert_allowed, assert_refused

pytestmark = pytest.mark.django_db


def told(item, kind):
    notices = Notice.objects.filter(item_id=item.item_id, kind=kind)
    return sorted(notice.person.username for notice in notices)


@pytest.fixture
def team():
    team = builders.a_team()
    people.curator(team)
    people.person("dora", team, Role.CURATOR)
    people.operator(team)
    return team


def test_everyone_who_may_decide_is_told_that_something_waits(team):
    item = builders.a_waiting_item()
    assert told(item, Told.WAITING) == ["carla", "dora"]
    notice = Notice.objects.filter(item_id=item.item_id).first()
    assert notice.words == {
        "call": "cms.publish → cms://pages/label-1",
        "title": item.contract.title,
        "person": "label-writer",
        "reason": "The date was corrected.",
        "until": item.expires_at.isoformat(),
    }


@pytest.mark.parametrize(("author_may_decide", "asked"), [(False, ["dora"]), (True, ["carla", "dora"])])
def test_who_is_barred_is_not_asked(team, author_may_decide, asked):
    keys = builders.keys_of_a_call({"author_may_decide": author_may_decide})
    call = builders.a_call(builders.a_paused(**keys), draft=False)
    builders.a_row(call.contract, "artefact", author="carla")
    assert told(builders.a_waiting_item(call), Told.WAITING) == asked


def test_who_asks_is_not_asked(team):
    assert told(builders.a_waiting_item(actor=Actor("carla")), Told.WAITING) == ["dora"]


def test_without_a_policy_nobody_is_let_off():
    from contracts.gates.notices import who_may_decide

    item = builders.a_waiting_item()
    people.curator(item.contract.team)
    assert [person.username for person in who_may_decide(item, None)] == ["carla"]


@pytest.mark.parametrize(("decision", "kind"), [("approved", Told.APPROVED), ("rejected", Told.SENT_BACK)])
def test_t54_the_reason_reaches_who_asked_and_who_wrote(team, decision, kind):
    people.reviewer(team)
    call = builders.a_call(draft=False)
    builders.a_row(call.contract, "artefact", author="rita")
    item = builders.a_waiting_item(call, actor=Actor("emil"))
    people.exporter(team)
    carla = people.curator(team)
    assert_allowed(item.contract, decide, **word(item, carla, decision, reason="It says 1931."))
    assert told(item, kind) == ["emil", "olga", "rita"]  # asked, stored, wrote
    words = {notice.words["reason"] for notice in Notice.objects.filter(item_id=item.item_id, kind=kind)}
    assert words == {"It says 1931."}
    item.refresh_from_db()
    assert item.decision_reason == "It says 1931."


def test_who_has_no_address_gets_no_mail(team):
    carla = people.curator(team)
    type(carla).objects.filter(pk=carla.pk).update(email="carla@example.org")
    item = builders.a_waiting_item()
    mails = dict(Notice.objects.filter(item_id=item.item_id).values_list("person__username", "mail"))
    assert mails == {"carla": MailState.PENDING, "dora": MailState.NONE}


def test_a_refusal_tells_nobody(team):
    item = builders.a_waiting_item()
    known = Notice.objects.count()
    assert_refused(item.contract, "no_right_to_decide", decide, **word(item, people.operator(team)))
    assert Notice.objects.count() == known


def test_the_deactivated_are_told_nothing(team):
    dora = people.person("dora", team, Role.CURATOR)
    type(dora).objects.filter(pk=dora.pk).update(is_active=False)
    assert told(builders.a_waiting_item(), Told.WAITING) == ["carla"]


def test_a_person_with_a_grant_of_their_own_is_asked_once(team):
    from contracts.gates.people import share

    call = builders.a_call()
    owner = people.acting(people.owner(team))
    for name in ("carla", "emil"):
        people.exporter(team)
        given = {"username": name, "rights": frozenset({Right.DECIDE})}
        assert share(contract_id=call.contract_id, actor=owner, **given).allowed
    assert told(builders.a_waiting_item(call), Told.WAITING) == ["carla", "dora", "emil"]


def test_withdrawing_ends_the_item_and_its_call(team):
    item = builders.a_waiting_item()
    assert_allowed(item.contract, withdraw, actor=WORKER, item_id=item.item_id, reason="Not yet.")
    item.operation.refresh_from_db()
    assert item.operation.state == "abandoned"

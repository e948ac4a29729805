import pytest

from contracts.gates.mailing import choose_mail, claim_mail, settle_mail, withhold_mail
from contracts.models import Muted, Notice
from contracts.rules.notices import MailState, Told
from tests import builders, people
from tests.notices import a_notice

pytestmark = pytest.mark.django_db


@pytest.fixture
def notice():
    team = builders.a_team()
    curator = people.curator(team)
    curator.email = "carla@example.org"
    return a_notice(builders.a_draft(team), curator)


def state(notice):
    return Notice.objects.get(pk=notice.pk).mail


def test_a_mail_is_claimed_once(notice):
    assert claim_mail(notice.pk)
    assert not claim_mail(notice.pk)
    assert state(notice) == MailState.SENDING
    assert Notice.objects.get(pk=notice.pk).mailed_at is not None


def test_a_claimed_mail_is_settled_once(notice):
    claim_mail(notice.pk)
    assert settle_mail(notice.pk, sent=True)
    assert not settle_mail(notice.pk, sent=False)
    assert not claim_mail(notice.pk)
    assert state(notice) == MailState.SENT


def test_a_refused_mail_is_not_tried_again(notice):
    claim_mail(notice.pk)
    assert settle_mail(notice.pk, sent=False)
    assert not claim_mail(notice.pk)
    assert state(notice) == MailState.FAILED


def test_what_nobody_claimed_cannot_be_settled(notice):
    assert not settle_mail(notice.pk, sent=True)
    assert state(notice) == MailState.PENDING


def test_a_withheld_mail_cannot_be_claimed_and_a_claimed_one_not_withheld(notice):
    assert withhold_mail(notice.pk)
    assert not claim_mail(notice.pk)
    assert state(notice) == MailState.NONE
    Notice.objects.filter(pk=notice.pk).update(mail=MailState.SENDING)
    assert not withhold_mail(notice.pk)


def test_nothing_is_claimed_that_is_not_there():
    assert not claim_mail(1)


def test_what_is_not_wanted_by_mail_is_let_go_when_it_would_be_claimed_and_wanted_anew_later(notice):
    choose_mail(notice.person, [Told.SENT_BACK])
    assert set(Muted.objects.values_list("kind", flat=True)) == {kind.value for kind in Told} - {
        Told.SENT_BACK.value
    }
    assert not claim_mail(notice.pk)
    assert state(notice) == MailState.NONE
    choose_mail(notice.person, Told)
    assert not Muted.objects.exists()

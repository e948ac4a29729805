import threading
import time

import pytest
from django.core import mail

from contracts.gates.mailing import claim_mail
from contracts.management.mailing import mail_waiting
from contracts.models import Notice
from contracts.rules.notices import MailState
from tests import builders, people
from tests.notices import a_notice
from tests.races.racing import race

pytestmark = pytest.mark.django_db(transaction=True)
RIVALS, MAILS = 8, 12


@pytest.fixture
def notices():
    team = builders.a_team()
    carla = people.curator(team)
    carla.email = "carla@example.org"
    carla.save(update_fields=["email"])
    contract = builders.a_draft(team)
    return [a_notice(contract, carla) for _ in range(MAILS)]


def test_of_many_processes_at_once_one_mails_each_notice(notices):
    left = race(*[mail_waiting] * RIVALS)
    assert sum(left) == MAILS
    assert len(mail.outbox) == MAILS
    assert set(Notice.objects.values_list("mail", flat=True)) == {MailState.SENT}


def test_of_many_claims_at_once_one_is_granted(notices):
    for notice in notices:
        claims = race(*[lambda pk=notice.pk: claim_mail(pk)] * RIVALS)
        assert claims.count(True) == 1


def test_control_looking_first_and_marking_afterwards_mails_more_than_once(notices):
    sent, lock = [], threading.Lock()

    def look_send_mark():
        for notice in Notice.objects.to_mail():
            with lock:
                sent.append(notice.pk)
            time.sleep(0.005)  # a mail takes its time
            Notice.objects.filter(pk=notice.pk).update(mail=MailState.SENT)

    race(*[look_send_mark] * RIVALS)
    assert len(sent) > MAILS

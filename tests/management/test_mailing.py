import logging

import pytest
from django.core import mail

from contracts.management.mailing import Unreachable, mail_waiting
from contracts.models import ContractGroupPermission, Notice
from contracts.rules.notices import MailState
from tests import builders, people
from tests.mail_server import mail_server, mailers_of
from tests.notices import a_notice

pytestmark = pytest.mark.django_db


@pytest.fixture
def contract():
    return builders.a_draft()


@pytest.fixture
def carla():
    return addressed(people.curator(builders.a_team()))


@pytest.fixture
def server(settings):
    with mail_server() as server:
        settings.MAILERS = mailers_of(server)
        yield server


def addressed(person):
    person.email = f"{person.username}@example.org"
    person.save(update_fields=["email"])
    return person


def states():
    return list(Notice.objects.order_by("id").values_list("mail", flat=True))


def test_a_waiting_notice_is_mailed_once_and_marked(contract, carla):
    a_notice(contract, carla, person="otto")
    assert (mail_waiting(), mail_waiting()) == (1, 0)
    (sent,) = mail.outbox
    assert sent.to == ["carla@example.org"]
    assert sent.extra_headers["Auto-Submitted"] == "auto-generated"
    assert states() == [MailState.SENT]
    assert Notice.objects.get().mailed_at is not None


def test_without_an_address_nothing_waits_and_nothing_is_mailed(contract):
    a_notice(contract, people.curator(builders.a_team()))
    assert mail_waiting() == 0
    assert states() == [MailState.NONE]


@pytest.mark.parametrize("why", ["no sight", "inactive", "no address"])
def test_what_its_reader_may_not_get_any_more_is_withheld(contract, carla, why):
    a_notice(contract, carla)
    if why == "no sight":
        ContractGroupPermission.objects.filter(content_object=contract).delete()
    elif why == "inactive":
        type(carla).objects.filter(pk=carla.pk).update(is_active=False)
    else:
        type(carla).objects.filter(pk=carla.pk).update(email="")
    assert mail_waiting() == 0
    assert mail.outbox == []
    assert states() == [MailState.NONE]


def test_it_arrives_at_a_real_server_in_its_readers_words(contract, carla, server):
    a_notice(contract, carla, person="otto", reason="错误的墙\u200b")
    assert mail_waiting() == 1
    (message,) = server.delivered
    assert message["To"] == "carla@example.org"
    assert message["Subject"] == f"Waits for a decision: {contract.title} ({contract.task_id})"
    assert message.get_content_type() == "text/plain"
    assert not message.is_multipart()
    assert "> 错误的墙⟨U+200B⟩" in message.get_content()


def test_a_title_with_line_ends_adds_no_header(contract, carla, server):
    contract.title = "A\nBcc: everybody@example.org"
    contract.save(update_fields=["title"])
    a_notice(contract, carla)
    assert mail_waiting() == 1
    (message,) = server.delivered
    assert message["Bcc"] is None
    assert "Bcc: everybody@example.org" in message["Subject"]


def test_a_server_that_does_not_answer_leaves_everything_waiting(contract, carla, settings):
    with mail_server() as server:
        settings.MAILERS = mailers_of(server)
    a_notice(contract, carla)
    with pytest.raises(Unreachable):
        mail_waiting()
    assert states() == [MailState.PENDING]


def test_a_refused_mail_keeps_no_other_from_leaving(contract, carla, server):
    rita = addressed(people.reviewer(builders.a_team()))
    a_notice(contract, carla)
    a_notice(contract, rita)
    server.refused.add("carla@example.org")
    assert mail_waiting() == 1
    assert states() == [MailState.FAILED, MailState.SENT]
    assert [message["To"] for message in server.delivered] == ["rita@example.org"]


def test_a_mail_whose_answer_is_lost_is_not_sent_again(contract, carla, server):
    a_notice(contract, carla)
    server.hangs_up = True
    assert mail_waiting() == 0
    server.hangs_up = False
    assert mail_waiting() == 0
    assert len(server.delivered) == 1
    assert states() == [MailState.SENDING]


def test_after_a_lost_answer_the_others_leave_by_a_new_connection(contract, carla, server):
    a_notice(contract, carla)
    a_notice(contract, carla)
    server.hangs_up = True
    original = type(server).handle_error
    assert mail_waiting() == 0
    assert len(server.delivered) == 2
    assert original is type(server).handle_error
    server.hangs_up = False
    a_notice(contract, carla)
    assert mail_waiting() == 1


def test_one_that_cannot_be_written_is_given_up_and_stops_no_other(contract, carla, monkeypatch, caplog):
    from contracts.management import mailing

    bad, _ = a_notice(contract, carla), a_notice(contract, carla)
    compose = mailing.compose

    def fail(notice):
        if notice.pk == bad.pk:
            raise KeyError("hunter22@example.org")
        return compose(notice)

    monkeypatch.setattr(mailing, "compose", fail)
    with caplog.at_level(logging.ERROR):
        assert mail_waiting() == 1
    assert states() == [MailState.FAILED, MailState.SENT]
    assert f"notice {bad.pk}" in caplog.text


def test_an_address_that_no_header_can_hold_is_given_up(contract, carla):
    a_notice(contract, carla)
    type(carla).objects.filter(pk=carla.pk).update(email="a@example.org\nBcc: b@example.org")
    assert mail_waiting() == 0
    assert mail.outbox == []
    assert states() == [MailState.FAILED]


def test_between_two_mails_it_stops_when_told(contract, carla):
    for _ in range(3):
        a_notice(contract, carla)
    answers = iter([False, True])
    assert mail_waiting(lambda: next(answers)) == 1
    assert states() == [MailState.SENT, MailState.PENDING, MailState.PENDING]


def test_what_another_process_claimed_meanwhile_is_left_alone(contract, carla, monkeypatch):
    from contracts.management import mailing

    a_notice(contract, carla)
    claim = mailing.claim_mail

    def late(notice_id):
        assert claim(notice_id)
        return claim(notice_id)

    monkeypatch.setattr(mailing, "claim_mail", late)
    assert mail_waiting() == 0
    assert mail.outbox == []

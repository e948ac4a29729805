import pytest

from contracts.gates.reading import (
    choose_language,
    mark_all_read,
    mark_read,
    mark_read_about,
    set_mail_address,
)
from contracts.models import Notice, Reader
from contracts.rules.notices import MailState
from tests import builders, people
from tests.notices import a_notice

pytestmark = pytest.mark.django_db


@pytest.fixture
def carla():
    return people.curator(builders.a_team())


@pytest.fixture
def notices(carla):
    contract = builders.a_draft(builders.a_team())
    return [a_notice(contract, carla) for _ in range(3)]


def unread(person):
    return set(Notice.objects.of(person).unread().values_list("pk", flat=True))


def test_only_the_named_notices_are_read(carla, notices):
    assert mark_read(carla, [notices[0].pk, notices[2].pk, 10**12]) == 2
    assert unread(carla) == {notices[1].pk}
    assert mark_read(carla, [notices[0].pk]) == 0


def test_all_means_all_that_had_been_seen(carla, notices):
    assert mark_all_read(carla, up_to=notices[1].pk) == 2
    assert unread(carla) == {notices[2].pk}


def test_about_one_item_means_nothing_about_another_or_of_another_contract(carla, notices):
    contract, other = notices[0].contract_id, builders.a_draft(builders.a_team()).pk
    assert mark_read_about(carla, contract_id=other, item_id="A-1") == 0
    assert mark_read_about(carla, contract_id=contract, item_id="A-2") == 0
    assert mark_read_about(carla, contract_id=contract, item_id="A-1") == 3


def test_nobody_reads_for_somebody_else(carla, notices):
    victor = people.viewer(builders.a_team())
    assert mark_read(victor, [notice.pk for notice in notices]) == 0
    assert mark_all_read(victor, up_to=notices[-1].pk) == 0
    assert len(unread(carla)) == 3


def test_the_moment_of_reading_stays_the_first(carla, notices):
    mark_read(carla, [notices[0].pk])
    first = Notice.objects.get(pk=notices[0].pk).read_at
    mark_all_read(carla, up_to=notices[2].pk)
    assert Notice.objects.get(pk=notices[0].pk).read_at == first


def test_a_language_is_chosen_and_chosen_anew(carla):
    assert choose_language(carla, "zh-hans")
    assert choose_language(carla, "en")
    assert Reader.objects.get(person=carla).language == "en"


@pytest.mark.parametrize("language", ["", "fr", "zh", "EN", "x" * 300])
def test_a_language_that_there_is_not_is_not_stored(carla, language):
    assert not choose_language(carla, language)
    assert not Reader.objects.exists()


def test_whoever_gives_an_address_is_mailed_in_the_language_it_was_given_in(carla):
    set_mail_address(carla, "carla@example.org", language="zh-hans")
    carla.refresh_from_db()
    assert carla.email == "carla@example.org"
    assert Reader.objects.get(person=carla).language == "zh-hans"


def test_a_chosen_language_outlives_an_address_given_in_another(carla):
    choose_language(carla, "en")
    set_mail_address(carla, "carla@example.org", language="zh-hans")
    assert Reader.objects.get(person=carla).language == "en"


def test_without_an_address_what_waits_is_not_mailed_later(carla):
    set_mail_address(carla, "carla@example.org", language="en")
    carla.refresh_from_db()
    notice = a_notice(builders.a_draft(builders.a_team()), carla)
    assert notice.mail == MailState.PENDING
    set_mail_address(carla, "", language="en")
    notice.refresh_from_db()
    assert notice.mail == MailState.NONE

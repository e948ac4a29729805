"""The news that an open page asks for once it hears that there are some."""

import pytest
from django.db import connection, transaction
from django.utils import timezone

from contracts.gates.notices import call_out
from contracts.models.hearing import Ear
from contracts.views import pushing
from tests import builders, people
from tests.notices import a_notice
from tests.views.reading import read
from tests.views.visiting import HTMX, address, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def carla(team):
    return people.curator(team)


def news(person, since):
    return visitor(person).get(address("news", since=since), headers=HTMX)


def test_only_what_was_told_since_is_news(carla, team):
    contract = builders.a_draft(team)
    a_notice(contract, carla, person="otto")
    early, late = timezone.now().replace(year=2020).isoformat(), timezone.now().replace(year=2999).isoformat()
    assert "cms.publish" in words(news(carla, early))
    answer = news(carla, late)
    assert "cms.publish" not in words(answer)
    assert "1" in words(answer)  # but the count is of all
    assert read(answer).every("span")[0]["id"] == "unread"  # and nothing in which it stands on the page


def test_news_of_a_contract_one_may_no_longer_see_tell_nothing_of_it(team):
    contract, stranger = builders.a_draft(team), people.stranger()
    a_notice(contract, stranger)
    answer = news(stranger, "2020-01-01T00:00:00+00:00")
    assert "cms.publish" not in words(answer)
    assert "no longer" in words(answer)


@pytest.mark.parametrize(
    "since", ["", "yesterday", "2020-01-01T00:00:00", "2020-99-01T00:00:00+00:00", "\x00"]
)
def test_without_the_time_since_when_nothing_is_told(carla, since):
    assert news(carla, since).status_code == 400


def test_a_line_begins_with_the_time_to_call_again_and_ends_with_the_stop(ear, carla, settings, monkeypatch):
    monkeypatch.setattr(pushing, "EAR", ear)
    settings.STOPPING = lambda: True
    assert [*pushing.Line(carla.pk)] == [pushing.RETRY]


def test_a_line_gives_its_place_free_once(carla):
    assert pushing._free.acquire(blocking=False)
    line = pushing.Line(carla.pk)
    line.close()
    line.close()
    assert pushing._free.acquire(blocking=False)
    pushing._free.release()


@pytest.fixture
def ear(transactional_db):
    ear = Ear()
    yield ear
    ear.close()


def test_what_is_called_out_is_heard_after_the_commit_and_not_before(ear, carla):
    before = ear.heard(carla.pk)
    before = ear.wait(carla.pk, before, 10.0)  # it listens now
    with transaction.atomic():
        call_out([carla.pk])
        assert ear.wait(carla.pk, before, 0.3) == before
    assert ear.wait(carla.pk, before, 10.0) == before + 1
    with transaction.atomic():
        call_out([carla.pk])
        transaction.set_rollback(True)
    call_out([carla.pk + 1])
    assert ear.wait(carla.pk, before + 1, 0.3) == before + 1


def test_a_line_that_was_cut_counts_as_news_for_everybody(ear, carla, monkeypatch):
    before = ear.wait(carla.pk, ear.heard(carla.pk), 10.0)
    monkeypatch.setattr("contracts.models.hearing.RETRY_SECONDS", 0.05)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN workbench_notices' AND datname = current_database()"
        )
        assert cursor.fetchone()[0] >= 1
    assert ear.wait(carla.pk, before, 10.0) > before

import pytest
from django.conf import settings
from django.urls import reverse

from contracts.gates.reading import choose_language
from contracts.models import Reader
from tests import builders, people
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db
COOKIE = settings.LANGUAGE_COOKIE_NAME


@pytest.fixture
def carla():
    return people.curator(builders.a_team())


def choose(client, language):
    return client.post(reverse("set_language"), {"language": language, "next": "/"})


def language_of(client, where="/"):
    return client.get(where)["Content-Language"]


def test_the_choice_of_a_person_is_stored_with_the_person(carla):
    assert choose(visitor(carla), "zh-hans").status_code == 302
    assert Reader.objects.get(person=carla).language == "zh-hans"


def test_the_choice_of_a_stranger_is_kept_by_the_browser_alone(client):
    choose(client, "zh-hans")
    assert client.cookies[COOKIE].value == "zh-hans"
    assert not Reader.objects.exists()


@pytest.mark.parametrize("language", ["", "fr", "zh-hant", "x\ny"])
def test_a_language_that_there_is_not_is_not_stored(carla, language):
    choose(visitor(carla), language)
    assert not Reader.objects.exists()


def test_a_get_chooses_nothing(carla):
    visitor(carla).get(reverse("set_language"), {"language": "zh-hans", "next": "/"})
    assert not Reader.objects.exists()


def test_a_fresh_browser_takes_the_stored_language_and_keeps_it(carla):
    choose_language(carla, "zh-hans")
    client = visitor(carla)
    answer = client.get("/", headers={"Accept-Language": "en"})
    assert answer["Content-Language"] == "zh-hans"
    assert 'lang="zh-hans"' in answer.content.decode()
    assert client.cookies[COOKIE].value == "zh-hans"
    assert language_of(client) == "zh-hans"


def test_logging_in_takes_the_own_language_of_a_browser_that_others_use(carla, client):
    choose_language(carla, "en")
    choose(client, "zh-hans")
    login = client.get("/", follow=True).redirect_chain[-1][0].partition("?")[0]
    client.post(login, {"login": carla.username, "username": carla.username, "password": people.PASSWORD})
    assert language_of(client) == "en"
    assert client.cookies[COOKIE].value == "en"


def test_what_is_chosen_after_login_stays(carla):
    choose_language(carla, "zh-hans")
    client = visitor(carla)
    client.get("/")
    choose(client, "en")
    assert language_of(client) == "en"
    assert language_of(visitor(carla)) == "en"


def test_the_very_first_request_after_login_may_be_a_choice(carla):
    choose_language(carla, "zh-hans")
    client = visitor(carla)
    choose(client, "en")
    assert language_of(client) == "en"
    assert client.cookies[COOKIE].value == "en"


def test_whoever_chose_none_reads_what_the_browser_asks_for(carla):
    client = visitor(carla)
    assert client.get("/", headers={"Accept-Language": "zh-hans"})["Content-Language"] == "zh-hans"
    assert COOKIE not in client.cookies


def test_a_stored_language_that_there_is_no_more_is_not_taken(carla):
    Reader.objects.create(person=carla, language="tlh")
    assert language_of(visitor(carla)) == "en"


def test_the_next_request_asks_nothing(carla, django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = visitor(carla)
    client.get("/")
    with CaptureQueriesContext(connection) as captured:
        client.get("/")
    assert not [query for query in captured if "contracts_reader" in query["sql"]]


def test_pages_that_are_the_same_for_everybody_do_not_look_at_the_person(carla):
    choose_language(carla, "zh-hans")
    client = visitor(carla)
    answer = client.get(reverse("contracts:schema"))
    assert "Cookie" not in answer.get("Vary", "")
    assert COOKIE not in client.cookies

import pytest
from django.contrib.auth import get_user_model, user_logged_in
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from contracts.models import people as people_module
from contracts.models.people import called, knowing_names, logins_called
from tests import builders, people
from tests.views.visiting import address, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def _named():
    def one(username, first_name="", last_name=""):
        get_user_model().objects.create_user(username, first_name=first_name, last_name=last_name)

    one("ada", "Ada Lovelace")
    one("lin", "Lin", "Wei")
    one("lin2", "Lin Wei")
    one("root")
    one("jo", "ada")


CALLED = {
    "ada": "Ada Lovelace",
    "lin": "Lin Wei (lin)",  # two bear the name
    "lin2": "Lin Wei (lin2)",
    "root": "root",  # no name is known
    "jo": "ada (jo)",  # somebody else's login name
    "label-writer": "label-writer",  # nobody
    "": "",
}


@pytest.mark.usefixtures("_named")
def test_people_are_called_by_their_full_names(django_assert_num_queries):
    with knowing_names(), django_assert_num_queries(1):
        assert {login: called(login) for login in CALLED} == CALLED
    with knowing_names(), translation.override("zh-hans"):
        assert called("lin") == "Lin Wei（lin）"


@pytest.mark.usefixtures("_named")
def test_names_are_read_once_for_many_pages(django_assert_num_queries):
    with django_assert_num_queries(1):
        for _ in range(3):
            with knowing_names():
                assert {login: called(login) for login in CALLED} == CALLED


@pytest.mark.usefixtures("_named")
def test_whoever_is_renamed_comes_or_goes_is_called_so_at_once():
    model = get_user_model()
    with knowing_names():
        assert called("lin") == "Lin Wei (lin)"
        other = model.objects.get(username="lin2")
        other.first_name = "Lina Wei"
        other.save()
        assert (called("lin"), called("lin2")) == ("Lin Wei", "Lina Wei")
        model.objects.create_user("wei", first_name="Lin Wei")
        assert called("lin") == "Lin Wei (lin)"
        model.objects.get(username="wei").delete()
        assert called("lin") == "Lin Wei"


@pytest.mark.usefixtures("_named")
def test_what_another_process_changed_is_known_after_a_while(monkeypatch, django_assert_num_queries):
    model = get_user_model()
    with knowing_names():
        assert (called("ada"), called("new")) == ("Ada Lovelace", "new")
        model.objects.filter(username="ada").update(first_name="Ada King")  # tells nobody here
        model.objects.bulk_create(
            [model(username="new", first_name="Nia Ewe"), model(username="newer", first_name="Noa")]
        )
        assert called("ada") == "Ada Lovelace"
        monkeypatch.setattr(people_module, "AGAIN", -1.0)
        with django_assert_num_queries(1):
            assert called("newer") == "Noa"  # nobody had asked for them: they may have come meanwhile
        assert (called("ada"), called("new")) == ("Ada King", "Nia Ewe")
        model.objects.filter(username="ada").update(first_name="Ada")
        monkeypatch.setattr(people_module, "KEPT", -1.0)
        assert called("ada") == "Ada"


@pytest.mark.usefixtures("_named")
def test_names_stay_known_when_somebody_logs_in(django_assert_num_queries):
    with knowing_names():
        assert called("ada") == "Ada Lovelace"
        user_logged_in.send(None, request=None, user=get_user_model().objects.get(username="lin"))
        with django_assert_num_queries(0):
            assert called("ada") == "Ada Lovelace"


def test_somebody_without_a_name_is_asked_for_once(django_assert_num_queries):
    get_user_model().objects.create_user("root")
    with knowing_names(), django_assert_num_queries(1):
        assert [called("root") for _ in range(3)] == ["root"] * 3


@pytest.mark.usefixtures("_named")
def test_nobody_is_named_where_names_are_not_known(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert called("ada") == "ada"
        assert logins_called("Ada Lovelace") == ["Ada Lovelace"]


@pytest.mark.usefixtures("_named")
def test_whoever_types_a_name_means_all_who_bear_it():
    with knowing_names():
        assert sorted(logins_called("lin WEI")) == ["lin", "lin WEI", "lin2"]
        assert logins_called("ada") == ["ada", "jo"]


def test_a_page_of_a_contract_shows_names_and_asks_for_none_the_second_time():
    contract = builders.a_draft()
    client = visitor(people.viewer(contract.team))
    place = address("events", contract.task_id)
    assert ">Olga</a>" in words(client.get(place))
    with CaptureQueriesContext(connection) as captured:
        client.get(place)
    assert [one for one in captured if '"last_name" FROM "auth_user"' in one["sql"]] == []

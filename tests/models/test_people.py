import pytest
from django.contrib.auth import get_user_model
from django.utils import translation

from contracts.models import find_seen
from contracts.models.people import NAMES, called, give_names, knowing_names, logins_called
from tests import builders, people

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
def test_names_come_with_a_row_that_is_read_anyway(django_assert_num_queries):
    contract = builders.a_draft()
    viewer = people.viewer(contract.team)
    with knowing_names(), django_assert_num_queries(1):
        assert find_seen(viewer, contract.task_id)
        assert {login: called(login) for login in CALLED} == CALLED
        assert called("olga") == "Olga"


def test_where_nobody_has_a_name_login_names_stand(django_assert_num_queries):
    get_user_model().objects.create_user("root")
    with knowing_names(), django_assert_num_queries(0):
        give_names(None)
        assert called("root") == "root"


@pytest.mark.usefixtures("_named")
def test_nobody_is_named_where_names_are_not_known(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert called("ada") == "ada"
        assert logins_called("Ada Lovelace") == ["Ada Lovelace"]
        give_names('{"ada": "Ada"}')
        assert called("ada") == "ada"


@pytest.mark.usefixtures("_named")
def test_whoever_types_a_name_means_all_who_bear_it():
    with knowing_names():
        assert sorted(logins_called("lin WEI")) == ["lin", "lin WEI", "lin2"]
        assert logins_called("ada") == ["ada", "jo"]


def test_a_page_of_a_contract_asks_for_no_names_of_its_own():
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from tests.views.visiting import address, visitor, words

    contract = builders.a_draft()
    client = visitor(people.viewer(contract.team))
    with CaptureQueriesContext(connection) as captured:
        page = words(client.get(address("events", contract.task_id)))
    assert ">Olga</a>" in page
    assert [one for one in captured if one["sql"].startswith(f"SELECT {NAMES}")] == []

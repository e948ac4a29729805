"""The one-time key of a decision form is good for one item, one person and a limited time."""

import pytest
from django.core import signing

from contracts.gates.form_keys import SALT, check_form_key, make_form_key
from tests.builders import a_waiting_item
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def item():
    return a_waiting_item()


def test_it_takes_the_key_of_this_item_and_person(item):
    carla = person("carla", item.contract.team)
    assert check_form_key(make_form_key(item, carla), item, carla) == ""


def test_it_refuses_the_key_of_another_person(item):
    carla, dora = person("carla", item.contract.team), person("dora", item.contract.team)
    assert check_form_key(make_form_key(item, dora), item, carla) == "form_key_wrong"


@pytest.mark.parametrize(
    "key",
    ["", "forged", signing.dumps(7, salt=SALT), signing.dumps([1], salt="other")],
    ids=["empty", "forged", "another kind", "another use"],  # a signature has a time in it
)
def test_it_refuses_what_it_did_not_sign_for_this_use(item, key):
    assert check_form_key(key, item, person("carla", item.contract.team)) == "form_key_wrong"

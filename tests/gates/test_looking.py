"""Who looks at a place is kept for a while, and proves nothing: no event, no revision."""

from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.gates.looking import KEPT_FOR, leave, look
from contracts.models import Presence
from tests import builders, people
from tests.gates.watching import events_of, snapshot

pytestmark = pytest.mark.django_db


def test_one_row_per_place_and_person_says_when_it_was_last_seen():
    item = builders.a_waiting_item()
    contract, carla = item.contract, people.curator(item.contract.team)
    before, known = snapshot(contract), len(events_of(contract))
    look(contract_id=contract.pk, place=item.item_id, user=carla)
    first = Presence.objects.get()
    Presence.objects.update(seen_at=database_now() - timedelta(minutes=5))
    look(contract_id=contract.pk, place=item.item_id, user=carla)
    again = Presence.objects.get()
    assert (again.pk, again.place, again.person) == (first.pk, item.item_id, carla)
    assert again.seen_at > database_now() - timedelta(minutes=5)
    assert (snapshot(contract), len(events_of(contract))) == (before, known)


def test_several_people_look_and_what_is_long_ago_is_forgotten():
    contract = builders.a_draft()
    carla, otto = people.curator(contract.team), people.operator(contract.team)
    look(contract_id=contract.pk, place="item-1", user=carla)
    Presence.objects.update(seen_at=database_now() - KEPT_FOR - timedelta(minutes=1))
    look(contract_id=contract.pk, place="item-1", user=otto)
    assert list(Presence.objects.values_list("person__username", flat=True)) == [otto.username]


def test_whoever_comes_back_after_long_is_seen_again_and_once():
    contract = builders.a_draft()
    carla = people.curator(contract.team)
    look(contract_id=contract.pk, place="item-1", user=carla)
    Presence.objects.update(seen_at=database_now() - KEPT_FOR - timedelta(minutes=1))
    look(contract_id=contract.pk, place="item-1", user=carla)
    assert Presence.objects.get().seen_at > database_now() - timedelta(minutes=1)


def test_a_look_is_one_statement(django_assert_num_queries):
    contract = builders.a_draft()
    carla = people.curator(contract.team)
    with django_assert_num_queries(1):
        look(contract_id=contract.pk, place="item-1", user=carla)


def test_whoever_leaves_is_seen_nowhere_and_nobody_else_is_taken_away():
    contract = builders.a_draft()
    carla, otto = people.curator(contract.team), people.operator(contract.team)
    for place in ("item-1", "section:objects"):
        look(contract_id=contract.pk, place=place, user=carla)
        look(contract_id=contract.pk, place=place, user=otto)
    leave(carla)
    assert [row.person for row in Presence.objects.all()] == [otto, otto]

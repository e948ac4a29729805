from datetime import timedelta

import pytest
from django.utils.html import escape

from contracts.gates.beats import database_now
from contracts.gates.looking import look
from contracts.gates.people import join_team
from contracts.models import Event, Presence
from contracts.rules.vocabulary import Role
from tests import builders, people
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def draft(team):
    return builders.a_draft(team)


def say_here(person, contract, section="objects", others=""):
    return visitor(person).post(address("here", contract.task_id, section), {"others": others}, headers=HTMX)


def test_two_people_in_a_section_are_told_of_each_other(team, draft):
    olga, rita = people.owner(team), people.reviewer(team)
    assert say_here(olga, draft).status_code == 204
    told = words(say_here(rita, draft))
    assert "Olga has this section open too" in told
    assert "Rita" not in told
    assert "Rita has this section open too" in words(say_here(olga, draft))


def test_whoever_opens_a_section_sees_at_once_who_is_there(team, draft):
    say_here(people.owner(team), draft)
    page = words(visitor(people.reviewer(team)).get(address("section", draft.task_id, "objects")))
    assert "Olga has this section open too" in page


def test_whoever_logs_out_has_left(team, draft):
    olga = people.owner(team)
    client = visitor(olga)
    client.post(address("here", draft.task_id, "objects"), {"others": ""}, headers=HTMX)
    assert "Olga has this section" in words(say_here(people.reviewer(team), draft))
    client.post("/logout/")
    assert not Presence.objects.filter(person=olga).exists()
    assert "Olga has this section" not in words(say_here(people.reviewer(team), draft, others="Olga"))


def test_nothing_is_answered_as_long_as_nothing_changes(team, draft):
    say_here(people.owner(team), draft)
    answer = say_here(people.reviewer(team), draft, others="Olga")
    assert (answer.status_code, answer.content) == (204, b"")


def test_who_is_in_another_section_or_contract_is_not_told_of(team, draft):
    other = builders.a_draft(team)
    say_here(people.owner(team), draft, "limits")
    say_here(people.owner(team), other)
    assert say_here(people.reviewer(team), draft).status_code == 204


def test_who_gave_no_sign_for_a_while_has_left(team, draft):
    say_here(people.owner(team), draft)
    Presence.objects.update(seen_at=database_now() - timedelta(minutes=1))
    answer = say_here(people.reviewer(team), draft, others="Olga")
    assert answer.status_code == 200
    assert "open too" not in words(answer)


def test_reading_a_section_leaves_no_sign_and_presence_is_no_event(team, draft):
    events = Event.objects.count()
    visitor(people.owner(team)).get(address("section", draft.task_id, "objects"))
    assert Presence.objects.count() == 0
    say_here(people.owner(team), draft)
    assert (Presence.objects.count(), Event.objects.count()) == (1, events)


def test_a_viewer_counts_and_a_stranger_finds_nothing(team, draft):
    assert say_here(people.viewer(team), draft).status_code == 204
    assert say_here(people.stranger(), draft).status_code == 404
    assert "Victor" in words(say_here(people.owner(team), draft))


def test_a_name_is_text(team, draft):
    odd = people.person("odd", team, Role.REVIEWER)
    odd.first_name = '<b x="'
    odd.save()
    look(contract_id=draft.pk, place="section:objects", user=odd)
    told = say_here(people.owner(team), draft).content.decode()
    assert "<b" not in told
    assert escape('<b x="') in told


def test_a_section_needs_as_many_queries_for_many_people_as_for_one(team, draft):
    client = visitor(people.owner(team))
    counts = []
    for names in (["ada"], [f"p{number}" for number in range(12)]):
        for name in names:
            look(contract_id=draft.pk, place="section:objects", user=people.person(name, team, Role.VIEWER))
        counts.append(queries(client, address("section", draft.task_id, "objects")))
    assert counts[0] == counts[1]


def test_who_joins_later_is_seen_by_the_name_of_the_account(team, draft):
    stefan = people.stranger()
    join_team(person=stefan, team=team, roles=(Role.VIEWER,))
    look(contract_id=draft.pk, place="section:objects", user=stefan)
    assert "stefan" in words(say_here(people.owner(team), draft))

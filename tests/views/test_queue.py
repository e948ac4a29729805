import re
from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.gates.looking import look
from contracts.gates.people import join_team
from contracts.models import Approval, Contract
from contracts.rules.vocabulary import Role
from contracts.views.shown import place_of
from tests import builders, people, scenes
from tests.gates.watching import snapshot
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def items(team):
    return scenes.fill_the_queue(team)


def shown(person, show="mine"):
    page = words(visitor(person).get(address("approvals", show=show)))
    return set(re.findall(r'id="open-(item-[0-9a-f]+)"', page))


def ids(items, *states):
    return {items[state].item_id for state in states}


def test_what_waits_for_me_is_what_i_can_decide_on(team, items):
    curator = people.curator(team)
    assert shown(curator) == ids(items, "pending", "quorum", "plain")
    assert shown(curator, "others") == ids(items, "own")
    client = visitor(curator)
    for item in Approval.objects.filter(state="pending"):
        page = words(client.get(address("approval", item.contract.task_id, item.item_id)))
        assert ('name="decision"' in page) is (item.item_id in shown(curator)), item


def test_what_is_overdue_and_what_ended_are_listed(team, items):
    curator = people.curator(team)
    assert shown(curator, "overdue") == ids(items, "expired")
    ended = shown(curator, "ended")
    assert ids(items, "approved", "rejected", "stale", "withdrawn") <= ended
    assert not ids(items, "pending", "expired") & ended
    Approval.objects.filter(pk=items["approved"].pk).update(decided_at=database_now() - timedelta(hours=3))
    assert shown(curator, "overdue") == ids(items, "expired", "approved")
    assert "not used; decided" in words(visitor(curator).get(address("approvals", show="overdue")))


def test_the_title_counts_and_what_is_due_first_comes_first(team, items):
    Approval.objects.filter(pk=items["plain"].pk).update(expires_at=database_now() + timedelta(minutes=20))
    page = words(visitor(people.curator(team)).get(address("approvals")))
    assert "(3) Approvals" in page.replace("<title> ", "<title>")
    order = re.findall(r'id="open-(item-[0-9a-f]+)"', page)
    assert order[0] == items["plain"].item_id
    assert 'class="left near"' in page


def test_the_part_for_htmx_brings_its_title(team, items):
    answer = visitor(people.curator(team)).get(address("approvals"), headers=HTMX)
    page = words(answer)
    assert re.match(
        '<title>[(]3[)] Approvals[^<]*</title> <div id="queue"', page
    )  # beside it: only there it counts
    assert answer["Cache-Control"] == "no-store"


def test_who_looks_and_how_many_agreed_are_told(team, items):
    dora, item = people.person("dora", team, Role.CURATOR), items["quorum"]
    look(contract_id=item.contract_id, place=place_of(item), user=dora)
    page = words(visitor(people.curator(team)).get(address("approvals")))
    assert "1 of 2 agreed" in page
    assert "open at Dora" in page


def test_what_i_said_already_waits_for_others(team, items):
    dora = people.person("dora", team, Role.CURATOR)
    assert items["quorum"].item_id not in shown(dora)
    assert items["quorum"].item_id in shown(dora, "others")


def test_authors_editors_and_requesters_do_not_find_their_own(team, items):
    owner = people.owner(team)
    join_team(person=owner, team=team, roles=(Role.CURATOR,))
    assert shown(owner) == ids(items, "plain", "own") - {
        i.item_id for i in items.values() if i.last_editor == "olga"
    }
    scenes.change_rules(items["own"].contract, author_may_decide="true")
    fresh = scenes.ask(items["own"].contract, scenes.WHY)
    assert fresh.item_id in shown(owner)


def test_what_was_passed_on_waits_for_whom_it_was_passed_to(team, items):
    curator, dora = people.curator(team), people.person("dora", team, Role.CURATOR)
    Approval.objects.filter(pk=items["pending"].pk).update(passed_to="dora")
    Approval.objects.filter(pk=items["plain"].pk).update(passed_to="curator")
    assert (items["pending"].item_id in shown(curator), items["pending"].item_id in shown(dora)) == (
        False,
        True,
    )
    assert items["plain"].item_id in shown(curator)


def test_only_contracts_one_may_see_and_that_are_not_archived_count(team, items):
    assert shown(people.neighbour()) == set()
    viewer = people.viewer(team)
    assert (shown(viewer), bool(shown(viewer, "others"))) == (set(), True)
    Contract.objects.filter(pk=items["pending"].contract_id).update(archived_at=database_now())
    assert items["pending"].item_id not in shown(people.curator(team))


def test_an_empty_queue_says_what_belongs_there(team):
    for show in ("mine", "others", "overdue", "ended", "nonsense"):
        page = words(visitor(people.curator(team)).get(address("approvals", show=show)))
        assert "Nothing" in page


def test_looking_changes_nothing_and_needs_the_same_queries_for_more(team, items):
    client, contract = visitor(people.curator(team)), items["pending"].contract
    before, cost = snapshot(contract), queries(client, address("approvals"))
    assert snapshot(contract) == before
    for number in range(3, 12):
        scenes.call(contract, number)
        scenes.ask(contract, scenes.WHY)
    assert queries(client, address("approvals")) == cost

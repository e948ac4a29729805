import pytest
from django.urls import reverse

from contracts.gates.people import share
from contracts.gates.tokens import issue_token
from contracts.models import Event, WorkerToken
from contracts.rules.tokens import is_token
from contracts.rules.vocabulary import Right
from tests import builders, people
from tests.api.bearing import issued
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


def place(team):
    return reverse("contracts:tokens", args=[team.slug])


def form(*contracts, **given):
    return {
        "deed": "issue",
        "worker": "label-writer",
        "days": "3",
        "contracts": [contract.task_id for contract in contracts],
        **given,
    }


def shown(answer):
    words = answer.content.decode().replace("<", " ").replace(">", " ").split()
    return {word for word in words if is_token(word)}


def test_a_token_is_shown_once(team):
    contract = builders.a_paused(team)
    client = visitor(people.owner(team))
    answer = client.post(place(team), form(contract))
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert len(shown(answer)) == 1
    again = client.get(place(team))
    assert not shown(again)
    assert WorkerToken.objects.get().token_id in again.content.decode()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"worker": ""}, "worker"),
        ({"worker": "olga"}, "worker"),
        ({"worker": "a\u200bb"}, "worker"),
        ({"days": "8"}, "days"),
        ({"days": "0"}, "days"),
        ({"days": "x"}, "days"),
        ({"contracts": []}, "contracts"),
        ({"contracts": ["somebody-elses"]}, "contracts"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(team, given, field):
    contract = builders.a_paused(team)
    answer = visitor(people.owner(team)).post(place(team), {**form(contract), **given})
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not WorkerToken.objects.exists()


def test_only_contracts_one_may_share_are_offered(team):
    mine = builders.a_paused(team)
    other = builders.a_paused(team, people.reviewer(team))
    answer = visitor(people.owner(team)).get(place(team) + f"?contract={mine.task_id}")
    offered = [value for value, _ in answer.context["form"].fields["contracts"].choices]
    assert offered == [mine.task_id]
    assert answer.context["form"].initial == {"contracts": [mine.task_id]}
    forged = visitor(people.owner(team)).post(place(team), form(other))
    assert forged.status_code == 422


def test_rotating_shows_another_token_and_leaves_the_old_one(team):
    contract = builders.a_paused(team)
    first = issued(contract)
    answer = visitor(people.owner(team)).post(place(team), {"deed": "rotate", "token_id": first.row.token_id})
    assert shown(answer)
    assert first.token not in answer.content.decode()
    third = visitor(people.owner(team)).post(place(team), {"deed": "rotate", "token_id": first.row.token_id})
    assert (third.status_code, shown(third)) == (409, set())
    assert WorkerToken.objects.filter(revoked_at=None).count() == 2


def test_revoking_is_done_by_who_may_share_and_by_operators(team):
    for person in (people.owner(team), people.operator(team)):
        contract = builders.a_paused(team)
        row = issued(contract).row
        answer = visitor(person).post(place(team), {"deed": "revoke", "token_id": row.token_id})
        assert answer.status_code == 302
        row.refresh_from_db()
        assert row.revoked_by == person.username
        assert Event.objects.of(contract.pk).last().act == "revoke_token"


def test_an_operator_rotates_nothing(team):
    row = issued(builders.a_paused(team)).row
    client = visitor(people.operator(team))
    assert client.post(place(team), {"deed": "rotate", "token_id": row.token_id}).status_code == 403
    assert WorkerToken.objects.count() == 1


@pytest.mark.parametrize(
    "given", [{"deed": "rename"}, {"deed": "revoke"}, {"deed": "revoke", "token_id": "T-none"}]
)
def test_what_is_not_there_is_not_found(team, given):
    builders.a_paused(team)
    assert visitor(people.owner(team)).post(place(team), given).status_code == 404


def test_contracts_that_one_does_not_see_are_counted_and_not_named(team):
    mine, hidden = builders.a_paused(team), builders.a_paused(team, people.reviewer(team))
    builders.done(
        issue_token(
            actor=people.acting(people.owner(team)),
            team=team,
            worker="label-writer",
            contract_ids=[mine.pk, hidden.pk],
            days=1,
        )
    )
    stefan = people.stranger()
    builders.done(
        share(
            contract_id=mine.pk,
            actor=people.acting(people.owner(team)),
            username=stefan.username,
            rights=frozenset({Right.SHARE}),
        )
    )
    client = visitor(stefan)
    answer = client.get(place(team))
    assert hidden.task_id not in answer.content.decode()
    line = answer.context["lines"][0]
    assert (line.contracts, line.hidden, line.may_rotate) == ([mine.task_id], 1, False)
    assert client.post(place(team), {"deed": "rotate", "token_id": line.row.token_id}).status_code == 403
    assert client.post(place(team), {"deed": "revoke", "token_id": line.row.token_id}).status_code == 302


def test_a_team_of_which_one_sees_nothing_is_not_there(team):
    builders.a_paused(team)
    assert visitor(people.neighbour()).get(place(team)).status_code == 404
    assert visitor(people.viewer(team)).get(place(team)).status_code == 403
    assert visitor(people.owner(team)).get("/teams/no-such-team/tokens/").status_code == 404

import pytest

from contracts.models import Event, rights_of
from contracts.rules.vocabulary import Right
from tests import builders, people
from tests.views.visiting import address, queries, visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return builders.a_team()


@pytest.fixture
def contract(team):
    return builders.a_draft(team)


def post(contract, person, **values):
    return visitor(person).post(address("sharing", contract.task_id), values)


@pytest.mark.parametrize("who", ["viewer", "reviewer", "curator", "operator", "exporter"])
def test_only_an_owner_shares(contract, team, who):
    client = visitor(getattr(people, who)(team))
    assert client.get(address("sharing", contract.task_id)).status_code == 403
    answer = post(contract, getattr(people, who)(team), username="stefan", rights=[Right.VIEW.value])
    assert answer.status_code == 403


def test_a_stranger_finds_nothing(contract):
    assert visitor(people.stranger()).get(address("sharing", contract.task_id)).status_code == 404
    assert post(contract, people.stranger(), username="stefan", rights=[Right.VIEW.value]).status_code == 404


def test_a_person_is_given_exactly_these_rights(contract, team):
    stefan = people.stranger()
    answer = post(contract, people.owner(team), username="stefan", rights=[Right.FILL.value])
    assert answer.status_code == 302
    assert rights_of(stefan, contract.pk) == {Right.VIEW, Right.FILL}
    post(contract, people.owner(team), username="stefan", rights=[Right.EXPORT.value])
    assert rights_of(stefan, contract.pk) == {Right.VIEW, Right.EXPORT}


def test_an_unknown_person_is_an_error_at_the_field_and_what_was_typed_stays(contract, team):
    rights = [Right.FILL.value, Right.EXPORT.value]
    answer = post(contract, people.owner(team), username="nobody", rights=rights)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["username"]
    assert 'value="nobody"' in words(answer)
    assert words(answer).count("checked") >= 2
    assert "<title>Error:" in words(answer)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"username": "stefan"}, "rights"),
        ({"username": "stefan", "rights": ["delete_contract"]}, "rights"),
        ({"rights": [Right.VIEW.value]}, "username"),
        ({"username": "a\x00b", "rights": [Right.VIEW.value]}, "username"),
    ],
)
def test_a_form_that_says_too_little_changes_nothing(contract, team, values, field):
    stefan = people.stranger()
    answer = post(contract, people.owner(team), **values)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert rights_of(stefan, contract.pk) == set()
    assert Event.objects.of(contract.pk).count() == 1


def test_a_person_with_rights_is_offered_for_change(contract, team):
    people.stranger()
    post(contract, people.owner(team), username="stefan", rights=[Right.FILL.value])
    answer = visitor(people.owner(team)).get(address("sharing", contract.task_id, person="stefan"))
    assert answer.context["form"].initial["rights"] == [Right.VIEW.value, Right.FILL.value]
    assert "Rights of stefan" in words(answer)


def test_removing_asks_first_and_then_takes_everything(contract, team):
    stefan, owner = people.stranger(), people.owner(team)
    post(contract, owner, username="stefan", rights=[Right.FILL.value])
    answer = visitor(owner).get(address("sharing", contract.task_id, remove="stefan"))
    assert "Take all rights of their own from stefan?" in words(answer)
    assert rights_of(stefan, contract.pk)
    assert post(contract, owner, deed="remove", username="stefan").status_code == 302
    assert rights_of(stefan, contract.pk) == set()


def test_removing_somebody_unknown_is_refused(contract, team):
    assert post(contract, people.owner(team), deed="remove", username="nobody").status_code == 409
    assert post(contract, people.owner(team), deed="remove").status_code == 422


def test_who_gives_up_sharing_leaves_the_page(contract, team):
    owner = people.owner(team)
    answer = post(contract, owner, username=owner.username, rights=[Right.VIEW.value])
    assert answer.status_code in (409, 422)  # somebody must be left who may share
    post(contract, owner, username=people.viewer(team).username, rights=[Right.SHARE.value])
    answer = post(contract, owner, username=owner.username, rights=[Right.VIEW.value])
    assert answer.url == address("overview", contract.task_id)


def test_rights_by_a_role_are_shown_and_stay(contract, team):
    people.curator(team)
    answer = visitor(people.owner(team)).get(address("sharing", contract.task_id))
    lines = {role.label: role for role in answer.context["roles"]}
    assert list(lines) == ["Viewer", "Reviewer", "Curator", "Operator", "Exporter"]
    assert (lines["Curator"].people, lines["Curator"].rights) == (["Carla"], [Right.VIEW, Right.DECIDE])


def test_the_number_of_queries_does_not_grow(contract, team):
    owner = people.owner(team)
    client, url = visitor(owner), address("sharing", contract.task_id)
    few = queries(client, url)
    for number in range(12):
        person = people.person(f"person-{number}", team)
        post(contract, owner, username=person.username, rights=[Right.FILL.value])
    assert queries(client, url) == few

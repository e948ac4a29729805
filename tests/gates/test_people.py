import pytest
from django.contrib.auth.models import Group

from contracts.gates.people import create_person, create_team, join_team, share
from contracts.models import Team, rights_of
from contracts.rules.vocabulary import ROLE_RIGHTS, Right, Role
from tests import builders, people
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, events_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft():
    return builders.a_draft()


def test_a_team_has_one_group_per_role_and_is_made_once():
    first = create_team(slug="labels", name="Labels")
    assert create_team(slug="labels", name="Other words") == first
    assert {role.role: role.group.name for role in first.roles.all()} == {
        role.value: f"labels:{role.value}" for role in Role
    }
    assert (Team.objects.count(), Group.objects.count()) == (1, 5)


def test_a_person_joins_with_roles_and_takes_more_later():
    team = builders.a_team()
    person = create_person(
        username="ada", full_name="Ada", password=people.PASSWORD, team=team, roles=(Role.VIEWER,)
    )
    join_team(person=person, team=team, roles=(Role.CURATOR, Role.VIEWER))
    assert set(person.groups.values_list("name", flat=True)) == {"labels:viewer", "labels:curator"}
    assert person.check_password(people.PASSWORD)
    assert (person.get_full_name(), person.is_staff, person.is_superuser) == ("Ada", False, False)


def test_sharing_sets_exactly_the_rights_and_sees_to_seeing(draft):
    stranger = people.stranger()
    given = {"username": stranger.username}
    _, (event,) = assert_allowed(draft, share, **given, rights=frozenset({Right.FILL}))
    assert (event.part, event.subject) == ("sharing", "stefan")
    assert event.after == {"rights": ["fill_contract", "view_contract"]}
    assert rights_of(stranger, draft.pk) == {Right.VIEW, Right.FILL}
    _, (event,) = assert_allowed(draft, share, **given, rights=frozenset({Right.EXPORT}))
    assert event.before == {"rights": ["fill_contract", "view_contract"]}
    assert rights_of(stranger, draft.pk) == {Right.VIEW, Right.EXPORT}
    assert_unchanged(draft, share, **given, rights=frozenset({Right.EXPORT, Right.VIEW}))
    assert_allowed(draft, share, **given, rights=frozenset())
    assert rights_of(stranger, draft.pk) == frozenset()
    assert_unchanged(draft, share, **given, rights=frozenset())


def test_sharing_touches_neither_roles_nor_other_contracts(draft):
    other = builders.a_draft()
    viewer = people.viewer(draft.team)
    assert_allowed(draft, share, username="victor", rights=frozenset({Right.DECIDE}))
    assert rights_of(viewer, draft.pk) == {Right.VIEW, Right.DECIDE}
    assert rights_of(viewer, other.pk) == {Right.VIEW}
    assert_allowed(draft, share, username="victor", rights=frozenset())
    assert rights_of(viewer, draft.pk) == set(ROLE_RIGHTS[Role.VIEWER])


def test_nobody_and_somebody_who_left_are_no_such_person(draft):
    people.stranger()
    gone = people.neighbour()
    gone.is_active = False
    gone.save()
    for username in ("nobody", "nora"):
        assert_refused(draft, "no_such_person", share, username=username, rights=frozenset({Right.VIEW}))
        assert events_of(draft)[-1].subject == username


@pytest.mark.parametrize("username", ["", "a\x00b", "ghp_" + "a1B2" * 9, "x" * 300])
def test_what_cannot_be_a_name_is_neither_looked_up_nor_recorded(draft, username):
    assert_refused(draft, "no_such_person", share, username=username, rights=frozenset({Right.VIEW}))
    assert events_of(draft)[-1].subject == ""


def test_the_rights_of_somebody_who_left_can_be_taken_away(draft):
    gone = people.stranger()
    assert_allowed(draft, share, username=gone.username, rights=frozenset({Right.FILL}))
    gone.is_active = False
    gone.save()
    assert_refused(draft, "no_such_person", share, username=gone.username, rights=frozenset({Right.EXPORT}))
    assert_allowed(draft, share, username=gone.username, rights=frozenset())
    assert rights_of(gone, draft.pk) == frozenset()


def test_the_last_one_who_may_share_stays(draft):
    owner, second = draft.created_by, people.stranger()
    assert_refused(draft, "last_to_share", share, username=owner, rights=frozenset({Right.VIEW}))
    assert_allowed(draft, share, username=second.username, rights=frozenset({Right.SHARE}))
    assert_allowed(draft, share, username=owner, rights=frozenset({Right.VIEW}))
    second.is_active = False
    second.save()
    assert_allowed(draft, share, username=owner, rights=frozenset({Right.SHARE}))
    assert_allowed(draft, share, username=second.username, rights=frozenset())
    assert_refused(draft, "last_to_share", share, username=owner, rights=frozenset())

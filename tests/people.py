"""The people of the tests, each made once through the gates: ask twice for one and get the same person."""

from typing import Any

from django.contrib.auth import get_user_model

from contracts.gates.people import create_person, create_team
from contracts.models import Team
from contracts.rules.vocabulary import Actor, ActorKind, Role

PASSWORD = "correct horse battery staple"


def owner(team: Team) -> Any:
    """A reviewer who creates contracts: on those the person may also export and share."""
    return person("olga", team, Role.REVIEWER)


def viewer(team: Team) -> Any:
    """Someone who may see the team's contracts and nothing else."""
    return person("victor", team, Role.VIEWER)


def reviewer(team: Team) -> Any:
    """Someone who may fill in the team's contracts."""
    return person("rita", team, Role.REVIEWER)


def curator(team: Team) -> Any:
    """Someone who may decide on approvals."""
    return person("carla", team, Role.CURATOR)


def operator(team: Team) -> Any:
    """Someone who may take over, reconcile and raise limits."""
    return person("otto", team, Role.OPERATOR)


def exporter(team: Team) -> Any:
    """Someone who may see and carry away the team's contracts."""
    return person("emil", team, Role.EXPORTER)


def stranger() -> Any:
    """An active person of no team."""
    found = get_user_model().objects.filter(username="stefan").first()
    return found or get_user_model().objects.create_user("stefan", password=PASSWORD)


def neighbour() -> Any:
    """A reviewer of another team."""
    return person("nora", create_team(slug="archive", name="Archive"), Role.REVIEWER)


def person(username: str, team: Team, *roles: Role) -> Any:
    """Return the person called `username`, made with `roles` in `team` if new."""
    found = get_user_model().objects.filter(username=username).first()
    return found or create_person(
        username=username, full_name=username.title(), password=PASSWORD, team=team, roles=roles
    )


def acting(user: Any, kind: ActorKind = ActorKind.PERSON) -> Actor:
    """Return `user` as gates know who acts."""
    return Actor(user.get_username(), kind)

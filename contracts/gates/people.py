"""Teams, people and what they may do with one contract."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import transaction

from contracts.gates.beats import Turn, take_turn
from contracts.models import ContractUserPermission, Team, TeamRole
from contracts.rules.credentials import check_no_credential
from contracts.rules.refusals import refusal
from contracts.rules.text import check_identifier
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, Right, Role


def create_team(*, slug: str, name: str) -> Team:
    """Return the team called `slug`, made with one group per role if it is new."""
    with transaction.atomic():
        team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": name})
        for role in Role:
            group, _ = Group.objects.get_or_create(name=f"{slug}:{role.value}")
            TeamRole.objects.get_or_create(team=team, role=role.value, defaults={"group": group})
    return team


def create_person(
    *, username: str, full_name: str, password: str, team: Team, roles: tuple[Role, ...], email: str = ""
) -> Any:
    """Return a new active person who holds `roles` in `team`; the caller has checked password and address."""
    with transaction.atomic():
        person = get_user_model().objects.create_user(
            username=username, email=email, password=password, first_name=full_name
        )
        join_team(person=person, team=team, roles=roles)
    return person


def join_team(*, person: Any, team: Team, roles: tuple[Role, ...]) -> None:
    """Give `person` further roles in `team`."""
    groups = Group.objects.filter(team_role__team=team, team_role__role__in=[role.value for role in roles])
    person.groups.add(*groups)


def share(*, contract_id: int, actor: Actor, username: str, rights: frozenset[Right]) -> Verdict:
    """Set the rights of one person on one contract to exactly `rights`; none takes them all away.

    Seeing comes with every other right. Rights by a team's role are not touched. Only an active person can
    be given rights, and somebody must always be left who may share. The outcome is the person.
    """

    # Whatever was typed into the field for a name is neither looked up nor recorded unless it is one.
    faults = (check_identifier("person", username), check_no_credential("person", username))
    name = "" if any(faults) else username

    def body(turn: Turn) -> Verdict:
        person = get_user_model().objects.filter(username=name).first() if name else None
        if person is None or (rights and not person.is_active):
            return refusal("no_such_person")
        return _set_rights(turn, person, rights | {Right.VIEW} if rights else rights)

    return take_turn(
        contract_id=contract_id, actor=actor, act="share", part="sharing", subject=name, body=body
    )


def _set_rights(turn: Turn, person: Any, wanted: frozenset[Right]) -> Verdict:
    own = ContractUserPermission.objects.filter(content_object=turn.contract, user=person)
    before = set(own.values_list("permission__codename", flat=True))
    after = {right.value for right in wanted}
    if before == after:
        return allow(person, code="unchanged")
    if Right.SHARE.value in before - after and not _others_may_share(turn, person):
        return refusal("last_to_share")
    permissions = Permission.objects.filter(content_type__app_label="contracts", codename__in=after - before)
    turn.answer()
    own.filter(permission__codename__in=before - after).delete()
    ContractUserPermission.objects.bulk_create(
        ContractUserPermission(user=person, permission=permission, content_object=turn.contract)
        for permission in permissions
    )
    turn.note("share", "sharing", person.username, {"rights": sorted(before)}, {"rights": sorted(after)})
    return allow(person)


def _others_may_share(turn: Turn, person: Any) -> bool:
    others = ContractUserPermission.objects.filter(content_object=turn.contract, user__is_active=True)
    return others.filter(permission__codename=Right.SHARE.value).exclude(user=person).exists()

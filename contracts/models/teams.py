"""Teams, their role groups, and who may do what with one contract."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from contracts.models.content import choices
from contracts.rules.vocabulary import LINE_MAX, Right, Role


class Team(models.Model):
    """The people who share contracts. A contract belongs to one team."""

    slug = models.SlugField(max_length=50, unique=True)
    name = models.CharField(max_length=LINE_MAX)

    def __str__(self) -> str:
        return self.name


class TeamRole(models.Model):
    """The group that holds one role of one team; on creation a contract grants it that role's rights."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="roles")
    role = models.CharField(max_length=20, choices=choices(Role))
    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="team_role")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "role"], name="one_group_per_team_role")]

    def __str__(self) -> str:
        return f"{self.team.slug}:{self.role}"


class ContractUserPermission(UserObjectPermissionBase):
    """One right of one person on one contract."""

    content_object = models.ForeignKey("contracts.Contract", on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        indexes = [models.Index(fields=["user", "permission"], name="contract_rights_of_person")]


class ContractGroupPermission(GroupObjectPermissionBase):
    """One right of one role group on one contract."""

    content_object = models.ForeignKey("contracts.Contract", on_delete=models.CASCADE)

    class Meta(GroupObjectPermissionBase.Meta):
        indexes = [models.Index(fields=["group", "permission"], name="contract_rights_of_group")]


def rights_of(user: Any, contract_id: int) -> frozenset[Right]:
    """Return every right `user` holds on one contract, by own grant or by a role group (one query)."""
    own = ContractUserPermission.objects.filter(user=user, content_object_id=contract_id)
    by_group = ContractGroupPermission.objects.filter(group__user=user, content_object_id=contract_id)
    column = "permission__codename"
    return frozenset(
        Right(name)
        for name in own.values_list(column, flat=True).union(by_group.values_list(column, flat=True))
    )


def people_with(right: Right, contract_id: int) -> models.QuerySet[Any]:
    """Return the active people who hold `right` on one contract, by own grant or by a role group."""
    wanted = {"permission__codename": right.value, "content_object_id": contract_id}
    own = ContractUserPermission.objects.filter(**wanted)
    by_group = ContractGroupPermission.objects.filter(**wanted)
    return (
        get_user_model()
        .objects.filter(
            models.Q(pk__in=own.values("user_id")) | models.Q(groups__in=by_group.values("group_id")),
            is_active=True,
        )
        .distinct()
    )


def roles_of(user: Any, team_id: int) -> frozenset[str]:
    """Return the roles `user` holds in one team (stored values)."""
    return frozenset(
        TeamRole.objects.filter(team_id=team_id, group__user=user).values_list("role", flat=True)
    )

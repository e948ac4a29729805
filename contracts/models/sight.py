"""What one person sees of one contract, by one query: every page of a contract begins with it."""

from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from contracts.models.identity import Contract
from contracts.models.teams import ContractGroupPermission, ContractUserPermission, Team
from contracts.rules.vocabulary import Right


def find_seen(user: Any, task_id: str) -> tuple[Contract, frozenset[Right]] | None:
    """Return the contract, its team in it, with all rights `user` holds on it; None if they may not see it.

    A right comes by own grant or by a role group, as in `rights_of`. The statement is written out because putting it
    together from parts takes longer than running it.
    """
    if not user.is_authenticated or not user.is_active:
        return None
    for contract in Contract.objects.raw(_statement(), [user.pk, user.pk, task_id]):
        rights = frozenset(Right(name) for name in contract.__dict__.pop("held"))
        contract.team = Team(
            **{
                field.attname: contract.__dict__.pop(f"team_{field.attname}")
                for field in Team._meta.concrete_fields
            }
        )
        contract.team._state.adding = False
        return (contract, rights) if Right.VIEW in rights else None
    return None


@cache
def _statement() -> str:
    own, by_group = ContractUserPermission._meta.db_table, ContractGroupPermission._meta.db_table
    membership = get_user_model().groups.through._meta.db_table
    permissions = Permission._meta.db_table
    columns = [f"c.{field.column}" for field in Contract._meta.concrete_fields]
    columns += [f"t.{field.column} AS team_{field.attname}" for field in Team._meta.concrete_fields]
    return f"""
        SELECT {", ".join(columns)}, ARRAY(
            SELECT p.codename FROM {own} o JOIN {permissions} p ON p.id = o.permission_id
            WHERE o.content_object_id = c.id AND o.user_id = %s
            UNION
            SELECT p.codename FROM {by_group} g JOIN {membership} m ON m.group_id = g.group_id
            JOIN {permissions} p ON p.id = g.permission_id
            WHERE g.content_object_id = c.id AND m.user_id = %s
        ) AS held
        FROM {Contract._meta.db_table} c JOIN {Team._meta.db_table} t ON t.id = c.team_id
        WHERE c.task_id = %s
    """  # noqa: S608  # own names

"""`manage.py create_examples`: a team, a person for each role, and the two example contracts."""

import os
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext, override

from contracts.exports.definition import CASE_LANGUAGES, CASES, case
from contracts.gates.beats import database_now
from contracts.gates.creating import create_contract
from contracts.gates.lifecycle import leave_draft
from contracts.gates.people import create_person, create_team
from contracts.management.passwords import new_password
from contracts.models import ReservedTaskId, Team
from contracts.rules.document import check_document
from contracts.rules.vocabulary import Actor, ActorKind, Role

TEAM, OWNER = "collection", "reviewer"
TEAM_NAMES = {"en": "Collection", "zh-hans": "馆藏部"}
# Login name → full name, roles. The login names say what a newcomer can try with each.
PEOPLE = {
    "viewer": ("Vera Lind", (Role.VIEWER,)),
    "reviewer": ("Rita Okafor", (Role.REVIEWER, Role.EXPORTER)),
    "curator": ("Cleo Marchetti", (Role.CURATOR,)),
    "operator": ("Otto Brandt", (Role.OPERATOR,)),
}
LEFT_DRAFT = "archive-photographs"  # its work was interrupted; the museum label is still being filled in


class Command(BaseCommand):
    help = (
        "In a workbench without any team: create one, with a person for each role (passwords are generated and "
        "shown once) and the example contracts. What was once there is not made again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--people-only", action="store_true", help="no example contracts")
        parser.add_argument(
            "--lang",
            choices=CASE_LANGUAGES,
            default=machine_language(os.environ),
            help="of the contracts; default: the language of this machine",
        )

    def handle(self, *, people_only: bool, lang: str, **_: Any) -> None:
        if not Team.objects.exists():
            self._add_people(lang)
        team = Team.objects.filter(slug=TEAM).first()
        if team is None or people_only:
            return
        owners = get_user_model().objects.filter(username=OWNER, is_active=True)
        owner = owners.filter(
            groups__team_role__team=team, groups__team_role__role=Role.REVIEWER.value
        ).first()
        if owner is not None:
            for name in CASES:
                _add_case(owner, team, name, lang)

    def _add_people(self, language: str) -> None:
        rows = []
        with transaction.atomic():  # else a kill in between would leave a team that is never completed
            team = create_team(slug=TEAM, name=TEAM_NAMES[language])
            for username, (full_name, roles) in PEOPLE.items():
                password = new_password()
                create_person(
                    username=username, full_name=full_name, password=password, team=team, roles=roles
                )
                rows.append((username, password, roles))
            # Shown before they count: a kill in between leaves no person whose password nobody saw.
            self._show(rows, language)

    def _show(self, rows: list[tuple[str, str, tuple[Role, ...]]], language: str) -> None:
        with override(language):
            self.stdout.write(gettext("Log in with these passwords; they are shown only now:"))
            for username, password, roles in rows:
                words = ", ".join(gettext(role.label) for role in roles)
                self.stdout.write(f"  {username:<9} {password}  {words}")


def machine_language(environment: Mapping[str, str]) -> str:
    """Return the language of the examples that fits the locale variables (POSIX order) of a machine."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    return "zh-hans" if locale.lower().startswith("zh") else "en"


def _add_case(owner: Any, team: Team, name: str, language: str) -> None:
    if ReservedTaskId.objects.filter(task_id=name).exists():
        return
    document = check_document({**case(name, language, database_now()), "team": team.slug})
    actor = Actor(owner.get_username(), ActorKind.SYSTEM)
    verdict = create_contract(user=owner, actor=actor, team=team, document=document)
    if verdict.allowed and name == LEFT_DRAFT:
        verdict = leave_draft(contract_id=verdict.outcome.pk, actor=actor)
    if not verdict.allowed:
        told = ", ".join(problem.field for problem in verdict.problems)
        raise CommandError(f"{name}: {verdict.code} {told}")

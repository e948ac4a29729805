"""`manage.py add_person`: somebody who can log in, with a generated password that is shown once."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from contracts.gates.people import create_person, create_team
from contracts.management.passwords import new_password
from contracts.models import Team
from contracts.rules.vocabulary import Role


class Command(BaseCommand):
    help = "Create a person with roles in a team; the password is generated and shown once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--team", required=True, metavar="SLUG")
        parser.add_argument("--team-name", default="", help="creates the team under this name if it is new")
        roles = [role.value for role in Role]
        parser.add_argument("--role", required=True, action="extend", nargs="+", choices=roles)
        parser.add_argument("--name", default="", help="the full name")
        parser.add_argument("--email", default="", help="where notices are mailed to; none if left out")

    def handle(
        self, *, username: str, team: str, team_name: str, role: list[str], name: str, email: str, **_: Any
    ) -> None:
        _refuse_person(username, email)
        found = Team.objects.filter(slug=team).first()
        if found is None and not team_name:
            raise CommandError(f"There is no team “{team}”; --team-name creates it.")
        password = new_password()
        create_person(
            username=username,
            full_name=name,
            email=email,
            password=password,
            team=found or create_team(slug=team, name=team_name),
            roles=tuple(Role(value) for value in role),
        )
        self.stdout.write(f"{username}  {password}")
        self.stdout.write("The password is shown only now; change it after the first login.")


def _refuse_person(username: str, email: str) -> None:
    people = get_user_model()
    try:
        people(username=username, email=email).clean_fields(exclude=["password"])
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    if people.objects.filter(username=username).exists():
        raise CommandError(f"There is a person called {username} already.")

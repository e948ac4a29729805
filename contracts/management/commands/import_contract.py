"""`manage.py import_contract`: a contract from an exported JSON file, all of it or nothing."""

from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext

from contracts.exports.reading import read_document
from contracts.gates.creating import create_contract
from contracts.models import Team, TeamRole
from contracts.rules.document import Document
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import IMPORT_MAX_BYTES, Actor, ActorKind, Role


class Command(BaseCommand):
    help = (
        "Create a contract from an exported JSON file. Every problem is told by JSON pointer on the standard "
        "error; then nothing is stored and the exit code is 1."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--task-id", default="", metavar="NEW", help="instead of the one in the file")
        parser.add_argument("--team", default="", metavar="SLUG", help="instead of the one in the file")
        parser.add_argument(
            "--as",
            default="",
            dest="username",
            metavar="USERNAME",
            help="the reviewer of the team who owns the contract then; default: the reviewer who joined first, "
            "and the record says that the system acted",
        )

    def handle(self, *, file: Path, task_id: str, team: str, username: str, **_: Any) -> None:
        document = read_document(_read(file), task_id=task_id)
        self._refuse_if(document.problems)
        owner_team = _team(document, team)
        person = _reviewer(owner_team, username)
        kind = ActorKind.PERSON if username else ActorKind.SYSTEM
        verdict = create_contract(
            user=person, actor=Actor(person.get_username(), kind), team=owner_team, document=document
        )
        if not verdict.allowed:
            self._refuse_if(verdict.problems or [Problem("", verdict.code, verdict.sentence, verdict.values)])
        if verdict.code == "exists":
            self.stdout.write(f"{document.task_id}: this very contract is here already; nothing was changed.")
        else:
            self.stdout.write(f"{document.task_id}: created for the team {owner_team.slug}.")

    def _refuse_if(self, problems: Iterable[Problem]) -> None:
        lines = [
            f"{problem.field or '/'}: {gettext(problem.sentence) % problem.values} [{problem.code}]"
            for problem in problems
        ]
        if lines:
            self.stderr.write("\n".join(lines))
            raise CommandError(f"{len(lines)} problems; nothing was stored.")


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(IMPORT_MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None


def _team(document: Document, slug: str) -> Team:
    wanted = slug or document.team
    team = Team.objects.filter(slug=wanted).first()
    if team is None:
        known = ", ".join(Team.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no team “{wanted}” here; name one with --team. Teams: {known}.")
    return team


def _reviewer(team: Team, username: str) -> Any:
    groups = TeamRole.objects.filter(team=team, role=Role.REVIEWER.value).values("group")
    reviewers = get_user_model().objects.filter(is_active=True, groups__in=groups).order_by("pk")
    person = reviewers.filter(username=username).first() if username else reviewers.first()
    if person is None:
        who = f"{username} is no active reviewer" if username else "There is no active reviewer"
        raise CommandError(f"{who} of the team {team.slug}; add one with manage.py add_person.")
    return person

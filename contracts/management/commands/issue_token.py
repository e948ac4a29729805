"""`manage.py issue_token`: what a worker proves itself with, shown once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext

from contracts.gates.tokens import Issued, issue_token
from contracts.models import Contract, Team
from contracts.rules.tokens import LONGEST_DAYS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor, ActorKind


class Command(BaseCommand):
    help = (
        "Issue a token for one worker and the contracts it may continue; it is shown once and stored nowhere."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("worker", help="the name under which the worker's acts are recorded")
        parser.add_argument("--team", required=True, metavar="SLUG")
        parser.add_argument("--contract", required=True, action="extend", nargs="+", metavar="TASK_ID")
        parser.add_argument("--days", type=int, default=1, help=f"at most {LONGEST_DAYS}; default: 1")
        parser.add_argument("--quiet", action="store_true", help="print nothing but the token")

    def handle(
        self, *, worker: str, team: str, contract: list[str], days: int, quiet: bool, **_: Any
    ) -> None:
        found = Team.objects.filter(slug=team).first()
        if found is None:
            raise CommandError(f"There is no team “{team}”.")
        rows = dict(Contract.objects.filter(team=found, task_id__in=contract).values_list("task_id", "pk"))
        missing = sorted(set(contract) - set(rows))
        if missing:
            raise CommandError(f"The team {team} has no contract {', '.join(missing)}.")
        verdict = issue_token(
            actor=Actor("manage.py", ActorKind.SYSTEM),
            team=found,
            worker=worker,
            contract_ids=list(rows.values()),
            days=days,
        )
        if not verdict.allowed:
            raise CommandError(_told(verdict))
        issued: Issued = verdict.outcome
        self.stdout.write(issued.token)
        if not quiet:
            self.stderr.write(
                f"{issued.row.token_id} of {worker}, good until {issued.row.expires_at:%Y-%m-%d %H:%M %Z}."
            )
            self.stderr.write(
                "The token is shown only now; it ends at once when it is revoked on the team's page."
            )


def _told(verdict: Verdict) -> str:
    problems = [f"{p.field}: {gettext(p.sentence) % p.values}" for p in verdict.problems]
    return " ".join(problems) or gettext(verdict.sentence) % verdict.values

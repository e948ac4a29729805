"""`manage.py retire`: remove what need not be kept of contracts that ended long ago."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import date, datetime, time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError
from django.utils import timezone
from django.utils.translation import gettext
from psycopg import errors

from contracts.gates.retention import Weight, foresee, retire
from contracts.models import Contract
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor, ActorKind

BY = Actor("manage.py", ActorKind.SYSTEM)


def day(text: str) -> datetime:
    """Return the beginning of a day written as 2030-12-31."""
    try:
        return timezone.make_aware(datetime.combine(date.fromisoformat(text), time()))
    except ValueError:
        raise ArgumentTypeError("a day is written like 2030-12-31") from None


class Command(BaseCommand):
    help = (
        "Remove states, results and answers of contracts that ended before a day and need not keep them; events, "
        "operations, approvals, keys and checksums stay. Interrupted, run it again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--ended-before", type=day, required=True, metavar="DAY")
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")

    def handle(self, *, ended_before: datetime, dry_run: bool, **_: Any) -> None:
        total = Weight(0, 0, 0, 0)
        found = list(Contract.objects.ended_before(ended_before).values_list("pk", "task_id"))
        for contract_id, task_id in found:
            verdict = _asked(contract_id, ended_before, dry_run=dry_run)
            if not verdict.allowed:
                self.stdout.write(f"{task_id}: {gettext(verdict.sentence) % verdict.values}")
            elif verdict.code != "unchanged":
                weight: Weight = verdict.outcome
                self.stdout.write(f"{task_id}: {_told(weight)}")
                total += weight
        self.stdout.write(f"{'Would remove' if dry_run else 'Removed'} {_told(total)}.")


def _asked(contract_id: int, ended_before: datetime, *, dry_run: bool) -> Verdict:
    if dry_run:
        return foresee(contract_id=contract_id, ended_before=ended_before)
    try:
        return retire(contract_id=contract_id, actor=BY, ended_before=ended_before)
    except ProgrammingError as error:
        if isinstance(error.__cause__, errors.InsufficientPrivilege):
            raise CommandError(
                "The role that serves may not remove anything; set DATABASE_URL to the role that owns the tables."
            ) from None
        raise


def _told(weight: Weight) -> str:
    return (
        f"{weight.states} states, {weight.results} results, {weight.answers} answers, {weight.octets:,} bytes"
    )

"""`manage.py after_restore`: what is to be done before a restored database is served again."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext

from contracts.gates.restoring import AHEAD, fence_restored, revoke_everything
from contracts.models import Contract, Event, Operation
from contracts.rules.retention import ENDED
from contracts.rules.states import OperationState
from contracts.rules.vocabulary import Actor, ActorKind

BY = Actor("manage.py", ActorKind.SYSTEM)


def moment(text: str) -> datetime:
    """Return a moment with its zone, written as 2030-12-31T08:00:00Z."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ArgumentTypeError("a moment is written like 2030-12-31T08:00:00Z, with its zone")
    return found


class Command(BaseCommand):
    help = (
        "After the database was restored to an earlier moment and before it is served: verify every chain, fence "
        "every worker, mark what may have left as unknown, end all tokens and sessions. Interrupted, run it again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--restored-to", type=moment, required=True, metavar="MOMENT")
        parser.add_argument("--reason", required=True, help="stands in the events of every contract")
        parser.add_argument(
            "--ahead", type=int, default=AHEAD, help=f"by how much generations rise; default: {AHEAD}"
        )

    def handle(self, *, restored_to: datetime, reason: str, ahead: int, **_: Any) -> None:
        if ahead < 1:
            raise CommandError("Generations rise by at least 1.")
        broken = [row.task_id for row in Contract.objects.order_by("pk") if Event.objects.first_break(row)]
        if broken:
            raise CommandError(f"Nothing was changed: the events do not hold of {', '.join(broken)}.")
        open_contracts = Contract.objects.exclude(state__in=ENDED).order_by("pk").values_list("pk", "task_id")
        for contract_id, task_id in list(open_contracts):
            verdict = fence_restored(
                contract_id=contract_id, actor=BY, restored_to=restored_to, reason=reason, ahead=ahead
            )
            if not verdict.allowed:
                raise CommandError(f"{task_id}: {gettext(verdict.sentence) % verdict.values}")
            self._tell(contract_id, task_id, verdict.outcome)
        tokens, sessions = revoke_everything(actor=BY)
        self.stdout.write(f"{tokens} tokens and {sessions} sessions ended; issue new tokens.")

    def _tell(self, contract_id: int, task_id: str, contract: Contract) -> None:
        rows = Operation.objects.filter(contract=contract_id, state=OperationState.UNKNOWN.value)
        self.stdout.write(
            f"{task_id}: generation {contract.generation}, operations to ask after: {rows.count()}"
        )

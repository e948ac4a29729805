"""`manage.py drill`: real workers, killed and frozen at the six windows, and what the target then holds."""

import json
import logging
import shlex
import signal
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext

from contracts.drills.adapter import Adapter
from contracts.drills.adapters import all_adapters, find_adapter
from contracts.drills.processes import DrillStopped
from contracts.drills.running import CellResult, DrillRefused, own_command
from contracts.drills.storing import run_and_store
from contracts.models import Contract, DrillRun
from contracts.rules.drill_runs import REPEAT_MAX
from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict

ALL = "all"
ACTOR = "console"
# Beside the words, so that a table without colours reads at a glance.
SIGNS = {
    WindowVerdict.HELD: "+",
    WindowVerdict.FAILED: "x",
    WindowVerdict.UNKNOWN_HELD: "?",
    WindowVerdict.NOT_EXPRESSIBLE: "/",
    None: " ",
}
COLUMNS = ("expected", "in_target", "lost", "duplicated", "repeated_steps", "unknown_held", "stale_refused")


class Command(BaseCommand):
    help = (
        "Start real workers, kill and freeze them at the failure windows, let others go on, and count what the target "
        "system then holds. Only contracts and targets that the drill itself makes are touched."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = [adapter.name for adapter in all_adapters()]
        parser.add_argument("--adapter", choices=[*names, ALL], default="client", help="default: %(default)s")
        parser.add_argument(
            "--command", default="", help="a worker of your own instead, such as “sh worker.sh”"
        )
        windows = [window.value for window in Window]
        parser.add_argument("--window", choices=[*windows, ALL], default=ALL, help="default: %(default)s")
        targets = [target.value for target in Target]
        parser.add_argument("--target", choices=[*targets, ALL], default="plain", help="default: %(default)s")
        parser.add_argument("--repeat", type=int, default=1, help="how often each window; default: 1")
        parser.add_argument("--json", action="store_true", help="print the counters as JSON and nothing else")
        parser.add_argument(
            "--contract", default="", metavar="TASK_ID", help="fill the grid of this contract"
        )

    def handle(self, **given: Any) -> None:
        if not settings.WORKBENCH_DRILLS:
            raise CommandError(
                gettext(
                    "Drills are not allowed here: they start and kill processes. Set WORKBENCH_DRILLS=1 to allow them."
                )
            )
        logging.getLogger("httpx").setLevel(logging.WARNING)  # what happens is told line by line
        own = shlex.split(given["command"])
        adapters = [own_command(own)] if own else _chosen(given["adapter"])
        targets = list(Target) if given["target"] == ALL else [Target(given["target"])]
        self._windows = list(Window) if given["window"] == ALL else [Window(given["window"])]
        self._repeat, self._quiet = given["repeat"], given["json"]
        if not 1 <= self._repeat <= REPEAT_MAX:
            raise CommandError(gettext("--repeat must be from 1 to %(most)s.") % {"most": REPEAT_MAX})
        _prepare_database()
        contract = _contract(given["contract"])
        pairs = [(adapter, target) for adapter in adapters for target in targets]
        told = []
        with _stopped_by_signals() as stop:
            for adapter, target in pairs:
                told += self._drill(adapter, target, contract, stop, only=len(pairs) == 1)
        if self._quiet:
            self.stdout.write(json.dumps(told[0] if len(pairs) == 1 else told, indent=2))

    def _drill(
        self,
        adapter: Adapter,
        target: Target,
        contract: Contract | None,
        stop: threading.Event,
        *,
        only: bool,
    ) -> list[dict[str, Any]]:
        """Run one adapter at one target and tell it; nothing is told of one that cannot be run among others."""
        try:
            run, cells = run_and_store(
                adapter,
                self._windows,
                target,
                self._repeat,
                by=ACTOR,
                stop=stop,
                progress=self._tell,
                contract=contract,
            )
        except DrillRefused as refused:
            said = gettext(refused.sentence) % refused.values
            if only:
                raise CommandError(said) from None
            self.stderr.write(said)
            return []
        except DrillStopped:
            said = gettext("Stopped. Nothing is left running, and nothing of it was stored.")
            raise CommandError(said, returncode=130) from None
        if not self._quiet:
            self._table(adapter, run, cells)
        head = {"adapter": adapter.name, "target": target.value, "run": run.run_id, "versions": run.versions}
        return [{**head, "windows": [cell.plain() for cell in cells]}]

    def _tell(self, window: Window, repetition: int, of: int, line: str) -> None:
        if self._quiet:
            return
        place = f"{window.value} {repetition}/{of}"
        self.stdout.write(f"{time.strftime('%H:%M:%S')} {place:<26} {line}")
        self.stdout.flush()

    def _table(self, adapter: Adapter, run: DrillRun, cells: Sequence[CellResult]) -> None:
        head = {
            "adapter": gettext(adapter.title),
            "target": gettext(Target(run.target).label),
            "repeat": run.repeat,
        }
        self.stdout.write("\n" + gettext("%(adapter)s. Target: %(target)s. Repetitions: %(repeat)s.") % head)
        self.stdout.write(gettext("Numbers: %(columns)s") % {"columns": ", ".join(COLUMNS)})
        for cell in cells:
            words = gettext(cell.verdict.label) if cell.verdict else gettext("Not run")
            counted = " ".join(f"{getattr(cell.counters, name):>3}" for name in COLUMNS)
            self.stdout.write(
                f"{SIGNS[cell.verdict]} {cell.window.value:<21} {words:<19} {counted}   "
                + gettext(cell.sentence) % cell.values
            )
        self.stdout.write(gettext("Evidence: %(folder)s") % {"folder": run.folder})


def _contract(task_id: str) -> Contract | None:
    found = Contract.objects.filter(task_id=task_id).first() if task_id else None
    if task_id and found is None:
        raise CommandError(gettext("There is no contract %(task)s.") % {"task": task_id})
    return found


def _prepare_database() -> None:
    """Make the tables of a new database; one that lags behind is not changed unasked."""
    executor = MigrationExecutor(connection)
    if not executor.loader.applied_migrations:
        call_command("migrate", interactive=False, verbosity=0)
    elif executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError(gettext("The database is of an earlier version. Run “manage.py migrate” first."))


def _chosen(name: str) -> list[Adapter]:
    return list(all_adapters()) if name == ALL else [find_adapter(name)]


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C sets, so that the runner ends what it has started; a second Ctrl-C is a plain one."""
    stop = threading.Event()

    def end(number: int, _frame: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

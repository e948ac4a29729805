"""`manage.py watch`: does what time alone makes due, and mails what people are told."""

import contextlib
import logging
import signal
import threading
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, connections

from contracts.gates.beats import database_now
from contracts.gates.clock import tend
from contracts.management.mailing import Unreachable, mail_waiting
from contracts.models import Contract

log = logging.getLogger(__name__)
EVERY = 15.0  # seconds between two rounds
LOOK_BACK = timedelta(days=1)  # what changed while nobody watched
OVERLAP = timedelta(minutes=2)  # longer than a change takes from its time to its commit


def seconds(text: str) -> float:
    """Return a length of time from a tenth of a second to an hour."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0.1 <= value <= 3600:
        raise ArgumentTypeError("seconds are a number from 0.1 to 3600")
    return value


class Command(BaseCommand):
    help = (
        "Round after round: expire or pass on what nobody decided in time, remind, and mail notices. `up` runs it; "
        "several at once do no harm."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="one round, then end; exit code 1 if it failed"
        )
        parser.add_argument(
            "--every", type=seconds, default=EVERY, metavar="SECONDS", help=f"default: {EVERY:.0f}"
        )

        parser.add_argument(
            "--heads",
            action="store_true",
            help="also log the head of each chain of events that grew, so that a chain made anew is found out",
        )

    def handle(self, *, once: bool, every: float, heads: bool, **_: Any) -> None:
        watch = Watch(heads=heads)
        if once:
            if not watch.go_round():
                raise CommandError("The round failed; see above.")
            self.stdout.write(f"{watch.changed} contracts changed, {watch.mailed} mails sent.")
            return
        with stopped_by_signals(watch.stop):
            while not watch.stop.is_set():
                watch.go_round()
                watch.stop.wait(every)


class Watch:
    """The rounds of one process. A fault is told once, when it begins, and once when it has passed."""

    def __init__(self, *, heads: bool = False) -> None:
        self.stop = threading.Event()
        self._heads = Heads() if heads else None
        self.troubles: set[str] = set()
        self.changed = self.mailed = 0

    def go_round(self) -> bool:
        """Do everything that is due; False if something failed, which the next round tries again."""
        try:
            # Both, always: a contract that cannot be tended must not keep mails from leaving.
            faults = [self._step("clock"), self._step("mail")]
        finally:
            connections.close_all()
        if "database" not in faults:  # without it nothing is known of the mail server
            self._end(self.troubles - {*faults})
        return not any(faults)

    def _step(self, name: str) -> str:
        """Do one half of a round and return what kept it from succeeding, if anything did."""
        try:
            if name == "clock":
                self.changed = tend()
                if self._heads is not None:
                    self._heads.tell()
            else:
                self.mailed = mail_waiting(self.stop.is_set)
        except (OperationalError, InterfaceError):
            return self._begin("database", "the database does not answer; trying again every round")
        except Unreachable as error:
            return self._begin("mail server", "the mail server does not answer (%s); mails wait", error)
        except Exception:
            log.exception("a round of the %s failed; the next one tries again", name)
            return "fault"
        return ""

    def _begin(self, trouble: str, line: str, *values: object) -> str:
        if trouble not in self.troubles:
            self.troubles.add(trouble)
            log.warning(line, *values)
        return trouble

    def _end(self, troubles: set[str]) -> None:
        for trouble in troubles:
            log.info("the %s answers again", trouble)
        self.troubles -= troubles


class Heads:
    """Logs each head once: whoever could write the whole chain anew in the database cannot do so in the log."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._since = database_now() - LOOK_BACK

    def tell(self) -> None:
        """Log task id, number of events and head of each contract that was revised since the last round."""
        since, self._since = self._since, database_now() - OVERLAP
        found = Contract.objects.filter(revised_at__gte=since).order_by("revised_at", "pk")
        told: dict[str, str] = {}
        for task_id, count, head in found.values_list("task_id", "event_count", "event_head").iterator():
            if self._told.get(task_id) != head:
                log.info("events of %s: %d, head %s", task_id, count, head)
            told[task_id] = head
        self._told = told


@contextlib.contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the rounds once the current one is done."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)

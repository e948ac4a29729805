"""`manage.py run_drills`: carries out the drills that people asked for from a page."""

from typing import Any

from django.core.management.base import BaseCommand

from contracts.drills.queue import work


class Command(BaseCommand):
    help = (
        "Carry out the drills that people asked for from a page, one after the other. `up` runs it; several at once "
        "do no harm."
    )
    requires_system_checks = []

    def handle(self, **_: Any) -> None:
        work()

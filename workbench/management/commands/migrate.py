"""`manage.py migrate` beside a running workbench: whoever cannot get a lock gives up instead of holding up everybody.

A migration that waits for its table stands in front of everyone who only wants to read it. So it waits for a short
time, is rolled back, lets the others pass, and tries again a few times.
"""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import OperationalError, connections
from psycopg import errors

LOCK_SECONDS = 5
TRIES = 4
PAUSE_SECONDS = 2.0  # for those who queued behind the try before


class Command(Migrate):
    """Django's own, with a limit to each wait for a lock and none to the work itself."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Migrate, again after a lock that was not to be had; raises CommandError when it never was."""
        for left in reversed(range(TRIES)):
            _limit_waits(options["database"])
            try:
                return super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, errors.LockNotAvailable):
                    raise
            finally:
                _unlimit_waits(options["database"])
            if left:
                self.stderr.write(f"A table is in use; the migration is tried again ({left} tries left).")
                time.sleep(PAUSE_SECONDS)
        raise CommandError(
            f"The migration did not get its lock within {LOCK_SECONDS} seconds, {TRIES} times; nothing of it was "
            "done. Run it again when nobody works, or end the transaction that holds the table."
        )


def _limit_waits(alias: str) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'; SET statement_timeout = 0")


def _unlimit_waits(alias: str) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute("RESET lock_timeout; RESET statement_timeout")

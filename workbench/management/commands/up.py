"""`manage.py up`: everything from an empty machine to a workbench that answers."""

import os
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand

from workbench.folder import ensure_folder, only_one
from workbench.observing.counts_folder import share_counts
from workbench.observing.tracing import refuse_missing_parts
from workbench.readiness import refuse_newer_database, refuse_taken_port, refuse_unusable_database
from workbench.serving import serve
from workbench.static import collect_if_changed
from workbench.watching import DRILLS, WATCH, running_beside


def port_number(text: str) -> int:
    """Return a port from 1 to 65535."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise ArgumentTypeError("a port is a whole number from 1 to 65535")
    return int(text)


class Command(BaseCommand):
    help = "Prepare the database, create the example contracts and serve the workbench on this machine."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=port_number, default=8000, help="port on 127.0.0.1 (default 8000)")
        parser.add_argument("--empty", action="store_true", help="create people, but no example contracts")
        languages = [code for code, _ in settings.LANGUAGES]
        parser.add_argument(
            "--lang",
            choices=languages,
            help="of the example contracts; default: the language of this machine",
        )
        parser.add_argument(
            "--database-url", help="a PostgreSQL of your own, 15 or later, instead of the embedded one"
        )

    def handle(self, *, port: int, empty: bool, lang: str | None, **_: Any) -> None:
        address = f"http://127.0.0.1:{port}"
        with only_one(ensure_folder(settings.WORKBENCH_DATA), address):
            refuse_taken_port(port)
            refuse_missing_parts()
            self.prepare(empty=empty, lang=lang)
            # For the links in mails; the watch reads it as its own setting.
            os.environ.setdefault("WORKBENCH_ADDRESS", address)
            share_counts()  # with the watch, too
            with running_beside(WATCH, *([DRILLS] if settings.WORKBENCH_DRILLS else [])):
                serve(address, port)

    def prepare(self, *, empty: bool, lang: str | None = None) -> None:
        """Bring database, static files and people up to date; doing it again changes nothing."""
        refuse_unusable_database()
        refuse_newer_database()
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        collect_if_changed()
        if "create_examples" in get_commands():
            asked = {"lang": lang} if lang else {}
            call_command("create_examples", stdout=self.stdout, people_only=empty, **asked)
        self.stdout.flush()

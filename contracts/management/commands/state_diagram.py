"""`manage.py state_diagram`: the legal moves of every state, drawn from the tables that the gates ask."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from contracts.rules import states

PAGE = Path(states.__file__).with_name("STATES.md")


class Command(BaseCommand):
    help = "Print the state diagrams as Markdown with Mermaid."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--write", action="store_true", help="write contracts/rules/STATES.md instead")

    def handle(self, *, write: bool, **_: Any) -> None:
        if write:
            PAGE.write_text(states.diagram(), "utf-8", newline="\n")
            self.stdout.write(str(PAGE))
        else:
            self.stdout.write(states.diagram(), ending="")

"""`manage.py catalogue`: whether everything people read has its Chinese words."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from workbench.catalogues import CHINESE, compare, compile_catalogues
from workbench.catalogues import update as bring_up_to_date
from workbench.extraction import ROOT, sentences_of


class Command(BaseCommand):
    help = (
        "Compare the Chinese catalogue with the code; exit code 1 if a translation is missing, fuzzy or dead."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--update",
            action="store_true",
            help="first add new sentences, still empty, and take out dead ones",
        )

    def handle(self, *, update: bool, **_: Any) -> None:
        sentences = sentences_of()
        if update:
            bring_up_to_date(CHINESE, sentences)
            compile_catalogues()
        differences = compare(CHINESE, sentences)
        for name in ("missing", "fuzzy", "dead"):
            for sentence in getattr(differences, name):
                place = f" ({sentences[sentence].relative_to(ROOT)})" if sentence in sentences else ""
                self.stdout.write(f"{name}: {sentence.text}{place}")
        if differences:
            sys.exit(1)
        self.stdout.write(f"All {len(sentences)} sentences are translated.")

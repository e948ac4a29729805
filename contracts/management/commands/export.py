"""`manage.py export`: a contract as TXT or JSON, the same bytes as in the browser."""

import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from contracts.exports.json_form import stream_json
from contracts.exports.snapshot import Snapshot, open_snapshot
from contracts.exports.text_form import LANGUAGES, stream_text
from contracts.exports.writing import write_pieces
from contracts.models import Contract


class Command(BaseCommand):
    help = "Write a contract as TXT or JSON to the standard output or into a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("task_id")
        parser.add_argument("--format", choices=("txt", "json"), default="txt", help="default: txt")
        parser.add_argument("--lang", choices=LANGUAGES, default="en", help="of the TXT form; default: en")
        parser.add_argument("--output", type=Path, metavar="FILE", help="default: the standard output")

    def handle(self, *, task_id: str, output: Path | None, **options: Any) -> None:
        contract = Contract.objects.filter(task_id=task_id).first()
        if contract is None:
            raise CommandError(f"There is no contract with the task id {task_id}.")
        with open_snapshot(contract.pk) as snapshot:
            pieces = _pieces(snapshot, options["format"], options["lang"])
            if output is not None:
                _write_file(pieces, output)
                return
            for piece in pieces:
                self._write(piece)

    def _write(self, piece: bytes) -> None:
        """Write bytes past the text layer, which would change line ends on some systems."""
        if self.stdout._out is sys.stdout and hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(piece)
        else:
            self.stdout.write(piece.decode(), ending="")


def _pieces(snapshot: Snapshot, form: str, language: str) -> Iterator[bytes]:
    return stream_json(snapshot) if form == "json" else stream_text(snapshot, language)


def _write_file(pieces: Iterator[bytes], output: Path) -> None:
    """Write beside the file and put it in place when it is whole: a reader never finds half of it."""
    try:
        with tempfile.NamedTemporaryFile(dir=output.parent, prefix=f".{output.name}.", delete=False) as file:
            write_pieces(pieces, file)
        Path(file.name).replace(output)
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from None

"""A process that kills itself at a seam of a gate: `python -m tests.storms.killed SEAM GATE SHAPE COMMAND …`.

SHAPE is `whole` for the gates as they are, or `torn` for the same gates without their one transaction.
COMMAND is `import FILE`, `paste TASK_ID FILE` or `retire DAY`, where FILE holds a document or object ids, one a line.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import django


def main(seam: str, gate: str, shape: str, command: str, *words: str) -> None:
    """Run `command`; at `seam` of `gate` the process dies as by `kill -9`."""
    django.setup()
    from contracts.gates import beats

    def die(reached: str, by: str) -> None:
        if (reached, by) == (seam, gate):
            os.kill(os.getpid(), signal.SIGKILL)

    beats.listeners.append(die)
    if shape == "torn":
        _tear(beats)
    {"import": _import, "paste": _paste, "retire": _retire}[command](*words)


def _tear(beats: object) -> None:
    """Let every statement commit by itself, as in a program whose author forgot the transaction."""
    from django.db.models import QuerySet

    beats.transaction = SimpleNamespace(atomic=lambda **_: contextlib.nullcontext())
    QuerySet.select_for_update = lambda self, **_: self  # a row lock needs a transaction


def _import(file: str) -> None:
    from django.core.management import call_command

    call_command("import_contract", file)


def _retire(day: str) -> None:
    from django.core.management import call_command

    call_command("retire", "--ended-before", day)


def _paste(task_id: str, file: str) -> None:
    from contracts.gates.objects import add_lines
    from contracts.models import Contract
    from contracts.rules.parts import PARTS
    from contracts.rules.vocabulary import Actor

    lines = [{"object_id": name} for name in Path(file).read_text("utf-8").split()]
    contract = Contract.objects.get(task_id=task_id)
    add_lines(contract_id=contract.pk, actor=Actor("olga"), part=PARTS["object"], lines=lines)


if __name__ == "__main__":
    main(*sys.argv[1:])

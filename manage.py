#!/usr/bin/env python
"""The workbench's command line; the embedded PostgreSQL is at hand for as long as a command runs."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence

from workbench.environment import EnvironmentRefused
from workbench.folder import StartRefused, data_folder, ensure_folder, ensure_secret_key

# Commands that never touch the database: they must work where no data folder can be written.
WITHOUT_DATABASE = frozenset(
    {
        "--help",
        "--version",
        "-h",
        "catalogue",
        "check",
        "compilemessages",
        "contract_schema",
        "diffsettings",
        "findstatic",
        "help",
        "makemessages",
        "state_diagram",
        "version",
    }
)


def main(argv: Sequence[str]) -> None:
    """Run one management command; a refusal is one sentence on stderr and exit code 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Leave through the `finally` clauses, so that the server is let go.
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    try:
        with database_for(argv):
            from django.core.management import execute_from_command_line

            from workbench.catalogues import compile_catalogues

            compile_catalogues()
            execute_from_command_line(list(argv))
    except (StartRefused, EnvironmentRefused) as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:
        sys.exit(130)


@contextlib.contextmanager
def database_for(argv: Sequence[str]) -> Iterator[None]:
    """Set `DATABASE_URL` before Django reads its settings, and hold the embedded server if that is the one."""
    command = argv[1] if len(argv) > 1 else "help"
    if command in WITHOUT_DATABASE or {"-h", "--help"} & set(argv):
        yield
        return
    if command == "up":
        if url := option(argv, "--database-url"):
            os.environ["DATABASE_URL"] = url
        ensure_secret_key(ensure_folder(data_folder(os.environ)))
    if os.environ.get("DATABASE_URL", "").strip():
        yield
        return
    from workbench.postgres import EmbeddedPostgres  # only here: nobody else needs the wheel

    with EmbeddedPostgres(data_folder(os.environ)) as url:
        os.environ["DATABASE_URL"] = url
        yield


def option(argv: Sequence[str], name: str) -> str:
    """Return the value of a command-line option written as `name value` or `name=value`, else an empty string."""
    for position, word in enumerate(argv):
        if word == name:
            return argv[position + 1] if position + 1 < len(argv) else ""
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return ""


if __name__ == "__main__":
    main(sys.argv)

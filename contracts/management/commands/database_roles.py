"""`manage.py database_roles`: a database role for serving that can do less than the one that owns the tables."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction

from contracts.models.privileges import Differences, differences, owner_of_tables, restricting


class Command(BaseCommand):
    help = (
        "Print the SQL for a role that serves the workbench and can neither change events nor any table; run it "
        "again after every upgrade. The role has no password until you give it one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("role", help="the name of the role that DATABASE_URL names where it is served")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--apply", action="store_true", help="run the SQL here, in one transaction")
        act.add_argument(
            "--check",
            action="store_true",
            help="only say what the role has too much or too little; exit code 1",
        )

    def handle(self, *, role: str, apply: bool, check: bool, **_: Any) -> None:
        if check:
            _refuse(role, _differences(role))
            self.stdout.write(f"{role} can do what the workbench needs, and nothing else.")
            return
        if role == owner_of_tables():
            raise CommandError(f"{role} owns the tables; name another role to serve with.")
        statements = list(restricting(role))
        if not apply:
            self.stdout.write(";\n".join(["BEGIN", *statements, "COMMIT;"]))
            return
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except DatabaseError as error:
            said = str(error).partition("\n")[0]
            raise CommandError(
                f"Nothing was changed ({said}); let the database's administrator run the printed SQL."
            ) from None
        _refuse(role, _differences(role))
        self.stdout.write(f"{role} is ready; give it a password, then serve with it.")


def _differences(role: str) -> Differences:
    try:
        return differences(role)
    except LookupError:
        raise CommandError(f"There is no role {role}.") from None


def _refuse(role: str, found: Differences) -> None:
    lines = [f"{role} may {privilege} in {table}, and should not." for table, privilege in found.too_many]
    lines += [f"{role} may not {privilege} in {table}, and has to." for table, privilege in found.too_few]
    lines += [f"{role} may make tables or schemas, and should not."] if found.makes_tables else []
    if lines:
        raise CommandError("\n".join(lines))

"""What the database lets the serving role do with each table, which is less than the role that owns them may.

The owner makes and changes tables; the application reads and writes rows. What is only ever added to can then be
neither changed nor removed by whoever gets hold of the application, trigger or no trigger.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from contracts.models.approvals import Approval, ApprovalVote
from contracts.models.drills import DrillResult, DrillRun
from contracts.models.events import Event
from contracts.models.identity import Contract, ReservedTaskId
from contracts.models.workers import StoredAnswer, TokenScope, WorkerToken

ALL = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE")
KEPT = ("SELECT", "INSERT", "UPDATE")  # rows change and never go
ADDED_TO = ("SELECT", "INSERT")  # rows neither change nor go
READ = ("SELECT",)  # migrations alone write there
_PRIVILEGES: dict[tuple[type[models.Model], ...], tuple[str, ...]] = {
    (Event, DrillResult, ReservedTaskId, StoredAnswer, TokenScope): ADDED_TO,
    (Contract, Approval, ApprovalVote, DrillRun, WorkerToken): KEPT,
    (Permission, ContentType): READ,
}
_TABLES = """
SELECT c.relname, pg_get_userbyid(c.relowner) FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""
_HELD = """
SELECT c.relname, p.privilege FROM pg_class c, unnest(%s::text[]) p(privilege)
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
    AND has_table_privilege(%s, c.oid, p.privilege) ORDER BY 1, 2
"""
_MAY_MAKE = """
SELECT has_schema_privilege(%(role)s, current_schema(), 'CREATE')
    OR has_database_privilege(%(role)s, current_database(), 'CREATE')
"""
_MAKE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {word}) THEN
        CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
    END IF;
END $$"""


@dataclass(frozen=True, slots=True)
class Differences:
    """How a role stands to what it should hold: (table, privilege) too many and too few; whether it makes tables."""

    too_many: tuple[tuple[str, str], ...]
    too_few: tuple[tuple[str, str], ...]
    makes_tables: bool

    def __bool__(self) -> bool:
        return bool(self.too_many or self.too_few or self.makes_tables)


def owner_of_tables() -> str:
    """Return the role that owns the table of contracts, which is the one that migrates."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        return str(dict(cursor.fetchall())[Contract._meta.db_table])


def restricting(role: str) -> Iterator[str]:
    """Yield the statements that make `role` if it is new and let it do what the application needs, nothing else.

    They hold for the tables there are: after a migration that makes tables they are to be run again.
    """
    names = {"role": sql.Identifier(role), "word": sql.Literal(role)}
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), current_schema()")
        database, schema = cursor.fetchone()
    names |= {"database": sql.Identifier(database), "schema": sql.Identifier(schema)}
    for text in (
        _MAKE,
        "REVOKE CREATE, TEMPORARY ON DATABASE {database} FROM PUBLIC, {role}",
        "GRANT CONNECT ON DATABASE {database} TO {role}",
        "REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {role}",
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC, {role}",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
    ):
        yield sql.SQL(text).format(**names).as_string()
    for table, privileges in _wanted().items():
        grant = sql.SQL("GRANT {privileges} ON TABLE {schema}.{table} TO {role}")
        words = sql.SQL(", ").join(map(sql.SQL, privileges))
        yield grant.format(**names, table=sql.Identifier(table), privileges=words).as_string()


def differences(role: str) -> Differences:
    """Return what `role` holds beyond what it should, and what it lacks; LookupError if there is no such role."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        if cursor.fetchone() is None:
            raise LookupError(role)
        cursor.execute(_HELD, [list(ALL), role])
        held = set(cursor.fetchall())
        cursor.execute(_MAY_MAKE, {"role": role})
        makes = bool(cursor.fetchone()[0])
    wanted = {(table, privilege) for table, privileges in _wanted().items() for privilege in privileges}
    return Differences(tuple(sorted(held - wanted)), tuple(sorted(wanted - held)), makes)


def _wanted() -> dict[str, tuple[str, ...]]:
    """Return table → privileges of the application, for every table there is."""
    known = {
        model._meta.db_table: privileges for models_, privileges in _PRIVILEGES.items() for model in models_
    }
    known[MigrationRecorder.Migration._meta.db_table] = READ
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        return {table: known.get(table, ROWS) for table, _ in cursor.fetchall()}

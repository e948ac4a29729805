"""Empties the database after a test which commits: only the tables it wrote to, and not one that it did not.

Django truncates all of them, and PostgreSQL then makes a new file for each table and each index, several hundred.
Django still does it the first time, whenever a table has grown, and wherever this way is not open to us.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import psycopg
from django.db import connection, transaction
from django.test import TransactionTestCase
from psycopg import sql

_GROWN = 512 * 1024  # bytes of one table; deleted rows keep their place until it is truncated
_WITH_PAGES = "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE oid = ANY(%s::regclass[])"
_CONTENT = "SELECT md5(string_agg(md5(kept::text), '' ORDER BY md5(kept::text))) FROM {} AS kept"


class _Emptied(Protocol):
    available_apps: Any
    serialized_rollback: bool


@dataclass
class _Kept:
    """The tables Django fills again after emptying them, such as the permissions, and a digest of each."""

    digests: dict[str, str] | None = field(default=None)


def let_tests_empty(url: str) -> None:
    """Let the role of the tests pass over triggers while it empties tables, on a server that is ours to throw away."""
    socket = parse_qs(urlsplit(url).query)["host"][0]
    with psycopg.connect(host=socket, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute("GRANT SET ON PARAMETER session_replication_role TO workbench")


def empty_quickly() -> None:
    """From now on, empty what a transactional test has written to instead of everything there is."""
    django_way = TransactionTestCase._fixture_teardown
    kept = _Kept()

    def empty(case: _Emptied) -> None:
        _empty_queue()
        plain = case.available_apps is None and not case.serialized_rollback
        if plain and kept.digests is not None and _empty_written(kept.digests):
            return
        django_way(case)
        kept.digests = _filled_tables() if plain and _may_pass_triggers() else None

    TransactionTestCase._fixture_teardown = empty


def _empty_queue() -> None:
    """Forget the jobs: the tables of the queue are no managed models, so that Django leaves what is in them."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs; DELETE FROM procrastinate_workers")


def _empty_written(kept: dict[str, str]) -> bool:
    """Empty every table but the `kept` ones; False, with nothing done, if that is a matter for Django."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with transaction.atomic(), connection.cursor() as cursor:
        # Like TRUNCATE: wait for whoever still writes, so that nothing appears behind our back.
        cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(_listed(tables)))
        sizes = _sizes(cursor, tables)
        if max(sizes.values(), default=0) > _GROWN or _digests(cursor, list(kept)) != kept:
            return False
        cursor.execute("SET LOCAL session_replication_role = replica")
        written = [name for name, size in sizes.items() if size and name not in kept]
        if written:
            deletions = [sql.SQL("DELETE FROM {}").format(sql.Identifier(name)) for name in written]
            cursor.execute(sql.SQL("; ").join(deletions))
    return True


def _filled_tables() -> dict[str, str]:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with connection.cursor() as cursor:
        return _digests(cursor, [name for name, size in _sizes(cursor, tables).items() if size])


def _sizes(cursor: Any, tables: list[str]) -> dict[str, int]:
    cursor.execute(_WITH_PAGES, [[f'"{name}"' for name in tables]])
    return dict(cursor.fetchall())


def _digests(cursor: Any, tables: list[str]) -> dict[str, str]:
    found = {}
    for name in tables:
        cursor.execute(sql.SQL(_CONTENT).format(sql.Identifier(name)))
        found[name] = cursor.fetchone()[0]
    return found


def _may_pass_triggers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_parameter_privilege('session_replication_role', 'SET')")
        return bool(cursor.fetchone()[0])


def _listed(tables: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, tables))

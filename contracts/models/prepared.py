"""Running one long statement over and over: planned once for a connection, and in one round trip.

Django's cursors put the values into the text, so that every run would be planned anew; psycopg's own read a long
text anew for its placeholders and wait for the answer in Python. Where a worker waits at every step, both cost more
than the statement itself.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connection
from psycopg import Connection, OperationalError, RawCursor, errors
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

Row = tuple[str | None, ...]
Values = Sequence[str | None]
THERE_ALREADY = b"42P05"
_known: WeakKeyDictionary[Connection[Any], set[bytes]] = WeakKeyDictionary()


def run(text: bytes, values: Values) -> Row | None:
    """Run the statement `text` (placeholders $1, $2 …) and return its first row as text, or None.

    Outside a transaction it is prepared, and commits by itself. Inside one it is planned as it stands: should a
    pooler between here and the database have lost the preparation, the transaction would be lost too. So it is
    wherever the settings say that a pooler gives each transaction another session. Raises the exceptions of
    `django.db`.
    """
    connection.ensure_connection()
    raw = connection.connection
    with connection.wrap_database_errors:
        if connection.in_atomic_block or connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
            with RawCursor(raw) as cursor:
                found: Row | None = cursor.execute(text, values, prepare=False).fetchone()
            return found
        try:
            return _run_prepared(raw, text, values)
        except errors.InvalidSqlStatementName:  # forgotten there, or another session by now
            _known.pop(raw, None)
            return _run_prepared(raw, text, values)


def _run_prepared(raw: Connection[Any], text: bytes, values: Values) -> Row | None:
    name, known = _name(text), _known.setdefault(raw, set())
    if name not in known:
        made = raw.pgconn.prepare(name, text)
        if (
            made.status != ExecStatus.COMMAND_OK
            and made.error_field(DiagnosticField.SQLSTATE) != THERE_ALREADY
        ):
            raise _error(raw, made)
        known.add(name)
    told: list[Any] = [None if value is None else value.encode() for value in values]  # None is NULL
    result = raw.pgconn.exec_prepared(name, told)
    if result.status != ExecStatus.TUPLES_OK:
        raise _error(raw, result)
    return _first_row(result)


@cache
def _name(text: bytes) -> bytes:
    """Return the name under which `text` is prepared; the same for the same text, whoever prepared it."""
    return b"workbench_" + hashlib.sha256(text).hexdigest()[:32].encode()


def _first_row(result: PGresult) -> Row | None:
    if not result.ntuples:
        return None
    cells = [result.get_value(0, column) for column in range(result.nfields)]
    return tuple(None if cell is None else bytes(cell).decode() for cell in cells)


def _error(raw: Connection[Any], result: PGresult) -> Exception:
    if raw.pgconn.status == ConnStatus.BAD:
        return OperationalError("the connection to the database is lost")
    return errors.error_from_result(result)

"""The floor of any ledger in PostgreSQL: one row, one commit, by psycopg alone."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.benchmarks.contenders import STATE, Place

NAMES = ("raw", "raw_three_commits")
TABLE = """
CREATE TABLE raw_step (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, writer int NOT NULL, kept jsonb NOT NULL, state text
)"""
INSERT = "INSERT INTO raw_step (writer, kept, state) VALUES (%s, %s, 'pending') RETURNING id"
MOVE = "UPDATE raw_step SET state = %s WHERE id = %s"


def missing() -> str:
    return ""


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[dict[str, Any]]:
    with psycopg.connect(place.database, autocommit=True) as connection:
        connection.execute(TABLE)
    yield {}


def writer(name: str, place: Place, made: dict[str, Any], number: int) -> Callable[[float], int]:
    connection = psycopg.connect(place.database, autocommit=True)  # each statement is its own commit
    three = name == "raw_three_commits"

    def write(until: float) -> int:
        count = 0
        while time.monotonic() < until:
            found = connection.execute(INSERT, (number, Jsonb(STATE))).fetchone()
            assert found is not None
            if three:
                connection.execute(MOVE, ("sending", found[0]))
                connection.execute(MOVE, ("confirmed", found[0]))
            count += 1
        return count

    return write

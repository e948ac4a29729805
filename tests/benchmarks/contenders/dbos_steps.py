"""DBOS Transact: steps of a workflow, on the same PostgreSQL."""

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.benchmarks.contenders import CHUNK, STATE, Place

NAMES = ("dbos",)


def missing() -> str:
    return "" if importlib.util.find_spec("dbos") else "dbos is not installed: uv run --group peers"


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[dict[str, Any]]:
    from dbos import run_dbos_database_migrations

    run_dbos_database_migrations(place.database)
    yield {}


def writer(name: str, place: Place, made: dict[str, Any], number: int) -> Callable[[float], int]:
    from dbos import DBOS, DBOSConfig

    config = DBOSConfig(
        name="steps",
        system_database_url=place.database,
        executor_id=f"writer-{number}",
        application_version="1",
        log_level="ERROR",
        run_migrations=False,
    )
    DBOS(config=config)

    @DBOS.step()
    def step() -> dict[str, Any]:
        return STATE

    @DBOS.workflow()
    def steps() -> int:
        return len([step() for _ in range(CHUNK)])

    DBOS.launch()

    def write(until: float) -> int:
        count = 0
        while time.monotonic() < until:
            count += steps()
        return count

    return write

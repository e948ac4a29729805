"""How fast a contract is carried away, and in how much memory, beside plain lines from a server-side cursor.

Each form of each size is told in a process of its own, so that its memory is nobody else's.
"""

import gc
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from tests.benchmarks.places import analyse, workbench
from tests.benchmarks.telling import Row, aim, middle, table

SIZES = (1_000, 10_000, 100_000)  # objects of one contract
ROUNDS = 3
MIB = 2**20
CURSOR, TXT, JSON = "cursor, plain lines", "TXT", "JSON"
TXT_ALONE = "TXT, digest known"
FORMS = (CURSOR, TXT, TXT_ALONE, JSON)
SMALL = {"sizes": (200, 2_000), "rounds": 1}


def run(sizes: tuple[int, ...] = SIZES, *, rounds: int = ROUNDS) -> list[Row]:
    """Print and return rows per second and growth of memory for each form and size, and the aims."""
    with workbench():
        from tests.exports.telling import a_crowded_draft

        contracts = {size: a_crowded_draft(size).pk for size in sizes}
        small = a_crowded_draft(20).pk  # for what is loaded once only
        analyse()
        place = _address()
        rows = [
            _row(form, size, *_apart(form, small, contract, rounds, place))
            for size, contract in contracts.items()
            for form in FORMS
        ]
    table(f"Exports, median of {rounds}, each in a process of its own", rows)
    print(
        "TXT names the digest of the JSON form, which is therefore told first; with “digest known” it is not\n"
    )
    return [*rows, *_aims({(row["form"], row["objects"]): row for row in rows}, sizes)]


def _row(form: str, size: int, times: list[float], growth: int, written: int) -> Row:
    return {
        "form": form,
        "objects": size,
        "rows_per_second": round(size * 1_000 / middle(times)),
        "ms": middle(times),
        "bytes": written,
        "growth_mib": round(growth / MIB, 2),
    }


def _aims(rows: dict[tuple[str, int], Row], sizes: tuple[int, ...]) -> list[Row]:
    most = max(sizes)
    ratio = rows[TXT, most]["rows_per_second"] / rows[CURSOR, most]["rows_per_second"]
    grown = [
        aim(f"MiB that {form} of {most:,} objects takes", rows[form, most]["growth_mib"], at_most=15)
        for form in (TXT, JSON)
    ]
    return [aim(f"rows per second of TXT by the cursor, {most:,} objects", ratio, at_least=0.5), *grown]


def _address() -> str:
    """Return the address of the database in use, for another process."""
    from tests.serving import address_of_database

    return address_of_database()


def _apart(*given: Any) -> tuple[list[float], int, int]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        1, mp_context=context
    ) as processes:  # one that dies is an error, not a wait for ever
        return processes.submit(_measure, *given).result()


def _measure(form: str, small: int, contract: int, rounds: int, place: str) -> tuple[list[float], int, int]:
    """Return milliseconds of each round, by how many bytes the process grew at most, and the bytes told."""
    import psutil

    os.environ |= {"DATABASE_URL": place, "WORKBENCH_POOL": "0"}
    import django

    django.setup()
    for _ in _told(form, small):
        pass
    gc.collect()
    process, times = psutil.Process(), []
    before = most = process.memory_info().rss
    for _ in range(rounds):
        start, written = time.perf_counter(), 0
        for piece in _told(form, contract):
            written += len(piece)
            most = max(most, process.memory_info().rss)
        times.append((time.perf_counter() - start) * 1_000)
    return times, most - before, written


def _told(form: str, contract: int) -> Iterator[bytes]:
    from contracts.exports.json_form import stream_json
    from contracts.exports.snapshot import open_snapshot
    from contracts.exports.text_form import stream_text

    with open_snapshot(contract) as snapshot:
        if form == CURSOR:
            yield from _plain(contract)
        elif form == JSON:
            yield from stream_json(snapshot)
        else:
            yield from stream_text(snapshot, "en", json_digest="a" * 64 if form == TXT_ALONE else "")


def _plain(contract: int) -> Iterable[bytes]:
    """Yield the same facts of the same rows, a line each, with nothing done to them: the least one can do."""
    from contracts.exports.snapshot import CHUNK_ROWS
    from contracts.exports.writing import in_pieces
    from contracts.models import WorkObject

    rows = WorkObject.objects.of(contract).values_list(*WorkObject.FACTS.values())
    return in_pieces("\t".join(map(str, row)) for row in rows.iterator(chunk_size=CHUNK_ROWS))

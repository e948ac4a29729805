"""What the benchmarks share in measuring and in telling: turns, percentiles, tables, and aims."""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]


def in_turns(acts: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return name → milliseconds of each time the act was done; every act in every round, the order turned."""
    spent: dict[str, list[float]] = {name: [] for name in acts}
    names = list(acts)
    for act in acts.values():  # what is done once only, such as reading templates
        act()
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            start = time.perf_counter()
            acts[name]()
            spent[name].append((time.perf_counter() - start) * 1_000)
    return spent


def middle(times: Sequence[float]) -> float:
    """Return the median, rounded to hundredths."""
    return round(statistics.median(times), 2)


def tail(times: Sequence[float]) -> float:
    """Return the 95th percentile: what one in twenty exceeds at most."""
    return round(sorted(times)[math.ceil(0.95 * len(times)) - 1], 2)


def table(title: str, rows: Sequence[Row]) -> None:
    """Print `rows`, which all have the same columns; the first is text."""
    print(f"\n{title}")
    names = list(rows[0])
    cells = [
        [name.replace("_", " ") for name in names],
        *([_said(row[name]) for name in names] for row in rows),
    ]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    for line in cells:
        first, *others = [
            cell.ljust(w) if not i else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join([first, *others]))


def aim(what: str, value: float, *, at_most: float | None = None, at_least: float | None = None) -> Row:
    """Print whether an aim was reached, and return it as a row."""
    reached = value <= at_most if at_most is not None else value >= (at_least or 0)
    limit = f"≤ {at_most:,g}" if at_most is not None else f"≥ {at_least:,g}"
    print(f"{what} {limit}: {value:,.2f} {'reached' if reached else 'MISSED'}")
    return {"aim": what, "limit": limit, "value": round(value, 3), "reached": reached}


def _said(value: Any) -> str:
    if value is None:
        return ""
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )

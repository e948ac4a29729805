"""State of a framework, kept by the framework: the workbench holds where it lies, its checksum, and that it counts.

What a displaced owner writes into the framework's own store later is not pointed to, and so is never gone on from.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from contracts.client.run import Run
from contracts.rules.vocabulary import Durability


class StateChanged(Exception):
    """What lies at a location is not what was kept there; nobody goes on from it."""


def newest(run: Run, prefix: str) -> Mapping[str, Any] | None:
    """Return the newest checkpoint that stands and whose location begins with `prefix`, as exported."""
    rows = run.contract()["checkpoints"]
    standing = [row for row in rows if row["location"].startswith(prefix) and not row["rolled_back_at"]]
    return max(standing, key=lambda row: int(row["sequence"]), default=None)


def keep(
    run: Run,
    location: str,
    content: bytes,
    *,
    next_step: str,
    cursor: str = "",
    durability: Durability | str = Durability.SYNC,
) -> None:
    """Commit, fenced by the generation, that work goes on from the state at `location`.

    `content`: what the checksum is over. `cursor`: the framework's own name of the point.
    """
    point = {
        "location": location,
        "sha256": hashlib.sha256(content).hexdigest(),
        "size_bytes": len(content),
        "event_cursor": cursor,
        "durability": Durability(durability).value,
    }
    run.commit(next_step=next_step, checkpoint=point)


def check(row: Mapping[str, Any], content: bytes) -> None:
    """Raise StateChanged unless `content` is what the checkpoint `row` was made of."""
    if hashlib.sha256(content).hexdigest() != row["sha256"]:
        raise StateChanged(f"the state at {row['location']} is not the one that was committed")

"""What is measured against each other, one kind a file. Each offers

`NAMES`, its rows; `missing()`, why it cannot run here, or an empty text; `prepared(place)`, a context that
makes what the writers need and gives it as plain values; and `writer(name, place, made, number)`, called in a
process of its own, which gives a function that commits steps until a moment of `time.monotonic()` and returns
how many were durable by then.
"""

from dataclasses import dataclass
from pathlib import Path

# What each step keeps: as large as a small agent's state, the same for everybody.
STATE = {"photo": 17, "draft": "Fired clay, found at the north gate in 1931. " * 4, "turn": 3}
CHUNK = 50  # steps of one run, where a contender has runs with a beginning and an end
MOST = 8  # writers


@dataclass(frozen=True)
class Place:
    """Where it is measured: the address of the database, and a folder for whatever else a server needs."""

    database: str
    folder: Path

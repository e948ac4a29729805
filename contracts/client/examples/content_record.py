"""What the small content system knows: its pages, every request to write, and what it was told to do wrong."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

SCHEMA = """
CREATE TABLE IF NOT EXISTS page (
  number INTEGER PRIMARY KEY, key TEXT, name TEXT, generation INTEGER, content TEXT, at REAL);
CREATE TABLE IF NOT EXISTS request (
  number INTEGER PRIMARY KEY, key TEXT, name TEXT, generation INTEGER, outcome TEXT, answered INTEGER, at REAL);
CREATE TABLE IF NOT EXISTS fence (generation INTEGER);
CREATE TABLE IF NOT EXISTS loss (number INTEGER)
"""
ANY = "*"
PAGE, RECOGNISED, FORMER, REFUSED = "page", "recognised", "former", "refused"


@dataclass(frozen=True, slots=True)
class Switches:
    """How the system behaves; the words of its command line. Durations in seconds.

    `deduplicates`: how long a key is remembered; 0: not at all. `lose`, `never`, `refuse`: the name of a page (ANY:
    whichever comes first) whose receipt is lost once, that is never answered, that is refused. `late`: name → delay.
    """

    deduplicates: float = 0
    checks_generation: bool = False
    lose: str = ""
    never: str = ""
    refuse: str = ""
    late: tuple[str, float] = ("", 0)
    port: int = 0

    @classmethod
    def read(cls, words: Iterable[str]) -> Self:
        """Return what words such as `deduplicates:60` say; raises ValueError at one that is not known."""
        read: dict[str, Callable[[str], tuple[str, Any]]] = {
            "deduplicates": lambda rest: ("deduplicates", float(rest or 10**9)),
            "checks-generation": lambda _: ("checks_generation", True),
            "lose-a-receipt": lambda rest: ("lose", rest or ANY),
            "never-answer": lambda rest: ("never", rest),
            "answer-late": lambda rest: ("late", (rest.rpartition(":")[0], float(rest.rpartition(":")[2]))),
            "refuse": lambda rest: ("refuse", rest),
            "port": lambda rest: ("port", int(rest)),
        }
        parted = [word.partition(":") for word in words]
        unknown = sorted({name for name, _, _ in parted} - set(read))
        if unknown:
            raise ValueError(f"not a switch of the content system: {', '.join(unknown)}")
        return cls(**dict(read[name](rest) for name, _, rest in parted))


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to write a page."""

    key: str
    generation: int
    content: Any

    @property
    def name(self) -> str:
        """The name of the page."""
        return str(self.content.get("page", "")) if isinstance(self.content, dict) else ""


class Record:
    """The content system's own database, in a file of its own."""

    def __init__(self, folder: Path, switches: Switches) -> None:
        self._file = folder / "pages.sqlite"
        self.switches = switches
        self._lock = threading.Lock()
        with closing(sqlite3.connect(self._file)) as record:
            record.executescript(SCHEMA)

    def publish(self, asked: Asked) -> tuple[str, str, int]:
        """Return what became of a request: outcome, the page's reference (or empty), the request's own number."""
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            outcome, number = self._decide(record, asked)
            row = (asked.key, asked.name, asked.generation, outcome, time.time())
            noted = record.execute(
                "INSERT INTO request (key, name, generation, outcome, answered, at) VALUES (?, ?, ?, ?, 0, ?)",
                row,
            )
            return outcome, f"page-{number}" if number else "", int(noted.lastrowid or 0)

    def _decide(self, record: sqlite3.Connection, asked: Asked) -> tuple[str, int]:
        if self.switches.refuse and self.switches.refuse in (asked.name, ANY):
            return REFUSED, 0
        if self.switches.checks_generation and asked.generation < _fence(record):
            return FORMER, 0
        record.execute("INSERT INTO fence VALUES (?)", (asked.generation,))
        known = "SELECT number FROM page WHERE key = ? AND at > ? ORDER BY number"
        oldest = time.time() - self.switches.deduplicates
        if self.switches.deduplicates and (found := record.execute(known, (asked.key, oldest)).fetchone()):
            return RECOGNISED, int(found[0])
        content = json.dumps(asked.content, ensure_ascii=False)
        row = (asked.key, asked.name, asked.generation, content, time.time())
        made = record.execute(
            "INSERT INTO page (key, name, generation, content, at) VALUES (?, ?, ?, ?, ?)", row
        )
        return PAGE, int(made.lastrowid or 0)

    def answered(self, request: int) -> None:
        """Take note that the receipt of a request is leaving."""
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            record.execute("UPDATE request SET answered = 1 WHERE number = ?", (request,))

    def announce(self, generation: int) -> None:
        """Keep out every generation before this one, if generations are checked."""
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            record.execute("INSERT INTO fence VALUES (?)", (generation,))

    def find(self, key: str | None, name: str | None) -> list[str]:
        """Return the references of the pages made under a key, or of a name, or of all."""
        with self._lock, closing(sqlite3.connect(self._file)) as record:
            rows = record.execute(
                "SELECT number FROM page WHERE (?1 IS NULL OR key = ?1) AND (?2 IS NULL OR name = ?2) ORDER BY number",
                (key, name),
            )
            return [f"page-{number}" for (number,) in rows]

    def whole(self) -> dict[str, list[dict[str, Any]]]:
        """Return every page and every request to write, in their order."""
        with self._lock, closing(sqlite3.connect(self._file)) as record:
            record.row_factory = sqlite3.Row
            told = {
                table: [dict(row) for row in record.execute(f"SELECT * FROM {table} ORDER BY number")]  # noqa: S608
                for table in ("page", "request")
            }
        pages = [{**row, "content": json.loads(row["content"])} for row in told["page"]]
        return {"pages": pages, "requests": told["request"]}

    def loses(self, name: str) -> bool:
        """Tell whether this receipt is the one to be lost; it is lost once."""
        if self.switches.lose not in (ANY, name) or not self.switches.lose:
            return False
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            if record.execute("SELECT 1 FROM loss").fetchone():
                return False
            record.execute("INSERT INTO loss VALUES (1)")
            return True


def _fence(record: sqlite3.Connection) -> int:
    return int(record.execute("SELECT coalesce(max(generation), 0) FROM fence").fetchone()[0])

"""A small content system as a process of its own: it publishes pages and keeps its own record of them.

It writes a page for every request it accepts, so that whatever is sent twice is there twice. Once, if asked, it
accepts a page and loses the receipt: the connection closes without an answer. It refuses the generations before
the newest it was told; one such system serves one task.
Run: python -m contracts.client.examples.content_system FOLDER [lose-a-receipt]
"""

import json
import os
import sqlite3
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from contracts.client.exceptions import TargetRefused
from contracts.client.shapes import Call, Seen, Sent

SCHEMA = """
CREATE TABLE IF NOT EXISTS page (number INTEGER PRIMARY KEY, key TEXT, name TEXT, content TEXT);
CREATE TABLE IF NOT EXISTS fence (generation INTEGER);
CREATE TABLE IF NOT EXISTS loss (number INTEGER)
"""


class Pages:
    """The content system as a worker reaches it: `publish` sends, `find` asks its record, `announce` tells it."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=5)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def publish(self, call: Call) -> Sent:
        """Publish the page that the parameters name."""
        body = {"key": call.key, "generation": call.generation, "content": call.parameters}
        answer = self._client.post("/pages", json=body)
        if answer.status_code == httpx.codes.CONFLICT:
            raise TargetRefused(answer.text)
        return Sent(answer.raise_for_status().json()["reference"], answer.content)

    def find(self, call: Call) -> Seen:
        """Ask how many pages were made by this very call."""
        found = self._client.get("/pages", params={"key": call.key}).raise_for_status().json()["references"]
        return Seen.found(found[0], count=len(found)) if found else Seen.absent()

    def all(self) -> list[str]:
        """Return the references of all pages there are."""
        found: list[str] = self._client.get("/pages").raise_for_status().json()["references"]
        return found

    def announce(self, generation: int) -> None:
        """Tell which generation owns the task now."""
        self._client.put("/generation", json={"generation": generation}).raise_for_status()


class Record:
    """What the content system knows, in a file of its own."""

    def __init__(self, folder: Path, *, lose: bool = False) -> None:
        self._file = folder / "pages.sqlite"
        self._lose = lose
        self._lock = threading.Lock()
        with closing(sqlite3.connect(self._file)) as record:
            record.executescript(SCHEMA)

    def publish(self, key: str, generation: int, content: Any) -> str | None:
        """Make a page and return its reference; None if the generation is a former one."""
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            if generation < _fence(record):
                return None
            record.execute("INSERT INTO fence VALUES (?)", (generation,))
            row = (key, str(content.get("page", "")), json.dumps(content, ensure_ascii=False))
            made = record.execute("INSERT INTO page (key, name, content) VALUES (?, ?, ?)", row)
            return f"page-{made.lastrowid}"

    def announce(self, generation: int) -> None:
        """Keep out every generation before this one."""
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            record.execute("INSERT INTO fence VALUES (?)", (generation,))

    def find(self, key: str | None) -> list[str]:
        """Return the references of the pages made under a key, or of all."""
        with self._lock, closing(sqlite3.connect(self._file)) as record:
            rows = record.execute(
                "SELECT number FROM page WHERE ? IS NULL OR key = ? ORDER BY number", (key, key)
            )
            return [f"page-{number}" for (number,) in rows]

    def loses_now(self) -> bool:
        """Tell whether this receipt is the one to be lost."""
        with self._lock, closing(sqlite3.connect(self._file)) as record, record:
            if not self._lose or record.execute("SELECT 1 FROM loss").fetchone():
                return False
            record.execute("INSERT INTO loss VALUES (1)")
            return True


def _fence(record: sqlite3.Connection) -> int:
    return int(record.execute("SELECT coalesce(max(generation), 0) FROM fence").fetchone()[0])


class Desk(BaseHTTPRequestHandler):
    """Answers over HTTP."""

    record: Record
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Publish a page."""
        asked = self._body()
        reference = self.record.publish(asked["key"], asked["generation"], asked["content"])
        if reference is not None and self.record.loses_now():
            self.close_connection = True  # the page is there; nobody is told
            return
        told = {"reference": reference} if reference else {"refused": "a former generation"}
        self._answer(201 if reference else 409, told)

    def do_GET(self) -> None:
        """Tell which pages there are."""
        key = parse_qs(urlsplit(self.path).query).get("key", [None])[0]
        self._answer(200, {"references": self.record.find(key)})

    def do_PUT(self) -> None:
        """Learn the newest generation."""
        self.record.announce(self._body()["generation"])
        self._answer(200, {})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, told: dict[str, Any]) -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main(folder: str, *words: str) -> None:
    """Serve on a free port, say which, and end with the process that started it."""
    Desk.record = Record(Path(folder), lose="lose-a-receipt" in words)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.read()  # ends when the other end of the pipe does
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

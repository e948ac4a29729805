"""A small content system as a process of its own: it publishes pages and keeps its own record of them.

As it comes, it writes a page for every request, so that whatever is sent twice is there twice. Words on its command
line change that, several at once:

    deduplicates[:SECONDS]     the same key gets the first page's reference, for so long
    checks-generation          refuses the generations before the newest that it was told or has seen
    lose-a-receipt[:NAME]      accepts a page and closes the connection without an answer, once
    never-answer:NAME          accepts a page and never answers
    answer-late:NAME:SECONDS   accepts a page and answers so much later
    refuse:NAME                refuses a page
    port:NUMBER                listens there instead of at a free port

One such system serves one task. Run: python -m contracts.client.examples.content_system FOLDER [WORD …]
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from contracts.client.examples.content_record import FORMER, REFUSED, Asked, Record, Switches
from contracts.client.exceptions import TargetRefused
from contracts.client.shapes import Call, Seen, Sent

NEVER = 10**6  # seconds
WHY_NOT = {FORMER: "a former generation", REFUSED: "this page is not wanted"}


class Pages:
    """The content system as a worker reaches it: `publish` sends, `find` asks its record, `announce` tells it."""

    def __init__(self, url: str) -> None:
        self.address = url
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

    def record(self) -> dict[str, list[dict[str, Any]]]:
        """Return `pages` and `requests`, each as the content system itself has them."""
        told: dict[str, list[dict[str, Any]]] = self._client.get("/record").raise_for_status().json()
        return told

    def announce(self, generation: int) -> None:
        """Tell which generation owns the task now."""
        self._client.put("/generation", json={"generation": generation}).raise_for_status()


class Desk(BaseHTTPRequestHandler):
    """Answers over HTTP."""

    record: Record
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Publish a page."""
        asked = self._asked()
        outcome, reference, number = self.record.publish(asked)
        if outcome in WHY_NOT:
            self._answer(409, {"refused": WHY_NOT[outcome]})
            return
        if self.record.loses(asked.name):
            self.close_connection = True  # the page is there; nobody is told
            return
        self._linger(asked.name)
        self.record.answered(number)
        self._answer(201, {"reference": reference})

    def do_GET(self) -> None:
        """Tell which pages there are."""
        place = urlsplit(self.path)
        if place.path == "/record":
            self._answer(200, self.record.whole())
            return
        asked = parse_qs(place.query)
        key, name = (asked.get(part, [None])[0] for part in ("key", "name"))
        self._answer(200, {"references": self.record.find(key, name)})

    def do_PUT(self) -> None:
        """Learn the newest generation."""
        self.record.announce(self._body()["generation"])
        self._answer(200, {})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def _asked(self) -> Asked:
        """Read what is to be written: from a worker, or from the workbench, which sends key and owner in headers."""
        body = self._body()
        if key := self.headers.get("Idempotency-Key"):
            return Asked(key, int(self.headers.get("Workbench-Generation", "0")), body)
        return Asked(body["key"], body["generation"], body["content"])

    def _linger(self, name: str) -> None:
        switches = self.record.switches
        late, seconds = switches.late
        if name and name == switches.never:
            time.sleep(NEVER)
        if name and name == late:
            time.sleep(seconds)

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, told: dict[str, Any]) -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """Serves, and says nothing of workers that were killed in the middle of a request."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over a broken connection: the record says what happened."""


def main(folder: str, *words: str) -> None:
    """Serve, say where, and end with the process that started it."""
    switches = Switches.read(words)
    Desk.record = Record(Path(folder), switches)
    server = Server(("127.0.0.1", switches.port), Desk)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.read()  # ends when the other end of the pipe does
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A real HTTP server between client and workbench that breaks connections where a test says so."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass
class Asked:
    """One request as it came in."""

    method: str
    path: str
    key: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    """One answer as it goes out."""

    status: int
    body: bytes
    kind: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


Upstream = Callable[[Asked], Answer]


class Relay:
    """`faults`: one for each of the next requests whose path holds `only`; without one it is answered properly.

    before: the connection is cut before anything is done. after: it is done, and the connection is cut. half: cut
    in the middle of the answer. late: done, and answered after `delay` seconds. lost: never done, and the
    connection is cut after `delay` seconds. 503, html, running: answered by somebody
    else, without anything being done.
    """

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.faults: list[str] = []
        self.only = ""
        self.delay = 0.6
        self.asked: list[Asked] = []
        self.url = ""

    def fault(self, path: str) -> str:
        """Return what happens to a request for `path`."""
        return self.faults.pop(0) if self.faults and self.only in path else ""


def by_somebody_else(fault: str) -> Answer | None:
    """Return the answer of a proxy, or of the workbench while the same key is under way."""
    if fault == "503":
        return Answer(503, b"<p>Service unavailable</p>", "text/html")
    if fault == "html":
        return Answer(200, b"<p>Please log in to the network</p>", "text/html")
    if fault == "running":
        return Answer(409, b'{"code":"key_running","detail":"It is still running."}', PROBLEM)
    return None


class Handler(BaseHTTPRequestHandler):
    relay: Relay
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(
            self.command, self.path, self.headers.get("Idempotency-Key", ""), body, dict(self.headers)
        )
        self.relay.asked.append(asked)
        fault = self.relay.fault(self.path)
        if fault == "before":
            self.close_connection = True
            return
        if fault == "lost":
            time.sleep(self.relay.delay)
            self.close_connection = True
            return
        answer = by_somebody_else(fault) or self.relay.upstream(asked)
        if fault == "after":
            self.close_connection = True
            return
        if fault == "late":
            time.sleep(self.relay.delay)
        with contextlib.suppress(OSError):
            self._send(answer, half=fault == "half")

    def do_GET(self) -> None:
        self.do_POST()

    def do_PUT(self) -> None:
        self.do_POST()

    def _send(self, answer: Answer, *, half: bool) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if half else answer.body)
        self.close_connection = half

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def relayed(upstream: Upstream) -> Iterator[Relay]:
    """Serve on a free port until the end of the block."""
    relay = Relay(upstream)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"relay": relay}))
    server.daemon_threads = True
    relay.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield relay
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def forwarded(url: str) -> Iterator[Upstream]:
    """Give an upstream that is a workbench, or whatever else, served at `url`."""
    kept = ("authorization", "idempotency-key", "content-type", "if-none-match", "accept")

    def ask(asked: Asked) -> Answer:
        headers = {name: value for name, value in asked.headers.items() if name.lower() in kept}
        answer = client.request(asked.method, asked.path, content=asked.body, headers=headers)
        told = {"ETag": answer.headers["ETag"]} if "ETag" in answer.headers else {}
        return Answer(answer.status_code, answer.content, answer.headers.get("Content-Type", JSON), told)

    with httpx.Client(base_url=url, timeout=60) as client:
        yield ask


@contextlib.contextmanager
def relayed_to(url: str) -> Iterator[Relay]:
    """Relay to what is served at `url` until the end of the block."""
    with forwarded(url) as upstream, relayed(upstream) as relay:
        yield relay


class Miniature:
    """What matters here of the workbench: each key is carried out once, and answered with the same bytes."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refusal = ""
        self._stored: dict[str, Answer] = {}
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Answer:
        with self._lock:
            if asked.method == "GET":
                return Answer(200, b'{"state":"running"}', headers={"ETag": '"7"'})
            if asked.key not in self._stored:
                self.done.append(asked.path)
                self._stored[asked.key] = self._answer()
            return self._stored[asked.key]

    def _answer(self) -> Answer:
        if self.refusal:
            told = {"code": self.refusal, "detail": "No.", "status": 409}
            return Answer(409, json.dumps(told).encode(), PROBLEM)
        told = {"number": len(self.done), "state": "running", "lease_end": "2030-01-01T00:00:00Z"}
        return Answer(200, json.dumps(told).encode())

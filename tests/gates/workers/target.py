"""A target system as a process of its own, with its own record of what was written into it.

`python -m tests.gates.workers.target` prints its port. The first word of a path says how it behaves: `slow` writes
first and answers after two seconds, `drip` answers byte by byte for ever, `cut` writes and hangs up, `short`
writes and sends half its answer, `elsewhere` redirects, `no` and `broken` refuse, `odd` names a reference that no
ledger takes; every other writes and answers 201.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[3]
KEPT = ("Idempotency-Key", "Workbench-Task", "Workbench-Generation", "Authorization", "Content-Type", "Host")


class Record(BaseHTTPRequestHandler):
    written: list[dict[str, Any]] = []  # noqa: RUF012  # one record for the whole process

    def do_GET(self) -> None:
        self._answer(200, json.dumps(self.written).encode())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.path.split("/")[1]
        if kind in ("no", "broken", "elsewhere"):
            status = {"no": 422, "broken": 503, "elsewhere": 307}[kind]
            self._answer(status, b"{}", **({"Location": "/pages/elsewhere"} if kind == "elsewhere" else {}))
            return
        headers = {name: self.headers.get(name) for name in KEPT}
        self.written.append(
            {"path": self.path, "parameters": json.loads(content), "at": time.time(), **headers}
        )
        if kind == "slow":
            time.sleep(2)
        self._answer_as(kind)

    def _answer_as(self, kind: str) -> None:
        reference = "two words" if kind == "odd" else f"cms:/{self.path}"
        body = json.dumps({"reference": reference}).encode()
        if kind == "cut":
            self.close_connection = True
        elif kind == "short":
            self._answer(201, body, **{"Content-Length": str(len(body) + 10)})
        elif kind == "long":
            self._answer(201, b"x" * 1_048_577)
        elif kind == "text":
            self._answer(201, b"\xffdone")
        elif kind == "drip":
            self._drip()
        else:
            self._answer(201, body, **({"Location": "/kept/1"} if kind == "located" else {}))

    def _drip(self) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(b"HTTP/1.1 201 Created\r\nX: ")
            while True:
                self.wfile.write(b"x")
                time.sleep(0.1)

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


class Target:
    """The running target, seen from a test."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def written(self) -> list[dict[str, Any]]:
        with urlopen(f"http://127.0.0.1:{self.port}/", timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@contextlib.contextmanager
def target() -> Iterator[Target]:
    """Run the target until the end of the block."""
    words = [sys.executable, "-m", "tests.gates.workers.target"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Target(process, int(process.stdout.readline()))
        finally:
            process.kill()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Record)
    print(server.server_address[1], flush=True)
    server.serve_forever()

"""Many small content systems in one process: `python -m tests.storms.targets FOLDER` prints its address.

The first part of a path names the system: a number, and after it the words that say how it behaves, as in
`/17,checks-generation/pages`. Each has a record of its own.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from contracts.client.examples.content_record import Record, Switches
from contracts.client.examples.content_system import Desk, Server

ROOT = Path(__file__).resolve().parents[2]


class ManyDesks(Desk):
    """Answers for every system that is asked for."""

    folder: Path

    def parse_request(self) -> bool:
        """Read the head of a request, and find the record of the system it is for."""
        if not super().parse_request():
            return False
        name, _, rest = self.path[1:].partition("/")
        self.record, self.path = _record(self.folder / name), f"/{rest}"
        return True


@cache
def _record(folder: Path) -> Record:
    folder.mkdir()
    return Record(folder, Switches.read(folder.name.split(",")[1:]))


@contextmanager
def targets(folder: Path) -> Iterator[str]:
    """Run the process until the end of the block; gives its address."""
    command = [sys.executable, "-m", "tests.storms.targets", str(folder)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main(folder: str) -> None:
    """Serve, say where, and end with the process that started it."""
    ManyDesks.folder = Path(folder)
    server = Server(("127.0.0.1", 0), ManyDesks)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])

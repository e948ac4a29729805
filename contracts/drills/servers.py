"""The servers of frameworks that have one: started once for all cells of a run, at free ports of this machine."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from contracts.drills.processes import present

SECONDS_TO_START = 120  # npx may have to fetch the program first


@contextlib.contextmanager
def server(
    words: Sequence[str], log: Path, port: int, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a program until the block is left; the block begins when the program answers at its port.

    Raises RuntimeError, which names the log, if it ends before or does not answer in time.
    """
    with log.open("a", encoding="utf-8") as out:
        process = present().start(words, environment or {}, out=out)
        try:
            if not await_port(port, lambda: process.poll() is None):
                raise RuntimeError(f"{words[0]} did not start, see {log}")
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that nobody uses now."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def await_port(port: int, lives: Callable[[], bool] = lambda: True) -> bool:
    """Wait until somebody listens at a port of 127.0.0.1; False if that is in vain. `lives`: whether to go on."""
    end = time.monotonic() + SECONDS_TO_START
    while lives() and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        time.sleep(0.05)
    return False


def npm_program(name: str, package: str, variable: str) -> tuple[str, ...]:
    """Return the command line of a program that npm brings; empty if neither it nor npm is here.

    It is what the environment's `variable` names, or is on the path, or is fetched by npx as this package.
    """
    if named := os.environ.get(variable) or shutil.which(name):
        return (named,)
    npx = shutil.which("npx")
    return (npx, "--yes", "--package", package, name) if npx else ()


def program_version(words: Sequence[str]) -> str:
    """Return the version that a program says it has: the last word of its answer to `--version`."""
    asked = (*words, "--version")
    said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=SECONDS_TO_START)
    return said.stdout.split()[-1]

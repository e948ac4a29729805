"""Restate, one node: steps of a handler, journalled by its server before the next begins.

The server is the npm package @restatedev/restate-server; its program is found on the path, by RESTATE_SERVER,
or fetched by npx. The handlers are served by granian, which is not slower than what Restate's pages recommend.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.benchmarks.contenders import CHUNK, STATE, Place

NAMES = ("restate",)
PACKAGE = "@restatedev/restate-server@1.7.12"
ROOT = Path(__file__).resolve().parents[3]


def missing() -> str:
    if not importlib.util.find_spec("restate"):
        return "restate-sdk is not installed: uv run --group peers"
    return "" if _program() else "neither restate-server nor npx is here"


def _program() -> list[str]:
    named = os.environ.get("RESTATE_SERVER") or shutil.which("restate-server")
    if named:
        return [named]
    npx = shutil.which("npx")
    return [npx, "--yes", "--package", PACKAGE, "restate-server"] if npx else []


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[dict[str, Any]]:
    ports = dict(zip(("ingress", "admin", "node", "service"), _free_ports(4), strict=True))
    folder = place.folder / "restate"
    folder.mkdir()
    with contextlib.ExitStack() as running:
        running.enter_context(_process(_service(ports["service"]), folder / "service.log"))
        running.enter_context(_process(_program(), folder / "server.log", **_settings(folder, ports)))
        _register(ports, folder)
        yield {"address": f"http://127.0.0.1:{ports['ingress']}/Steps/take"}


def writer(name: str, place: Place, made: dict[str, Any], number: int) -> Callable[[float], int]:
    client = httpx.Client(timeout=120, trust_env=False)

    def write(until: float) -> int:
        count = 0
        while time.monotonic() < until:
            answer = client.post(made["address"], json=CHUNK)
            answer.raise_for_status()
            count += answer.json()
        return count

    return write


def make_application() -> Any:
    """Return the application with the one handler; granian calls this in its own process."""
    import restate

    service = restate.Service("Steps")

    async def kept() -> dict[str, Any]:
        return STATE

    @service.handler()
    async def take(ctx: restate.Context, count: int) -> int:
        for _ in range(count):
            await ctx.run_typed("step", kept)
        return count

    return restate.app([service])


def _service(port: int) -> list[str]:
    options = {"interface": "asgi", "http": "2", "host": "127.0.0.1", "log-level": "error", "workers": "2"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    target = "tests.benchmarks.contenders.restate_steps:make_application"
    return [sys.executable, "-m", "granian", *words, "--factory", "--port", str(port), target]


def _settings(folder: Path, ports: dict[str, int]) -> dict[str, str]:
    return {
        "RESTATE_BASE_DIR": str(folder),
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{ports['node']}",
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ports['ingress']}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{ports['admin']}",
        "RESTATE_LOG_FILTER": "error",
        "DO_NOT_TRACK": "1",
    }


def _register(ports: dict[str, int], folder: Path) -> None:
    asked = {"uri": f"http://127.0.0.1:{ports['service']}"}
    for _ in range(300):
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.post(
                f"http://127.0.0.1:{ports['admin']}/deployments", json=asked, timeout=10, trust_env=False
            )
            if answer.is_success:
                return
        time.sleep(0.2)
    said = [(folder / name).read_text("utf-8", "replace")[-2000:] for name in ("server.log", "service.log")]
    raise SystemExit(f"Restate did not start: {json.dumps(said)}")


@contextlib.contextmanager
def _process(words: list[str], log: Path, **environment: str) -> Iterator[None]:
    # A session of its own: what it started itself ends with it.
    given: dict[str, Any] = {"cwd": ROOT, "env": os.environ | environment, "start_new_session": True}
    with log.open("w") as said, subprocess.Popen(words, stdout=said, stderr=said, **given) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]

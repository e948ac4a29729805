"""A workflow in DBOS whose steps draft a label and publish it, once; DBOS waits for the curator."""

import os
import sys

from dbos import DBOS, DBOSConfig, SetWorkflowID

from contracts.client import Run, Tool, Workbench
from contracts.client.bridges.dbos import Stopped, make_step
from contracts.client.bridges.examples.label import draft_label, publish_label, published
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel


def main() -> int:
    workbench = Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"])
    model, pages = FakeModel(os.environ["MODEL_RECORD"]), Pages(os.environ["CONTENT_SYSTEM"])
    tool = Tool("cms.publish_label", pages.publish, pages.find, pages.announce)
    task = os.environ["TASK"]
    DBOS(
        config=DBOSConfig(
            name="labels",
            system_database_url=os.environ["DBOS_DATABASE"],
            application_version="1",
            log_level="ERROR",
        )
    )

    def draft(run: Run, page: str) -> str:
        say(f"drafts {page} in attempt {run.attempt.number}")
        return draft_label(run, model)

    def publish(run: Run, page: str) -> str:
        say(f"publishes in attempt {run.attempt.number}")
        return publish_label(run, tool, page)

    drafting = make_step(workbench, task, "draft", draft, tools=[tool], wait=60)
    publishing = make_step(workbench, task, "publish", publish, tools=[tool], wait=60, finished=published)

    @DBOS.workflow()
    def label(page: str) -> str:
        drafting(page)
        return str(publishing(page))

    DBOS.launch()  # and go on with workflows that a killed process left
    try:
        with SetWorkflowID(task):
            say(f"published: {DBOS.start_workflow(label, 'case-7/label').get_result()}")
    except Stopped as stop:
        say(f"stops: {stop}")
        return 1
    finally:
        DBOS.destroy()
    return 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())

"""DBOS: one workflow whose steps draft and publish each object; its id is the task's, so that it exists once.

A process that starts again has the same executor id as the one that was killed: then DBOS recovers, at its launch,
what that one left pending. The step that writes retries as DBOS advises for requests to unreliable systems, but not
after a clear no. A person's yes is a message to the workflow. Each DBOS step has the key of its workflow and number.
Run: python -m contracts.drills.adapters.dbos
"""

import sys
import threading
import time
from typing import Any

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, module_command
from contracts.drills.marks import COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks, TargetRefused
from contracts.rules.drilling import Target

Draft = dict[str, str]


def is_worth_a_retry(error: BaseException) -> bool:
    """Tell whether DBOS shall call the step again."""
    return not isinstance(error, TargetRefused)


def make_workflow(marks: Marks) -> Any:
    """Return the workflow, registered with DBOS; it returns how many pages it published."""
    from dbos import DBOS

    @DBOS.step()
    def draft(name: str) -> Draft:
        source = marks.source(name)
        text = marks.model(name, source)
        marks.reach(DRAFTED, name)
        return {"text": text, "source": source}

    @DBOS.step()
    def ask(name: str) -> None:
        marks.waiting(name)

    @DBOS.step(retries_allowed=True, should_retry=is_worth_a_retry)
    def publish(name: str, drafted: Draft) -> str:
        marks.reach(LEAVING, name)
        key = f"{DBOS.workflow_id}/{DBOS.step_id}"
        page = marks.publish(name, drafted["text"], drafted["source"], key)
        marks.sent(name)
        marks.reach(SENT, name)
        return page

    @DBOS.workflow()
    def label_all() -> int:
        for name in marks.objects:
            drafted = draft(name)
            marks.committed(name)
            marks.reach(COMMITTED, name)
            if name == marks.approval:
                ask(name)
                while not DBOS.recv(name, timeout_seconds=30):
                    ask(name)
            publish(name, drafted)
        return len(marks.objects)

    return label_all


def pass_the_yes_on(marks: Marks) -> None:
    """Send the workflow the person's yes, once there is one."""
    from dbos import DBOS

    while not marks.approved(marks.approval):
        time.sleep(0.1)
    DBOS.send(marks.task, "yes", marks.approval, idempotency_key="yes")


def main() -> int:
    """Launch, which recovers what was left, and wait until the workflow has ended."""
    from dbos import DBOS, DBOSConfig, SetWorkflowID

    marks = Marks.from_environment()
    DBOS(
        config=DBOSConfig(
            name="labels",
            system_database_url=marks.database,
            executor_id="labels",
            application_version="1",
            log_level="ERROR",
            notification_listener_polling_interval_sec=0.2,
        )
    )
    label_all = make_workflow(marks)
    marks.reach(READY)
    DBOS.launch()
    with SetWorkflowID(marks.task):
        running = DBOS.start_workflow(label_all)  # the one there is already, if there is one
    if marks.approval:
        threading.Thread(target=pass_the_yes_on, args=[marks], daemon=True).start()
    running.get_result(polling_interval_sec=0.2)
    marks.done()
    DBOS.destroy()
    return 0


ADAPTERS = (
    Adapter(
        name="dbos",
        title="DBOS",
        command=module_command("dbos"),
        needs=("dbos",),
        packages=("dbos",),
        install="uv sync --group dbos",
        cannot={Target.PROXY: PROXY_IS_OURS},
        database=True,
    ),
)

if __name__ == "__main__":
    sys.exit(main())

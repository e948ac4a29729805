"""Our own client: a worker that drafts and publishes one page for each object, and the contract that guards it."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from contracts.client import Call, Job, NotResumable, Run, Sent, Tool, Workbench, WorkStopped
from contracts.client.examples.content_system import Pages
from contracts.drills.adapter import Adapter, Environment, Keeper, Setting, module_command
from contracts.drills.marks import AGAIN_LATER, COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks, say
from contracts.rules.words import N_

PUBLISH, PUBLISH_WITH_CONSENT = "cms.publish", "cms.publish_with_consent"
PROXIED = "DRILL_PROXIED"


@contextmanager
def services(folder: Path) -> Iterator[Environment]:
    """Serve the workbench, which may write to one port of this machine."""
    from contracts.drills.processes import present
    from contracts.drills.running import FIXED_PORT
    from contracts.drills.surroundings import free_port, served_workbench

    port = free_port()
    proxy = {
        "WORKBENCH_PROXY_TARGETS": f"cms=http://127.0.0.1:{port}",
        "WORKBENCH_PROXY_ADDRESSES": f"127.0.0.1:{port}",
    }
    with served_workbench(present(), folder, proxy) as address:
        yield {"WORKBENCH_URL": address, FIXED_PORT: str(port)}


def keeper(setting: Setting) -> AbstractContextManager[Keeper]:
    """Make the contract of this repetition."""
    from contracts.drills.keeping import keep_contract

    return keep_contract(setting)


ADAPTERS = (
    Adapter(
        name="client",
        title=N_("Resume-state workbench"),
        command=module_command("client"),
        packages=("django", "httpx"),
        fences_itself=True,
        lease=3.0,  # longer than the contract's two seconds
        services=services,
        keeper=keeper,
    ),
)


def main() -> int:
    marks, pages = Marks.from_environment(), Pages(os.environ["DRILL_TARGET"])
    tools = [
        Tool(name, lambda call: send(marks, pages, call), pages.find, pages.announce)
        for name in (PUBLISH, PUBLISH_WITH_CONSENT)
    ]
    marks.reach(READY)
    try:
        with (
            Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"]) as workbench,
            workbench.resume(marks.task, tools=tools, wait=30) as run,
        ):
            for job in run.objects():
                make_page(marks, run, job)
    except NotResumable as no:
        say(f"not resumable: {no.code}")
        return AGAIN_LATER
    except WorkStopped as stop:
        say(f"stops: {type(stop).__name__} {stop}")
        return AGAIN_LATER
    say(f"lets go of the task: {run.state}")
    if run.state != "completed":
        return AGAIN_LATER
    marks.done()
    return 0


def make_page(marks: Marks, run: Run, job: Job) -> None:
    """Draft one text, store it with the step, and publish it once."""
    name = job.object_id
    version = job.source.version_label if job.source else ""
    run.step(f"draft:{name}:{version}", lambda: draft(marks, name, version), job=job, draft=f"D-{name}")
    marks.committed(name)
    marks.reach(COMMITTED, name)
    text = run.current(f"D-{name}")
    if os.environ.get(PROXIED):
        marks.reach(LEAVING, name)  # the workbench sends; this is the last that the worker does before
    receipt = run.operation(
        PUBLISH_WITH_CONSENT if name == marks.approval else PUBLISH,
        {"page": name, "text": text.text, "source": version, "draft": text.named},
        step="publish",
        object=name,
        target=f"cms://pages/{name}",
        expected="One page shows this version.",
        draft=text.artefact_id,
        preview=text.text,
        reason="The text is ready.",
        again=True,  # what rests on a replaced source is another call, in another round
        wait=0,
        on_wait=lambda _: marks.waiting(name),
    )
    marks.sent(name)
    run.accept(job, evidence=receipt.reference)


def draft(marks: Marks, name: str, version: str) -> str:
    """Let the model word the text."""
    text = marks.model(name, version)
    marks.reach(DRAFTED, name)
    return text


def send(marks: Marks, pages: Pages, call: Call) -> Sent:
    """Publish, with the key and the generation that the workbench gave."""
    name = call.parameters["page"]
    marks.reach(LEAVING, name)
    receipt = pages.publish(call)
    marks.reach(SENT, name)
    return receipt


if __name__ == "__main__":
    sys.exit(main())

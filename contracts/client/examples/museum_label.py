"""A worker that drafts one label, waits for a curator and publishes it, once. Run: see `manage.py example`."""

import os
import sys

from contracts.client import Call, Job, Run, Seen, Tool, Workbench, WorkStopped
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel
from contracts.client.examples.narration import N_, say, say_begun, spoken


def main() -> int:
    workbench = Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"], language=spoken())
    model = FakeModel(os.environ["MODEL_RECORD"])
    pages = Pages(os.environ["CONTENT_SYSTEM"])
    publish = Tool("cms.publish_label", pages.publish, lambda call: ask(pages, call), pages.announce)
    try:
        with workbench.resume(os.environ["TASK"], tools=[publish], wait=60) as run:
            say_begun(run)
            for job in run.objects():
                make_label(run, job, model)
    except WorkStopped as stop:
        say(N_("stops: %(why)s"), why=stop)
        return 75  # start it again later
    say(N_("lets go of the task: %(state)s"), state=run.state)
    return 0


def ask(pages: Pages, call: Call) -> Seen:
    say(N_("has no receipt: asks the content system's own record"))
    return pages.find(call)


def make_label(run: Run, job: Job, model: FakeModel) -> None:
    subject = "a water jar, about 1120"
    run.step(f"draft:{job.object_id}", lambda: model.write(subject), job=job, draft="label-case-7")
    label = run.current("label-case-7")  # a colleague may have corrected it since
    say(N_("label in version %(version)s: %(text)s"), version=label.version_label, text=label.text)
    receipt = run.operation(
        "cms.publish_label",
        {"page": "case-7/label", "label": label.named, "text": label.text},
        step="publish",
        object=job.object_id,
        target="cms://collection-site/case-7/label",
        expected="One page shows this version.",
        draft=label.artefact_id,
        reason="The label is ready.",
        again=True,  # what a colleague corrected is another call, in another round
        wait=2,  # then the task is let go, and taken up again when somebody has decided
        on_wait=lambda item: say(N_("waits for a curator to decide on %(item)s"), item=item.item_id),
    )
    done = N_("published: %(page)s") if receipt.sent_now else N_("was published before: %(page)s")
    say(done, page=receipt.reference)
    run.accept(job, evidence=receipt.reference)


if __name__ == "__main__":
    sys.exit(main())

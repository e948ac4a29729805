"""A worker that drafts descriptions of photographs; a cataloguer accepts each. Run: see `manage.py example`."""

import os
import sys

from contracts.client import Job, Run, Workbench, WorkStopped
from contracts.client.examples.fake_model import FakeModel
from contracts.client.examples.narration import N_, say, say_begun, spoken

AGAIN_LATER = 75


def main() -> int:
    workbench = Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"], language=spoken())
    model = FakeModel(os.environ["MODEL_RECORD"])
    try:
        with workbench.resume(os.environ["TASK"], wait=60) as run:
            say_begun(run)
            say(
                N_("accepted: %(to_skip)s, to do: %(to_do)s, to recheck: %(to_recheck)s"),
                **run.decision.work,
            )
            drafted = [describe(run, job, model) for job in run.objects()]
            say(N_("drafts that wait for a cataloguer to accept them: %(number)s"), number=len(drafted))
            run.wait_for_people(*drafted, wait=600)
    except WorkStopped as stop:
        say(N_("stops: %(why)s"), why=stop)
        return AGAIN_LATER
    say(N_("lets go of the task: %(state)s"), state=run.state)
    return 0 if run.state == "completed" else AGAIN_LATER


def describe(run: Run, job: Job, model: FakeModel) -> str:
    """Draft one description. The step names the version, so that a replaced photograph is another step."""
    job = run.up_to_date(job)
    version = job.source.version_label if job.source else ""
    say(N_("takes %(object)s in version %(version)s"), object=job.object_id, version=version)
    run.step(
        f"describe:{job.object_id}:{version}",
        lambda: model.write(f"photograph {job.object_id} ({version})"),
        next_step="describe",
        job=job,
        draft=f"D-{job.object_id}",
    )
    say(N_("has a draft of %(object)s"), object=job.object_id)
    return job.object_id


if __name__ == "__main__":
    sys.exit(main())

"""What the label's worker does, in whichever framework: draft once, publish once."""

from collections.abc import Mapping
from typing import Any

from contracts.client import Run, Tool
from contracts.client.examples.fake_model import FakeModel

ARTEFACT = "label-case-7"


def draft_label(run: Run, model: FakeModel) -> str:
    """Have a label drafted, once in the life of the task; return the version that is current now."""
    run.step("draft", lambda: model.write("a water jar, about 1120"), draft=ARTEFACT)
    return run.current(ARTEFACT).version_label


def publish_label(run: Run, tool: Tool, page: str) -> str:
    """Publish the label as it stands, once; return the page. Stops while a curator has not decided."""
    for job in run.objects():
        label = run.current(ARTEFACT)
        receipt = run.operation(
            tool,
            {"page": page, "label": label.named, "text": label.text},
            step="publish",
            object=job.object_id,
            target=f"cms://collection-site/{page}",
            expected="One page shows this version.",
            draft=label.artefact_id,
            reason="The label is ready.",
            again=True,
            wait=2,
        )
        run.accept(job, evidence=receipt.reference)
    return published(run.contract())


def published(contract: Mapping[str, Any]) -> str:
    """Return the page that a contract says was published; empty if there is none."""
    pages = [row["target_reference"] for row in contract["operations"] if row["state"] == "confirmed"]
    return str(pages[-1]) if pages else ""

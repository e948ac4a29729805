"""Temporal: an activity whose work goes through a run of the workbench.

The history of the workflow stays Temporal's. What stops the work becomes an error that Temporal retries where trying
again is safe and may help, and does not where a person has said no.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from contracts.client.bridges.again import again_in
from contracts.client.bridges.completed import Finished, result_of_completed
from contracts.client.exceptions import NotResumable, WorkStopped
from contracts.client.run import Run
from contracts.client.shapes import Tool
from contracts.client.workbench import Workbench

Work = Callable[[Run, Any], Any]


def make_activity(
    workbench: Workbench,
    task_id: str,
    name: str,
    work: Work,
    *,
    tools: Iterable[Tool] = (),
    wait: float = 0.0,
    finished: Finished | None = None,
) -> Callable[[Any], Any]:
    """Return an activity called `name` that holds the task while `work` runs on the given argument.

    Argument and result are plain JSON. Retried by Temporal, `work` finds what is done already: by `Run.step` in the
    journal, by `Run.operation` in the ledger. Between two activities nobody holds the task. `wait`: seconds to wait
    while another attempt holds it. `finished`: reads the result off a contract that is completed, for a worker that
    died after the task had ended and before Temporal knew.
    """
    known = tuple(tools)

    def carry_out(given: Any) -> Any:
        handle = activity.info().workflow_id or ""
        try:
            with workbench.resume(
                task_id, tools=known, wait=wait, framework="temporal", framework_handle=handle
            ) as run:
                return work(run, given)
        except NotResumable as no:
            try:
                return result_of_completed(workbench, task_id, no, finished)
            except WorkStopped as stop:
                raise as_error(stop) from stop
        except WorkStopped as stop:
            raise as_error(stop) from stop

    made: Callable[[Any], Any] = activity.defn(name=name)(carry_out)
    return made


def as_error(stop: WorkStopped) -> ApplicationError:
    """Return the error that tells Temporal whether, and when, the activity is to be tried again."""
    seconds = again_in(stop)
    later = None if seconds is None else timedelta(seconds=seconds)
    return ApplicationError(
        str(stop), type=type(stop).__name__, non_retryable=later is None, next_retry_delay=later
    )

"""DBOS: a step whose work goes through a run of the workbench.

DBOS stores what a step returns or raises, and gives it back for ever. So that “not yet” or a time-out is never kept
as the result, a step that cannot go on now returns when to come back, and the workflow sleeps and runs another one.
"""

from collections.abc import Callable, Iterable
from typing import Any

from dbos import DBOS

from contracts.client.bridges.again import again_in
from contracts.client.bridges.completed import Finished, result_of_completed
from contracts.client.exceptions import NotResumable, WorkStopped
from contracts.client.run import Run
from contracts.client.shapes import Tool
from contracts.client.workbench import Workbench

Work = Callable[[Run, Any], Any]


class Stopped(Exception):
    """The work does not go on by itself: `code` names the kind of stop, the text is for people."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code


def make_step(
    workbench: Workbench,
    task_id: str,
    name: str,
    work: Work,
    *,
    tools: Iterable[Tool] = (),
    wait: float = 0.0,
    finished: Finished | None = None,
) -> Callable[[Any], Any]:
    """Return a function for a DBOS workflow that holds the task while `work` runs on the given argument.

    To be made before DBOS.launch(). Run again after a crash, `work` finds what is done already: by `Run.step` in
    the journal, by `Run.operation` in the ledger. Raises Stopped where only a person can go on. `finished`: reads
    the result off a contract that is completed, for a process that died after the task had ended and before DBOS
    knew.
    """
    known = tuple(tools)

    def attempt(given: Any) -> dict[str, Any]:
        try:
            return {"done": _once(given)}
        except WorkStopped as stop:
            later = again_in(stop)
            told = {"code": type(stop).__name__, "sentence": str(stop)}
            return {"later": later, **told} if later is not None else {"stopped": told}

    def _once(given: Any) -> Any:
        handle = DBOS.workflow_id or ""
        try:
            with workbench.resume(
                task_id, tools=known, wait=wait, framework="dbos", framework_handle=handle
            ) as run:
                return work(run, given)
        except NotResumable as no:
            return result_of_completed(workbench, task_id, no, finished)

    step = DBOS.step(name=name)(attempt)

    def carry_out(given: Any) -> Any:
        while True:
            told = step(given)
            if "done" in told:
                return told["done"]
            if "stopped" in told:
                raise Stopped(**told["stopped"])
            DBOS.sleep(told["later"])

    return carry_out

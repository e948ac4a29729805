"""A task that is completed is not resumed; a framework that asks again, having lost its own record, is told so."""

from collections.abc import Callable, Mapping
from typing import Any

from contracts.client.exceptions import NotResumable
from contracts.client.workbench import Workbench
from contracts.rules.states import ContractState

Finished = Callable[[Mapping[str, Any]], Any]


def result_of_completed(
    workbench: Workbench, task_id: str, no: NotResumable, finished: Finished | None
) -> Any:
    """Return what `finished` reads off the completed contract, as exported; raises `no` where it is not completed."""
    if finished is not None and not no.waits:
        contract = workbench.contract(task_id).content
        if contract["life"]["state"] == ContractState.COMPLETED:
            return finished(contract)
    raise no

"""What the ledger knows of one write that may have left, as the rules of repeating look at it."""

from datetime import datetime

from contracts.models import Attempt, Operation
from contracts.rules import repeating
from contracts.rules.repeating import Certainty, Outlook, absence, key_may_be_resent, outlook
from contracts.rules.resume_rows import read_operation, read_tool


def tool_of(operation: Operation) -> repeating.Tool:
    """Return what the contract of the operation's tool says of repeating."""
    return read_tool(operation.tool.facts())


def known(operation: Operation) -> repeating.Operation:
    """Return the operation as the rules see it, with the latest moment at which it can have left."""
    attempts = Attempt.objects.filter(contract=operation.contract_id, generation=operation.generation or 0)
    sender = next(({"ended_at": row.ended_at, "lease_end": row.lease_end} for row in attempts), None)
    row = {column: getattr(operation, column) for column in Operation.FACTS if hasattr(operation, column)}
    row |= {
        "tool": operation.tool.tool,
        "object": operation.work_object.object_id if operation.work_object else "",
    }
    return read_operation(row, sender)


def outlook_of(operation: Operation, *, now: datetime) -> Outlook:
    """Return what may be done with an operation whose result is unknown."""
    return outlook(tool_of(operation), known(operation), now=now)


def certainly_unsent(operation: Operation, *, now: datetime) -> bool:
    """Tell whether a pending operation has certainly no effect: no generation had it, or its absence is certain."""
    if operation.generation is None:
        return True
    return absence(tool_of(operation), known(operation), now=now).certainty is Certainty.CERTAIN


def may_leave_again(operation: Operation, *, now: datetime) -> bool:
    """Tell whether a pending operation may be sent, now, without being written twice."""
    return certainly_unsent(operation, now=now) or key_may_be_resent(
        tool_of(operation), known(operation), now=now
    )

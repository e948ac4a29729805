"""What stops a worker, and what each stop means. None of them is ever a success in disguise."""

from collections.abc import Mapping
from typing import Any

from contracts.client.shapes import Decision, Item, Operation, Outlook


class WorkStopped(Exception):
    """The work does not go on here; the subclass says why."""


class Unreachable(WorkStopped):
    """No answer of the workbench came. Whether the call was carried out is not known.

    Start again later: the next attempt is told what was stored.
    """


class Refused(WorkStopped):
    """The workbench said no: `code` is stable, `sentence` is for people, `problem` is the whole RFC 9457 document."""

    def __init__(self, code: str, sentence: str, status: int = 0, problem: Mapping[str, Any] | None = None):
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence
        self.status = status
        self.problem: Mapping[str, Any] = problem or {}


class LeaseLost(Refused):
    """The task is held no longer: another attempt may be at work. Stop at once, and write nothing."""


class NotResumable(Refused):
    """The task may not be continued now. `decision` says which of the ten checks stands against it."""

    @property
    def decision(self) -> Decision | None:
        """The decision, where the workbench sent one along."""
        told = self.problem.get("decision")
        return Decision.read(told) if isinstance(told, Mapping) else None

    @property
    def waits(self) -> bool:
        """Tell whether another attempt holds the task now, so that waiting may help."""
        return self.code == "resume_wait"


class WaitingForApproval(WorkStopped):
    """Nobody has decided yet. The operation waits; call it again when somebody has."""

    def __init__(self, item: Item) -> None:
        super().__init__(f"item {item.item_id} is {item.state}")
        self.item = item


class Stale(WorkStopped):
    """What was asked for has changed since: look at the draft and the parameters again, then ask anew."""

    def __init__(self, item: Item) -> None:
        super().__init__(f"item {item.item_id} is stale: {item.stale_member}")
        self.item = item


class Rejected(WorkStopped):
    """A person, or the target, clearly said no to this call. It is never sent under this key.

    `item` is the decision, where a person decided.
    """

    def __init__(self, operation: Operation, item: Item | None = None) -> None:
        super().__init__(
            item.decision_reason if item else f"operation {operation.key[:8]} is {operation.state}"
        )
        self.operation = operation
        self.item = item


class Unknown(WorkStopped):
    """The write may have happened, and nobody can tell yet. It is not sent again; `outlook` says what comes next."""

    def __init__(self, operation: Operation, outlook: Outlook | None) -> None:
        super().__init__(outlook.sentence if outlook else f"operation {operation.key[:8]} is being sent")
        self.operation = operation
        self.outlook = outlook


class TargetRefused(Exception):
    """For the function that sends: the target clearly refused, so that nothing was written and nothing will be.

    Any other exception leaves the result unknown.
    """

    def __init__(self, detail: str, *, reference: str = "", response: bytes = b"") -> None:
        super().__init__(detail)
        self.detail = detail
        self.reference = reference
        self.response = response

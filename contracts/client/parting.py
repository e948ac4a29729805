"""Letting a task go, and saying why, so that another may resume at once."""

from contracts.client.exceptions import Refused, Stale, WaitingForApproval, WorkStopped
from contracts.client.lease import Hold
from contracts.rules.granting import Released

LEFT_OVER = frozenset({"objects_unfinished", "operations_open"})
PATIENCE = 3.0  # seconds; a task that cannot be let go is free when its lease has lapsed


def leave(hold: Hold, error: BaseException | None) -> str:
    """Let go of the task and return the contract's state after it, or an empty text where it is not known.

    Without an error the task is finished if nothing is left. What goes wrong while parting is raised only where
    nothing else went wrong before.
    """
    try:
        if hold.ended or hold.lease.lost.is_set():
            return ""
        return _finish(hold) if error is None else _give_up(hold, error)
    finally:
        hold.lease.stop()


def _finish(hold: Hold) -> str:
    try:
        return _release(hold, Released.FINISHED, "", None)
    except Refused as refused:
        if refused.code not in LEFT_OVER:
            raise
    return _release(hold, Released.GIVEN_UP, "Work is left.", None)


def _give_up(hold: Hold, error: BaseException) -> str:
    waits = isinstance(error, WaitingForApproval | Stale)
    reason = Released.WAITING_FOR_APPROVAL if waits else Released.GIVEN_UP
    try:
        return _release(hold, reason, type(error).__name__, PATIENCE)
    except WorkStopped:
        return ""


def _release(hold: Hold, reason: Released, note: str, patience: float | None) -> str:
    told = hold.post("release", {"reason": reason.value, "note": note}, patience=patience)
    return str(told.get("state", ""))

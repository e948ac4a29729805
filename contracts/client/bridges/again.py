"""Whether what stopped the work may be tried again by a framework that retries, and when."""

from contracts.client.exceptions import (
    NotResumable,
    Refused,
    Unknown,
    Unreachable,
    WaitingForApproval,
    WorkStopped,
)
from contracts.rules.repeating import Ahead

LATER, SOON = 10.0, 1.0  # seconds: until a decision or a lease is looked at again; until an outage has passed
OWNER_CHANGED = frozenset({"stale_generation", "not_owner", "lease_lapsed"})


def again_in(stop: WorkStopped) -> float | None:
    """Return in how many seconds trying again is safe and may help; None where it is a person's turn."""
    match stop:
        case WaitingForApproval():
            return LATER
        case Unknown():
            person = stop.outlook is not None and stop.outlook.ahead is Ahead.PERSON
            return None if person else LATER
        case NotResumable():
            return LATER if stop.waits else None
        case Refused():
            return SOON if stop.code in OWNER_CHANGED else None
        case Unreachable():
            return SOON
    return None

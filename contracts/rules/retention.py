"""What may go once a contract has ended, and when.

Goes, because nothing goes on from it: the states of checkpoints kept here, the results of steps kept here, and the
bodies of the answers that workers were given, which repeat both. Stays, because it proves what happened or keeps it
from happening twice: every event, operation, approval, object and usage entry, the key and digest of every request,
and of what goes its checksum and size. Drafts stay too: they are what a curator decided on, and the events of their
making hold the same words.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from contracts.rules.states import ContractState
from contracts.rules.tokens import LONGEST_DAYS
from contracts.rules.vocabulary import Plane

ENDED = (ContractState.COMPLETED, ContractState.CANCELLED)
HELD_BY = (Plane.CONVERSATION, Plane.CHECKPOINT)  # the planes to which what goes belongs


def kept_until(ended_at: datetime, retention_days: Iterable[int | None]) -> datetime:
    """Return until when a contract keeps everything: as long as its planes say, or a token may still be alive.

    `retention_days`: what the planes in HELD_BY say, None where they say nothing.
    """
    return ended_at + timedelta(days=max(LONGEST_DAYS, *(days or 0 for days in retention_days), 0))


def may_retire(
    *, state: str, ended_at: datetime | None, before: datetime, until: datetime, now: datetime
) -> str:
    """Return the code of what keeps the content of a contract, or nothing if it may go.

    `before`: the day that the operator named; `until`: see `kept_until`.
    """
    if state not in ENDED or ended_at is None:
        return "not_open"
    if ended_at >= before:
        return "not_ended_by_then"
    return "kept_longer" if now < until else ""


def retired_location(sha256: str) -> str:
    """Return what stands for the location of content that is kept nowhere any more, by its checksum."""
    return f"retired:sha256:{sha256}"

"""How much of a long contract comes along to the decision: the same from the database and from a document.

Both readers look at the same rows, so that both come to the same verdict, and at no more than people look at, so
that deciding does not grow with the contract. What is left out cannot be next: work goes on from the newest
standing checkpoint, and a pending write that does not come along waits behind those that do. A checkpoint that
lies further back was looked at while it was new; rolling back to it makes it the newest standing one again.
"""

from collections.abc import Container, Iterable, Iterator, Sequence

from contracts.rules.resume_facts import SAMPLE, Fault, FaultKind, ObjectRow
from contracts.rules.rows import Values
from contracts.rules.states import ObjectState, OperationState

LOOKED_BACK = 1_000  # newest checkpoints whose numbers and generations are looked at
MAY_HAVE_LEFT = frozenset({OperationState.SENDING, OperationState.UNKNOWN})
WAITS_WITH_OBJECT = frozenset({ObjectState.RECHECK, ObjectState.UNKNOWN, ObjectState.SKIPPED})
MATTERS = frozenset({ObjectState.RECHECK, ObjectState.UNKNOWN, ObjectState.IN_PROGRESS})


def with_state(checkpoints: Sequence[Values]) -> list[Values]:
    """Return the checkpoints whose inline state is measured: the newest, and the newest standing one.

    `checkpoints` in their order, the newest last; an inline state may have 64 KiB, so not all are.
    """
    standing = [row["sequence"] for row in checkpoints if row["rolled_back_at"] is None][-1:]
    measured = {*standing, *(row["sequence"] for row in checkpoints[-SAMPLE:])}
    return [row for row in checkpoints if row["sequence"] in measured]


def open_rows(rows: Sequence[Values], step: str, held_back: Container[str]) -> list[Values]:
    """Return the open operations that come along: all that may have left, and of the pending ones the first.

    `rows`: the ledger in its order, or those of it that can come along. Pending ones: the first `SAMPLE` of
    `step` and of all whose key is not in `held_back`; where all are held back, one.
    """
    pending = [row for row in rows if row["state"] == OperationState.PENDING]
    free = [row for row in pending if row["key"] not in held_back]
    of_step = [row for row in free if row["step"] == step]
    taken = {row["key"] for row in [*of_step[:SAMPLE], *free[:SAMPLE]] or pending[:1]}
    return [row for row in rows if row["state"] in MAY_HAVE_LEFT or row["key"] in taken]


def first_rows(rows: Iterable[ObjectRow]) -> Iterator[ObjectRow]:
    """Yield as many rows of each state as people look at, so that none of a kind hides another."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row.state] = seen.get(row.state, 0) + 1
        if seen[row.state] <= SAMPLE:
            yield row


def first_faults(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Yield as many faults of each kind as people look at."""
    seen: dict[FaultKind, int] = {}
    for fault in faults:
        seen[fault.kind] = seen.get(fault.kind, 0) + 1
        if seen[fault.kind] <= SAMPLE:
            yield fault

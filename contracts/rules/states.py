"""States of everything that has a life of its own, and the legal moves between them, as data.

The tables below are the only place where a move is declared. Gates ask `may_move`; the printed diagram
(`STATES.md`) is made from the same tables, so that the picture cannot drift from the program.
"""

from dataclasses import dataclass

from contracts.rules.words import N_, Labelled


class ContractState(Labelled):
    """Where one task stands. *Expired* is not stored: it follows from the deadline."""

    DRAFT = "draft", N_("Draft")
    PAUSED = "paused", N_("Paused")
    RESUMING = "resuming", N_("Resuming")
    RUNNING = "running", N_("Running")
    PAUSE_REQUESTED = "pause_requested", N_("Pause requested")
    COMPLETED = "completed", N_("Completed")
    CANCELLED = "cancelled", N_("Cancelled")


class ObjectState(Labelled):
    """Progress of one business object."""

    PENDING = "pending", N_("Not started")
    IN_PROGRESS = "in_progress", N_("In progress")
    CONFIRMED = "confirmed", N_("Confirmed")
    UNKNOWN = "unknown", N_("Result unknown")
    RECHECK = "recheck", N_("To be rechecked")
    SKIPPED = "skipped", N_("Skipped")


class OperationState(Labelled):
    """What is known of one external write."""

    PENDING = "pending", N_("Waiting to be sent")
    SENDING = "sending", N_("Being sent")
    CONFIRMED = "confirmed", N_("Confirmed")
    REJECTED = "rejected", N_("Clearly rejected")
    UNKNOWN = "unknown", N_("Result unknown")
    ABANDONED = "abandoned", N_("Abandoned")


class ApprovalState(Labelled):
    """Where one request for a person's consent stands."""

    PENDING = "pending", N_("Waiting for a decision")
    APPROVED = "approved", N_("Approved")
    REJECTED = "rejected", N_("Rejected")
    STALE = "stale", N_("Stale")
    EXPIRED = "expired", N_("Expired, nobody decided")
    WITHDRAWN = "withdrawn", N_("Withdrawn")


class StepState(Labelled):
    """State of one journal entry."""

    STARTED = "started", N_("Started")
    DONE = "done", N_("Done")


class Act(Labelled):
    """Why a state moves; the word is the name of the gate or of the fact behind it."""

    LEAVE_DRAFT = "leave_draft", N_("Leave draft")
    RETURN_TO_DRAFT = "return_to_draft", N_("Return to draft")
    RESUME = "resume", N_("Resume")
    START = "start", N_("First step committed")
    REQUEST_PAUSE = "request_pause", N_("Request a pause")
    PAUSE = "pause", N_("Work in flight has ended")
    COMPLETE = "complete", N_("Complete")
    CANCEL = "cancel", N_("Cancel")
    BEGIN = "begin", N_("Work begins")
    ACCEPT = "accept", N_("Accepted")
    SEND_BACK = "send_back", N_("Sent back")
    SKIP = "skip", N_("Skipped by a person")
    OWNER_LOST = "owner_lost", N_("The generation ended without a report")
    NEVER_LEFT = "never_left", N_("The generation ended, nothing can have left")
    SOURCE_CHANGED = "source_changed", N_("The source changed")
    ARTEFACT_WITHDRAWN = "artefact_withdrawn", N_("The artefact was withdrawn")
    RECONCILED = "reconciled", N_("The target was asked")
    DISPATCH = "dispatch", N_("Sent")
    REPORT = "report", N_("Reported by the sender")
    CERTAINLY_ABSENT = "certainly_absent", N_("Certainly absent, or the target deduplicates the key")
    DROPPED = "dropped", N_("Dropped before it was sent")
    DECIDE = "decide", N_("Decided by a person")
    TUPLE_CHANGED = "tuple_changed", N_("A bound value changed")
    TIME_RAN_OUT = "time_ran_out", N_("Time ran out")
    WITHDRAW = "withdraw", N_("Withdrawn by the requester")
    FINISH = "finish", N_("Result stored")


@dataclass(frozen=True, slots=True)
class Move:
    """One legal transition: from `before` to `after` by `act`."""

    before: Labelled
    after: Labelled
    act: Act


def _moves(*rows: tuple[Labelled, Labelled, Act]) -> tuple[Move, ...]:
    return tuple(Move(*row) for row in rows)


_C, _O, _P, _A, _J = ContractState, ObjectState, OperationState, ApprovalState, StepState

CONTRACT_MOVES = _moves(
    (_C.DRAFT, _C.PAUSED, Act.LEAVE_DRAFT),
    (_C.PAUSED, _C.DRAFT, Act.RETURN_TO_DRAFT),
    (_C.PAUSED, _C.RESUMING, Act.RESUME),
    (_C.RESUMING, _C.RUNNING, Act.START),
    (_C.RESUMING, _C.PAUSED, Act.PAUSE),
    (_C.RUNNING, _C.PAUSED, Act.PAUSE),
    (_C.RESUMING, _C.PAUSE_REQUESTED, Act.REQUEST_PAUSE),
    (_C.RUNNING, _C.PAUSE_REQUESTED, Act.REQUEST_PAUSE),
    (_C.PAUSE_REQUESTED, _C.PAUSED, Act.PAUSE),
    (_C.PAUSED, _C.COMPLETED, Act.COMPLETE),
    (_C.RUNNING, _C.COMPLETED, Act.COMPLETE),
    (_C.DRAFT, _C.CANCELLED, Act.CANCEL),
    (_C.PAUSED, _C.CANCELLED, Act.CANCEL),
    (_C.RESUMING, _C.CANCELLED, Act.CANCEL),
    (_C.RUNNING, _C.CANCELLED, Act.CANCEL),
    (_C.PAUSE_REQUESTED, _C.CANCELLED, Act.CANCEL),
)

OBJECT_MOVES = _moves(
    (_O.PENDING, _O.IN_PROGRESS, Act.BEGIN),
    (_O.RECHECK, _O.IN_PROGRESS, Act.BEGIN),
    (_O.IN_PROGRESS, _O.CONFIRMED, Act.ACCEPT),
    (_O.RECHECK, _O.CONFIRMED, Act.ACCEPT),
    (_O.UNKNOWN, _O.CONFIRMED, Act.RECONCILED),
    (_O.UNKNOWN, _O.PENDING, Act.RECONCILED),
    (_O.IN_PROGRESS, _O.PENDING, Act.SEND_BACK),
    (_O.IN_PROGRESS, _O.UNKNOWN, Act.OWNER_LOST),
    (_O.IN_PROGRESS, _O.PENDING, Act.NEVER_LEFT),
    (_O.CONFIRMED, _O.RECHECK, Act.SOURCE_CHANGED),
    (_O.CONFIRMED, _O.RECHECK, Act.ARTEFACT_WITHDRAWN),
    (_O.PENDING, _O.SKIPPED, Act.SKIP),
    (_O.IN_PROGRESS, _O.SKIPPED, Act.SKIP),
    (_O.RECHECK, _O.SKIPPED, Act.SKIP),
    (_O.SKIPPED, _O.PENDING, Act.SEND_BACK),
)

OPERATION_MOVES = _moves(
    (_P.PENDING, _P.SENDING, Act.DISPATCH),
    (_P.SENDING, _P.CONFIRMED, Act.REPORT),
    (_P.SENDING, _P.REJECTED, Act.REPORT),
    (_P.SENDING, _P.UNKNOWN, Act.REPORT),
    (_P.SENDING, _P.UNKNOWN, Act.OWNER_LOST),
    (_P.PENDING, _P.UNKNOWN, Act.OWNER_LOST),
    (_P.UNKNOWN, _P.CONFIRMED, Act.RECONCILED),
    (_P.UNKNOWN, _P.REJECTED, Act.RECONCILED),
    (_P.PENDING, _P.ABANDONED, Act.DROPPED),
    (_P.UNKNOWN, _P.PENDING, Act.CERTAINLY_ABSENT),
)

APPROVAL_MOVES = _moves(
    (_A.PENDING, _A.APPROVED, Act.DECIDE),
    (_A.PENDING, _A.REJECTED, Act.DECIDE),
    (_A.PENDING, _A.STALE, Act.TUPLE_CHANGED),
    (_A.APPROVED, _A.STALE, Act.TUPLE_CHANGED),
    (_A.PENDING, _A.EXPIRED, Act.TIME_RAN_OUT),
    (_A.APPROVED, _A.EXPIRED, Act.TIME_RAN_OUT),
    (_A.PENDING, _A.WITHDRAWN, Act.WITHDRAW),
    (_A.APPROVED, _A.WITHDRAWN, Act.WITHDRAW),
)

STEP_MOVES = _moves((_J.STARTED, _J.DONE, Act.FINISH))

TABLES: dict[str, tuple[Move, ...]] = {
    "Contract": CONTRACT_MOVES,
    "Object": OBJECT_MOVES,
    "Operation": OPERATION_MOVES,
    "Approval": APPROVAL_MOVES,
    "Journal step": STEP_MOVES,
}


def may_move(table: tuple[Move, ...], before: str, after: str, act: str) -> bool:
    """Tell whether `table` holds the move from `before` to `after` by `act` (stored values)."""
    return any(move.before == before and move.after == after and move.act == act for move in table)


def acts_from(table: tuple[Move, ...], before: str) -> frozenset[str]:
    """Return the acts that are legal from the state `before`."""
    return frozenset(move.act.value for move in table if move.before == before)


def diagram() -> str:
    """Return all tables as a Markdown page of Mermaid state diagrams."""
    return "# States and legal moves\n\n" + "\n".join(
        _one_diagram(name, moves) for name, moves in TABLES.items()
    )


def _one_diagram(name: str, moves: tuple[Move, ...]) -> str:
    lines = [f"## {name}", "", "```mermaid", "stateDiagram-v2", f"    [*] --> {moves[0].before.value}"]
    lines += [f"    {m.before.value} --> {m.after.value}: {m.act.label}" for m in moves]
    return "\n".join([*lines, "```", ""])

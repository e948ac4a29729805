"""Granting one owner at a time: what a worker offers, what it is told instead, and what it leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from contracts.rules.limiting import NOTHING
from contracts.rules.resume_facts import Caller
from contracts.rules.resume_findings import Outcome
from contracts.rules.resuming import Decision
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, AttemptEnd
from contracts.rules.words import N_, Labelled

# A contract with an owner at work; in the first two states the owner may also begin something new.
AT_WORK = frozenset({ContractState.RESUMING, ContractState.RUNNING})
HELD = AT_WORK | {ContractState.PAUSE_REQUESTED}
MICROSECOND = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Offer:
    """What the new process was built for; empty or None: not stated, so nothing is compared with it.

    `synchronous`: each write is in the ledger before it can leave, so that one still pending was never sent.
    """

    workflow: str = ""
    workflow_version: str = ""
    schema_version: int | None = None
    agent_version: str = ""
    policy_number: int | None = None
    synchronous: bool = True


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who holds the task instead, and until when unless it renews."""

    decision: Decision
    attempt_number: int
    worker: str
    lease_end: datetime


class Released(Labelled):
    """Why an owner lets go by itself."""

    FINISHED = "finished", N_("Everything is done")
    WAITING_FOR_APPROVAL = "waiting_for_approval", N_("Waits for a decision")
    GIVEN_UP = "given_up", N_("Given up")


class Fate(Labelled):
    """What a return to a checkpoint leaves of an approval made after it."""

    VALID = "valid", N_("Still valid")
    USED = "used", N_("Used, and covers nothing further")
    STALE = "stale", N_("Stale")
    ENDED = "ended", N_("Had ended before")


@dataclass(frozen=True, slots=True)
class Touched:
    """One approval made after the checkpoint; `why` names the member that changed, if it is stale."""

    item_id: str
    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class RollBack:
    """A return to an earlier checkpoint: the new generation, and every approval made after that checkpoint."""

    generation: int
    checkpoint_id: str
    later_checkpoints: int
    approvals: tuple[Touched, ...]


# The code by which each verdict that grants nothing is refused.
REFUSED: Mapping[Outcome, str] = {
    Outcome.WAIT: "resume_wait",
    Outcome.REFUSE: "resume_refuse",
    Outcome.ESCALATE: "resume_escalate",
    Outcome.MIGRATE: "resume_migrate",
}
# Without having committed a checkpoint, an owner lost in one of these ways has failed to recover its step.
LOST = frozenset({AttemptEnd.LEASE_LAPSED, AttemptEnd.TAKEN_OVER})


def caller_of(actor: Actor, offer: Offer) -> Caller:
    """Return the caller of a resume decision: a worker whose token reaches the task, holding no grant yet."""
    return Caller(
        name=actor.name,
        kind=actor.kind,
        may_see=True,
        may_continue=True,
        workflow=offer.workflow,
        workflow_version=offer.workflow_version,
        schema_version=offer.schema_version,
        agent_version=offer.agent_version,
        policy_number=offer.policy_number,
    )


def active_seconds(started_at: datetime, now: datetime, lease_end: datetime | None) -> Decimal:
    """Return how long an owner was active, in seconds: after its lease it is nobody's time."""
    until = now if lease_end is None else min(now, lease_end)
    seconds = Decimal(str((until - started_at).total_seconds())).quantize(MICROSECOND)
    return max(seconds, NOTHING)

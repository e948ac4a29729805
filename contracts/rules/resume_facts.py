"""What the resume decision looks at: one frozen picture of a task, the same from the database and from a document.

Counts stand for objects; only rows that matter come along, and of those only as many as people look at, so that
deciding takes no longer for a hundred thousand confirmed objects than for one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from contracts.rules.approving import Difference, Item, Policy
from contracts.rules.limiting import Cap
from contracts.rules.repeating import Operation, Tool
from contracts.rules.states import ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import ActorKind, Durability, Effect, Plane, StepKind
from contracts.rules.words import N_, Labelled

SAMPLE = 20  # rows of one kind that come along; counts tell how many there are


@dataclass(frozen=True, slots=True)
class Caller:
    """Who wants to continue, and with what. Empty or None: not stated, so nothing is compared with it.

    `may_see`, `may_continue`: what the loader knows of this identity. `workflow` … `policy_number`: what the
    new process was built for. `attempt_id`, `generation`: the grant it says it holds.
    """

    name: str
    kind: ActorKind
    may_see: bool
    may_continue: bool
    workflow: str = ""
    workflow_version: str = ""
    schema_version: int | None = None
    agent_version: str = ""
    policy_number: int | None = None
    attempt_id: str = ""
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Identity, versions and life of the contract; `named_person` takes over what nobody can decide."""

    task_id: str
    state: ContractState
    deadline: datetime | None
    generation: int
    workflow: str
    workflow_version: str
    schema_version: int | None
    readable: frozenset[int]
    agent_version: str
    named_person: str
    archived: bool = False
    cancelled_by: str = ""
    cancel_reason: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """The attempt that has not ended yet."""

    number: int
    attempt_id: str
    generation: int
    worker: str
    lease_end: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Tell whether its lease still runs."""
        return self.lease_end is not None and self.lease_end > now

    @property
    def shown(self) -> str:
        """Return how people tell it from others."""
        return f"{self.number} · {self.attempt_id}"


@dataclass(frozen=True, slots=True)
class Point:
    """The newest checkpoint that was not rolled back: from here work goes on."""

    sequence: int
    checkpoint_id: str
    next_step: str
    schema_version: int
    durability: Durability
    location: str = ""  # empty: the state is kept inline

    @property
    def shown(self) -> str:
        """Return how people tell it from others."""
        return f"{self.sequence} · {self.checkpoint_id}"


class FaultKind(Labelled):
    """What can be wrong with stored records. All but the last stop the task."""

    CHECKSUM = "checksum", N_("The checksum is not that of the content")
    FALLS = "falls", N_("A later checkpoint bears an earlier generation")
    NOT_GRANTED = "not_granted", N_("A generation that was never granted")
    MISSING = "missing", N_("A checkpoint is missing before this one")
    KEY = "key", N_("The operation key is not that of the call")
    MISSING_BY_HAND = "missing_by_hand", N_("A number is missing before this record kept by hand")


@dataclass(frozen=True, slots=True)
class Fault:
    """One record that is not what it should be."""

    kind: FaultKind
    part: str
    key: str


@dataclass(frozen=True, slots=True)
class Held:
    """The newest approval item of an operation; `present` is what changed since it was asked for.

    `stale_member`: what changed, if that was stored already.
    """

    item_id: str
    item: Item
    present: Difference | None = None
    deciders_still_may: bool = True
    stale_member: str = ""


@dataclass(frozen=True, slots=True)
class OpenWrite:
    """An operation that is pending, being sent or unknown, with the newest item asked for it.

    `held_back`: it is pending, and its object to be rechecked, unknown or skipped, so it waits with the object.
    """

    operation: Operation
    held: Held | None = None
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """One object that matters: unknown, to be rechecked, in progress, or confirmed from what has changed since.

    `drifted`: its source or artefact is no longer the current version. `operations`: the states of its writes.
    """

    object_id: str
    state: ObjectState
    drifted: bool = False
    operations: tuple[OperationState, ...] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """A journal step found started. `effect`: of its tool, if known; `operations`: the states of its writes."""

    key: str
    kind: StepKind
    effect: Effect | None = None
    operations: tuple[OperationState, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the authority of one plane lies."""

    plane: Plane
    authority: str
    readers: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a decision rests on.

    `chain_whole`: whether the chain of events holds; None where it is not known, as in a document. `chain_from`:
    the first event that was looked at.
    `operations`, in the ledger's order: every one unknown or being sent; of those pending at least the first
    `SAMPLE` not held back, of the next step and of all, and one if all are. `counts`: object state → number of
    objects; `drifted`: how many of the confirmed ones rest on what has changed. `rows`, `waiting`, `begun`:
    samples in the contract's order; `rows` of each kind named in `ObjectRow`, `waiting` the ids of objects not
    begun.
    `step_totals`: usage of the next step alone.
    """

    task: Task
    policy: Policy | None
    holder: Holder | None = None
    point: Point | None = None
    faults: tuple[Fault, ...] = ()
    chain_whole: bool | None = None
    chain_from: int = 1
    caps: tuple[Cap, ...] = ()
    totals: Mapping[str, Decimal] = field(default_factory=dict)
    step_totals: Mapping[str, Decimal] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    operations: tuple[OpenWrite, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    drifted: int = 0
    rows: tuple[ObjectRow, ...] = ()
    waiting: tuple[str, ...] = ()
    begun: tuple[Begun, ...] = ()
    planes: tuple[Place, ...] = ()

    @property
    def next_step(self) -> str:
        """Return the next legal step; empty before the first checkpoint: the workflow's beginning."""
        return self.point.next_step if self.point else ""

    def count(self, *states: ObjectState) -> int:
        """Return how many objects stand in one of `states`."""
        return sum(self.counts.get(state, 0) for state in states)

    def uncertain(self, now: datetime) -> tuple[OpenWrite, ...]:
        """Return the operations that may have happened: unknown ones, and those sent by an owner that is gone."""
        live = self.holder is not None and self.holder.is_live(now)
        states = {OperationState.UNKNOWN} if live else {OperationState.UNKNOWN, OperationState.SENDING}
        return tuple(write for write in self.operations if write.operation.state in states)

    def in_state(self, state: OperationState) -> tuple[OpenWrite, ...]:
        """Return the open operations in `state`."""
        return tuple(write for write in self.operations if write.operation.state is state)

"""One step of a worker: what is committed together, how it is read, and whether it may be committed.

Checkpoint, journal entry, objects, artefacts and usage stand or fall as one: a checkpoint that claims results
which are not stored is worse than none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from contracts.rules.fingerprint import canonical, digest_bytes
from contracts.rules.limiting import Left, first_exceeded
from contracts.rules.states import StepState
from contracts.rules.text import clean_text
from contracts.rules.vocabulary import CheckpointKind, Durability, Measure, StepKind

STEP_MAX_ROWS = 500  # objects, and artefacts, in one step; objects in one hand-out
# What a worker counts; active time is measured from leases, tries and recoveries by the workbench.
COUNTED_BY_WORKERS = (Measure.MODEL_TURNS, Measure.TOOL_ATTEMPTS, Measure.TOKENS, Measure.COST)


@dataclass(frozen=True, slots=True)
class Point:
    """The checkpoint of a step; its state is kept inline (plain JSON, at most 64 KiB) or at a location.

    `sequence`: the number it must get, one more than the newest; None takes whatever comes next. `sha256` and
    `size_bytes` of an inline state are computed, see `sealed`. `write_ms`: how long the framework's write took.
    """

    checkpoint_id: str
    next_step: str
    schema_version: int
    durability: Durability = Durability.SYNC
    sequence: int | None = None
    kind: CheckpointKind = CheckpointKind.STATE
    event_cursor: str = ""
    inline_state: Any = None
    location: str = ""
    sha256: str = ""
    size_bytes: int = 0
    write_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The journal entry that is done with this step; a result too large to be inline lies at a location."""

    key: str
    kind: StepKind
    result: Any = None
    result_location: str = ""
    result_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an artefact; without label or checksum its current version."""

    artefact_id: str
    version_label: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ObjectStep:
    """What a step says of one object in progress.

    `accept`: it is finished; that counts as acceptance only where the contract says the worker is enough.
    """

    object_id: str
    accept: bool = False
    artefact: Version | None = None
    step: str = ""
    evidence: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """A new version of an artefact: a short text kept inline, or a location with checksum and size."""

    artefact_id: str
    version_label: str
    sha256: str = ""
    location: str = ""
    inline_text: str = ""
    size_bytes: int | None = None
    source: str = ""
    source_version: str = ""
    note: str = ""

    @property
    def version(self) -> Version:
        """Return how objects name it."""
        return Version(self.artefact_id, self.version_label, self.sha256)


@dataclass(frozen=True, slots=True)
class Step:
    """All that is committed together. `usage`: measure → amount, in the unit of the measure."""

    point: Point
    entry: Entry | None = None
    objects: tuple[ObjectStep, ...] = ()
    artefacts: tuple[Made, ...] = ()
    usage: Mapping[Measure, Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit gives back: the number and id of the checkpoint that stands."""

    sequence: int
    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A step about to run, or done: then its result stands here. `first`: nobody had begun it before."""

    state: StepState
    first: bool
    result: Any = None
    result_location: str = ""
    result_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """What stands when a step arrives, as far as the step touches it.

    `newest`: sequence of the newest checkpoint, 0 before the first. `same`: whether the checkpoint of this id is
    this very one, None if there is none; `stored` its sequence. `entry`: state of the journal entry with this key.
    `held`: ids of the objects named that are in progress under this attempt. `unknown`: names of artefacts and
    sources that lead nowhere. `taken`: artefact versions that are stored already and no longer current. `left`:
    what the caps leave, the time of the running attempt counted in.
    """

    newest: int = 0
    same: bool | None = None
    stored: int = 0
    entry: StepState | None = None
    held: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


def may_commit(step: Step, ground: Ground) -> str:
    """Return the code of what forbids the live owner to commit `step`, or an empty text.

    `exists` is no fault: the very same step was committed before, and nothing is left to do. The writing
    statement asks the same questions in its own words.
    """
    if ground.same is not None:
        return "exists" if ground.same else "checkpoint_id_once"
    asked = {
        "sequence_not_next": step.point.sequence not in (None, ground.newest + 1),
        "step_done": ground.entry is StepState.DONE,
        "object_not_held": bool(not_held(step, ground)),
        "unknown_reference": bool(ground.unknown),
        "artefact_version_once": bool(ground.taken),
        "cap_reached": exceeded(step, ground) is not None,
    }
    return next((code for code, holds in asked.items() if holds), "")


def not_held(step: Step, ground: Ground) -> tuple[str, ...]:
    """Return the ids of the objects of `step` that this attempt does not hold."""
    return tuple(row.object_id for row in step.objects if row.object_id not in ground.held)


def exceeded(step: Step, ground: Ground) -> Left | None:
    """Return the first limit that does not leave what `step` uses; time runs whatever a step uses."""
    overrun = (left for left in ground.left if left.measure is Measure.ACTIVE_SECONDS and _is_overrun(left))
    wanted = {measure.value: amount for measure, amount in step.usage.items()}
    return next(overrun, None) or first_exceeded(ground.left, wanted)


def _is_overrun(left: Left) -> bool:
    return left.cap is not None and left.total > left.cap


def sealed(point: Point) -> Point:
    """Return `point` with checksum and size of its inline state computed, so that nobody has to be believed."""
    if point.inline_state is None:
        return point
    content = canonical(point.inline_state)
    return replace(point, sha256=digest_bytes(content), size_bytes=len(content))


def sealed_text(made: Made) -> Made:
    """Return `made` with checksum and size of its inline text computed."""
    if not made.inline_text:
        return made
    content = clean_text(made.inline_text).encode()
    return replace(made, sha256=digest_bytes(content), size_bytes=len(content))

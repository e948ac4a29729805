"""What the workbench answers and what a worker's own functions are given, as frozen values.

Keys that are not known here are passed over, so that an older client goes on with a newer workbench.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypedDict

from contracts.rules.repeating import Ahead, Answer
from contracts.rules.states import ApprovalState, OperationState
from contracts.rules.vocabulary import StaleOwner

Told = Mapping[str, Any]


def moment(text: str | None) -> datetime | None:
    """Return the point in time that an RFC 3339 text names; None stays None."""
    return datetime.fromisoformat(text) if text else None


@dataclass(frozen=True, slots=True)
class Decision:
    """The resume decision: `verdict`, what it permits, the work there is, and all checks as they were sent."""

    verdict: str
    permits: frozenset[str]
    work: Told
    checks: tuple[Told, ...]

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the decision in an answer."""
        permits = frozenset(told.get("permits") or ())
        return cls(str(told["verdict"]), permits, told.get("work") or {}, tuple(told.get("checks") or ()))


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was granted. Lease and renewal in seconds."""

    number: int
    attempt_id: str
    generation: int
    worker: str
    lease_end: datetime
    lease_seconds: int
    renew_seconds: int

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the attempt in an answer."""
        return cls(
            number=told["number"],
            attempt_id=told["attempt_id"],
            generation=told["generation"],
            worker=told["worker"],
            lease_end=datetime.fromisoformat(told["lease_end"]),
            lease_seconds=told["lease_seconds"],
            renew_seconds=told["renew_seconds"],
        )


@dataclass(frozen=True, slots=True)
class Item:
    """One request for a person's consent to one call, as far as a worker needs it."""

    item_id: str
    state: ApprovalState
    expires_at: datetime | None = None
    reason: str = ""
    decided_by: str = ""
    decided_at: datetime | None = None
    decision_reason: str = ""
    stale_member: str = ""
    consumed: bool = False

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the item in an answer."""
        return cls(
            item_id=told["item_id"],
            state=ApprovalState(told["state"]),
            expires_at=moment(told.get("expires_at")),
            reason=told.get("reason") or "",
            decided_by=told.get("decided_by") or "",
            decided_at=moment(told.get("decided_at")),
            decision_reason=told.get("decision_reason") or "",
            stale_member=told.get("stale_member") or "",
            consumed=bool(told.get("consumed")),
        )


@dataclass(frozen=True, slots=True)
class Outlook:
    """What may be done with a write of unknown result, and until when waiting lasts."""

    ahead: Ahead
    sentence: str
    until: datetime | None = None

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the outlook in an answer."""
        return cls(Ahead(told["ahead"]), told.get("sentence") or "", moment(told.get("until")))


@dataclass(frozen=True, slots=True)
class Operation:
    """One external write as the ledger holds it."""

    key: str
    state: OperationState
    tool: str
    step: str
    round: int
    object: str
    parameters: Any
    target: str
    generation: int | None
    tries: int
    target_reference: str
    sent_at: datetime | None
    needs_approval: bool
    approval: Item | None
    outlook: Outlook | None
    query_path: str
    by_proxy: bool = False  # the workbench itself sends it

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the operation in an answer."""
        item, outlook, tool = told.get("approval"), told.get("outlook"), told.get("tool_contract") or {}
        return cls(
            key=told["key"],
            state=OperationState(told["state"]),
            tool=told["tool"],
            step=told["step"],
            round=told["round"],
            object=told.get("object") or "",
            parameters=told.get("parameters"),
            target=told.get("target") or "",
            generation=told.get("generation"),
            tries=told.get("tries") or 0,
            target_reference=told.get("target_reference") or "",
            sent_at=moment(told.get("sent_at")),
            needs_approval=bool(told.get("needs_approval")),
            approval=Item.read(item) if item else None,
            outlook=Outlook.read(outlook) if outlook else None,
            query_path=tool.get("query_path") or "",
            by_proxy=tool.get("stale_owner") == StaleOwner.SINGLE_WRITE_PROXY,
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """One version of an artefact; `text` is empty where only its location and checksum are kept."""

    artefact_id: str
    version_label: str
    sha256: str
    text: str = ""
    location: str = ""

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the version in an answer or in an exported contract."""
        return cls(
            artefact_id=told["artefact_id"],
            version_label=told["version_label"],
            sha256=told["sha256"],
            text=told.get("inline_text") or "",
            location=told.get("location") or "",
        )

    @property
    def named(self) -> dict[str, str]:
        """What the parameters of a call say of this very version; the workbench checks it against what is shown."""
        return {"artefact": self.artefact_id, "version": self.version_label, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """The version of a source that an object rests on."""

    source_id: str
    version_label: str
    sha256: str
    location: str = ""

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the version in an answer."""
        place = told.get("location") or ""
        return cls(told["source_id"], told["version_label"], told["sha256"], place)


@dataclass(frozen=True, slots=True)
class Job:
    """One object handed out to this attempt alone. `state` tells what it was: not begun, or to be rechecked."""

    object_id: str
    state: str
    step: str
    source: SourceVersion | None
    artefact: Draft | None
    note: str

    @classmethod
    def read(cls, told: Told) -> Self:
        """Return the object in an answer."""
        source, artefact = told.get("source"), told.get("artefact")
        return cls(
            object_id=told["object_id"],
            state=told.get("state") or "",
            step=told.get("step") or "",
            source=SourceVersion.read(source) if source else None,
            artefact=Draft.read(artefact) if artefact else None,
            note=told.get("note") or "",
        )


@dataclass(frozen=True, slots=True)
class Call:
    """What a function that sends or asks is given. Pass `key` and `generation` on to the target."""

    key: str
    generation: int
    tool: str
    parameters: Any
    target: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What the target answered: its own reference, and the bytes of its answer, kept as a checksum."""

    reference: str = ""
    response: bytes = b""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the target said when it was asked for a write: found (how often, under which reference), absent, unclear."""

    answer: Answer
    reference: str = ""
    count: int | None = None
    path: str = ""
    note: str = ""

    @classmethod
    def found(cls, reference: str = "", *, count: int | None = None, path: str = "") -> Self:
        """The target has it."""
        return cls(Answer.FOUND, reference, count, path)

    @classmethod
    def absent(cls, *, path: str = "") -> Self:
        """The target has nothing under this key."""
        return cls(Answer.ABSENT, path=path)

    @classmethod
    def unclear(cls, note: str = "", *, path: str = "") -> Self:
        """The target answered, but cannot tell."""
        return cls(Answer.UNCLEAR, path=path, note=note)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that the write is in the target. `sent_now`: it was sent by this very call, not found done."""

    operation: Operation
    reference: str
    sent_now: bool


Send = Callable[[Call], Sent | str | None]
Query = Callable[[Call], Seen]
Announce = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Tool:
    """How one tool of the contract is really reached.

    `send` writes; it is not needed where the workbench itself sends. `query` asks the target's own record for
    the key. `announce` tells the target the generation that owns the task now, where it keeps former ones out.
    """

    name: str
    send: Send | None = None
    query: Query | None = None
    announce: Announce | None = None


class Offer(TypedDict, total=False):
    """What this worker was built for; what is not stated is not compared with the contract."""

    workflow: str
    workflow_version: str
    schema_version: int
    agent_version: str
    policy_number: int
    synchronous: bool
    framework: str
    framework_handle: str

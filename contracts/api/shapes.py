"""What the API answers, as types: the OpenAPI document is made from them, and `telling` fills them."""

from typing import Any, NotRequired, TypedDict


class ProblemShape(TypedDict):
    """One fault in one place; `field` is the name of a field or the path to it."""

    field: str
    code: str
    sentence: str


class EvidenceShape(TypedDict):
    """A stored row that a finding rests on."""

    part: str
    key: str


class CheckShape(TypedDict):
    """One of the ten checks, as it came out, and where it is put right."""

    name: str
    standing: str
    sentence: str
    evidence: list[EvidenceShape]
    section: str
    part: str
    leads_to: str | None


class PlaceShape(TypedDict):
    """Where the authority of one plane lies."""

    plane: str
    authority: str
    readers: str


class LeftShape(TypedDict):
    """What one limit leaves; amounts as text."""

    measure: str
    cap: str | None
    total: str
    left: str | None
    level: str
    step: str
    currency: str


class WorkShape(TypedDict):
    """What a continuing owner starts from; the ids are samples, the numbers are whole."""

    next_step: str
    checkpoint: str
    location: str
    to_do: int
    to_skip: int
    to_recheck: int
    objects: list[str]
    recheck_objects: list[str]
    sendable: list[str]
    places: list[PlaceShape]
    left: list[LeftShape]


class WayShape(TypedDict):
    """The way back for one thing: replay, skip, compensate or escalate."""

    part: str
    key: str
    way: str
    sentence: str
    ask_first: bool


class DecisionShape(TypedDict):
    """The resume decision with all ten checks."""

    verdict: str
    may_resume: bool
    permits: list[str]
    checks: list[CheckShape]
    work: WorkShape | None
    ways: list[WayShape]


class HolderShape(TypedDict):
    """Who holds the task instead."""

    number: int
    worker: str
    lease_end: str | None


class AttemptShape(TypedDict):
    """The granted attempt; times in UTC, lengths in seconds."""

    number: int
    attempt_id: str
    generation: int
    worker: str
    lease_end: str | None
    lease_seconds: int
    renew_seconds: int


class GrantShape(TypedDict):
    attempt: AttemptShape
    decision: DecisionShape


class RenewedShape(TypedDict):
    lease_end: str | None
    state: str


class StateShape(TypedDict):
    state: str


class BegunShape(TypedDict):
    """A step begun (`started`: run it) or done before (`done`: use its result)."""

    key: str
    state: str
    first: bool
    result: Any
    result_location: str
    result_sha256: str


class CommittedShape(TypedDict):
    sequence: int
    checkpoint_id: str


class VersionShape(TypedDict):
    version_label: str
    sha256: str
    location: str


class SourceShape(VersionShape):
    source_id: str


class ArtefactShape(VersionShape):
    """`inline_text` is empty where only location and checksum are kept."""

    artefact_id: str
    inline_text: str


class ObjectShape(TypedDict):
    """One object to work on, with what it is made from and what was made of it."""

    object_id: str
    state: str
    step: str
    source: SourceShape | None
    artefact: ArtefactShape | None
    note: str


class ObjectsShape(TypedDict):
    objects: list[ObjectShape]


class ItemShape(TypedDict):
    """One approval item."""

    item_id: str
    operation_key: str
    state: str
    reason: str
    asked_at: str
    expires_at: str | None
    decided_by: str
    decided_at: str | None
    decision_reason: str
    stale_member: str
    consumed: bool


class OutlookShape(TypedDict):
    """What may be done with an operation whose result is unknown; `until`: when waiting ends."""

    ahead: str
    sentence: str
    until: str | None


class ToolShape(TypedDict):
    """What the tool's contract says of sending and asking."""

    effect: str
    query_path: str
    settle_seconds: int | None
    stale_owner: str
    key_supported: bool
    compensation: str


class OperationShape(TypedDict):
    """One operation of the ledger."""

    key: str
    state: str
    tool: str
    step: str
    round: int
    object: str
    parameters: dict[str, Any]
    fingerprint: str
    target: str
    expected: str
    generation: int | None
    tries: int
    target_reference: str
    intended_at: str
    sent_at: str | None
    settled_at: str | None
    needs_approval: bool
    approval: ItemShape | None
    outlook: OutlookShape | None
    tool_contract: ToolShape


class SourceStoredShape(TypedDict):
    source_id: str
    version_label: str
    sha256: str
    current: bool


class ReachShape(TypedDict):
    """One contract within reach of the token."""

    task_id: str
    title: str
    state: str
    generation: int
    revision: int
    deadline: str | None


class ReachesShape(TypedDict):
    contracts: list[ReachShape]


class Refused(TypedDict):
    """A refusal as a problem document (RFC 9457), with what stands instead where there is something."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    what_to_do: str
    problems: list[ProblemShape]
    decision: NotRequired[DecisionShape]
    attempt: NotRequired[HolderShape]
    operation: NotRequired[OperationShape]
    item: NotRequired[ItemShape]


class ReturnedShape(TypedDict):
    returned: int


READING = dict.fromkeys((401, 404, 422), Refused)
CHANGING = dict.fromkeys((400, 401, 403, 404, 409, 410, 413, 415, 422), Refused)

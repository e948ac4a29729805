"""The parts that record what happened: attempts, checkpoints, objects, operations, approvals, usage."""

from contracts.rules.fields import Field, Kind
from contracts.rules.parts.part import ATTEMPT_NUMBER, DRAFT, EVIDENCE, INT4, NOTE, Part
from contracts.rules.states import ApprovalState, ObjectState, OperationState, StepState
from contracts.rules.vocabulary import (
    INLINE_MAX_BYTES,
    RESULT_MAX_BYTES,
    AttemptEnd,
    CheckpointKind,
    Durability,
    Measure,
    Section,
    StepKind,
)
from contracts.rules.words import N_

_id, _line, _text, _place, _sum = Kind.ID, Kind.LINE, Kind.TEXT, Kind.LOCATION, Kind.SHA256
_whole, _choice, _flag, _moment, _json = Kind.WHOLE, Kind.CHOICE, Kind.FLAG, Kind.MOMENT, Kind.JSON

CHECKPOINT = Part(
    "checkpoint",
    Section.CHECKPOINTS,
    N_("Checkpoints"),
    N_("Checkpoint"),
    (
        Field("sequence", _whole, N_("Sequence"), server=True, required=True, low=1),
        Field("checkpoint_id", _id, N_("Checkpoint id"), required=True),
        Field("kind", _choice, N_("Kind"), words=CheckpointKind, default=CheckpointKind.STATE.value),
        Field("attempt", _whole, N_("Attempt"), N_("The attempt's number."), required=True, low=1, high=INT4),
        Field("generation", _whole, N_("Generation"), server=True, low=1),
        Field("event_cursor", _line, N_("Event cursor")),
        Field("durability", _choice, N_("Durability"), words=Durability, required=True),
        Field("next_step", _id, N_("Next legal step"), required=True),
        Field("schema_version", _whole, N_("State-schema version"), required=True, low=1, high=INT4),
        Field("location", _place, N_("Location of the state")),
        Field(
            "inline_state",
            _json,
            N_("Small inline state (JSON)"),
            N_("At most 64 KiB; leave it empty where a location is given."),
            limit=INLINE_MAX_BYTES,
        ),
        Field(
            "sha256",
            _sum,
            N_("SHA-256"),
            N_("Of the state at its location; for an inline state it is computed."),
        ),
        Field("size_bytes", _whole, N_("Size (bytes)"), N_("For an inline state it is computed.")),
        Field("write_ms", _whole, N_("Write took (ms)"), high=INT4),
        Field("committed_at", _moment, N_("Committed at"), required=True),
        Field("rolled_back_at", _moment, N_("Rolled back at"), server=True),
        EVIDENCE,
        NOTE,
    ),
    mend_in=DRAFT,
)

STEP = Part(
    "step",
    Section.CHECKPOINTS,
    N_("Journal"),
    N_("Journal step"),
    (
        Field("sequence", _whole, N_("Sequence"), server=True, required=True, low=1),
        Field("kind", _choice, N_("Kind"), words=StepKind, required=True),
        Field("key", _id, N_("Key"), required=True),
        Field("attempt", _whole, N_("Attempt"), N_("The attempt's number."), required=True, low=1, high=INT4),
        Field("state", _choice, N_("State"), words=StepState, default=StepState.STARTED.value),
        Field(
            "result",
            _json,
            N_("Result (JSON)"),
            N_("At most 16 KiB, else give location and checksum."),
            limit=RESULT_MAX_BYTES,
        ),
        Field("result_location", _place, N_("Location of the result")),
        Field("result_sha256", _sum, N_("SHA-256 of the result")),
        Field("usage", _json, N_("Usage"), server=True, default={}, limit=2_000),
    ),
    mend_in=DRAFT,
)

SOURCE = Part(
    "source",
    Section.SOURCES,
    N_("Sources"),
    N_("Source"),
    (
        Field("source_id", _id, N_("Source id"), required=True),
        Field("version_label", _line, N_("Version"), required=True),
        Field("sha256", _sum, N_("SHA-256"), required=True),
        Field("location", _place, N_("Location"), required=True),
        Field("size_bytes", _whole, N_("Size (bytes)")),
        Field("current", _flag, N_("Current"), server=True, default=True),
        NOTE,
    ),
    ordered=True,
    pasteable=True,
)

ARTEFACT = Part(
    "artefact",
    Section.SOURCES,
    N_("Artefacts"),
    N_("Artefact"),
    (
        Field("artefact_id", _id, N_("Artefact id"), required=True),
        Field("version_label", _line, N_("Version"), required=True),
        Field(
            "sha256",
            _sum,
            N_("SHA-256"),
            N_("Of the content at its location; for an inline text it is computed."),
        ),
        Field("location", _place, N_("Location")),
        Field(
            "inline_text",
            _text,
            N_("Short text kept here"),
            N_("Such as a label draft, at most 64 KiB; each version stays."),
            limit=INLINE_MAX_BYTES,
        ),
        Field("size_bytes", _whole, N_("Size (bytes)")),
        Field("source", _id, N_("Made from source")),
        Field("source_version", _line, N_("Version of that source"), N_("Empty means its current version.")),
        Field("source_sha256", _sum, N_("SHA-256 of that source"), server=True),
        Field("author", _line, N_("Written by")),
        Field("accepted_by", _line, N_("Accepted by")),
        Field("accepted_at", _moment, N_("Accepted at")),
        Field("current", _flag, N_("Current"), server=True, default=True),
        NOTE,
    ),
    ordered=True,
    pasteable=True,
)

OBJECT = Part(
    "object",
    Section.OBJECTS,
    N_("Objects"),
    N_("Object"),
    (
        Field("object_id", _id, N_("Object id"), required=True),
        Field("source", _id, N_("Source")),
        Field("source_version", _line, N_("Source version"), N_("Empty means its current version.")),
        Field("source_sha256", _sum, N_("SHA-256 of the source"), server=True),
        Field("artefact", _id, N_("Artefact")),
        Field("artefact_version", _line, N_("Artefact version"), N_("Empty means its current version.")),
        Field("artefact_sha256", _sum, N_("SHA-256 of the artefact"), server=True),
        Field("step", _id, N_("Step")),
        Field(
            "state", _choice, N_("State"), words=ObjectState, server=True, default=ObjectState.PENDING.value
        ),
        Field("attempt", _whole, N_("Attempt"), server=True, low=1, high=INT4),
        EVIDENCE,
        NOTE,
        Field("settled_by", _line, N_("Settled by"), server=True),
        Field("settled_at", _moment, N_("Settled at"), server=True),
    ),
    ordered=True,
    pasteable=True,
)

OPERATION = Part(
    "operation",
    Section.OPERATIONS,
    N_("Operations"),
    N_("Operation"),
    (
        Field("key", _sum, N_("Operation key"), server=True),
        Field("object", _id, N_("Object"), N_("Leave empty for a write that belongs to no single object.")),
        Field("tool", _id, N_("Tool"), required=True),
        Field("step", _id, N_("Step"), required=True),
        Field("round", _whole, N_("Round"), default=1, low=1, high=INT4),
        Field("parameters", _json, N_("Parameters (JSON)"), required=True, limit=INLINE_MAX_BYTES),
        Field("fingerprint", _sum, N_("Parameter fingerprint"), server=True),
        Field("target", _place, N_("Target"), required=True),
        Field("expected", _text, N_("Expected result"), required=True),
        Field(
            "state",
            _choice,
            N_("State"),
            words=OperationState,
            server=True,
            default=OperationState.PENDING.value,
        ),
        Field("generation", _whole, N_("Generation that sent it"), server=True, low=1),
        Field("tries", _whole, N_("Tries"), server=True, default=0, high=INT4),
        Field("response_sha256", _sum, N_("SHA-256 of the response"), server=True),
        Field("target_reference", _place, N_("The target's own reference"), server=True),
        Field("reconciliation", _json, N_("Reconciliation"), server=True, limit=RESULT_MAX_BYTES),
        Field("intended_at", _moment, N_("Intended at"), server=True, required=True),
        Field("sent_at", _moment, N_("Sent at"), server=True),
        Field("settled_at", _moment, N_("Settled at"), server=True),
    ),
    mend_in=DRAFT,
)

APPROVAL = Part(
    "approval",
    Section.APPROVALS,
    N_("Approvals"),
    N_("Approval"),
    (
        Field("item_id", _id, N_("Item"), server=True, required=True, limit=40),
        Field("operation_key", _sum, N_("Operation key"), server=True, required=True),
        Field("tool", _id, N_("Tool"), server=True, required=True),
        Field("parameters", _json, N_("Parameters (JSON)"), server=True, required=True),
        Field("fingerprint", _sum, N_("Parameter fingerprint"), server=True, required=True),
        Field("draft", _id, N_("Draft"), server=True),
        Field("draft_version", _line, N_("Draft version"), server=True),
        Field("draft_sha256", _sum, N_("SHA-256 of the draft"), server=True),
        Field("target", _place, N_("Target"), server=True, required=True),
        Field("requester", _line, N_("Requester"), server=True, required=True),
        Field("author", _line, N_("Written by"), server=True),
        Field("last_editor", _line, N_("Last edited by"), server=True),
        Field("policy_number", _whole, N_("Policy version"), server=True, required=True, low=1, high=INT4),
        Field("scope", _id, N_("Scope"), server=True, default="this_call", limit=20),
        Field("expires_at", _moment, N_("Expires at"), server=True, required=True),
        Field("task_deadline", _moment, N_("Deadline of the task"), server=True, required=True),
        Field("reason", _text, N_("Why it asks"), server=True, required=True),
        Field("preview", _text, N_("Preview"), server=True, limit=INLINE_MAX_BYTES),
        Field("asked_at", _moment, N_("Asked at"), server=True, required=True),
        Field(
            "state",
            _choice,
            N_("State"),
            words=ApprovalState,
            server=True,
            default=ApprovalState.PENDING.value,
        ),
        Field("decided_by", _line, N_("Decided by"), server=True),
        Field("decided_at", _moment, N_("Decided at"), server=True),
        Field("decision_reason", _text, N_("Reason of the decision"), server=True),
        Field("stale_member", _id, N_("What changed"), server=True, limit=40),
        Field("stale_was", _text, N_("It was"), server=True),
        Field("stale_now", _text, N_("It is"), server=True),
        Field("consumed_at", _moment, N_("Used at"), server=True),
        Field("consumed_generation", _whole, N_("Used by generation"), server=True, low=1),
    ),
    addable=False,
)

VOTE = Part(
    "vote",
    Section.APPROVALS,
    N_("Votes"),
    N_("Vote"),
    (
        Field("item", _id, N_("Item"), server=True, required=True, limit=40),
        Field("decider", _line, N_("Decided by"), server=True, required=True),
        Field("decision", _choice, N_("Decision"), words=ApprovalState, server=True, required=True),
        Field("reason", _text, N_("Reason"), server=True),
        Field("at", _moment, N_("Decided at"), server=True, required=True),
    ),
    addable=False,
)

USAGE = Part(
    "usage",
    Section.LIMITS,
    N_("Usage"),
    N_("Usage entry"),
    (
        Field("entry_id", _id, N_("Entry"), server=True, required=True, limit=40),
        Field("measure", _choice, N_("Measure"), words=Measure, required=True),
        Field("amount", Kind.AMOUNT, N_("Amount"), N_("In the unit of the measure."), required=True),
        ATTEMPT_NUMBER,
        Field("step", _id, N_("Step")),
        Field("used_at", _moment, N_("Used at"), server=True, required=True),
        Field(
            "evidence",
            _place,
            N_("Evidence"),
            N_("A controlled location where the figure can be checked."),
            required=True,
        ),
        NOTE,
    ),
    mend_in=DRAFT,
)

ATTEMPT = Part(
    "attempt",
    Section.OWNER,
    N_("Attempts"),
    N_("Attempt"),
    (
        Field("number", _whole, N_("Number"), server=True, required=True, low=1, high=INT4),
        Field("attempt_id", _id, N_("Attempt id"), required=True),
        Field("generation", _whole, N_("Generation"), server=True, required=True, low=1),
        Field("worker", _line, N_("Worker"), required=True),
        Field("framework", _line, N_("Framework")),
        Field("framework_handle", _line, N_("Thread, run or workflow id")),
        Field("started_at", _moment, N_("Started at"), required=True),
        Field("lease_end", _moment, N_("Lease end")),
        Field("by_hand", _flag, N_("Recorded by hand"), server=True, default=True),
        Field("renewed_at", _moment, N_("Last renewal"), server=True),
        Field("progressed_at", _moment, N_("Last progress"), server=True),
        Field("ended_at", _moment, N_("Ended at")),
        Field("end_reason", _choice, N_("Why it ended"), words=AttemptEnd),
        EVIDENCE,
        NOTE,
    ),
    mend_in=DRAFT,
)

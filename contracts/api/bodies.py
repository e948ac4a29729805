"""What each request may hold. Anything else in it is refused by name."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from contracts.api.fields import NoNull, at_most, call_parameters, only_words, queried, ruled, without_null
from contracts.rules import fields
from contracts.rules.approving import ITEM_ID
from contracts.rules.fields import Kind
from contracts.rules.granting import Released
from contracts.rules.ledger import ASKED, REPORT
from contracts.rules.parts import PARTS
from contracts.rules.parts.part import COUNTED, COUNTED_LONG
from contracts.rules.stepping import COUNTED_BY_WORKERS, STEP_MAX_ROWS
from contracts.rules.text import TASK_ID
from contracts.rules.vocabulary import Measure
from contracts.rules.words import N_

LONGEST_WAIT = 30  # seconds
_identity, _attempt, _operation = PARTS["identity"].field, PARTS["attempt"].field, PARTS["operation"].field
_checkpoint, _step, _object = PARTS["checkpoint"].field, PARTS["step"].field, PARTS["object"].field
_artefact, _source, _approval = PARTS["artefact"].field, PARTS["source"].field, PARTS["approval"].field

_generation = ruled(fields.Field("generation", Kind.WHOLE, N_("Generation"), low=1, high=COUNTED_LONG))
Generation = Annotated[int, *_generation]
Reason = Annotated[str, *ruled(fields.Field("reason", Kind.TEXT, N_("Reason")))]
Note = Annotated[str, *ruled(_object("note"), required=False)]
Amount = Annotated[Decimal, *ruled(PARTS["usage"].field("amount"))]
ObjectId = Annotated[str, *ruled(_object("object_id"))]


# What stands in addresses; the address itself has looked at the pattern.
TaskId = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{TASK_ID.pattern}$"})]
ItemId = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{ITEM_ID}$"})]
Digest = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[0-9a-f]{64}$"})]
_wait = queried(fields.Field("wait", Kind.WHOLE, N_("Longest wait (seconds)"), low=0, high=LONGEST_WAIT))


class Body(BaseModel):
    """One JSON object with known names only."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Body):
    """An empty object."""


class Resume(Body):
    """What the new process was built for; what is not stated is not compared."""

    workflow: Annotated[str, *ruled(_identity("workflow_name"), required=False)] = ""
    workflow_version: Annotated[str, *ruled(_identity("workflow_version"), required=False)] = ""
    schema_version: Annotated[int | None, *ruled(_identity("state_schema_version"))] = None
    agent_version: Annotated[str, *ruled(_identity("agent_version"), required=False)] = ""
    policy_number: Annotated[int | None, *ruled(PARTS["policy"].field("number"))] = None
    synchronous: Annotated[
        bool, *ruled(fields.Field("synchronous", Kind.FLAG, N_("Writes are in the ledger before they leave")))
    ] = True
    framework: Annotated[str, *ruled(_attempt("framework"), required=False)] = ""
    framework_handle: Annotated[str, *ruled(_attempt("framework_handle"), required=False)] = ""


class Stated(Body):
    """The same, in the query of an address, for a look at the decision."""

    workflow: Annotated[str, *ruled(_identity("workflow_name"), required=False)] = ""
    workflow_version: Annotated[str, *ruled(_identity("workflow_version"), required=False)] = ""
    schema_version: Annotated[int | None, *queried(_identity("state_schema_version"))] = None
    agent_version: Annotated[str, *ruled(_identity("agent_version"), required=False)] = ""
    policy_number: Annotated[int | None, *queried(PARTS["policy"].field("number"))] = None


class Waiting(Body):
    """How long the answer may be held until a person has decided."""

    wait: Annotated[int, *_wait] = 0


class OfOwner(Body):
    """What only the owner of a generation does."""

    generation: Generation


class OfOwnerWithReason(OfOwner):
    """What only the owner of a generation does, with a reason."""

    reason: Reason


class Release(OfOwner):
    """Letting the task go."""

    reason: Annotated[
        Released, *ruled(fields.Field("reason", Kind.CHOICE, N_("Why the owner lets go"), words=Released))
    ]
    note: Note = ""


class Pause(Body):
    """Asking for a pause; without a generation by whoever the token names."""

    generation: Annotated[int | None, *_generation] = None
    reason: Reason


class Begin(OfOwner):
    """A step that is about to run."""

    key: Annotated[str, *ruled(_step("key"))]
    kind: Annotated[str, *ruled(_step("kind"))]


class CheckpointBody(Body):
    """The point from which work can go on; the state inline or at a location."""

    checkpoint_id: Annotated[str, *ruled(_checkpoint("checkpoint_id"))]
    sequence: Annotated[int | None, *ruled(_checkpoint("sequence"))] = None
    next_step: Annotated[str, *ruled(_checkpoint("next_step"))]
    schema_version: Annotated[int, *ruled(_checkpoint("schema_version"))]
    durability: Annotated[str, *ruled(_checkpoint("durability"))]
    kind: Annotated[str, *ruled(_checkpoint("kind"))] = "state"
    inline_state: Annotated[Any, *ruled(_checkpoint("inline_state"), required=False)] = None
    location: Annotated[str, *ruled(_checkpoint("location"), required=False)] = ""
    sha256: Annotated[str, *ruled(_checkpoint("sha256"), required=False)] = ""
    size_bytes: Annotated[int | None, *ruled(_checkpoint("size_bytes"))] = None
    event_cursor: Annotated[str, *ruled(_checkpoint("event_cursor"), required=False)] = ""
    write_ms: Annotated[int | None, *ruled(_checkpoint("write_ms"))] = None


class StepBody(Body):
    """The journal entry that is done with this checkpoint."""

    key: Annotated[str, *ruled(_step("key"))]
    kind: Annotated[str, *ruled(_step("kind"))]
    result: Annotated[Any, *ruled(_step("result"), required=False)] = None
    result_location: Annotated[str, *ruled(_step("result_location"), required=False)] = ""
    result_sha256: Annotated[str, *ruled(_step("result_sha256"), required=False)] = ""


class VersionBody(Body):
    """One version of an artefact; without label or checksum its current version."""

    artefact_id: Annotated[str, *ruled(_artefact("artefact_id"))]
    version_label: Annotated[str, *ruled(_artefact("version_label"), required=False)] = ""
    sha256: Annotated[str, *ruled(_artefact("sha256"), required=False)] = ""


class ObjectBody(Body):
    """What a step says of one object in progress."""

    object_id: ObjectId
    accept: Annotated[bool, *ruled(fields.Field("accept", Kind.FLAG, N_("Finished")))] = False
    artefact: Annotated[VersionBody | None, NoNull] = Field(None, json_schema_extra=without_null)
    step: Annotated[str, *ruled(_object("step"), required=False)] = ""
    evidence: Annotated[str, *ruled(_object("evidence"), required=False)] = ""
    note: Note = ""


class ArtefactBody(Body):
    """A new version of an artefact: a short text kept here, or a location with its checksum."""

    artefact_id: Annotated[str, *ruled(_artefact("artefact_id"))]
    version_label: Annotated[str, *ruled(_artefact("version_label"))]
    sha256: Annotated[str, *ruled(_artefact("sha256"), required=False)] = ""
    location: Annotated[str, *ruled(_artefact("location"), required=False)] = ""
    inline_text: Annotated[str, *ruled(_artefact("inline_text"), required=False)] = ""
    size_bytes: Annotated[int | None, *ruled(_artefact("size_bytes"))] = None
    source: Annotated[str, *ruled(_artefact("source"), required=False)] = ""
    source_version: Annotated[str, *ruled(_artefact("source_version"), required=False)] = ""
    note: Note = ""


class Commit(OfOwner):
    """One step: checkpoint, journal, objects, artefacts and usage stand or fall together."""

    checkpoint: CheckpointBody
    step: Annotated[StepBody | None, NoNull] = Field(None, json_schema_extra=without_null)
    objects: Annotated[list[ObjectBody], at_most(STEP_MAX_ROWS)] = []
    artefacts: Annotated[list[ArtefactBody], at_most(STEP_MAX_ROWS)] = []
    usage: Annotated[dict[str, Amount], only_words(COUNTED_BY_WORKERS)] = {}


class Take(OfOwner):
    """How many objects are wanted."""

    count: Annotated[
        int, *ruled(fields.Field("count", Kind.WHOLE, N_("Objects"), low=1, high=STEP_MAX_ROWS))
    ] = 1


class Return(OfOwner):
    """Objects that go back unfinished."""

    object_ids: Annotated[list[ObjectId], at_most(STEP_MAX_ROWS)]
    note: Note = ""


class Intend(OfOwner):
    """One write that is meant, before anything of it can leave."""

    tool: Annotated[str, *ruled(_operation("tool"))]
    step: Annotated[str, *ruled(_operation("step"))]
    parameters: Annotated[dict[str, Any], *call_parameters(_operation("parameters"))]
    target: Annotated[str, *ruled(_operation("target"))]
    expected: Annotated[str, *ruled(_operation("expected"))]
    object: Annotated[str, *ruled(_operation("object"), required=False)] = ""
    round: Annotated[
        int | None, *ruled(fields.Field("round", Kind.WHOLE, N_("Round"), low=1, high=COUNTED))
    ] = None


class Compensate(OfOwner):
    """The call that takes a confirmed write back."""

    tool: Annotated[str, *ruled(_operation("tool"))]
    parameters: Annotated[dict[str, Any], *call_parameters(_operation("parameters"))]
    target: Annotated[str, *ruled(_operation("target"))]
    expected: Annotated[str, *ruled(_operation("expected"))]


class Round(Body):
    """A further round; without parameters those of the former."""

    parameters: Annotated[dict[str, Any] | None, *call_parameters(_operation("parameters"))] = None


class Ask(Body):
    """A question to a person; `draft_id` names the artefact the call publishes."""

    generation: Annotated[int | None, *_generation] = None
    reason: Annotated[str, *ruled(_approval("reason"))]
    draft_id: Annotated[str, *ruled(_approval("draft"), required=False)] = ""
    preview: Annotated[str, *ruled(_approval("preview"), required=False)] = ""
    hours: Annotated[
        int | None,
        *ruled(fields.Field("hours", Kind.WHOLE, N_("Waits for (hours)"), low=1, high=COUNTED)),
    ] = None


class Report(OfOwner):
    """What became of a write, as its sender says."""

    result: Annotated[str, *ruled(REPORT.field("result"))]
    reference: Annotated[str, *ruled(REPORT.field("reference"), required=False)] = ""
    response_sha256: Annotated[str, *ruled(REPORT.field("response_sha256"), required=False)] = ""
    detail: Annotated[str, *ruled(REPORT.field("detail"), required=False)] = ""


class Reconcile(OfOwner):
    """How the target was asked, and what it said."""

    answer: Annotated[str, *ruled(ASKED.field("answer"))]
    asked_at: Annotated[datetime, *ruled(ASKED.field("asked_at"))]
    path: Annotated[str, *ruled(ASKED.field("path"))]
    reference: Annotated[str, *ruled(ASKED.field("reference"), required=False)] = ""
    count: Annotated[int | None, *ruled(ASKED.field("count"))] = None
    announced_generation: Annotated[int | None, *ruled(ASKED.field("announced_generation"))] = None
    announced_at: Annotated[datetime | None, *ruled(ASKED.field("announced_at"))] = None
    note: Annotated[str, *ruled(ASKED.field("note"), required=False)] = ""


class SourceBody(Body):
    """A version of a source that is current from now on."""

    source_id: Annotated[str, *ruled(_source("source_id"))]
    version_label: Annotated[str, *ruled(_source("version_label"))]
    sha256: Annotated[str, *ruled(_source("sha256"))]
    location: Annotated[str, *ruled(_source("location"))]
    size_bytes: Annotated[int | None, *ruled(_source("size_bytes"))] = None


class TakeOver(Body):
    """An operator's act; workers are refused, and the refusal is recorded."""

    reason: Reason


class RollBack(TakeOver):
    """An operator's act; workers are refused, and the refusal is recorded."""

    checkpoint_id: Annotated[str, *ruled(_checkpoint("checkpoint_id"))]


class RaiseCap(TakeOver):
    """An operator's act; workers are refused, and the refusal is recorded."""

    measure: Annotated[str, *ruled(fields.Field("measure", Kind.CHOICE, N_("Measure"), words=Measure))]
    cap: Amount

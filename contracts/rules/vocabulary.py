"""The closed lists of words a contract is filled in with: planes, sections, roles, effects, measures.

Numbers that limit a field live here too, so that pages, imports and the API agree on them.
"""

from dataclasses import dataclass

from contracts.rules.words import N_, Labelled

TEXT_MAX = 4_000
LINE_MAX = 200
LOCATION_MAX = 2_000
TASK_ID_MAX = 120
INLINE_MAX_BYTES = 64 * 1024
RESULT_MAX_BYTES = 16 * 1024
PASTE_MAX_LINES = 20_000
PASTE_MAX_BYTES = 6 * 1024 * 1024
IMPORT_MAX_BYTES = 64 * 1024 * 1024
WHOLE_MAX = 2**53 - 1
RETENTION_MAX_DAYS = 36_500
LEASE_MIN_SECONDS, LEASE_MAX_SECONDS = 2, 86_400
EXPIRY_MAX_HOURS = 8_760
SETTLE_MAX_SECONDS = 604_800


class Plane(Labelled):
    """The five planes of state that are never mixed."""

    CONVERSATION = "conversation", N_("Conversation")
    CHECKPOINT = "checkpoint", N_("Checkpoint")
    PROGRESS = "progress", N_("Progress")
    EFFECTS = "effects", N_("Effects")
    APPROVAL = "approval", N_("Approval")


PLANE_QUESTIONS: dict[Plane, str] = {
    Plane.CONVERSATION: N_("What may the model see in the next turn?"),
    Plane.CHECKPOINT: N_("From which step and variables can the framework go on?"),
    Plane.PROGRESS: N_("Which objects are accepted, in which version, and which are left?"),
    Plane.EFFECTS: N_("Did the write really happen in the target?"),
    Plane.APPROVAL: N_("Who allowed which exact action and version, until when?"),
}


class Section(Labelled):
    """The nine sections in which a contract is filled in, in page order."""

    IDENTITY = "identity", N_("Identity and planes")
    CHECKPOINTS = "checkpoints", N_("Checkpoints")
    SOURCES = "sources", N_("Sources and artefacts")
    OBJECTS = "objects", N_("Objects")
    OPERATIONS = "operations", N_("Tools and operations")
    APPROVALS = "approvals", N_("Approvals")
    LIMITS = "limits", N_("Limits")
    OWNER = "owner", N_("Owner gate and attempts")
    WINDOWS = "windows", N_("Failure windows")


class SectionState(Labelled):
    """How far a section is filled in."""

    NOT_STARTED = "not_started", N_("Not started")
    IN_PROGRESS = "in_progress", N_("In progress")
    COMPLETE = "complete", N_("Complete")
    NEEDS_ATTENTION = "needs_attention", N_("Needs attention")


class Role(Labelled):
    """What a person may be for a team or for one contract."""

    VIEWER = "viewer", N_("Viewer")
    REVIEWER = "reviewer", N_("Reviewer")
    CURATOR = "curator", N_("Curator")
    OPERATOR = "operator", N_("Operator")
    EXPORTER = "exporter", N_("Exporter")


class Right(Labelled):
    """One object permission on a contract (the permission's code name)."""

    VIEW = "view_contract", N_("See the contract")
    FILL = "fill_contract", N_("Fill in the contract")
    DECIDE = "decide_contract", N_("Decide on approvals")
    OPERATE = "operate_contract", N_("Take over, reconcile, raise limits")
    EXPORT = "export_contract", N_("Export the contract")
    SHARE = "share_contract", N_("Share the contract")


ROLE_RIGHTS: dict[Role, tuple[Right, ...]] = {
    Role.VIEWER: (Right.VIEW,),
    Role.REVIEWER: (Right.VIEW, Right.FILL),
    Role.CURATOR: (Right.VIEW, Right.DECIDE),
    Role.OPERATOR: (Right.VIEW, Right.OPERATE),
    Role.EXPORTER: (Right.VIEW, Right.EXPORT),
}


class ActorKind(Labelled):
    """Who acts."""

    PERSON = "person", N_("Person")
    WORKER = "worker", N_("Worker")
    OPERATOR = "operator", N_("Operator")
    SYSTEM = "system", N_("System")


class Durability(Labelled):
    """What a framework's checkpoint really survives."""

    SYNC = "sync", N_("Synchronous")
    ASYNC = "async", N_("Asynchronous")
    EXIT = "exit", N_("At exit")
    EVENT_HISTORY = "event_history", N_("Event history")
    MEMORY = "memory", N_("Memory only")


LOSS_WINDOWS: dict[Durability, str] = {
    Durability.SYNC: N_("nothing that was committed before the next step began"),
    Durability.ASYNC: N_("the last checkpoint may be missing after a crash"),
    Durability.EXIT: N_("everything since the run began, if the process dies"),
    Durability.EVENT_HISTORY: N_("nothing recorded; an activity may still run twice"),
    Durability.MEMORY: N_("everything, when the process ends"),
}


class CheckpointKind(Labelled):
    """What a checkpoint holds."""

    STATE = "state", N_("State")
    SUMMARY = "summary", N_("Summary")
    COMPACTION = "compaction", N_("Context compaction")


class StepKind(Labelled):
    """What a journal entry records."""

    MODEL_TURN = "model_turn", N_("Model turn")
    TOOL_CALL = "tool_call", N_("Tool call")
    DECISION = "decision", N_("Decision")
    COMPACTION = "compaction", N_("Context compaction")


class AttemptEnd(Labelled):
    """Why an attempt ended."""

    FINISHED = "finished", N_("Finished")
    RELEASED = "released", N_("Released")
    LEASE_LAPSED = "lease_lapsed", N_("Lease lapsed")
    TAKEN_OVER = "taken_over", N_("Taken over")


class Effect(Labelled):
    """What calling a tool does to the world."""

    READ_ONLY = "read_only", N_("Read only")
    IDEMPOTENT_WRITE = "idempotent_write", N_("Idempotent write")
    NON_IDEMPOTENT_WRITE = "non_idempotent_write", N_("Write that must not be repeated")


class SameKey(Labelled):
    """What the target does on the same key with other parameters."""

    REFUSES = "refuses", N_("Refuses")
    IGNORES = "ignores", N_("Gives the first answer")
    OVERWRITES = "overwrites", N_("Overwrites")
    NOT_KNOWN = "not_known", N_("Not known")


class Concurrency(Labelled):
    """How calls of one tool may overlap."""

    ONE_AT_A_TIME = "one_at_a_time", N_("One at a time")
    ONE_PER_OBJECT = "one_per_object", N_("One per object")
    FREE = "free", N_("Free")


class StaleOwner(Labelled):
    """How a displaced owner is kept from writing into the target."""

    TARGET_CHECKS_GENERATION = "target_checks_generation", N_("The target checks the generation")
    SINGLE_WRITE_PROXY = "single_write_proxy", N_("A single write proxy sends")
    TARGET_DEDUPLICATES = "target_deduplicates", N_("The target deduplicates")
    NONE = "none", N_("Nothing keeps it out")


class Measure(Labelled):
    """What a cumulative limit counts; the label names the unit."""

    ACTIVE_SECONDS = "active_seconds", N_("Active time (seconds)")
    MODEL_TURNS = "model_turns", N_("Model turns")
    TOOL_ATTEMPTS = "tool_attempts", N_("Tool attempts")
    TOKENS = "tokens", N_("Tokens")
    COST = "cost", N_("Cost")
    TRIES_PER_STEP = "tries_per_step", N_("Tries per step")
    FAILED_RECOVERIES = "failed_recoveries_per_step", N_("Failed recoveries per step")


class OnTimeout(Labelled):
    """What happens when nobody decides in time."""

    REFUSE = "refuse", N_("Refuse")
    PASS_ON = "pass_on", N_("Pass on")


class Acceptance(Labelled):
    """Who may turn work into accepted work."""

    PERSON = "person", N_("A person")
    WORKER = "worker", N_("The worker is enough")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the login name of a person, or the name in a worker's token."""

    name: str
    kind: ActorKind = ActorKind.PERSON

"""The parts that define a contract: what is agreed before work begins."""

from contracts.rules.fields import Field, Kind
from contracts.rules.parts.part import ALIVE, COUNTED, DRAFT, EVIDENCE, INT4, NOTE, Part
from contracts.rules.vocabulary import (
    EXPIRY_MAX_HOURS,
    LEASE_MAX_SECONDS,
    LEASE_MIN_SECONDS,
    RETENTION_MAX_DAYS,
    SETTLE_MAX_SECONDS,
    Acceptance,
    Concurrency,
    Effect,
    Measure,
    OnTimeout,
    Plane,
    SameKey,
    Section,
    StaleOwner,
)
from contracts.rules.windows import WindowVerdict
from contracts.rules.words import N_

_id, _line, _text, _place, _sum = Kind.ID, Kind.LINE, Kind.TEXT, Kind.LOCATION, Kind.SHA256
_whole, _choice, _flag, _moment, _json = Kind.WHOLE, Kind.CHOICE, Kind.FLAG, Kind.MOMENT, Kind.JSON

IDENTITY = Part(
    "identity",
    Section.IDENTITY,
    N_("Identity"),
    N_("Identity"),
    (
        Field("title", _line, N_("Title"), required=True),
        Field("purpose", _text, N_("Purpose"), N_("What the task is for, in a sentence or two.")),
        Field(
            "accountable_owner",
            _line,
            N_("Accountable owner"),
            N_("The person or office that answers for the task."),
        ),
        Field("workflow_name", _line, N_("Workflow")),
        Field("workflow_version", _line, N_("Workflow version")),
        Field("state_schema_version", _whole, N_("State-schema version"), low=1, high=INT4),
        Field(
            "readable_schema_versions",
            Kind.WHOLES,
            N_("Older schema versions it can still read"),
            N_("Whole numbers with commas between, such as 1, 2."),
            low=1,
            high=INT4,
        ),
        Field("agent_version", _line, N_("Agent or SDK version")),
        Field(
            "acceptance",
            _choice,
            N_("Who may accept an object"),
            words=Acceptance,
            default=Acceptance.PERSON.value,
        ),
        Field(
            "deadline",
            _moment,
            N_("Deadline"),
            N_("After this time nothing may be continued. Needed before the contract leaves draft."),
        ),
    ),
    single=True,
    fixed=True,
    addable=False,
    plan=True,
    open_in=DRAFT,
)

PLANE = Part(
    "plane",
    Section.IDENTITY,
    N_("Five planes"),
    N_("Plane"),
    (
        Field("plane", _choice, N_("Plane"), words=Plane, required=True, server=True),
        Field(
            "authority",
            _place,
            N_("Where its authority lives"),
            N_(
                "A controlled location, such as postgres://sessions or cms:collection-site; never the content."
            ),
        ),
        Field("readers", _line, N_("Who may read it")),
        Field("retention_days", _whole, N_("Kept for (days)"), low=1, high=RETENTION_MAX_DAYS),
        NOTE,
    ),
    fixed=True,
    addable=False,
    plan=True,
    open_in=DRAFT,
)

TOOL = Part(
    "tool",
    Section.OPERATIONS,
    N_("Tool contracts"),
    N_("Tool contract"),
    (
        Field("tool", _id, N_("Tool"), required=True),
        Field("effect", _choice, N_("Effect"), words=Effect, required=True),
        Field("needs_approval", _flag, N_("Needs a person's approval"), default=False),
        Field("key_supported", _flag, N_("The target takes an idempotency key"), default=False),
        Field(
            "key_memory_hours", _whole, N_("The target remembers a key for (hours)"), low=1, high=1_000_000
        ),
        Field(
            "same_key",
            _choice,
            N_("Same key, other parameters: the target"),
            words=SameKey,
            default=SameKey.NOT_KNOWN.value,
        ),
        Field(
            "concurrency",
            _choice,
            N_("Concurrency"),
            words=Concurrency,
            default=Concurrency.ONE_AT_A_TIME.value,
        ),
        Field(
            "query_path",
            _place,
            N_("Authoritative query"),
            N_("Where the target itself answers whether the write happened."),
        ),
        Field(
            "settle_seconds",
            _whole,
            N_("Settle time (seconds)"),
            N_("How long after sending the write may still appear."),
            high=SETTLE_MAX_SECONDS,
        ),
        Field("compensation", _text, N_("Compensation"), N_("How the write is taken back, if it can be.")),
        Field(
            "named_person", _line, N_("Who decides when nobody can know"), N_("A person, by name or office.")
        ),
        Field(
            "stale_owner",
            _choice,
            N_("How a displaced owner is kept out"),
            words=StaleOwner,
            default=StaleOwner.NONE.value,
        ),
        NOTE,
    ),
    ordered=True,
    plan=True,
    open_in=DRAFT,
)

POLICY = Part(
    "policy",
    Section.APPROVALS,
    N_("Approval policy"),
    N_("Approval policy"),
    (
        Field("number", _whole, N_("Policy version"), server=True, default=1, low=1, high=COUNTED),
        Field("quorum", _whole, N_("Curators that must agree"), default=1, low=1, high=20),
        Field("author_may_decide", _flag, N_("The author may decide"), default=False),
        Field(
            "default_expiry_hours",
            _whole,
            N_("An item waits for (hours)"),
            default=24,
            low=1,
            high=EXPIRY_MAX_HOURS,
        ),
        Field(
            "longest_expiry_hours",
            _whole,
            N_("At the longest (hours)"),
            default=72,
            low=1,
            high=EXPIRY_MAX_HOURS,
        ),
        Field(
            "login_fresh_seconds",
            _whole,
            N_("Identity confirmed within (seconds)"),
            default=300,
            low=30,
            high=3_600,
        ),
        Field("second_factor", _flag, N_("A second factor is required"), default=False),
        Field(
            "on_timeout",
            _choice,
            N_("When nobody decides in time"),
            words=OnTimeout,
            default=OnTimeout.REFUSE.value,
        ),
        Field("pass_on_to", _line, N_("Pass on to")),
        Field("pass_on_hours", _whole, N_("Passed on for (hours)"), low=1, high=EXPIRY_MAX_HOURS),
        NOTE,
    ),
    single=True,
    fixed=True,
    addable=False,
    plan=True,
    open_in=DRAFT,
)

LIMIT = Part(
    "limit",
    Section.LIMITS,
    N_("Limits"),
    N_("Limit"),
    (
        Field("measure", _choice, N_("Measure"), words=Measure, required=True, server=True),
        Field(
            "cap",
            Kind.AMOUNT,
            N_("Cap"),
            N_("Over all attempts; empty means it is only counted."),
        ),
        Field("currency", _line, N_("Currency"), N_("For cost alone: three letters, such as EUR."), limit=3),
        NOTE,
    ),
    fixed=True,
    addable=False,
    plan=True,
    open_in=DRAFT,
)

GATE = Part(
    "gate",
    Section.OWNER,
    N_("Owner gate"),
    N_("Owner gate"),
    (
        Field(
            "lease_seconds",
            _whole,
            N_("Lease length (seconds)"),
            default=120,
            low=LEASE_MIN_SECONDS,
            high=LEASE_MAX_SECONDS,
        ),
        Field(
            "renew_seconds",
            _whole,
            N_("Renewed every (seconds)"),
            N_("Less than the lease length."),
            default=30,
            low=1,
            high=LEASE_MAX_SECONDS,
        ),
        Field(
            "named_person",
            _line,
            N_("Who takes over undecidable cases"),
            N_("By name or office: who decides when nobody can find out whether a write happened."),
        ),
        NOTE,
    ),
    single=True,
    fixed=True,
    addable=False,
    plan=True,
    open_in=DRAFT,
)

WINDOW = Part(
    "window",
    Section.WINDOWS,
    N_("Failure windows"),
    N_("Failure window"),
    (
        Field("window", _id, N_("Window"), N_("A short name of one's own."), required=True),
        Field("title", _line, N_("Title")),
        Field("setting", _text, N_("Setting")),
        Field("provoked", _text, N_("How it is provoked")),
        Field("expected", _text, N_("Expected")),
        Field("counted", _whole, N_("Objects counted in the target"), high=INT4),
        Field("on_resuming", _text, N_("What the agent did on resuming")),
        Field("repeated", _flag, N_("Did a confirmed step run again")),
        Field("verdict", _choice, N_("Verdict"), words=WindowVerdict),
        Field("run_at", _moment, N_("Run at")),
        Field("run_by", _line, N_("Run by")),
        EVIDENCE,
    ),
    fixed=True,
    ordered=True,
    plan=True,
    open_in=DRAFT,
    mend_in=ALIVE,
)

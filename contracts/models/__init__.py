"""REMEMBERS: rows, constraints and named querysets; one file per section of the contract."""

from contracts.models.approvals import Approval, ApprovalPolicy, ApprovalVote
from contracts.models.checkpoints import Checkpoint, JournalStep
from contracts.models.content import ContentRow, OrderedRow
from contracts.models.drills import DrillResult, DrillRun
from contracts.models.events import Event
from contracts.models.identity import Contract, PlaneRow, ReservedTaskId, SectionMark
from contracts.models.limits import Limit, UsageEntry, UsageTotal
from contracts.models.notices import Muted, Notice, Presence, Reader
from contracts.models.objects import WorkObject
from contracts.models.operations import Operation, ToolContract
from contracts.models.owner import Attempt, OwnerGate
from contracts.models.progress import ROWS, gather_all_progress, gather_progress, plan_digest
from contracts.models.sight import find_seen
from contracts.models.sources import Artefact, Source
from contracts.models.teams import (
    ContractGroupPermission,
    ContractUserPermission,
    Team,
    TeamRole,
    people_with,
    rights_of,
    roles_of,
)
from contracts.models.windows import WindowRow
from contracts.models.workers import StoredAnswer, TokenScope, WorkerToken

__all__ = [
    "CONTENT",
    "ROWS",
    "Approval",
    "ApprovalPolicy",
    "ApprovalVote",
    "Artefact",
    "Attempt",
    "Checkpoint",
    "ContentRow",
    "Contract",
    "ContractGroupPermission",
    "ContractUserPermission",
    "DrillResult",
    "DrillRun",
    "Event",
    "JournalStep",
    "Limit",
    "Muted",
    "Notice",
    "Operation",
    "OrderedRow",
    "OwnerGate",
    "PlaneRow",
    "Presence",
    "Reader",
    "ReservedTaskId",
    "SectionMark",
    "Source",
    "StoredAnswer",
    "Team",
    "TeamRole",
    "TokenScope",
    "ToolContract",
    "UsageEntry",
    "UsageTotal",
    "WindowRow",
    "WorkObject",
    "WorkerToken",
    "find_seen",
    "gather_all_progress",
    "gather_progress",
    "people_with",
    "plan_digest",
    "rights_of",
    "roles_of",
]

# Every table of content, in the order in which rows may refer to earlier ones.
CONTENT: tuple[type[ContentRow], ...] = (
    PlaneRow,
    SectionMark,
    OwnerGate,
    Attempt,
    Checkpoint,
    JournalStep,
    Source,
    Artefact,
    WorkObject,
    ToolContract,
    Operation,
    ApprovalPolicy,
    Approval,
    ApprovalVote,
    Limit,
    UsageEntry,
    WindowRow,
    Event,
)

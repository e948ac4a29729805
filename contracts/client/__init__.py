"""The worker's library: a task that another process began is continued, and nothing is done twice.

workbench = Workbench("https://workbench.example.org", token)
with workbench.resume("museum-label") as run:
    text = run.step("draft", write_label)
"""

from contracts.client.exceptions import (
    LeaseLost,
    NotResumable,
    Refused,
    Rejected,
    Stale,
    TargetRefused,
    Unknown,
    Unreachable,
    WaitingForApproval,
    WorkStopped,
)
from contracts.client.from_async import AsyncRun, AsyncWorkbench
from contracts.client.run import Run
from contracts.client.shapes import (
    Attempt,
    Call,
    Decision,
    Draft,
    Item,
    Job,
    Offer,
    Operation,
    Outlook,
    Receipt,
    Seen,
    Sent,
    Tool,
)
from contracts.client.workbench import Workbench

__all__ = [
    "AsyncRun",
    "AsyncWorkbench",
    "Attempt",
    "Call",
    "Decision",
    "Draft",
    "Item",
    "Job",
    "LeaseLost",
    "NotResumable",
    "Offer",
    "Operation",
    "Outlook",
    "Receipt",
    "Refused",
    "Rejected",
    "Run",
    "Seen",
    "Sent",
    "Stale",
    "TargetRefused",
    "Tool",
    "Unknown",
    "Unreachable",
    "WaitingForApproval",
    "WorkStopped",
    "Workbench",
]

"""A target that counts what really happens in it, and fails where a test says so; and contracts that write to it."""

from typing import Any

from contracts.client import Call, Seen, Sent, TargetRefused, Tool
from contracts.gates.tokens import issue_token
from contracts.models import Contract
from tests import builders, people

PUBLISH = {
    **builders.EXAMPLES["tool"],
    "settle_seconds": 1,
    "stale_owner": "target_checks_generation",
    "named_person": "Head of collections",
}


class Target:
    """`faults`: one for each of the next sendings. lost: accepted, no receipt. gone: never arrives. no: refused."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.faults: list[str] = []
        self.told: list[int] = []
        self.asked = 0
        self.deaf = 0

    def send(self, call: Call) -> Sent:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "no":
            raise TargetRefused("The page has no name.")
        if fault == "gone":
            raise ConnectionError("reset")
        if self.told and call.generation < max(self.told):
            raise TargetRefused("a former generation")
        self.pages.append(call.key)
        if fault == "lost":
            raise TimeoutError("no answer")
        return Sent(f"page-{len(self.pages)}", b"created")

    def query(self, call: Call) -> Seen:
        self.asked += 1
        if self.deaf:
            self.deaf -= 1
            raise ConnectionError("reset")
        count = self.pages.count(call.key)
        return Seen.found(f"page-{self.pages.index(call.key) + 1}", count=count) if count else Seen.absent()

    def tool(self) -> Tool:
        return Tool("cms.publish", self.send, self.query, self.told.append)


def a_task(objects: int = 2, *, tool: dict[str, Any] | None = None, acceptance: str = "worker") -> Contract:
    """Return a paused contract with so many objects and one tool that writes."""
    identity = {**builders.complete_keys()["identity"], "acceptance": acceptance}
    rows = [{"object_id": f"O-{number:02}", "source": "P-1"} for number in range(1, objects + 1)]
    keys = {"identity": identity, "objects": rows, "tools": [{**PUBLISH, **(tool or {})}]}
    return builders.a_paused(builders.a_team(), policies=[{"number": 1}], **keys)


def a_token(contract: Contract, worker: str = "writer") -> str:
    """Return a token that reaches the contract."""
    actor = people.acting(people.owner(contract.team))
    known = {"actor": actor, "team": contract.team, "worker": worker, "days": 1}
    token: str = builders.done(issue_token(**known, contract_ids=[contract.pk])).token
    return token


def call_of(number: int = 1, **more: Any) -> dict[str, Any]:
    """Return what `run.operation` is told of the write of one object."""
    return {
        "parameters": {"page": f"label-{number}"},
        "step": "publish",
        "object": f"O-{number:02}",
        "target": "cms://pages",
        "expected": "One page.",
        "reason": "It is ready.",
        "preview": "The label.",
        "wait": 0,
        **more,
    }

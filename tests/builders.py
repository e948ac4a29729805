"""Contracts for the tests, built through the gates alone, so that no test starts from an impossible row."""

import itertools
from typing import Any

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.creating import create_contract
from contracts.gates.form_keys import make_form_key
from contracts.gates.lifecycle import cancel, complete, leave_draft
from contracts.gates.people import create_team
from contracts.gates.requesting import request_approval
from contracts.gates.rows import add_row
from contracts.models import Approval, Artefact, Contract, Operation, Team
from contracts.rules.document import FORMAT, SCHEMA_VERSION, check_document
from contracts.rules.parts import PARTS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor, ActorKind, Measure, Plane, Section
from contracts.rules.windows import Window
from tests import people

_numbers = itertools.count(1)
WORKER = Actor("label-writer", ActorKind.WORKER)
DEADLINE = "2031-05-31T18:00:00.000000Z"
NEAR = {
    "start": "2030-01-01T08:00:00.000000Z",
    "end": "2030-01-02T08:00:00.000000Z",
    "ask": "2030-01-03T08:00:00.000000Z",
    "done": "2030-01-04T08:00:00.000000Z",
}
A, B, C = ("a" * 64, "b" * 64, "c" * 64)
# Values as a person gives them, each row complete; rows they refer to have the ids used here.
EXAMPLES: dict[str, dict[str, Any]] = {
    "attempt": {
        "attempt_id": "A-1",
        "worker": "label-worker",
        "started_at": "2030-01-01T08:00Z",
        "ended_at": "2030-01-01T09:00Z",
        "end_reason": "released",
        "evidence": "logs://attempts/1",
    },
    "checkpoint": {
        "checkpoint_id": "C-1",
        "attempt": "1",
        "durability": "sync",
        "next_step": "draft",
        "schema_version": "1",
        "inline_state": '{"photo": 3}',
        "committed_at": "2030-01-01T08:30Z",
        "evidence": "logs://checkpoints/1",
    },
    "step": {"kind": "model_turn", "key": "draft-1", "attempt": "1", "state": "done", "result": '"a label"'},
    "source": {"source_id": "P-1", "version_label": "1", "sha256": A, "location": "archive://p/1"},
    "artefact": {"artefact_id": "L-1", "version_label": "1", "inline_text": "Fired clay.", "source": "P-1"},
    "object": {"object_id": "O-1", "source": "P-1", "step": "draft"},
    "tool": {"tool": "cms.publish", "effect": "non_idempotent_write", "query_path": "cms://pages"},
    "operation": {
        "tool": "cms.publish",
        "step": "publish",
        "object": "O-1",
        "parameters": '{"page": "label-1"}',
        "target": "cms://pages/label-1",
        "expected": "one page",
    },
    "usage": {"measure": "tokens", "amount": "1200", "attempt": "1", "evidence": "ledger://2030/1"},
    "window": {
        "window": "power-cut",
        "title": "Power cut",
        "setting": "A room without light",
        "provoked": "Pull the plug.",
        "expected": "Nothing is lost.",
    },
}
# The rows one needs before another.
NEEDS = {
    "checkpoint": ("attempt",),
    "step": ("attempt",),
    "usage": ("attempt",),
    "artefact": ("source",),
    "object": ("source",),
    "operation": ("tool", "source", "object"),
}


def a_team(slug: str = "labels") -> Team:
    """Return the team called `slug`, with its role groups."""
    return create_team(slug=slug, name=slug.title())


def a_task_id() -> str:
    """Return a task id no test has used before."""
    return f"task-{next(_numbers)}"


def a_draft(team: Team | None = None, person: Any = None, *, task_id: str = "", **keys: Any) -> Contract:
    """Return an empty draft; `keys` are further keys of its document."""
    team = team or a_team()
    verdict = created(team, person or people.owner(team), {**head(task_id, team), **keys})
    assert verdict.code == "done", (verdict.code, verdict.problems)
    return verdict.outcome


def a_complete_draft(
    team: Team | None = None, person: Any = None, *, task_id: str = "", **keys: Any
) -> Contract:
    """Return a draft whose nine sections are filled in and marked: it may leave draft."""
    return a_draft(team, person, task_id=task_id, **{**complete_keys(), **keys})


def a_paused(team: Team | None = None, person: Any = None, *, task_id: str = "", **keys: Any) -> Contract:
    """Return a complete contract that has left draft."""
    contract = a_complete_draft(team, person, task_id=task_id, **keys)
    return done(
        leave_draft(contract_id=contract.pk, actor=people.acting(person or people.owner(contract.team)))
    )


def a_completed(team: Team | None = None, person: Any = None, *, task_id: str = "") -> Contract:
    """Return a completed contract: its one object was skipped."""
    skipped = {
        "object_id": "O-1",
        "source": "P-1",
        "state": "skipped",
        "note": "Not on show.",
        "settled_by": "olga",
        "settled_at": NEAR["done"],
    }
    contract = a_paused(team, person, task_id=task_id, objects=[skipped])
    return done(complete(contract_id=contract.pk, actor=people.acting(person or people.owner(contract.team))))


def a_cancelled(team: Team | None = None, person: Any = None, *, task_id: str = "") -> Contract:
    """Return a contract cancelled while paused."""
    contract = a_paused(team, person, task_id=task_id)
    actor = people.acting(person or people.owner(contract.team))
    return done(cancel(contract_id=contract.pk, actor=actor, reason="The show was called off."))


def a_row(contract: Contract, part: str, person: Any = None, **values: Any) -> Any:
    """Add the example row of `part`, changed by `values`, and whatever it refers to if that is not there."""
    from contracts.models import ROWS

    for needed in NEEDS.get(part, ()):
        if not ROWS[needed].objects.of(contract.pk).exists():
            a_row(contract, needed, person)
    actor = people.acting(person or people.owner(contract.team))
    raw = {**EXAMPLES[part], **values}
    return done(add_row(contract_id=contract.pk, actor=actor, part=PARTS[part], values=raw))


def a_call(
    contract: Contract | None = None,
    policy: dict[str, Any] | None = None,
    *,
    draft: bool = True,
    **values: Any,
) -> Operation:
    """Add a pending write whose tool needs approval, and the draft it publishes if that is not there."""
    contract = contract or a_paused(**keys_of_a_call(policy or {}))
    if draft and not Artefact.objects.of(contract.pk).exists():
        a_row(contract, "artefact")
    operation: Operation = a_row(contract, "operation", **values)
    return operation


def keys_of_a_call(policy: dict[str, Any]) -> dict[str, Any]:
    """Return the document keys of a contract whose write needs an approval by `policy`."""
    return {
        "tools": [{**EXAMPLES["tool"], "needs_approval": True}],
        "policies": [{"number": 1, **policy}],
    }


def a_waiting_item(
    call: Operation | None = None, policy: dict[str, Any] | None = None, **asked: Any
) -> Approval:
    """Let the worker ask for consent to `call`, or to a new one; the item waits for a curator."""
    call = call or a_call(policy=policy)
    known = {"actor": WORKER, "reason": "The date was corrected.", "draft_id": "L-1"}
    verdict = request_approval(contract_id=call.contract_id, **{**known, "operation_key": call.key, **asked})
    item: Approval = done(verdict)
    return item


def a_decided_item(
    call: Operation | None = None, decision: str = "approved", person: Any = None, **asked: Any
) -> Approval:
    """Return an item on which `person`, a curator if not given, has decided."""
    item = a_waiting_item(call, **asked)
    person = person or people.curator(item.contract.team)
    decided: Approval = done(decide(contract_id=item.contract_id, **word(item, person, decision)))
    return decided


def word(item: Approval, person: Any, decision: str = "approved", **given: Any) -> dict[str, Any]:
    """Return what `decide` is told when `person` posts the form of `item`, changed by `given`."""
    known = {
        "actor": people.acting(person),
        "user": person,
        "item_id": item.item_id,
        "seen": item.fingerprint,
        "decision": decision,
        "form_key": make_form_key(item, person),
        "reason": "" if decision == "approved" else "Not like this.",
        "confirmed_at": database_now(),
    }
    return known | given


def created(team: Team, person: Any, raw: dict[str, Any]) -> Verdict:
    """Let `person` create a contract of `team` from the document `raw`."""
    return create_contract(user=person, actor=people.acting(person), team=team, document=check_document(raw))


def done(verdict: Verdict) -> Any:
    """Return what an allowed gate produced; fail with its code otherwise."""
    assert verdict.allowed, (verdict.code, verdict.problems, verdict.outcome)
    return verdict.outcome


def head(task_id: str = "", team: Team | None = None) -> dict[str, Any]:
    """Return the smallest document that can be created."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "task_id": task_id or a_task_id(),
        "team": team.slug if team else "labels",
        "identity": {"title": "Labels of the spring show"},
    }


def complete_keys() -> dict[str, Any]:
    """Return the document keys that a complete draft has beside its head."""
    return {
        "identity": {
            "title": "Labels of the spring show",
            "purpose": "One label for each object on show.",
            "accountable_owner": "Head of collections",
            "workflow_name": "labels",
            "workflow_version": "4",
            "state_schema_version": 2,
            "readable_schema_versions": [1],
            "agent_version": "agent 1.2",
            "acceptance": "person",
            "deadline": DEADLINE,
        },
        "planes": [
            {
                "plane": plane.value,
                "authority": f"postgres://{plane.value}",
                "readers": "the team",
                "retention_days": 365,
                "note": "",
            }
            for plane in Plane
        ],
        "sources": [{**EXAMPLES["source"], "size_bytes": 120, "current": True}],
        "objects": [{"object_id": "O-1", "source": "P-1"}],
        "tools": [EXAMPLES["tool"]],
        "limits": [
            {"measure": measure.value, "cap": "100", "currency": "EUR" if measure is Measure.COST else ""}
            for measure in Measure
        ],
        "gate": {"lease_seconds": 120, "renew_seconds": 30, "named_person": "Head of collections"},
        "windows": [{"window": window.value, "setting": "One worker, one label"} for window in Window],
        "complete_sections": [section.value for section in Section],
    }

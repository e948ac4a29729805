"""Contracts for the tests, built through the gates alone, so that no test starts from an impossible row."""

import itertools
from typing import Any

from contracts.gates.creating import create_contract
from contracts.gates.lifecycle import cancel, complete, leave_draft
from contracts.gates.people import create_team
from contracts.gates.rows import add_row
from contracts.models import Contract, Team
from contracts.rules.document import FORMAT, SCHEMA_VERSION, check_document
from contracts.rules.fingerprint import digest_bytes, fingerprint, operation_key
from contracts.rules.parts import PARTS
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Measure, Plane, Section
from contracts.rules.windows import Window
from tests import people

_numbers = itertools.count(1)
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
    },
    "checkpoint": {
        "checkpoint_id": "C-1",
        "attempt": "1",
        "durability": "sync",
        "next_step": "draft",
        "schema_version": "1",
        "inline_state": '{"photo": 3}',
        "committed_at": "2030-01-01T08:30Z",
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


def full_document(task_id: str = "", team: Team | None = None) -> dict[str, Any]:
    """Return a document in which every list is filled and every field of every row is given."""
    first = head(task_id, team)
    parameters = {"page": "label-1", "text": "Fired clay, about 500."}
    key = operation_key(first["task_id"], "publish", 1, "cms.publish", parameters)
    text = "Fired clay, about 500."
    operation = {
        "key": key,
        "object": "O-1",
        "tool": "cms.publish",
        "step": "publish",
        "round": 1,
        "parameters": parameters,
        "fingerprint": fingerprint(parameters),
        "target": "cms://pages/label-1",
        "expected": "one page",
        "state": "unknown",
        "generation": 2,
        "tries": 1,
        "response_sha256": C,
        "target_reference": "cms://pages/label-1/4",
        "reconciliation": {"path": "cms://pages", "who": "otto"},
        "intended_at": NEAR["start"],
        "sent_at": NEAR["end"],
        "settled_at": None,
    }
    approval = {
        "item_id": "I-1",
        "operation_key": key,
        "tool": "cms.publish",
        "parameters": parameters,
        "fingerprint": fingerprint(parameters),
        "draft": "L-1",
        "draft_version": "1",
        "draft_sha256": digest_bytes(text.encode()),
        "target": "cms://pages/label-1",
        "requester": "label-worker",
        "author": "rita",
        "last_editor": "olga",
        "policy_number": 1,
        "scope": "this_call",
        "expires_at": NEAR["done"],
        "task_deadline": DEADLINE,
        "reason": "The label is ready.",
        "preview": text,
        "asked_at": NEAR["ask"],
        "state": "approved",
        "decided_by": "carla",
        "decided_at": NEAR["ask"],
        "decision_reason": "Reads well.",
        "stale_member": "",
        "stale_was": "",
        "stale_now": "",
        "consumed_at": NEAR["ask"],
        "consumed_generation": 2,
    }
    return {
        **first,
        **complete_keys(),
        **_full_records(text),
        "revision": 7,
        "revised_at": NEAR["done"],
        "life": {
            "state": "paused",
            "generation": 2,
            "plan_digest": B,
            "cancelled_at": None,
            "cancelled_by": "",
            "cancel_reason": "",
            "completed_at": None,
            "archived_at": None,
        },
        "operations": [operation],
        "approvals": [approval],
        "votes": [
            {
                "item": "I-1",
                "decider": "carla",
                "decision": "approved",
                "reason": "Reads well.",
                "at": NEAR["ask"],
            }
        ],
    }


def _full_records(text: str) -> dict[str, Any]:
    attempt = {
        "number": 1,
        "attempt_id": "A-1",
        "generation": 1,
        "worker": "label-worker",
        "framework": "graphs",
        "framework_handle": "thread-9",
        "started_at": NEAR["start"],
        "lease_end": NEAR["end"],
        "by_hand": False,
        "renewed_at": NEAR["start"],
        "progressed_at": NEAR["start"],
        "ended_at": NEAR["end"],
        "end_reason": "lease_lapsed",
        "evidence": "logs://1",
        "note": "lost power",
    }
    second = {**attempt, "number": 2, "attempt_id": "A-2", "generation": 2, "by_hand": True}
    checkpoint = {
        "sequence": 1,
        "checkpoint_id": "C-1",
        "kind": "state",
        "attempt": 1,
        "generation": 1,
        "event_cursor": "e-4",
        "durability": "sync",
        "next_step": "publish",
        "schema_version": 2,
        "location": "s3://states/1",
        "inline_state": None,
        "sha256": A,
        "size_bytes": 4_096,
        "write_ms": 12,
        "committed_at": NEAR["start"],
        "rolled_back_at": None,
        "evidence": "logs://2",
        "note": "",
    }
    source = {**EXAMPLES["source"], "size_bytes": 120, "current": False, "note": "scan"}
    drawn = {
        "artefact_id": "L-1",
        "version_label": "1",
        "sha256": digest_bytes(text.encode()),
        "location": "",
        "inline_text": text,
        "size_bytes": len(text.encode()),
        "source": "P-1",
        "source_version": "2",
        "source_sha256": B,
        "author": "rita",
        "accepted_by": "carla",
        "accepted_at": NEAR["ask"],
        "current": True,
        "note": "",
    }
    return {
        "attempts": [attempt, second],
        "checkpoints": [
            checkpoint,
            {
                **checkpoint,
                "sequence": 2,
                "checkpoint_id": "C-2",
                "kind": "compaction",
                "location": "",
                "inline_state": {"photo": 3},
                "sha256": digest_bytes(b'{"photo":3}'),
                "size_bytes": 11,
            },
        ],
        "journal": [
            {
                "sequence": 1,
                "kind": "model_turn",
                "key": "draft-1",
                "attempt": 1,
                "state": "done",
                "result": {"text": text},
                "result_location": "",
                "result_sha256": "",
                "usage": {"tokens": "1200"},
            }
        ],
        "sources": [source, {**source, "version_label": "2", "sha256": B, "current": True}],
        "artefacts": [drawn],
        "objects": [
            {
                "object_id": "O-1",
                "source": "P-1",
                "source_version": "2",
                "source_sha256": B,
                "artefact": "L-1",
                "artefact_version": "1",
                "artefact_sha256": digest_bytes(text.encode()),
                "step": "publish",
                "state": "confirmed",
                "attempt": 2,
                "evidence": "cms://pages/label-1",
                "note": "",
                "settled_by": "carla",
                "settled_at": NEAR["ask"],
            }
        ],
        "tools": [
            {
                **EXAMPLES["tool"],
                "needs_approval": True,
                "key_supported": True,
                "key_memory_hours": 24,
                "same_key": "refuses",
                "concurrency": "one_per_object",
                "settle_seconds": 60,
                "compensation": "Take the page down.",
                "named_person": "Head of collections",
                "stale_owner": "target_checks_generation",
                "note": "",
            }
        ],
        "policies": [
            {
                "number": 1,
                "quorum": 1,
                "author_may_decide": False,
                "default_expiry_hours": 12,
                "longest_expiry_hours": 48,
                "login_fresh_seconds": 300,
                "second_factor": True,
                "on_timeout": "pass_on",
                "pass_on_to": "Head of collections",
                "pass_on_hours": 4,
                "note": "",
            }
        ],
        "usage": [
            {
                "entry_id": "u-1",
                "measure": "cost",
                "amount": "1.25",
                "attempt": 1,
                "step": "draft",
                "used_at": NEAR["start"],
                "evidence": "ledger://1",
                "note": "",
            }
        ],
    }

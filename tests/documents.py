"""Whole documents for the tests: every list filled, every field of every row given."""

from typing import Any

from contracts.models import Team
from contracts.rules.fingerprint import digest_bytes, fingerprint, operation_key
from tests.builders import DEADLINE, EXAMPLES, NEAR, A, B, C, complete_keys, head


def full_document(task_id: str = "", team: Team | None = None) -> dict[str, Any]:
    """Return a document in which every list is filled and every field of every row is given."""
    first = head(task_id, team)
    parameters = {"page": "label-1", "text": "Fired clay, about 500."}
    key = operation_key(first["task_id"], "publish", 1, "cms.publish", parameters)
    text = "Fired clay, about 500."
    return {
        **first,
        **complete_keys(),
        **_attempt_records(),
        **_thing_records(text),
        **_other_records(),
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
        "operations": [_operation(key, parameters)],
        "approvals": [_approval(key, parameters, text)],
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


def _operation(key: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
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


def _approval(key: str, parameters: dict[str, Any], text: str) -> dict[str, Any]:
    return {
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
        "passed_from": "",
        "passed_to": "",
    }


def _attempt_records() -> dict[str, Any]:
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
                "result": {"text": "Fired clay."},
                "result_location": "",
                "result_sha256": "",
                "usage": {"tokens": "1200"},
            }
        ],
    }


def _thing_records(text: str) -> dict[str, Any]:
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
    }


def _other_records() -> dict[str, Any]:
    return {
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

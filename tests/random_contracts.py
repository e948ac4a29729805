"""Contracts of every kind for the properties: made by a document through the gate, then put into states by hand.

What no gate leads to is meant: the decision is asked of rows as they stand, however they came to stand so.
"""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from contracts.gates.beats import database_now
from contracts.models import (
    Approval,
    Artefact,
    Attempt,
    Checkpoint,
    Contract,
    Operation,
    Source,
)
from contracts.rules.fingerprint import digest_bytes, fingerprint, operation_key
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import Measure, StaleOwner
from tests import builders, people

STEPS = ("draft", "check", "publish", "tag")
WORKERS = ("label-writer", "worker-2")
PAUSED, COMPLETED = ContractState.PAUSED, ContractState.COMPLETED
STATES = [PAUSED, PAUSED, PAUSED, *(state for state in ContractState if state is not COMPLETED)]


def a_random_contract(chance: Random) -> Contract:
    """Return a contract whose every row is chosen by `chance`."""
    team = builders.a_team()
    people.curator(team)  # whose votes count
    document = _Document(chance)
    contract = builders.a_draft(team, **document.keys())
    _put_about(contract, chance)
    contract.refresh_from_db()
    return contract


class _Document:
    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.task_id = builders.a_task_id()
        self.attempts = [self._attempt(number) for number in range(1, chance.randint(1, 4))]
        self.sources = self._versions("P", "source_id", location="archive://box")
        self.artefacts = [
            row | self._reference("source", self.sources)
            for row in self._versions("L", "artefact_id", location="s3://drafts")
        ]
        usual = [ObjectState.PENDING, ObjectState.CONFIRMED, ObjectState.SKIPPED, ObjectState.IN_PROGRESS]
        self.object_states = chance.choice((usual, usual, list(ObjectState)))
        self.many = chance.random() < 0.15  # more than come along to a decision
        self.objects = [self._object(number) for number in range(60 if self.many else chance.randint(0, 7))]
        unsent = [state for state in OperationState if state is not OperationState.SENDING]
        known = [state for state in unsent if state is not OperationState.UNKNOWN]
        self.operation_states = chance.choice((known, known, unsent))
        self.operations = self._operations()
        self.policies = [{"number": number} for number in range(1, chance.randint(1, 3))]
        self.approvals = [
            self._item(operation, number)
            for operation in self.operations
            for number in range(chance.choice((0, 0, 1, 1, 2)))
        ]

    def keys(self) -> dict[str, Any]:
        chance, generation = self.chance, len(self.attempts) * 2
        return builders.complete_keys() | {
            "task_id": self.task_id,
            "life": {"state": "draft", "generation": generation},
            "attempts": self.attempts,
            "checkpoints": self._checkpoints(),
            "journal": self._journal(),
            "sources": self.sources,
            "artefacts": self.artefacts,
            "objects": self.objects,
            "tools": _tools(chance),
            "operations": self.operations,
            "policies": self.policies,
            "approvals": self.approvals,
            "votes": [
                {"item": row["item_id"], "decider": "carla", "decision": "approved", "at": builders.NEAR["ask"]}
                for row in self.approvals
                if chance.random() < 0.5
            ],
            "limits": [
                {"measure": measure.value, "cap": chance.choice((None, "2", "100", "100", "100")),
                 "currency": "EUR" if measure is Measure.COST else ""}
                for measure in Measure
            ],
            "usage": self._usage(),
        }  # fmt: skip

    def _attempt(self, number: int) -> dict[str, Any]:
        return {
            "number": number,
            "attempt_id": f"A-{number}",
            "generation": number * 2 - self.chance.randint(0, 1),
            "worker": self.chance.choice(WORKERS),
            "started_at": builders.NEAR["start"],
            "lease_end": self.chance.choice((None, builders.NEAR["end"])),
            "by_hand": self.chance.random() < 0.3,
            "ended_at": builders.NEAR["end"],
            "end_reason": self.chance.choice(("released", "lease_lapsed")),
        }

    def _checkpoints(self) -> list[dict[str, Any]]:
        if not self.attempts:
            return []
        sequences = sorted(self.chance.sample(range(1, 9), self.chance.randint(0, 6)))
        if self.chance.random() < 0.7:
            sequences = list(range(1, len(sequences) + 1))
        numbers = [self.chance.choice(self.attempts)["number"] for _ in sequences]
        if self.chance.random() < 0.7:
            numbers.sort()
        return [self._checkpoint(*pair) for pair in zip(sequences, numbers, strict=True)]

    def _checkpoint(self, sequence: int, number: int) -> dict[str, Any]:
        inline = {"inline_state": {"photo": sequence, "share": 0.5}}
        located = {"location": "s3://states/1", "sha256": builders.A, "size_bytes": 10}
        return {
            "sequence": sequence,
            "checkpoint_id": f"C-{sequence}",
            "attempt": number,
            "durability": self.chance.choice(("sync", "async", "memory", "event_history")),
            "next_step": self.chance.choice(STEPS),
            "schema_version": self.chance.choice((1, 2, 2, 2, 2, 2, 2, 3)),
            "committed_at": builders.NEAR["start"],
            **self.chance.choice((inline, located)),
        }

    def _journal(self) -> list[dict[str, Any]]:
        steps = self.chance.sample(STEPS, self.chance.randint(0, 4)) if self.attempts else []
        return [
            {
                "sequence": sequence,
                "kind": self.chance.choice(("tool_call", "model_turn", "decision")),
                "key": key,
                "attempt": self.chance.choice(self.attempts)["number"],
                "state": self.chance.choice(("started", "done")),
            }
            for sequence, key in enumerate(steps, 1)
        ]

    def _versions(self, letter: str, name: str, **more: str) -> list[dict[str, Any]]:
        rows = []
        for number in range(1, self.chance.randint(1, 4)):
            labels = ("1", "2")[: self.chance.randint(1, 2)]
            for label in labels:
                sha256 = digest_bytes(f"{letter}{number}{label}".encode())
                known = {name: f"{letter}-{number}", "version_label": label, "sha256": sha256}
                rows.append(known | more | {"current": label == labels[-1]})
        return rows

    def _reference(self, name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
        if not rows or self.chance.random() < 0.3:
            return {}
        current = [row for row in rows if row["current"]]
        row = self.chance.choice(current if self.chance.random() < 0.8 else rows)
        return {
            name: row[f"{name}_id"],
            f"{name}_version": row["version_label"],
            f"{name}_sha256": row["sha256"],
        }

    def _object(self, number: int) -> dict[str, Any]:
        state = self.chance.choice(self.object_states)
        return {
            "object_id": f"O-{number}",
            "state": state.value,
            "note": "Not on show.",
            "settled_by": "carla",
            "settled_at": builders.NEAR["done"],
            **self._reference("source", self.sources),
            **self._reference("artefact", self.artefacts),
        }

    def _operations(self) -> list[dict[str, Any]]:
        slots = [
            (object_id, step, tool)
            for object_id in ("", *(row["object_id"] for row in self.objects))
            for step in STEPS
            for tool in ("cms.publish", "dam.tag")
        ]
        chosen = self.chance.sample(
            slots, 60 if self.many else min(len(slots), self.chance.choice((0, 1, 2, 5, 8)))
        )
        return [self._operation(*slot) for slot in chosen]

    def _operation(self, object_id: str, step: str, tool: str) -> dict[str, Any]:
        chance = self.chance
        parameters = {"page": object_id or "index", "size": chance.choice((1, 2.5, "x"))}
        state = chance.choice(self.operation_states)
        state = state if self.attempts else OperationState.PENDING
        sent = state not in (OperationState.PENDING, OperationState.ABANDONED)
        return {
            "key": operation_key(self.task_id, step, 1, tool, parameters),
            "object": object_id,
            "tool": tool,
            "step": step,
            "round": 1,
            "parameters": parameters,
            "fingerprint": fingerprint(parameters),
            "target": "cms://pages/1",
            "expected": "one page",
            "state": state.value,
            "generation": chance.choice(self.attempts)["generation"] if sent else None,
            "tries": chance.choice((0, 1, 2)),
            "intended_at": chance.choice((builders.NEAR["start"], builders.NEAR["end"])),
            "sent_at": builders.NEAR["end"] if sent else None,
            "settled_at": chance.choice((None, builders.NEAR["ask"])),
            "reconciliation": chance.choice((None, self._record(), {"path": "cms://pages"})),
        }

    def _record(self) -> dict[str, Any]:
        return {
            "answer": self.chance.choice(("found", "absent", "unclear", "perhaps")),
            "asked_at": self.chance.choice((builders.NEAR["done"], builders.NEAR["start"], "soon")),
            "generation": self.chance.choice((None, 1, 2, 4)),
            "announced_generation": self.chance.choice((None, 7)),
            "announced_at": builders.NEAR["ask"],
            "certified_at": self.chance.choice((None, builders.NEAR["ask"])),
            "count": self.chance.choice((None, 1, 2)),
        }

    def _item(self, operation: dict[str, Any], number: int) -> dict[str, Any]:
        state = self.chance.choice(("approved", "rejected", "withdrawn", "expired", "stale"))
        decided = {"decided_by": "carla", "decided_at": builders.NEAR["start"], "decision_reason": "Seen."}
        draft = self._reference("artefact", self.artefacts)
        named = {
            "draft": draft.get("artefact", ""),
            "draft_version": draft.get("artefact_version", ""),
            "draft_sha256": draft.get("artefact_sha256", ""),
        }
        return {
            "item_id": f"I-{operation['key'][:20]}-{number}",
            "operation_key": operation["key"],
            "tool": operation["tool"],
            "parameters": operation["parameters"],
            "fingerprint": operation["fingerprint"],
            "target": self.chance.choice((operation["target"],) * 3 + ("cms://elsewhere",)),
            "requester": "label-writer",
            "policy_number": max(1, self.chance.choice((len(self.policies), 1))),
            "expires_at": self.chance.choice(
                (builders.NEAR["ask"], builders.NEAR["done"], builders.DEADLINE)
            ),
            "task_deadline": builders.DEADLINE,
            "reason": "Ready.",
            "asked_at": self.chance.choice((builders.NEAR["start"], builders.NEAR["end"])),
            "state": state,
            "stale_member": "target" if state == "stale" else "",
            **(decided if state in ("approved", "rejected") else {}),
            **named,
        }

    def _usage(self) -> list[dict[str, Any]]:
        return [
            {
                "entry_id": f"u-{number}",
                "measure": self.chance.choice(list(Measure)).value,
                "amount": self.chance.choice(("0", "0.5", "1", "2.25", "95")),
                "step": self.chance.choice(("", *STEPS)),
                "used_at": builders.NEAR["start"],
                "evidence": "ledger://1",
            }
            for number in range(self.chance.randint(0, 6))
        ]


def _tools(chance: Random) -> list[dict[str, Any]]:
    return [
        {
            "tool": tool,
            "effect": chance.choice(("non_idempotent_write", "idempotent_write", "read_only")),
            "needs_approval": chance.random() < 0.5,
            "key_supported": (supported := chance.random() < 0.5),
            "key_memory_hours": 24 if supported and chance.random() < 0.8 else None,
            "query_path": chance.choice(("cms://pages", "cms://pages", "")),
            "settle_seconds": chance.choice((None, 60)),
            "named_person": "Head of collections",
            "stale_owner": chance.choice(list(StaleOwner)).value,
        }
        for tool in ("cms.publish", "dam.tag")
    ]


def _put_about(contract: Contract, chance: Random) -> None:
    """Put rows into states to which only work leads, and a few into such as nothing should lead to."""
    now = database_now()
    state = chance.choice(STATES)
    ended = {"cancelled_at": now, "cancelled_by": "otto", "cancel_reason": "Called off."}
    columns = ended if state is ContractState.CANCELLED else {}
    deadline = chance.choice((contract.deadline,) * 5 + (now + timedelta(days=900),))
    Contract.objects.filter(pk=contract.pk).update(state=state.value, deadline=deadline, **columns)
    _let_somebody_work(contract, chance, now)
    for item in Approval.objects.of(contract.pk):
        _let_it_count(item, chance, now)
    for model in (Source, Artefact):
        if chance.random() < 0.4:
            _some(model.objects.of(contract.pk), chance).update(current=False)
    checkpoints = Checkpoint.objects.of(contract.pk)
    for share, change in (
        (0.3, {"rolled_back_at": now}),
        (0.1, {"sha256": builders.C}),
        (0.1, {"generation": 7}),
    ):
        if chance.random() < share:
            _some(checkpoints, chance).update(**change)
    if chance.random() < 0.1:
        _some(Operation.objects.of(contract.pk), chance).update(parameters={"page": "another"})


def _let_somebody_work(contract: Contract, chance: Random, now: datetime) -> None:
    newest = Attempt.objects.of(contract.pk).last()
    if newest is None or chance.random() < 0.5:
        return
    lease_end = now + timedelta(minutes=chance.choice((-5, 5)))
    Attempt.objects.filter(pk=newest.pk).update(ended_at=None, end_reason="", lease_end=lease_end)
    sent = _some(Operation.objects.of(contract.pk), chance)
    sent.update(state=OperationState.SENDING.value, generation=newest.generation, sent_at=now)


def _let_it_count(item: Approval, chance: Random, now: datetime) -> None:
    """Undo what an import makes of decisions: here they were made in this very workbench."""
    waiting = Approval.objects.filter(operation_id=item.operation_id, state=ApprovalState.PENDING.value)
    if item.stale_member == "origin":
        item.state, item.stale_member = ApprovalState.APPROVED.value, ""
        if chance.random() < 0.3 and item.contract.generation:
            item.consumed_at, item.consumed_generation = now, item.contract.generation
    elif item.state == ApprovalState.WITHDRAWN and not waiting.exists():
        item.state = ApprovalState.PENDING.value
    item.save()


def _some(rows: Any, chance: Random) -> Any:
    """Return about a third of the rows, as a set that can be updated."""
    chosen = [key for key in rows.values_list("pk", flat=True) if chance.random() < 0.34]
    return rows.model.objects.filter(pk__in=chosen)

"""A contract with a past: four attempts over two days, what they left behind, and requests for decisions."""

from datetime import datetime, timedelta
from typing import Any

from contracts.gates.beats import database_now
from contracts.models import Approval, Attempt, Checkpoint, Contract, Operation, ToolContract
from tests import builders, people

HOURS = timedelta(hours=1)
# Number → (begins, ends, lease ends; hours ago), why it ended, whether people recorded it.
ATTEMPTS = {
    1: (50.0, 47.0, 47.0, "released", True),
    2: (26.0, 22.5, 23.0, "lease_lapsed", False),
    3: (22.5, 20.0, 19.9, "taken_over", False),
    4: (3.0, None, 0.4, "", False),
}
# (generation or none, state, intended, sent, settled; hours ago)
WRITES = (
    (1, "confirmed", 49.0, 48.9, 48.8),
    (2, "confirmed", 25.5, 25.4, 25.3),
    (2, "rejected", 24.8, 24.7, 24.6),
    (2, "unknown", 23.4, 23.3, 22.5),
    (3, "confirmed", 22.0, 21.9, 21.8),
    (4, "sending", 1.2, 0.6, None),
    (None, "pending", 0.9, None, None),
    (None, "abandoned", 24.0, None, 21.0),
)
# (state, asked, decided, used, ended; hours ago)
REQUESTS = (
    ("approved", 25.5, 25.45, 25.4, None),
    ("rejected", 24.9, 24.75, None, None),
    ("stale", 23.8, 23.5, None, 22.7),
    ("withdrawn", 22.3, None, None, 21.2),
    ("approved", 22.2, 22.0, 21.9, None),
    ("expired", 21.0, None, None, 5.0),
    ("approved", 1.2, 0.7, 0.6, None),
    ("pending", 0.9, None, None, None),
)


def a_history(team: Any, task_id: str = "history", *, checkpoints: int = 40) -> Contract:
    """Return the contract; its moments are counted back from the database's clock, and written by hand."""
    objects = [{"object_id": f"case-{n}", "source": "P-1"} for n in range(len(WRITES))]
    contract = builders.a_paused(team, people.owner(team), task_id=task_id, objects=objects)
    now = database_now()
    _attempts(contract, now)
    _checkpoints(contract, checkpoints)
    operations = _writes(contract, now)
    _requests(contract, operations, now)
    return contract


def _ago(now: datetime, hours: float | None) -> Any:
    return None if hours is None else now - hours * HOURS


def _attempts(contract: Contract, now: datetime) -> None:
    for number, (begun, ended, lease, reason, by_hand) in ATTEMPTS.items():
        Attempt.objects.create(
            contract=contract, number=number, attempt_id=f"attempt-{number}", generation=number,
            worker="label-writer", started_at=_ago(now, begun), lease_end=_ago(now, lease),
            ended_at=_ago(now, ended), end_reason=reason, by_hand=by_hand, evidence="logs://1",
        )  # fmt: skip


def _checkpoints(contract: Contract, count: int) -> None:
    """Spread checkpoints over the leases, the last of the second attempt rolled back."""
    attempts: list[Any] = list(Attempt.objects.of(contract.pk))
    for number in range(count):
        attempt = attempts[number * len(attempts) // count]
        lease = attempt.lease_end - attempt.started_at
        at = attempt.started_at + lease * ((number * 7 % 19 + 1) / 21)
        Checkpoint.objects.create(
            contract=contract, checkpoint_id=f"cp-{number:04}", sequence=number + 1, attempt=attempt,
            generation=attempt.generation, durability="sync", next_step="draft", schema_version=1,
            inline_state={}, sha256="a" * 64, size_bytes=2, committed_at=at,
            rolled_back_at=attempt.ended_at if number in (18, 19) else None,
        )  # fmt: skip


def _writes(contract: Contract, now: datetime) -> list[Operation]:
    tool = ToolContract.objects.get(contract=contract)
    return [
        Operation.objects.create(
            contract=contract, tool=tool, step=f"publish-{n}", parameters={"n": n}, target="cms:x",
            expected="one", key=f"{n + 1:064x}", fingerprint=f"{n + 1:064x}", state=state, generation=generation,
            intended_at=_ago(now, begun), sent_at=_ago(now, sent), settled_at=_ago(now, settled),
        )
        for n, (generation, state, begun, sent, settled) in enumerate(WRITES)
    ]  # fmt: skip


def _requests(contract: Contract, operations: list[Operation], now: datetime) -> None:
    for number, (state, asked, decided, used, ended) in enumerate(REQUESTS):
        operation = operations[number]
        Approval.objects.create(
            contract=contract, item_id=f"item-{number}", operation=operation, operation_key=operation.key,
            tool="cms.publish", parameters={}, fingerprint=operation.fingerprint, target="cms:x",
            requester="label-writer", policy_number=1, expires_at=now + 4 * HOURS, task_deadline=now + 90 * HOURS,
            reason="It is ready.", asked_at=_ago(now, asked), state=state,
            decided_by="carla" if decided else "", decided_at=_ago(now, decided),
            decision_reason="Not yet." if decided else "", consumed_at=_ago(now, used),
            consumed_generation=4 if used else None, ended_at=_ago(now, ended),
            stale_member="draft" if state == "stale" else "",
        )  # fmt: skip

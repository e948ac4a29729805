"""Single rows of a contract as the resume decision sees them; from the database and from a document alike.

Each function takes the facts of one row: names as in its part, moments and amounts as values, not as text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from contracts.rules.approving import Bound, Difference, Item, Policy, first_difference, read_policy
from contracts.rules.fingerprint import canonical, digest_bytes, fingerprint, operation_key
from contracts.rules.repeating import Answer, Asked, Operation, Tool
from contracts.rules.resume_facts import Begun, Fault, FaultKind, Held, Holder, Point, Task
from contracts.rules.rows import Values
from contracts.rules.states import ContractState, OperationState
from contracts.rules.vocabulary import Durability, Effect, StaleOwner, StepKind

# Facts that the database keeps as references: empty rather than absent here.
TEXTS = frozenset({"object", "draft", "draft_version", "draft_sha256"})


def read_task(task_id: str, identity: Values, life: Values, gate: Values) -> Task:
    """Return the task of the facts of identity, life and owner gate."""
    return Task(
        task_id=task_id,
        state=ContractState(life["state"]),
        deadline=identity["deadline"],
        generation=life["generation"],
        workflow=identity["workflow_name"],
        workflow_version=identity["workflow_version"],
        schema_version=identity["state_schema_version"],
        readable=frozenset(identity["readable_schema_versions"]),
        agent_version=identity["agent_version"],
        named_person=gate["named_person"],
        archived=life["archived_at"] is not None,
        cancelled_by=life["cancelled_by"],
        cancel_reason=life["cancel_reason"],
    )


def read_newest_policy(policy: Values | None) -> Policy | None:
    """Return the policy of the facts of its newest version; None if there is none or it does not parse."""
    stated = None if policy is None else {name: value for name, value in policy.items() if value is not None}
    return read_policy(stated)


def read_holder(attempt: Values) -> Holder:
    """Return the holder of the facts of an attempt that has not ended."""
    names = ("number", "attempt_id", "generation", "worker", "lease_end")
    return Holder(**{name: attempt[name] for name in names})


def read_point(checkpoint: Values) -> Point:
    """Return the point to go on from of the facts of a checkpoint."""
    names = ("sequence", "checkpoint_id", "next_step", "schema_version", "location")
    same = {name: checkpoint[name] for name in names}
    return Point(durability=Durability(checkpoint["durability"]), **same)


def order_faults(checkpoints: Iterable[Values], attempts: Iterable[Values]) -> Iterator[Fault]:
    """Yield what is wrong with numbers and generations: `checkpoints` in their order, `attempts` those they name.

    The server numbers the checkpoints of workers without a gap; people remove some of their own while drafting.
    """
    by_number = {attempt["number"]: attempt for attempt in attempts}
    last, highest = None, 0
    for row in checkpoints:
        shown, attempt = _shown(row), by_number.get(row["attempt"])
        generation = row["generation"] or 0
        if attempt is None or generation not in (0, attempt["generation"]):
            yield Fault(FaultKind.NOT_GRANTED, "checkpoint", shown)
        if 0 < generation < highest:
            yield Fault(FaultKind.FALLS, "checkpoint", shown)
        if last is not None and row["sequence"] != last + 1:
            by_hand = attempt is None or attempt["by_hand"]
            kind = FaultKind.MISSING_BY_HAND if by_hand else FaultKind.MISSING
            yield Fault(kind, "checkpoint", shown)
        last, highest = row["sequence"], max(highest, generation)


def state_faults(checkpoints: Iterable[Values]) -> Iterator[Fault]:
    """Yield the checkpoints whose inline state is not the one their checksum was computed from."""
    for row in checkpoints:
        if row["inline_state"] is not None and not _is_whole(row):
            yield Fault(FaultKind.CHECKSUM, "checkpoint", _shown(row))


def _shown(checkpoint: Values) -> str:
    return f"{checkpoint['sequence']} · {checkpoint['checkpoint_id']}"


def _is_whole(checkpoint: Values) -> bool:
    content = canonical(checkpoint["inline_state"])
    recorded = (checkpoint["sha256"], checkpoint["size_bytes"])
    return recorded == (digest_bytes(content), len(content))


def key_faults(task_id: str, operations: Iterable[Values]) -> Iterator[Fault]:
    """Yield the operations whose fingerprint or key is not that of their call."""
    for row in operations:
        key = operation_key(task_id, row["step"], row["round"], row["tool"], row["parameters"])
        if (row["key"], row["fingerprint"]) != (key, fingerprint(row["parameters"])):
            yield Fault(FaultKind.KEY, "operation", read_operation(row, None).shown)


def read_bound(item: Values) -> Bound:
    """Return the tuple of the facts of an approval item."""
    return Bound(**{name: _fact(item, name) for name in Bound.__dataclass_fields__})


def changed_since(
    item: Values, operation: Values, draft: Values, *, policy_number: int, deadline: datetime | None
) -> Difference | None:
    """Return what an item is bound to and is no longer so; `draft`: the current version of its draft, or empty."""
    was = read_bound(item)
    now = replace(
        was,
        operation_key=operation["key"],
        tool=operation["tool"],
        fingerprint=operation["fingerprint"],
        draft=draft.get("artefact_id", ""),
        draft_version=draft.get("version_label", ""),
        draft_sha256=draft.get("sha256", ""),
        target=operation["target"],
        policy_number=policy_number,
        task_deadline=deadline,
    )
    return first_difference(was, now)


def read_held(item: Values, present: Difference | None, *, deciders_still_may: bool = True) -> Held:
    """Return the item of its facts, with what changed since it was asked for."""
    facts = Item(
        state=item["state"],
        bound=read_bound(item),
        author=item["author"],
        last_editor=item["last_editor"],
        expires_at=item["expires_at"],
        consumed=item["consumed_at"] is not None,
        decided_by=item["decided_by"],
        passed_to=item["passed_to"],
    )
    return Held(item["item_id"], facts, present, deciders_still_may, item["stale_member"])


def read_operation(row: Values, attempt: Values | None) -> Operation:
    """Return the operation of its facts; `attempt` is the one of the generation that sent it.

    The report (`settled_at`, stored for unknown too) or the end of the sender's attempt bounds the last sending.
    """
    ended = (attempt["ended_at"] or attempt["lease_end"]) if attempt else None
    names = ("key", "tool", "step", "intended_at", "object", "round", "generation", "tries", "sent_at")
    return Operation(
        state=OperationState(row["state"]),
        last_send=row["settled_at"] or ended,
        asked=read_asked(row["reconciliation"]),
        **{name: _fact(row, name) for name in names},
    )


def _fact(row: Values, name: str) -> Any:
    return row[name] or "" if name in TEXTS else row[name]


def read_begun(step: Values, writes: Iterable[tuple[str, str]], effects: Mapping[str, Effect]) -> Begun:
    """Return a step found begun; `writes`: tool and state of its operations, `effects`: tool → its effect."""
    writes = list(writes)
    used = {effects[tool] for tool, _ in writes}
    effect = used.pop() if len(used) == 1 else None
    return Begun(step["key"], StepKind(step["kind"]), effect, distinct(state for _, state in writes))


def distinct(states: Iterable[str]) -> tuple[OperationState, ...]:
    """Return which states there are among those of many operations, each once, in the order of the table."""
    present = set(states)
    return tuple(state for state in OperationState if state in present)


def read_tool(facts: Mapping[str, Any]) -> Tool:
    """Return the tool contract of these facts (names as in the part `tool`)."""
    same = {name: facts[name] for name in Tool.__dataclass_fields__ if name in facts}
    return Tool(
        **{
            **same,
            "name": facts["tool"],
            "effect": Effect(facts["effect"]),
            "stale_owner": StaleOwner(facts["stale_owner"]),
        }
    )


def read_asked(record: Any) -> Asked | None:
    """Return the reconciliation record of an operation, or None if it says nothing that can be relied on.

    JSON keys: answer, asked_at, generation, announced_generation, announced_at, certified_at, count; further ones
    (path, reference, asked_by …) are evidence for people.
    """
    if not isinstance(record, Mapping) or record.get("answer") not in list(Answer):
        return None
    at = _moment(record.get("asked_at"))
    if at is None:
        return None
    return Asked(
        answer=Answer(record["answer"]),
        at=at,
        generation=_number(record.get("generation")),
        announced=_number(record.get("announced_generation")),
        announced_at=_moment(record.get("announced_at")),
        certified_at=_moment(record.get("certified_at")),
        count=_number(record.get("count")),
    )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo is not None else None

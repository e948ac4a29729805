"""Reads across the tables of one contract: how far it is filled in, and the digest of its plan."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.db import connection

from contracts.models.approvals import Approval, ApprovalPolicy, ApprovalVote
from contracts.models.checkpoints import Checkpoint, JournalStep
from contracts.models.content import ContentRow
from contracts.models.identity import Contract, PlaneRow, SectionMark
from contracts.models.limits import Limit, UsageEntry
from contracts.models.objects import WorkObject
from contracts.models.operations import Operation, ToolContract
from contracts.models.owner import Attempt, OwnerGate
from contracts.models.sources import Artefact, Source
from contracts.models.windows import WindowRow
from contracts.rules.completeness import Progress
from contracts.rules.fingerprint import canonical
from contracts.rules.parts import PARTS

# The name of a part of the contract → the table that holds its rows, in an order in which rows may refer
# to earlier ones.
ROWS: dict[str, type[ContentRow]] = {
    "plane": PlaneRow,
    "gate": OwnerGate,
    "attempt": Attempt,
    "checkpoint": Checkpoint,
    "step": JournalStep,
    "source": Source,
    "artefact": Artefact,
    "object": WorkObject,
    "tool": ToolContract,
    "operation": Operation,
    "policy": ApprovalPolicy,
    "approval": Approval,
    "vote": ApprovalVote,
    "limit": Limit,
    "usage": UsageEntry,
    "window": WindowRow,
}
JUDGED = ("plane", "tool", "limit", "gate", "window")  # parts whose every row the rules look at
RESULTS = frozenset(WindowRow.RESULTS)


def gather_progress(contract: Contract) -> Progress:
    """Return what the completeness rules need, by one query whatever the content."""
    return gather_all_progress([contract])[contract.pk]


def gather_all_progress(contracts: Sequence[Contract]) -> dict[int, Progress]:
    """Return what the completeness rules need of each contract, by its primary key and by one query for all."""
    found = _found([contract.pk for contract in contracts]) if contracts else {}
    return {contract.pk: _progress(contract, found[contract.pk]) for contract in contracts}


def _progress(contract: Contract, found: dict[str, list[str]]) -> Progress:
    present = found["present"]
    touched = {name for name in present if not PARTS[name].fixed}.union(found["touched"])
    if contract.version > 1:
        touched.add("identity")
    return Progress(
        identity=contract.facts(),
        rows={name: _rows(ROWS[name], found[name]) for name in JUDGED},
        counts=dict.fromkeys(present, 1),
        touched=frozenset(touched),
        marked=frozenset(found["marked"]),
    )


def _rows(model: type[ContentRow], texts: Iterable[str]) -> list[dict[str, Any]]:
    """Return the facts of rows told as JSON by PostgreSQL, in the order of the model."""
    rows = []
    for text in texts:
        columns = json.loads(text, parse_float=Decimal)
        fields = [field for field in model._meta.concrete_fields if field.column in columns]
        values = [field.to_python(columns[field.column]) for field in fields]
        rows.append(model.from_db(None, [field.attname for field in fields], values))
    rows.sort(key=attrgetter(*model.ORDER))
    return [row.facts() for row in rows]


def plan_digest(contract: Contract) -> str:
    """Return SHA-256 over the definition: identity, plan parts without results, ids of sources and objects."""
    digest = hashlib.sha256(canonical({"task_id": contract.task_id, "identity": contract.facts()}))
    for line in _plan_lines(contract.pk):
        digest.update(canonical(line))
    return digest.hexdigest()


def _plan_lines(contract_id: int) -> Iterator[list[Any]]:
    for name, model in ROWS.items():
        if PARTS[name].plan:
            for facts in model.objects.of(contract_id).stream_facts():
                yield [name, {k: v for k, v in facts.items() if name != "window" or k not in RESULTS}]
    for source in (
        Source.objects.of(contract_id).values_list("source_id", "version_label", "sha256").iterator()
    ):
        yield ["source", list(source)]
    for object_id in WorkObject.objects.of(contract_id).values_list("object_id", flat=True).iterator():
        yield ["object", object_id]


def _found(contract_ids: list[int]) -> dict[int, dict[str, list[str]]]:
    """Return what is `present`, `touched` and `marked` in each contract, and of each judged part its rows as JSON.

    Parts that have any row; fixed parts with a row that was stored again after the contract was made; sections
    that somebody marked as complete.
    """
    fixed = [name for name in ROWS if PARTS[name].fixed]
    pieces = [_exists("present", name, "TRUE") for name in ROWS]
    pieces += [_exists("touched", name, "version > 1") for name in fixed]
    pieces += [_whole(name) for name in JUDGED]
    marks = SectionMark._meta.db_table
    pieces.append(f"SELECT 'marked', section FROM {marks} WHERE contract_id = asked.id AND complete")  # noqa: S608  # own name
    kinds = ("present", "touched", "marked", *JUDGED)
    found: dict[int, dict[str, list[str]]] = {pk: {kind: [] for kind in kinds} for pk in contract_ids}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT asked.id, kind, told FROM unnest(%s::bigint[]) AS asked (id) "  # noqa: S608  # own names
            f"CROSS JOIN LATERAL ({' UNION ALL '.join(pieces)}) AS found (kind, told)",
            [contract_ids],
        )
        for contract_id, kind, told in cursor.fetchall():
            found[contract_id][kind].append(told)
    return found


def _whole(name: str) -> str:
    table = ROWS[name]._meta.db_table
    return f"SELECT '{name}', to_jsonb(kept)::text FROM {table} kept WHERE contract_id = asked.id"  # noqa: S608  # own names


def _exists(kind: str, name: str, condition: str) -> str:
    return (
        f"SELECT '{kind}', '{name}' WHERE EXISTS (SELECT 1 FROM {ROWS[name]._meta.db_table} "  # noqa: S608  # own names
        f"WHERE contract_id = asked.id AND {condition})"
    )

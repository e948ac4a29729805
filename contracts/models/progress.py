"""Reads across the tables of one contract: how far it is filled in, and the digest of its plan."""

import hashlib
from collections.abc import Iterator
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
    """Return what the completeness rules need; the number of queries does not depend on the content."""
    rows = {name: [row.facts() for row in ROWS[name].objects.of(contract.pk)] for name in JUDGED}
    marked = SectionMark.objects.filter(contract=contract, complete=True).values_list("section", flat=True)
    present = _present(contract.pk)
    touched = {name for name in present if not PARTS[name].fixed}
    touched |= _touched(contract.pk)
    if contract.version > 1:
        touched.add("identity")
    return Progress(
        identity=contract.facts(),
        rows=rows,
        counts=dict.fromkeys(present, 1),
        touched=frozenset(touched),
        marked=frozenset(marked),
    )


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


def _present(contract_id: int) -> set[str]:
    """Return the parts that have any row."""
    return _which(contract_id, dict.fromkeys(ROWS, "TRUE"))


def _touched(contract_id: int) -> set[str]:
    """Return the fixed parts with a row that was stored again after the contract was made."""
    return _which(
        contract_id, {name: "version > 1" for name, part in PARTS.items() if part.fixed and name in ROWS}
    )


def _which(contract_id: int, conditions: dict[str, str]) -> set[str]:
    pieces = [
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {ROWS[name]._meta.db_table} "  # noqa: S608  # own names
        f"WHERE contract_id = %s AND {condition})"
        for name, condition in conditions.items()
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(pieces), [contract_id] * len(pieces))
        return {name for (name,) in cursor.fetchall()}

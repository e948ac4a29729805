"""The rows that a resume decision looks at; each function is one query, and reads no more for a longer contract.

That needs indexes of what is not settled: of steps `started`, of sources and artefacts not current, of usage per
step, and of operations by state in the order of the ledger. Where one is missing the query gives the same answer
and reads what is settled too: with none of them a hundred thousand objects take over three times as long as
a hundred.
"""

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import OuterRef, Q, Subquery

from contracts.models.approvals import Approval, ApprovalPolicy, ApprovalVote
from contracts.models.checkpoints import Checkpoint, JournalStep
from contracts.models.identity import PlaneRow
from contracts.models.limits import Limit, UsageEntry
from contracts.models.operations import ToolContract
from contracts.models.owner import Attempt, OwnerGate
from contracts.models.sources import Artefact
from contracts.models.teams import people_with
from contracts.rules.limiting import NOTHING, PER_STEP
from contracts.rules.resume_facts import SAMPLE
from contracts.rules.resume_samples import LOOKED_BACK
from contracts.rules.rows import Values
from contracts.rules.states import ApprovalState, StepState
from contracts.rules.vocabulary import Measure, Right

TOTALS = tuple(measure.value for measure in Measure if measure not in PER_STEP)
ITEM = (
    *("item_id", "operation_key", "tool", "fingerprint", "draft", "draft_version", "draft_sha256", "target"),
    *("requester", "author", "last_editor", "policy_number", "scope", "expires_at", "task_deadline", "state"),
    *("decided_by", "stale_member", "consumed_at", "passed_to"),
)


def gate_and_totals(contract_id: int) -> tuple[Values, dict[str, Decimal]]:
    """Return the owner gate and measure → total; no row of totals: nothing was used yet."""
    columns = [f"contract__usage_total__{measure}" for measure in TOTALS]
    row = OwnerGate.objects.filter(contract_id=contract_id).values("named_person", *columns).get()
    totals = {measure: row[column] or NOTHING for measure, column in zip(TOTALS, columns, strict=True)}
    return {"named_person": row["named_person"]}, totals


def newest_policy(contract_id: int) -> Values | None:
    """Return the version of the approval policy in force."""
    return next(iter(_facts(ApprovalPolicy.objects.of(contract_id).reverse()[:1])), None)


def planes(contract_id: int) -> list[Values]:
    """Return where the authority of each plane lies."""
    return _facts(PlaneRow.objects.of(contract_id))


def tools(contract_id: int) -> list[Values]:
    """Return the tool contracts."""
    return _facts(ToolContract.objects.of(contract_id))


def limits(contract_id: int) -> list[Values]:
    """Return the caps."""
    return _facts(Limit.objects.of(contract_id))


def step_totals(contract_id: int, step: str) -> dict[str, Decimal]:
    """Return measure → total of what is counted for one step alone."""
    return UsageEntry.objects.filter(contract_id=contract_id, measure__in=PER_STEP, step=step).totals()


def attempts(contract_id: int, generations: Collection[int | None]) -> list[Values]:
    """Return the attempt that has not ended, and those of `generations`."""
    wanted = Q(ended_at__isnull=True) | Q(generation__in=[number for number in generations if number])
    return _facts(Attempt.objects.of(contract_id).filter(wanted))


def measured_checkpoints(contract_id: int) -> list[Values]:
    """Return the checkpoints whose inline state is measured: the newest, and the newest standing one."""
    newest = Checkpoint.objects.of(contract_id).reverse()
    pieces = newest.filter(rolled_back_at__isnull=True)[:1], newest[:SAMPLE]
    found = {row["sequence"]: row for row in _union(*pieces)}
    return [found[sequence] for sequence in sorted(found)]


def order_of_checkpoints(contract_id: int) -> tuple[list[Values], list[Values]]:
    """Return number and generation of the newest checkpoints, in their order, and the attempts they name."""
    columns = ("sequence", "checkpoint_id", "generation", "attempt__number")
    more = ("attempt__generation", "attempt__by_hand")
    newest = Checkpoint.objects.of(contract_id).reverse().values_list(*columns, *more)[:LOOKED_BACK]
    rows, named = [], {}
    for sequence, checkpoint_id, generation, number, granted, by_hand in reversed(newest):
        row = {
            "sequence": sequence,
            "checkpoint_id": checkpoint_id,
            "generation": generation,
            "attempt": number,
        }
        rows.append(row)
        named[number] = {"number": number, "generation": granted, "by_hand": by_hand}
    return rows, list(named.values())


def newest_items(contract_id: int, operation_ids: Collection[int]) -> dict[int, Values]:
    """Return operation → the newest item asked for it.

    Beside its facts each has `id` and `now`: id, version and checksum of its draft's current version, if any.
    """
    if not operation_ids:
        return {}
    current = Artefact.objects.filter(
        contract_id=contract_id, artefact_id=OuterRef("draft__artefact_id"), current=True
    )
    columns = ("artefact_id", "version_label", "sha256")
    items = Approval.objects.filter(contract_id=contract_id, operation_id__in=operation_ids)
    items = items.order_by("operation_id", "-asked_at", "-id").distinct("operation_id")
    items = items.annotate(**{f"now_{column}": Subquery(current.values(column)) for column in columns})
    more = ("id", "operation_id", *(f"now_{column}" for column in columns))
    found = {}
    for row in _facts(items, *ITEM, more=more):
        row["now"] = {column: row.pop(f"now_{column}") or "" for column in columns}
        found[row["operation_id"]] = row
    return found


def deciders_who_lost_it(contract_id: int, item_ids: Collection[int]) -> dict[int, list[str]]:
    """Return item → whose yes counts but who may no longer decide; items without such are left out."""
    if not item_ids:
        return {}
    votes = ApprovalVote.objects.filter(
        contract_id=contract_id, approval_id__in=item_ids, decision=ApprovalState.APPROVED.value
    )
    able = people_with(Right.DECIDE, contract_id).values("username")
    lost: dict[int, list[str]] = {}
    for item, decider in (
        votes.exclude(decider__in=able).order_by("decider").values_list("approval", "decider")
    ):
        lost.setdefault(item, []).append(decider)
    return lost


def begun_steps(contract_id: int) -> list[Values]:
    """Return the first steps of the journal that were found begun."""
    started = JournalStep.objects.of(contract_id).filter(state=StepState.STARTED.value)
    return _facts(started[:SAMPLE], "key", "kind")


def _facts(rows: models.QuerySet[Any, Any], *names: str, more: tuple[str, ...] = ()) -> list[Values]:
    """Return the facts of `rows` by name (all, unless some are named), with the columns `more`; values as stored."""
    names = names or tuple(rows.model.FACTS)
    paths = [rows.model.FACTS[name] for name in names]
    return [dict(zip((*names, *more), row, strict=True)) for row in rows.values_list(*paths, *more)]


def _union(*pieces: models.QuerySet[Any, Any], more: tuple[str, ...] = ()) -> list[Values]:
    """Return the facts of the rows of every piece, in one query; a row may come twice."""
    names = tuple(pieces[0].model.FACTS)
    paths = [pieces[0].model.FACTS[name] for name in names]
    first, *others = (piece.values_list(*paths, *more) for piece in pieces)
    return [dict(zip((*names, *more), row, strict=True)) for row in first.union(*others, all=True)]

"""Rows and decisions as the API tells them: names and values as in the exported JSON."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from contracts.api.shapes import (
    ArtefactShape,
    AttemptShape,
    CheckShape,
    DecisionShape,
    HolderShape,
    ItemShape,
    LeftShape,
    ObjectShape,
    OperationShape,
    OutlookShape,
    ReachShape,
    SourceShape,
    ToolShape,
    WayShape,
    WorkShape,
)
from contracts.forms.words import said
from contracts.gates.beats import database_now
from contracts.gates.workers.certainty import outlook_of
from contracts.models import (
    Approval,
    Artefact,
    Attempt,
    Contract,
    Operation,
    Source,
    ToolContract,
    WorkObject,
)
from contracts.models.content import plain
from contracts.rules.granting import Waiting
from contracts.rules.limiting import Left
from contracts.rules.recovering import Choice
from contracts.rules.resuming import Check, Decision, Permit, Work
from contracts.rules.states import OperationState
from contracts.rules.verdict import Verdict


def told_outcome(verdict: Verdict) -> Mapping[str, Any]:
    """Return what stands instead of what was refused, under names of its own in the problem document."""
    outcome = verdict.outcome
    if isinstance(outcome, Waiting):
        holder = HolderShape(
            number=outcome.attempt_number, worker=outcome.worker, lease_end=plain(outcome.lease_end)
        )
        return {"decision": tell_decision(outcome.decision), "attempt": holder}
    if isinstance(outcome, Decision):
        return {"decision": tell_decision(outcome)}
    if isinstance(outcome, Operation):
        return {"operation": tell_operation(outcome)}
    if isinstance(outcome, Approval):
        return {"item": tell_item(outcome)}
    if isinstance(outcome, Attempt):
        return {"attempt": tell_holder(outcome)}
    return {}


def tell_reach(contract: Contract) -> ReachShape:
    """Tell one contract of a list."""
    return {
        "task_id": contract.task_id,
        "title": contract.title,
        "state": contract.state,
        "generation": contract.generation,
        "revision": contract.revision,
        "deadline": plain(contract.deadline),
    }


def tell_holder(attempt: Attempt) -> HolderShape:
    """Tell who holds a task."""
    return {"number": attempt.number, "worker": attempt.worker, "lease_end": plain(attempt.lease_end)}


def tell_attempt(attempt: Attempt, lease_seconds: int, renew_seconds: int) -> AttemptShape:
    """Tell its owner of the attempt that was granted."""
    return {
        "number": attempt.number,
        "attempt_id": attempt.attempt_id,
        "generation": attempt.generation,
        "worker": attempt.worker,
        "lease_end": plain(attempt.lease_end),
        "lease_seconds": lease_seconds,
        "renew_seconds": renew_seconds,
    }


def tell_decision(decision: Decision) -> DecisionShape:
    """Tell a resume decision with all its checks, in words of the caller's language."""
    return {
        "verdict": decision.verdict.value,
        "may_resume": decision.may_resume,
        "permits": [permit.value for permit in Permit if permit in decision.permits],
        "checks": [_check(check) for check in decision.checks],
        "work": _work(decision.work) if decision.work else None,
        "ways": [_way(choice) for choice in decision.ways],
    }


def _check(check: Check) -> CheckShape:
    return {
        "name": check.name.value,
        "standing": check.standing.value,
        "sentence": said(check),
        "evidence": [{"part": reference.part, "key": reference.key} for reference in check.evidence],
        "section": check.section.value,
        "part": check.part,
        "leads_to": check.leads_to.value if check.leads_to else None,
    }


def _work(work: Work) -> WorkShape:
    return {
        "next_step": work.next_step,
        "checkpoint": work.checkpoint,
        "location": work.location,
        "to_do": work.to_do,
        "to_skip": work.to_skip,
        "to_recheck": work.to_recheck,
        "objects": list(work.objects),
        "recheck_objects": list(work.recheck_objects),
        "sendable": list(work.sendable),
        "places": [
            {"plane": place.plane.value, "authority": place.authority, "readers": place.readers}
            for place in work.places
        ],
        "left": [_left(left) for left in work.left],
    }


def _left(left: Left) -> LeftShape:
    return {
        "measure": left.measure.value,
        "cap": plain(left.cap),
        "total": plain(left.total),
        "left": plain(left.left),
        "level": left.level.value,
        "step": left.step,
        "currency": left.currency,
    }


def _way(choice: Choice) -> WayShape:
    return {
        "part": choice.part,
        "key": choice.key,
        "way": choice.way.value,
        "sentence": said(choice),
        "ask_first": choice.ask_first,
    }


def tell_object(row: WorkObject) -> ObjectShape:
    """Tell one object that was handed out."""
    return {
        "object_id": row.object_id,
        "state": row.state,
        "step": row.step,
        "source": _source(row.source) if row.source else None,
        "artefact": _artefact(row.artefact) if row.artefact else None,
        "note": row.note,
    }


def _source(row: Source) -> SourceShape:
    return {
        "source_id": row.source_id,
        "version_label": row.version_label,
        "sha256": row.sha256,
        "location": row.location,
    }


def _artefact(row: Artefact) -> ArtefactShape:
    return {
        "artefact_id": row.artefact_id,
        "version_label": row.version_label,
        "sha256": row.sha256,
        "location": row.location,
        "inline_text": row.inline_text,
    }


def tell_item(item: Approval) -> ItemShape:
    """Tell one approval item to who asked."""
    return {
        "item_id": item.item_id,
        "operation_key": item.operation_key,
        "state": item.state,
        "reason": item.reason,
        "asked_at": plain(item.asked_at),
        "expires_at": plain(item.expires_at),
        "decided_by": item.decided_by,
        "decided_at": plain(item.decided_at),
        "decision_reason": item.decision_reason,
        "stale_member": item.stale_member,
        "consumed": item.consumed_at is not None,
    }


def tell_operation(row: Operation) -> OperationShape:
    """Tell one operation with its newest approval item and, where its result is unknown, what may be done."""
    facts = row.facts()
    items = Approval.objects.filter(contract=row.contract_id, operation=row).order_by("asked_at", "pk")
    item = items.last()
    return {
        "key": row.key,
        "state": row.state,
        "tool": facts["tool"],
        "step": row.step,
        "round": row.round,
        "object": facts["object"] or "",
        "parameters": row.parameters,
        "fingerprint": row.fingerprint,
        "target": row.target,
        "expected": row.expected,
        "generation": row.generation,
        "tries": row.tries,
        "target_reference": row.target_reference,
        "intended_at": facts["intended_at"],
        "sent_at": facts["sent_at"],
        "settled_at": facts["settled_at"],
        "needs_approval": row.tool.needs_approval,
        "approval": tell_item(item) if item else None,
        "outlook": _outlook(row) if row.state == OperationState.UNKNOWN else None,
        "tool_contract": _tool(row.tool),
    }


def _outlook(row: Operation) -> OutlookShape:
    found = outlook_of(row, now=database_now())
    return {"ahead": found.ahead.value, "sentence": gettext(found.sentence), "until": plain(found.until)}


def _tool(row: ToolContract) -> ToolShape:
    return {
        "effect": row.effect,
        "query_path": row.query_path,
        "settle_seconds": row.settle_seconds,
        "stale_owner": row.stale_owner,
        "key_supported": row.key_supported,
        "compensation": row.compensation,
    }

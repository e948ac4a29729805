"""The ten checks of the resume decision, in their order: what each looks at and where a blocked one leads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contracts.rules.limiting import Left, Level, limits_left
from contracts.rules.resume_facts import FaultKind
from contracts.rules.resume_findings import (
    Case,
    CheckName,
    Findings,
    Outcome,
    Reference,
    Rule,
    attention,
    blocked,
    passed,
)
from contracts.rules.resume_writes import look_at_approvals, look_at_unknown
from contracts.rules.states import ContractState, ObjectState
from contracts.rules.vocabulary import LOSS_WINDOWS, Durability, Section
from contracts.rules.words import N_


def _access(case: Case) -> Findings:
    caller = case.caller
    if not caller.may_see:
        yield blocked(Outcome.REFUSE, N_("This identity may not see the task."))
    elif not caller.may_continue:
        sentence = N_("%(name)s may see the task, but not continue it.")
        yield blocked(Outcome.REFUSE, sentence, name=caller.name)


def _life(case: Case) -> Findings:
    task = case.facts.task
    own = Reference("contract", task.task_id)
    if task.state is ContractState.CANCELLED:
        sentence = N_("The task was cancelled by %(name)s: %(reason)s")
        yield blocked(Outcome.REFUSE, sentence, own, name=task.cancelled_by, reason=task.cancel_reason)
    if task.state in ENDED_OR_NOT_BEGUN:
        yield blocked(Outcome.REFUSE, ENDED_OR_NOT_BEGUN[task.state], own)
    if task.archived:
        yield blocked(Outcome.REFUSE, N_("The contract is archived."), own)
    if task.deadline is not None and task.deadline <= case.now:
        yield blocked(Outcome.REFUSE, N_("The deadline has passed."), own, deadline=task.deadline)
    if task.state is ContractState.PAUSE_REQUESTED:
        yield attention(N_("A pause is requested: no new write is intended until it has taken place."), own)


ENDED_OR_NOT_BEGUN: Mapping[ContractState, str] = {
    ContractState.COMPLETED: N_("The task is completed."),
    ContractState.DRAFT: N_("The contract is still a draft."),
}


def _integrity(case: Case) -> Findings:
    facts = case.facts
    for fault in facts.faults:
        key = Reference(fault.part, fault.key)
        if fault.kind is FaultKind.MISSING_BY_HAND:
            yield attention(
                N_("Before %(row)s a number is missing; it was kept by hand."), key, row=fault.key
            )
        else:
            sentence = N_("%(row)s: %(fault)s.")
            found = blocked(Outcome.ESCALATE, sentence, key, row=fault.key, fault=fault.kind.label)
            yield replace(found, part=fault.part)
    if facts.chain_whole is False:
        yield blocked(Outcome.ESCALATE, N_("The chain of events is broken."))
    if facts.point is None and facts.task.generation > 0:
        yield attention(N_("Admitted, no checkpoint: work begins at the first step."))
    if facts.point is not None and facts.point.durability not in LASTING:
        point = Reference("checkpoint", facts.point.shown)
        loss = LOSS_WINDOWS[facts.point.durability]
        yield attention(N_("What the framework may have lost: %(loss)s."), point, loss=loss)
    if facts.chain_whole and facts.chain_from > 1:
        sentence = N_(
            "The chain of events holds from number %(first)d on; all of it is verified with the events."
        )
        yield passed(sentence, first=facts.chain_from)
    if facts.chain_whole is None:
        yield attention(N_("The chain of events is not part of these facts."))


LASTING = frozenset({Durability.SYNC, Durability.EVENT_HISTORY})


def _versions(case: Case) -> Findings:
    task, caller, policy, point = case.facts.task, case.caller, case.facts.policy, case.facts.point
    known = task.readable | {task.schema_version}
    if point is not None and point.schema_version not in known:
        sentence = N_(
            "The checkpoint is written in state-schema version %(now)s; version %(known)s is agreed."
        )
        key = Reference("checkpoint", point.shown)
        yield blocked(Outcome.MIGRATE, sentence, key, now=point.schema_version, known=task.schema_version)
    for name, agreed, stated in (
        (N_("Workflow"), task.workflow, caller.workflow),
        (N_("Workflow version"), task.workflow_version, caller.workflow_version),
        (N_("State-schema version"), task.schema_version, caller.schema_version),
        (N_("Policy version"), policy and policy.number, policy and caller.policy_number),
    ):
        if stated not in ("", None, agreed):
            sentence = N_("%(what)s: %(agreed)s is agreed, the caller brings %(stated)s.")
            yield blocked(Outcome.MIGRATE, sentence, what=name, agreed=agreed, stated=stated)
    if policy is None:
        sentence = N_("The approval policy cannot be read, so nothing is decided or sent.")
        yield replace(blocked(Outcome.MIGRATE, sentence), part="policy")
    if caller.agent_version not in ("", task.agent_version):
        sentence = N_(
            "The agent or SDK is another version: %(agreed)s is agreed, the caller brings %(stated)s."
        )
        yield attention(sentence, agreed=task.agent_version, stated=caller.agent_version)


def _owner(case: Case) -> Findings:
    holder, task = case.facts.holder, case.facts.task
    if holder is None:
        if task.state in AT_WORK:
            yield attention(N_("The task is at work, and nobody holds it: it can be taken over."))
        return
    key = Reference("attempt", holder.shown)
    said = {"worker": holder.worker, "number": holder.number, "until": holder.lease_end}
    if not holder.is_live(case.now):
        yield attention(N_("The lease of attempt %(number)d has lapsed: it can be taken over."), key, **said)
    elif _holds_it(case):
        yield passed(N_("The caller holds the task as attempt %(number)d until %(until)s."), key, **said)
    else:
        sentence = N_("%(worker)s holds the task as attempt %(number)d until %(until)s.")
        yield blocked(Outcome.WAIT, sentence, key, **said)


AT_WORK = frozenset({ContractState.RESUMING, ContractState.RUNNING, ContractState.PAUSE_REQUESTED})


def _holds_it(case: Case) -> bool:
    """Tell whether the caller is the owner; the same name alone is no ownership."""
    holder, caller = case.facts.holder, case.caller
    if holder is None or holder.generation != case.facts.task.generation:
        return False
    claimed = (caller.name, caller.attempt_id, caller.generation)
    return claimed == (holder.worker, holder.attempt_id, holder.generation)


def _limits(case: Case) -> Findings:
    facts = case.facts
    limits = limits_left(facts.caps, facts.totals, step=facts.next_step, step_totals=facts.step_totals)
    for left in limits:
        key = Reference("limit", left.measure.value)
        if left.level is Level.REACHED:
            sentence = N_("%(measure)s: the cap of %(cap)s is reached, %(total)s are used.")
            yield blocked(Outcome.ESCALATE, sentence, key, **_told(left))
        elif left.level is not Level.FREE:
            sentence = N_("%(measure)s: %(total)s of %(cap)s are used, %(left)s are left.")
            yield attention(sentence, key, **_told(left))


def _told(left: Left) -> dict[str, Any]:
    named = {"measure": left.measure.label, "step": left.step, "currency": left.currency}
    return {**named, "cap": left.cap, "total": left.total, "left": left.left, "level": left.level.label}


def _sources(case: Case) -> Findings:
    facts = case.facts
    count = facts.count(ObjectState.RECHECK) + facts.drifted
    if count:
        rows = (row for row in facts.rows if row.drifted or row.state is ObjectState.RECHECK)
        sentence = N_("Objects whose source or artefact has changed: %(count)d. They alone are rechecked.")
        keys = (Reference("object", row.object_id) for row in rows)
        yield blocked(Outcome.RECHECK, sentence, *keys, count=count)


def _next(case: Case) -> Findings:
    facts = case.facts
    left = facts.count(*(state for state in ObjectState if state not in SETTLED)) + facts.drifted
    if not left and not facts.operations:
        yield attention(N_("Nothing is left to do: the task can be completed."))
    elif facts.point is None:
        yield passed(N_("Work begins at the first step; objects left: %(count)d."), count=left)
    else:
        key = Reference("checkpoint", facts.point.shown)
        sentence = N_("The next step is “%(step)s”; objects left: %(count)d.")
        yield passed(sentence, key, step=facts.next_step, count=left)


SETTLED = frozenset({ObjectState.CONFIRMED, ObjectState.SKIPPED})
CHECKS: Mapping[CheckName, Rule] = {
    CheckName.ACCESS: Rule(_access, N_("The caller may continue the task."), Section.IDENTITY, "share"),
    CheckName.LIFE: Rule(_life, N_("The task is open and in time."), Section.IDENTITY, "identity"),
    CheckName.INTEGRITY: Rule(
        _integrity, N_("Checkpoints and events are whole."), Section.CHECKPOINTS, "checkpoint"
    ),
    CheckName.VERSIONS: Rule(_versions, N_("The versions fit."), Section.IDENTITY, "identity"),
    CheckName.OWNER: Rule(_owner, N_("Nobody holds the task."), Section.OWNER, "attempt"),
    CheckName.LIMITS: Rule(_limits, N_("No cap is near."), Section.LIMITS, "limit"),
    CheckName.UNKNOWN: Rule(look_at_unknown, N_("No result is unknown."), Section.OPERATIONS, "operation"),
    CheckName.SOURCES: Rule(
        _sources, N_("Nothing accepted rests on what has changed."), Section.SOURCES, "source"
    ),
    CheckName.APPROVALS: Rule(
        look_at_approvals, N_("The next write is covered, or none waits."), Section.APPROVALS, "approval"
    ),
    CheckName.NEXT: Rule(_next, "", Section.CHECKPOINTS, "checkpoint"),
}

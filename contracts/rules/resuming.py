"""May this caller continue this task now, from where, doing what next, and what must never be done again?

A pure function of the stored facts, the caller and the time. Every check is made and reported, whatever the ones
before it found; the verdict is that of the first blocked one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contracts.rules.limiting import Left, limits_left
from contracts.rules.parts import PARTS
from contracts.rules.recovering import Choice, ways_back
from contracts.rules.resume_checks import CHECKS
from contracts.rules.resume_facts import SAMPLE, Caller, Facts, Place
from contracts.rules.resume_findings import Case, CheckName, Finding, Outcome, Reference, Standing
from contracts.rules.resume_writes import sendable
from contracts.rules.states import ContractState, ObjectState
from contracts.rules.vocabulary import Section
from contracts.rules.words import N_, Labelled

__all__ = ["Check", "CheckName", "Decision", "Outcome", "Permit", "Standing", "Work", "decide", "verdict_of"]


class Permit(Labelled):
    """What a verdict lets the owner do, once it holds the task."""

    STEP = "step", N_("Run the next step")
    HAND_OUT = "hand_out", N_("Take an object that is left")
    RECHECK = "recheck", N_("Recheck an object")
    INTEND = "intend", N_("Intend a write")
    ASK = "ask", N_("Ask for a decision")
    SEND = "send", N_("Send an operation")
    RECONCILE = "reconcile", N_("Ask the target")
    COMPLETE = "complete", N_("Complete")


_WORKING = frozenset({Permit.STEP, Permit.HAND_OUT, Permit.INTEND, Permit.ASK, Permit.SEND})
PERMITS: Mapping[Outcome, frozenset[Permit]] = {
    Outcome.CONTINUE: _WORKING | {Permit.COMPLETE},
    Outcome.RECHECK: _WORKING | {Permit.RECHECK},
    Outcome.APPROVE: _WORKING,
    Outcome.RECONCILE: frozenset({Permit.RECONCILE}),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One of the ten, as it came out; sentence, values and evidence are those of its gravest finding.

    `leads_to`: the verdict if this is the first one blocked. `section`, `part`: where it is put right.
    `findings`: all that was found, in the order it was looked at.
    """

    name: CheckName
    standing: Standing
    sentence: str
    values: Mapping[str, Any]
    evidence: tuple[Reference, ...]
    section: Section
    part: str
    leads_to: Outcome | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What a continuing owner starts from; the ids are samples, the numbers are whole.

    `next_step` is empty before the first checkpoint. `places`: where controlled material lies, plane by plane.
    """

    next_step: str
    checkpoint: str
    location: str
    to_do: int
    to_skip: int
    to_recheck: int
    objects: tuple[str, ...]
    recheck_objects: tuple[str, ...]
    sendable: tuple[str, ...]
    places: tuple[Place, ...]
    left: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict with all ten checks, the ways back, and what work is there if any may be done."""

    verdict: Outcome
    checks: tuple[Check, ...]
    permits: frozenset[Permit] = frozenset()
    work: Work | None = None
    ways: tuple[Choice, ...] = ()

    @property
    def may_resume(self) -> bool:
        """Tell whether the task may be granted to this caller: some verdicts but `continue` need an owner too."""
        return bool(self.permits)

    @property
    def deciding(self) -> Check | None:
        """Return the check that gave the verdict, or None if none is blocked."""
        return next((check for check in self.checks if check.standing is Standing.BLOCKED), None)


def decide(facts: Facts, caller: Caller, now: datetime) -> Decision:
    """Return the resume decision. To who may not see the task nothing of it is told but that."""
    case = Case(facts, caller, now)
    checks = tuple(_checked(name, case) for name in CheckName)
    verdict = verdict_of(checks)
    if not caller.may_see:
        return Decision(verdict, (checks[0], *(_untold(check) for check in checks[1:])))
    ways = ways_back(facts, now=now)
    if Permit.STEP not in PERMITS.get(verdict, frozenset()):
        return Decision(verdict, checks, PERMITS.get(verdict, frozenset()), ways=ways)
    work = _work(case)
    return Decision(verdict, checks, _permits(verdict, work, facts), work, ways)


def verdict_of(checks: Iterable[Check]) -> Outcome:
    """Return where the first blocked check leads; without one the task is continued."""
    blocked = (check.leads_to for check in checks if check.standing is Standing.BLOCKED)
    return next(blocked, None) or Outcome.CONTINUE


def _checked(name: CheckName, case: Case) -> Check:
    rule = CHECKS[name]
    findings = tuple(rule.look(case)) or (Finding(Standing.PASSED, rule.passed),)
    gravest = next(
        finding
        for standing in (Standing.BLOCKED, Standing.ATTENTION, Standing.PASSED)
        for finding in findings
        if finding.standing is standing
    )
    return Check(
        name=name,
        standing=gravest.standing,
        sentence=gravest.sentence,
        values=gravest.values,
        evidence=gravest.evidence,
        section=PARTS[gravest.part].section if gravest.part else rule.section,
        part=gravest.part or rule.part,
        leads_to=gravest.leads_to,
        findings=findings,
    )


def _untold(check: Check) -> Check:
    sentence = N_("This is not told to who may not see the task.")
    rule = CHECKS[check.name]
    silent = Finding(Standing.ATTENTION, sentence)
    return Check(
        check.name, silent.standing, sentence, {}, (), rule.section, rule.part, silent.leads_to, (silent,)
    )


def _work(case: Case) -> Work:
    facts = case.facts
    rechecked = [row.object_id for row in facts.rows if row.drifted or row.state is ObjectState.RECHECK]
    halves = [row.object_id for row in facts.rows if row.state is ObjectState.IN_PROGRESS]
    return Work(
        next_step=facts.next_step,
        checkpoint=facts.point.shown if facts.point else "",
        location=facts.point.location if facts.point else "",
        to_do=facts.count(ObjectState.PENDING, ObjectState.IN_PROGRESS),
        to_skip=facts.count(ObjectState.CONFIRMED, ObjectState.SKIPPED) - facts.drifted,
        to_recheck=facts.count(ObjectState.RECHECK) + facts.drifted,
        objects=(*halves, *facts.waiting)[:SAMPLE],
        recheck_objects=tuple(rechecked[:SAMPLE]),
        sendable=tuple(write.operation.key for write in sendable(case)[:SAMPLE]),
        places=facts.planes,
        left=limits_left(facts.caps, facts.totals, step=facts.next_step, step_totals=facts.step_totals),
    )


def _permits(verdict: Outcome, work: Work, facts: Facts) -> frozenset[Permit]:
    lacking: set[Permit] = set()
    if not work.sendable:
        lacking.add(Permit.SEND)
    if not work.to_do:
        lacking.add(Permit.HAND_OUT)
    if work.to_do or work.to_recheck or facts.operations:
        lacking.add(Permit.COMPLETE)
    if facts.task.state is ContractState.PAUSE_REQUESTED:
        lacking |= {Permit.HAND_OUT, Permit.RECHECK, Permit.INTEND, Permit.ASK, Permit.SEND}
    return PERMITS[verdict] - lacking

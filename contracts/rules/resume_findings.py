"""What a check of the resume decision finds: its names, its standings, and where each leads."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contracts.rules.resume_facts import SAMPLE, Caller, Facts
from contracts.rules.vocabulary import Section
from contracts.rules.words import N_, Labelled


class CheckName(Labelled):
    """The ten checks, in the order in which they are made."""

    ACCESS = "access", N_("Access")
    LIFE = "life", N_("Completed, cancelled, expired")
    INTEGRITY = "integrity", N_("Integrity")
    VERSIONS = "versions", N_("Versions")
    OWNER = "owner", N_("Owner")
    LIMITS = "limits", N_("Limits")
    UNKNOWN = "unknown", N_("Unknown operations")
    SOURCES = "sources", N_("Sources and artefacts")
    APPROVALS = "approvals", N_("Approvals of the next write")
    NEXT = "next", N_("Next step")


class Standing(Labelled):
    """How a check came out."""

    PASSED = "passed", N_("Passed")
    ATTENTION = "attention", N_("Attention")
    BLOCKED = "blocked", N_("Blocked")


class Outcome(Labelled):
    """The verdict on resuming."""

    CONTINUE = "continue", N_("Continue")
    WAIT = "wait", N_("Wait")
    RECONCILE = "reconcile", N_("Reconcile")
    RECHECK = "recheck", N_("Recheck")
    APPROVE = "approve", N_("Get a decision")
    REFUSE = "refuse", N_("Refuse")
    ESCALATE = "escalate", N_("Hand to a person")
    MIGRATE = "migrate", N_("Migrate")


# Values that are words themselves: whoever shows a sentence translates them before they fill it.
WORDS = frozenset({"fault", "level", "loss", "measure", "member", "what", "why"})


@dataclass(frozen=True, slots=True)
class Reference:
    """A stored row: its part, and the words by which people tell it from its neighbours."""

    part: str
    key: str


@dataclass(frozen=True, slots=True)
class Case:
    """One question: these facts, this caller, this time."""

    facts: Facts
    caller: Caller
    now: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check found; a blocked one says where it leads.

    `part`: where it is put right, if that is not where the check's findings usually are.
    """

    standing: Standing
    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Reference, ...] = ()
    leads_to: Outcome | None = None
    part: str = ""


Findings = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class Rule:
    """One check: how it looks, what it says when it finds nothing, and where it is put right."""

    look: Callable[[Case], Findings]
    passed: str
    section: Section
    part: str


def blocked(leads_to: Outcome, sentence: str, *evidence: Reference, **values: Any) -> Finding:
    """Return a finding that stops the task."""
    return Finding(Standing.BLOCKED, sentence, values, evidence[:SAMPLE], leads_to)


def attention(sentence: str, *evidence: Reference, **values: Any) -> Finding:
    """Return a finding that people should know of, and that stops nothing."""
    return Finding(Standing.ATTENTION, sentence, values, evidence[:SAMPLE])


def passed(sentence: str, *evidence: Reference, **values: Any) -> Finding:
    """Return a finding that is in order and worth saying."""
    return Finding(Standing.PASSED, sentence, values, evidence[:SAMPLE])

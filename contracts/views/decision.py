"""The resume decision as people read it: one sentence, ten checks, what goes on, and the ways back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext, ngettext

from contracts.models import Contract
from contracts.models.standing import gather_facts, one_moment
from contracts.rules.parts import PARTS
from contracts.rules.recovering import Choice
from contracts.rules.resume_facts import Caller, Facts
from contracts.rules.resume_findings import CheckName, Finding, Outcome, Reference, Standing
from contracts.rules.resuming import Check, Decision, Permit, decide
from contracts.rules.states import ContractState, ObjectState
from contracts.rules.vocabulary import Measure, Right, Section
from contracts.rules.words import N_
from contracts.views.gauges import show_number
from contracts.views.loading import Loaded

FEW = 3  # pieces of evidence that are named; the others are counted


@dataclass(frozen=True, slots=True)
class Place:
    """Something that a decision names, with the page on which it is seen; without an address it is only named."""

    words: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class ShownCheck:
    """One check: how it came out, what else it found, on what evidence, and where it is put right."""

    check: Check
    deciding: bool
    others: tuple[Finding, ...]
    evidence: tuple[Place, ...]
    more: int
    where: Place | None


@dataclass(frozen=True, slots=True)
class ShownWay:
    """The way back for one thing."""

    choice: Choice
    kind: str
    place: Place


@dataclass
class ShownDecision:
    """The decision on one contract for the person who looks."""

    loaded: Loaded
    facts: Facts
    decision: Decision
    access: Check
    now: datetime

    @property
    def verdict(self) -> Outcome:
        """Return the verdict for whoever may continue the task."""
        return self.decision.verdict

    @property
    def completed(self) -> bool:
        """Tell whether the task came to its good end: that nobody may continue it is no fault then."""
        return bool(self.loaded.contract.state == ContractState.COMPLETED)

    @property
    def own(self) -> bool:
        """Tell whether the verdict is the reader's own: the reader may continue the task."""
        return self.access.standing is Standing.PASSED

    @property
    def mark(self) -> str:
        """Return what changes when the page must be shown anew: the verdict, then the revision it rests on."""
        return f"{self.verdict.value}.{self.loaded.contract.revision}"

    @cached_property
    def lead(self) -> str:
        """Return the verdict as one sentence."""
        return LEADS[self.verdict](self)

    @cached_property
    def next_deed(self) -> Place | None:
        """Return what puts right what stands in the way, if that is done on another page."""
        check = self.decision.deciding
        if check is None or (check.leads_to, check.name) not in DEEDS:
            return None
        task_id, words = self.loaded.contract.task_id, gettext(DEEDS[check.leads_to, check.name])
        if check.name is CheckName.LIMITS and self.loaded.may(Right.OPERATE):
            return Place(gettext("Raise the cap…"), reverse("contracts:operate", args=[task_id, "raise-cap"]))
        if check.name is CheckName.SOURCES:
            state = {"object-state": ObjectState.RECHECK.value}
            return Place(words, self._section(Section.OBJECTS, "object", **state))
        found = [
            self.place(reference)
            for reference in check.evidence
            if reference.part in ("operation", "approval")
        ]
        return Place(words, (found[-1] if found else self._where(check) or Place("")).url)

    @cached_property
    def checks(self) -> list[ShownCheck]:
        """Return all ten, in the order in which they are made."""
        found = (self.access, *self.decision.checks[1:])
        return [self._shown(check) for check in found]

    def _shown(self, check: Check) -> ShownCheck:
        # The contract itself is no evidence that anybody has to be led to: its page is this one.
        evidence = tuple(self.place(one) for one in check.evidence if one.part != "contract")
        others = tuple(f for f in check.findings if (f.sentence, f.values) != (check.sentence, check.values))
        return ShownCheck(
            check=check,
            deciding=check is self.decision.deciding,
            others=others,
            evidence=evidence[:FEW],
            more=int(check.values.get("count", 0) or len(evidence)) - FEW if len(evidence) > FEW else 0,
            where=self._where(check),
        )

    def _where(self, check: Check) -> Place | None:
        """Return where a check is put right; sharing is shown only to who may share."""
        task_id = self.loaded.contract.task_id
        if check.part == "share":
            may = self.loaded.may(Right.SHARE)
            return Place(gettext("Sharing"), reverse("contracts:sharing", args=[task_id])) if may else None
        if check.part == "policy":
            return Place(gettext("Approval policy"), reverse("contracts:policy", args=[task_id]))
        return Place(gettext(check.section.label), self._section(check.section, check.part))

    def _section(self, section: Section, part: str, **query: str) -> str:
        asked = f"?{urlencode(query)}" if query else ""
        place = reverse("contracts:section", args=[self.loaded.contract.task_id, section.value])
        return f"{place}{asked}#part-{part}"

    def place(self, reference: Reference) -> Place:
        """Return where the row of a reference is seen."""
        task_id, part, key = self.loaded.contract.task_id, reference.part, reference.key
        if part == "operation" and key in self._keys:
            return Place(key, reverse("contracts:operation", args=[task_id, self._keys[key]]))
        if part == "approval":
            try:
                return Place(key, reverse("contracts:approval", args=[task_id, key]))
            except NoReverseMatch:  # an imported item may have an id of its own kind
                pass
        if part not in PARTS:
            return Place(key, reverse("contracts:events", args=[task_id]) if part == "event" else "")
        found = {"object-q": key} if part == "object" else {}
        words = gettext(Measure(key).label) if part == "limit" else key
        return Place(words, self._section(PARTS[part].section, part, **found))

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {write.operation.shown: write.operation.key for write in self.facts.operations}

    @cached_property
    def ways(self) -> list[ShownWay]:
        """Return the way back for everything that was found unfinished."""
        return [
            ShownWay(way, gettext(PARTS[way.part].one), self.place(Reference(way.part, way.key)))
            for way in self.decision.ways
        ]

    @cached_property
    def sendable(self) -> list[Place]:
        """Return the operations that an owner may send."""
        work = self.decision.work
        shown = {write.operation.key: write.operation.shown for write in self.facts.operations}
        return [self.place(Reference("operation", shown[key])) for key in work.sendable] if work else []

    @cached_property
    def to_do(self) -> list[Place]:
        """Return some of the objects that an owner would take next."""
        work = self.decision.work
        return [self.place(Reference("object", name)) for name in work.objects[:FEW]] if work else []

    @cached_property
    def to_recheck(self) -> list[Place]:
        """Return some of the objects that an owner would recheck."""
        work = self.decision.work
        return [self.place(Reference("object", name)) for name in work.recheck_objects[:FEW]] if work else []

    @property
    def objects_url(self) -> str:
        """Return where all objects are seen."""
        return self._section(Section.OBJECTS, "object")

    @property
    def confirmed_url(self) -> str:
        """Return where the objects are seen that are never handed out again."""
        return self._section(Section.OBJECTS, "object", **{"object-state": ObjectState.CONFIRMED.value})

    @property
    def checkpoint_url(self) -> str:
        """Return where the checkpoint is seen from which work goes on."""
        return self._section(Section.CHECKPOINTS, "checkpoint")

    @property
    def permits(self) -> list[Permit]:
        """Return what an owner may do under this verdict, in the order of the words."""
        return [permit for permit in Permit if permit in self.decision.permits]

    @property
    def left(self) -> list[str]:
        """Return what is left of each limit that has a cap, in words."""
        said = gettext("%(measure)s: %(left)s of %(cap)s")
        found = self.decision.work.left if self.decision.work else ()
        return [
            said
            % {
                "measure": gettext(one.measure.label),
                "left": show_number(one.left),
                "cap": f"{show_number(one.cap)} {one.currency}".strip(),
            }
            for one in found
            if one.cap is not None and one.left is not None
        ]


def decide_for(loaded: Loaded, now: datetime) -> ShownDecision:
    """Return the decision as it stands at `now`, by the database's clock.

    Who may only look still learns how the task stands: the verdict is then that for whoever may continue it,
    and the check of access says that the reader may not.
    """
    with one_moment():
        contract = Contract.objects.get(pk=loaded.contract.pk)
        facts = gather_facts(contract)
    caller = Caller(loaded.actor.name, loaded.actor.kind, may_see=True, may_continue=True)
    own = replace(caller, may_continue=loaded.may(Right.OPERATE))
    decision = decide(facts, caller, now)
    access = decision.checks[0] if own == caller else decide(facts, own, now).checks[0]
    return ShownDecision(loaded, facts, decision, access, now)


def _continued(shown: ShownDecision) -> str:
    following = next(check for check in shown.decision.checks if check.name is CheckName.NEXT)
    if following.standing is Standing.ATTENTION:
        return gettext("Every object is settled: it may be completed.")
    if shown.facts.next_step:
        return gettext("It may be continued: the next step is “%(step)s”.") % {"step": shown.facts.next_step}
    return gettext("It may be continued, from the first step on.")


def _waited_for(shown: ShownDecision) -> str:
    worker = shown.facts.holder.worker if shown.facts.holder else ""
    return gettext("Wait: %(worker)s is at work on it.") % {"worker": worker}


def _reconciled(shown: ShownDecision) -> str:
    count = len(shown.facts.uncertain(shown.now))
    said = ngettext(
        "%(number)s write may already have happened: ask its target first.",
        "%(number)s writes may already have happened: ask their targets first.",
        count,
    )
    return said % {"number": count}


def _rechecked(shown: ShownDecision) -> str:
    count = shown.facts.count(ObjectState.RECHECK) + shown.facts.drifted
    said = ngettext(
        "It may be continued; %(number)s object is looked at again, because what it was made from has changed.",
        "It may be continued; %(number)s objects are looked at again, because what they were made from has changed.",
        count,
    )
    return said % {"number": count}


def _refused(shown: ShownDecision) -> str:
    contract: Contract = shown.loaded.contract
    check = shown.decision.deciding
    if check is not None and check.name is CheckName.APPROVALS:
        return gettext("A person rejected the next write: it does not go on like this.")
    if contract.state in ENDS:
        return gettext(ENDS[contract.state])
    return gettext("Expired: its deadline has passed, and nothing may be continued.")


ENDS: Mapping[str, str] = {
    ContractState.CANCELLED: N_("Cancelled: nothing of it may be continued."),
    ContractState.COMPLETED: N_("Completed: nothing is left to do."),
    ContractState.DRAFT: N_("It is still a draft: nobody may begin."),
}
HANDED: Mapping[CheckName, str] = {
    CheckName.INTEGRITY: N_("Its records do not fit together: a person looks at them first."),
    CheckName.LIMITS: N_("A limit is used up: an operator decides whether it is raised."),
    CheckName.UNKNOWN: N_("What became of a write cannot be known from here: a person decides."),
}


# Where a check stands in the way: what is done about it.
DEEDS: Mapping[tuple[Outcome | None, CheckName], str] = {
    (Outcome.RECONCILE, CheckName.UNKNOWN): N_("Ask the target…"),
    (Outcome.ESCALATE, CheckName.UNKNOWN): N_("Decide on it…"),
    (Outcome.ESCALATE, CheckName.INTEGRITY): N_("Look at the records…"),
    (Outcome.ESCALATE, CheckName.LIMITS): N_("Look at the limits…"),
    (Outcome.RECHECK, CheckName.SOURCES): N_("See what is looked at again…"),
    (Outcome.APPROVE, CheckName.APPROVALS): N_("Go to the write that needs a decision…"),
    (Outcome.REFUSE, CheckName.APPROVALS): N_("Look at the rejected request…"),
    (Outcome.MIGRATE, CheckName.VERSIONS): N_("Look at the versions…"),
}


def _handed_over(shown: ShownDecision) -> str:
    check = shown.decision.deciding
    return gettext(HANDED[check.name]) if check and check.name in HANDED else ""


LEADS: Mapping[Outcome, Callable[[ShownDecision], str]] = {
    Outcome.CONTINUE: _continued,
    Outcome.WAIT: _waited_for,
    Outcome.RECONCILE: _reconciled,
    Outcome.RECHECK: _rechecked,
    Outcome.APPROVE: lambda _: gettext("The next write needs a person’s decision."),
    Outcome.REFUSE: _refused,
    Outcome.ESCALATE: _handed_over,
    Outcome.MIGRATE: lambda _: gettext("The versions do not fit: nothing goes on before they do."),
}

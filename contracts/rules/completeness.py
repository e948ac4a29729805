"""What a contract still lacks before it may leave draft, each thing with the place where it is filled in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as column
from datetime import datetime
from typing import Any

from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Effect, Measure, Plane, Section, SectionState, StaleOwner
from contracts.rules.windows import Window
from contracts.rules.words import N_

Facts = Mapping[str, Any]
WHOLE_TASK = (
    Measure.ACTIVE_SECONDS,
    Measure.MODEL_TURNS,
    Measure.TOOL_ATTEMPTS,
    Measure.TOKENS,
    Measure.COST,
)


@dataclass(frozen=True, slots=True)
class Progress:
    """What the rules need to know of a contract to tell how complete it is.

    `rows`: part → facts of its rows, for the few parts whose every row matters. `counts`: part → number of
    rows. `touched`: parts in which a person has stored anything. `marked`: sections marked complete.
    """

    identity: Facts
    rows: Mapping[str, Sequence[Facts]]
    counts: Mapping[str, int]
    touched: frozenset[str]
    marked: frozenset[str]


@dataclass(frozen=True, slots=True)
class Missing:
    """One missing thing: where it belongs (section, part, row, field) and one sentence."""

    section: Section
    part: str
    row: str
    field: str
    code: str
    sentence: str
    values: Mapping[str, Any] = column(default_factory=dict)


IDENTITY_NEEDS = (
    "title",
    "purpose",
    "accountable_owner",
    "workflow_name",
    "workflow_version",
    "state_schema_version",
    "agent_version",
    "deadline",
)
PLANE_NEEDS = ("authority", "readers", "retention_days")
FILL_IN = N_("%(row)s: “%(field)s” is empty.")


def missing_things(progress: Progress, *, now: datetime) -> tuple[Missing, ...]:
    """Return everything that keeps the contract in draft, in page order."""
    found = [*_from_identity(progress, now), *_from_planes(progress), *_from_content(progress)]
    found += [
        *_from_tools(progress),
        *_from_limits(progress),
        *_from_owner(progress),
        *_from_windows(progress),
    ]
    found += _from_marks(progress)
    order = list(Section)
    return tuple(sorted(found, key=lambda thing: order.index(thing.section)))


def section_states(progress: Progress, missing: Iterable[Missing]) -> dict[Section, SectionState]:
    """Return how far each section is.

    A mark counts as complete only while nothing is missing; a marked section that lacks something needs
    attention. A missing mark alone does not make a section need attention.
    """
    lacking = {thing.section for thing in missing if thing.code != "not_marked"}
    return {section: _state(section, progress, section in lacking) for section in Section}


def _state(section: Section, progress: Progress, lacks: bool) -> SectionState:
    if section.value in progress.marked:
        return SectionState.NEEDS_ATTENTION if lacks else SectionState.COMPLETE
    names = {part.name for part in PARTS.values() if part.section == section}
    return SectionState.IN_PROGRESS if names & progress.touched else SectionState.NOT_STARTED


def _empty(section: Section, part: str, row: str, field_name: str) -> Missing:
    label = PARTS[part].field(field_name).label
    return Missing(section, part, row, field_name, "empty", FILL_IN, {"row": row, "field": label})


def _from_identity(progress: Progress, now: datetime) -> Iterator[Missing]:
    section, facts = Section.IDENTITY, progress.identity
    for name in IDENTITY_NEEDS:
        if facts.get(name) in ("", None):
            yield _empty(section, "identity", PARTS["identity"].one, name)
    if facts.get("deadline") and datetime.fromisoformat(facts["deadline"]) <= now:
        sentence = N_("The deadline lies in the past.")
        yield Missing(section, "identity", "", "deadline", "deadline_passed", sentence)


def _from_planes(progress: Progress) -> Iterator[Missing]:
    for facts in progress.rows["plane"]:
        for name in PLANE_NEEDS:
            if facts[name] in ("", None):
                yield _empty(Section.IDENTITY, "plane", Plane(facts["plane"]).label, name)


def _from_content(progress: Progress) -> Iterator[Missing]:
    for part, sentence in (
        ("source", N_("At least one source is needed.")),
        ("object", N_("At least one object is needed.")),
        ("tool", N_("At least one tool contract is needed.")),
    ):
        if not progress.counts.get(part):
            yield Missing(PARTS[part].section, part, "", "", "none", sentence)


def _from_tools(progress: Progress) -> Iterator[Missing]:
    sentence = N_("%(row)s writes, can neither be queried nor deduplicates: name who decides.")
    for facts in progress.rows["tool"]:
        if needs_named_person(facts) and not facts["named_person"]:
            yield Missing(
                Section.OPERATIONS,
                "tool",
                facts["tool"],
                "named_person",
                "named_person",
                sentence,
                {"row": facts["tool"]},
            )


def needs_named_person(tool: Facts) -> bool:
    """Tell whether nothing but a person can know what became of a write by this tool."""
    deduplicates = tool["key_supported"] or tool["stale_owner"] == StaleOwner.TARGET_DEDUPLICATES
    return tool["effect"] != Effect.READ_ONLY and not tool["query_path"] and not deduplicates


def _from_limits(progress: Progress) -> Iterator[Missing]:
    capped = {facts["measure"] for facts in progress.rows["limit"] if facts["cap"] is not None}
    if not capped & set(WHOLE_TASK):
        sentence = N_("Cap at least one measure of the whole task.")
        yield Missing(Section.LIMITS, "limit", Measure.ACTIVE_SECONDS.label, "cap", "no_cap", sentence)
    if Measure.FAILED_RECOVERIES not in capped:
        yield _empty(Section.LIMITS, "limit", Measure.FAILED_RECOVERIES.label, "cap")


def _from_owner(progress: Progress) -> Iterator[Missing]:
    for facts in progress.rows["gate"]:
        if not facts["named_person"]:
            yield _empty(Section.OWNER, "gate", PARTS["gate"].one, "named_person")


def _from_windows(progress: Progress) -> Iterator[Missing]:
    for facts in progress.rows["window"]:
        own = facts["window"] not in set(Window)
        row = facts["window"] if own else Window(facts["window"]).label
        for name in ("setting", "provoked", "expected") if own else ("setting",):
            if not facts[name]:
                yield _empty(Section.WINDOWS, "window", row, name)


def _from_marks(progress: Progress) -> list[Missing]:
    sentence = N_("“%(row)s” is not marked as complete.")
    return [
        Missing(section, "mark", section.value, "", "not_marked", sentence, {"row": section.label})
        for section in Section
        if section.value not in progress.marked
    ]

"""Events in words: who did what to which part, and what it was before and after."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from contracts.models import Event
from contracts.models.people import called
from contracts.rules.document import LIFE
from contracts.rules.fields import Field, Kind
from contracts.rules.parts import PARTS, PEOPLE
from contracts.rules.refusals import SENTENCES
from contracts.rules.states import Act
from contracts.rules.vocabulary import ActorKind, Measure, Plane, Right, Section
from contracts.rules.windows import Window
from contracts.rules.words import N_, Labelled

# What an event's `act` is called: as what was done, not as what may be done.
ACTS: Mapping[str, str] = {
    **{act.value: act.label for act in Act},
    "leave_draft": N_("Left draft"),
    "return_to_draft": N_("Returned to draft"),
    "complete": N_("Completed"),
    "cancel": N_("Cancelled"),
    "create": N_("Created"),
    "add": N_("Added"),
    "add_lines": N_("Added from a table"),
    "edit": N_("Changed"),
    "remove": N_("Removed"),
    "move": N_("Moved"),
    "mark": N_("Section marked"),
    "superseded": N_("Gave way to a newer version"),
    "share": N_("Rights changed"),
    "archive": N_("Archived"),
    "unarchive": N_("Brought back from the archive"),
    "retire": N_("What need not be kept was removed"),
    "change_policy": N_("Another policy put in force"),
    "correct": N_("Draft corrected"),
    "open_round": N_("Next round opened"),
    "pass_on": N_("Passed on"),
    "request": N_("Decision asked for"),
    "tend": N_("Looked after by the clock"),
    "use": N_("Approval used"),
    "vote": N_("Vote given"),
    # What workers do, and what is done about them.
    "abandon": N_("Write given up"),
    "asked": N_("Target asked; the result stays unknown"),
    "begin": N_("Work begins"),
    "begin_step": N_("Step begun"),
    "change_source": N_("Source changed"),
    "compensate": N_("Taking back intended"),
    "ask_for_drill": N_("Drill asked for"),
    "commit_step": N_("Step committed"),
    "drill": N_("Drilled"),
    "fence_restored": N_("Fenced after the database was restored"),
    "escalate": N_("Handed to a person"),
    "finished": N_("Attempt ended: finished"),
    "give_back": N_("Objects given back"),
    "grant": N_("Granted to a worker"),
    "hand_out": N_("Objects handed out"),
    "hand_over": N_("Handed to a person"),
    "intend": N_("Write intended"),
    "issue_token": N_("Token issued"),
    "late_report": N_("Late report kept as evidence"),
    "lease_lapsed": N_("Attempt ended: lease lapsed"),
    "promoted": N_("Made current again"),
    "raise_cap": N_("Cap raised"),
    "reconcile": N_("Target asked"),
    "release": N_("Let go by the worker"),
    "released": N_("Attempt ended: released"),
    "renew": N_("Lease renewed"),
    "revoke_token": N_("Token revoked"),
    "roll_back": N_("Rolled back"),
    "rotate_token": N_("Token rotated"),
    "send": N_("Sent by the workbench"),
    "settle": N_("Decided by the named person"),
    "stop_drill": N_("Drill stopped"),
    "take_over": N_("Taken over"),
    "taken_over": N_("Attempt ended: taken over"),
    "turn_away": N_("Request that could not be read"),
    "use_again": N_("Approval used once more for the same call"),
}
WHOLE: Mapping[str, str] = {
    "contract": N_("Contract"),
    "mark": N_("Section mark"),
    "sharing": N_("Sharing"),
    "drill": N_("Drill"),
    "token": N_("Token of a worker"),
    "request": N_("Request"),
}
# Parts whose rows are named by one of our own words.
LABELLED: Mapping[str, type[Labelled]] = {"limit": Measure, "mark": Section, "plane": Plane, "window": Window}
# Facts that belong to no part's declaration.
FACTS: Mapping[str, str] = {
    "complete": N_("Complete"),
    "digest": N_("Digest of the definition"),
    "position": N_("Position"),
    "reason": N_("Reason"),
    "rights": N_("Rights"),
    "section": N_("Section"),
    "approvals": N_("Approvals"),
    "later_checkpoints": N_("Later checkpoints"),
    "ended_before": N_("Ended before"),
    "restored_to": N_("Restored to"),
    "removed_states": N_("States of checkpoints removed"),
    "removed_results": N_("Results of steps removed"),
    "removed_answers": N_("Answers to workers removed"),
    "removed_bytes": N_("Bytes removed"),
    "request": N_("Request"),
    "result": N_("Result"),
}
EMPTY: tuple[Any, ...] = ("", None, [], {})
LONG = 240  # characters shown before a text is folded
SHOWN = 6  # changed facts shown before the others are folded


@dataclass(frozen=True, slots=True)
class Shown:
    """One value, ready to be shown: as `empty`, `word`, `moment`, `digest`, `text` or `long` text."""

    kind: str
    value: Any = ""

    @property
    def start(self) -> str:
        return f"{self.value[:LONG]}…"


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that is different after the event."""

    label: str
    before: Shown
    after: Shown


@dataclass(frozen=True, slots=True)
class Told:
    """One event as people read it: `name` is what they call its subject, `code` the id that stands for it."""

    event: Event
    who: str
    act: str
    part: str
    name: str
    code: str
    kind: str
    refused: str
    changes: list[Change]

    @property
    def first(self) -> list[Change]:
        return self.changes[:SHOWN]

    @property
    def others(self) -> list[Change]:
        return self.changes[SHOWN:]


def part_words() -> dict[str, str]:
    """Return every part an event may belong to, in words."""
    titles = {name: part.title for name, part in PARTS.items()}
    return {name: gettext(words) for name, words in {**WHOLE, **titles}.items()}


def act_words() -> dict[str, str]:
    """Return everything that an event may say was done, in words and sorted by them."""
    words = {act: gettext(label) for act, label in ACTS.items()}
    return dict(sorted(words.items(), key=lambda pair: pair[1].casefold()))


def told(event: Event) -> Told:
    """Return one event in words; of before and after only what differs."""
    part = WHOLE.get(event.part) or (PARTS[event.part].one if event.part in PARTS else event.part)
    name, code = _subject(event)
    return Told(
        event=event,
        who=event.actor if event.actor_kind == ActorKind.WORKER else called(event.actor),
        act=gettext(ACTS.get(event.act, event.act)),
        part=gettext(part) if part and event.part != "mark" else "",  # the act says already what is marked
        name=name,
        code=code,
        kind=gettext(ActorKind(event.actor_kind).label),
        refused=_refusal(event.refused),
        changes=list(_changes(event)),
    )


def _subject(event: Event) -> tuple[str, str]:
    """Return what people call the subject of an event, and the id to show with it; either may be empty."""
    facts = event.after or event.before or {}
    if event.subject in set(LABELLED.get(event.part, ())):
        return _word(LABELLED[event.part], event.subject), ""
    if event.part == "window":
        return str(facts.get("title") or ""), event.subject  # one of people's own
    if event.part == "operation":
        return event.subject, ""  # tool, object, step and round
    if event.part == "approval" and facts.get("tool"):
        return f"{facts['tool']} → {facts.get('target', '')}", event.subject
    if event.part == "sharing":
        return called(event.subject), ""
    if event.part == "vote" and facts.get("item"):
        return "", str(facts["item"])  # whose vote it is, the actor says
    return "", event.subject


def _refusal(code: str) -> str:
    """Return the refusal's sentence; one with values (they are not kept) is told by its code alone."""
    sentence = SENTENCES.get(code, "")
    return code if not sentence or "%(" in sentence else gettext(sentence)


def _changes(event: Event) -> Iterator[Change]:
    before, after = _flat(event.before), _flat(event.after)
    known = list(_fields_of(event.part))  # PostgreSQL keeps the names of a JSON object in an order of its own
    names = sorted({*before, *after}, key=lambda name: (known.index(name) if name in known else -1, name))
    for name in names:
        was, now = before.get(name), after.get(name)
        if was != now and not (was in EMPTY and now in EMPTY):
            label, field = _field(event.part, name)
            yield Change(label, _shown(name, field, was), _shown(name, field, now))


def _flat(facts: Any) -> dict[str, Any]:
    """Return the facts of an event in one level: a creation holds its identity and its counts of rows."""
    flat: dict[str, Any] = {}
    for name, value in (facts or {}).items():
        if name == "identity" and isinstance(value, dict):
            flat |= value
        elif name == "rows" and isinstance(value, dict):
            flat |= {f"rows/{part}": count for part, count in value.items() if count}
        else:
            flat[name] = value
    return flat


def _fields_of(part: str) -> Mapping[str, Field]:
    fields = PARTS[part].fields if part in PARTS else ()
    if part == "contract":
        fields = (*LIFE.fields, *PARTS["identity"].fields)
    return {field.name: field for field in fields}


def _field(part: str, name: str) -> tuple[str, Field | None]:
    if name.startswith("rows/") and name[5:] in PARTS:
        return gettext(PARTS[name[5:]].title), None
    known = _fields_of(part)
    if name in known:
        return gettext(known[name].label), known[name]
    return gettext(FACTS.get(name, name)), None


def _shown(name: str, field: Field | None, value: Any) -> Shown:
    if value in EMPTY:
        return Shown("empty")
    if isinstance(value, bool):
        return Shown("word", gettext("yes") if value else gettext("no"))
    if name == "rights" and isinstance(value, list):
        return Shown("word", ", ".join(_word(Right, one) for one in value))
    if name == "section":
        return Shown("word", _word(Section, value))
    if name in PEOPLE and isinstance(value, str):
        value = called(value)
    if field is not None and field.words is not None:
        return Shown("word", _word(field.words, value))
    if field is not None and field.kind is Kind.MOMENT:
        return Shown("moment", datetime.fromisoformat(value))
    if (field is not None and field.kind is Kind.SHA256) or name == "digest":
        return Shown("digest", value)
    if field is not None and field.kind is Kind.WHOLES:
        return Shown("word", ", ".join(str(number) for number in value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Shown("long" if len(text) > LONG else "text", text)


def _word(words: Any, value: str) -> str:
    known = {word.value: word.label for word in words}
    return gettext(known[value]) if value in known else value

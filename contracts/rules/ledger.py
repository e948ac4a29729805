"""What is told of one write: the sender's report, how the target was asked, what a person decided.

Each is checked like a row of the contract, so that pages and the API refuse the same things with the same codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contracts.rules.fields import Field, Kind
from contracts.rules.parts.part import COUNTED_LONG, INT4, Part
from contracts.rules.repeating import Answer
from contracts.rules.vocabulary import Section
from contracts.rules.words import N_, Labelled

COMPENSATING = "compensate:"  # begins the step of a write that takes another one back


class Reported(Labelled):
    """What the sender of a write says of it."""

    CONFIRMED = "confirmed", N_("Confirmed")
    REJECTED = "rejected", N_("Clearly rejected")
    UNKNOWN = "unknown", N_("Result unknown")


class Decided(Labelled):
    """What a person may say of a write nobody can know about."""

    CONFIRMED = "confirmed", N_("Confirmed")
    REJECTED = "rejected", N_("Clearly rejected")


REPORT = Part(
    "report",
    Section.OPERATIONS,
    N_("Reports"),
    N_("Report"),
    (
        Field("result", Kind.CHOICE, N_("Result"), words=Reported, required=True),
        Field("reference", Kind.LOCATION, N_("The target's own reference")),
        Field("response_sha256", Kind.SHA256, N_("SHA-256 of the response")),
        Field("detail", Kind.TEXT, N_("Note"), limit=2_000),
    ),
    addable=False,
)
ASKED = Part(
    "asked",
    Section.OPERATIONS,
    N_("Reconciliation"),
    N_("Reconciliation"),
    (
        Field("answer", Kind.CHOICE, N_("What the target said"), words=Answer, required=True),
        Field("asked_at", Kind.MOMENT, N_("Asked at"), required=True),
        Field("path", Kind.LOCATION, N_("Where it was asked"), required=True),
        Field("reference", Kind.LOCATION, N_("The target's own reference")),
        Field("count", Kind.WHOLE, N_("How many the target holds"), high=INT4),
        Field(
            "announced_generation", Kind.WHOLE, N_("Generation the target was told"), low=1, high=COUNTED_LONG
        ),
        Field("announced_at", Kind.MOMENT, N_("Told at")),
        Field("certify_dead", Kind.FLAG, N_("The former process is dead"), default=False),
        Field("note", Kind.TEXT, N_("Note"), limit=1_000),
    ),
    addable=False,
)
DECIDED = Part(
    "decided",
    Section.OPERATIONS,
    N_("Decisions"),
    N_("Decision"),
    (
        Field("decision", Kind.CHOICE, N_("Decision"), words=Decided, required=True),
        Field("evidence", Kind.LOCATION, N_("Evidence"), required=True),
        Field("reason", Kind.TEXT, N_("Reason"), required=True, limit=1_000),
    ),
    addable=False,
)


@dataclass(frozen=True, slots=True)
class AskedForm:
    """How the target was asked, as it is handed in and not checked yet.

    `asked_at`, `announced_at`: a moment, or its ISO 8601 text with a zone. `path`: where it was asked,
    `reference`: the target's own name of what it holds, `count`: how many it holds. `announced_generation`: the
    generation the target was told before it was asked. `certify_dead`: a person's word that the former process
    cannot send any more.
    """

    answer: str
    asked_at: Any
    path: str
    reference: str = ""
    count: int | None = None
    announced_generation: int | None = None
    announced_at: Any = None
    certify_dead: bool = False
    note: str = ""

    def raw(self) -> dict[str, Any]:
        """Return the fields by name, as `check_row` takes them."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def asked_amiss(values: Mapping[str, Any], *, since: datetime, generation: int, now: datetime) -> str:
    """Return the code of what cannot be true of an asking, or an empty text.

    `values`: the clean values of `ASKED`. `since`: when the write was sent, or intended if that is not known.
    `generation`: the highest one granted; none beyond it can have been announced.
    """
    if not since <= values["asked_at"] <= now:
        return "asked_at_wrong"
    told, told_at = values["announced_generation"], values["announced_at"]
    if (told is None) != (told_at is None):
        return "announcement_incomplete"
    if told is not None and (told > generation or told_at > now):
        return "announcement_wrong"
    return ""


def record_of(
    values: Mapping[str, Any], *, asked_by: str, generation: int | None, certified_at: datetime | None
) -> dict[str, Any]:
    """Return the reconciliation record of an operation as JSON; `generation` is None where a person asked."""
    return {
        "answer": values["answer"],
        "asked_at": _text(values["asked_at"]),
        "asked_by": asked_by,
        "generation": generation,
        "announced_generation": values["announced_generation"],
        "announced_at": _text(values["announced_at"]),
        "certified_at": _text(certified_at),
        "count": values["count"],
        "path": values["path"],
        "reference": values["reference"],
        "note": values["note"],
    }


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z") if moment else None

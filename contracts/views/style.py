"""All parts of the visual language on one page, made by the very templates the other pages use."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from contracts.forms.specimens import SpecimenForm
from contracts.rules.drill_runs import RunState
from contracts.rules.recovering import Way
from contracts.rules.refusals import refusal
from contracts.rules.resume_findings import CheckName, Outcome, Standing
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState, StepState
from contracts.rules.vocabulary import Section, SectionState
from contracts.rules.windows import WindowVerdict
from contracts.rules.words import Labelled
from contracts.views.loading import RailEntry

# What the light and the dark half of a topic are called where a landmark must have a name of its own.
SIDE_WORDS = {"light": _("Light"), "dark": _("Dark")}
COLOURS = (
    *("paper", "surface", "sunken", "line", "edge", "ink", "muted", "accent", "accent-deep", "accent-soft"),
    *("ok", "ok-soft", "busy", "busy-soft", "warn", "warn-soft", "bad", "bad-soft", "stale", "stale-soft"),
)
HIDDEN = "case-7\u200b l\u0430bel"  # a character of no width, and a Cyrillic letter
DIGEST = "cec99c54683a87f30990ac3fd2dea71082e10edd1d93cfcf4cfb55b667a12db6"


@dataclass(frozen=True, slots=True)
class Topic:
    """One part of the language: its name, when it is used, and whether both themes stand side by side."""

    name: str
    title: Any
    use: Any
    both: bool = True

    @property
    def part(self) -> str:
        """Return the name of the template that shows it."""
        return f"contracts/style.html#{self.name}"


TOPICS = (
    Topic(
        "colours",
        _("Colours"),
        _("One accent. A state colour never stands alone: a shape and a word go with it."),
    ),
    Topic(
        "type",
        _("Type and ids"),
        _("System fonts. What is exact is set in the monospaced face and can be copied."),
    ),
    Topic("chips", _("States"), _("Each state has its word, its shape and its tone, the same everywhere.")),
    Topic(
        "buttons",
        _("Buttons"),
        _("One main deed on a page. What destroys is marked and asks again on its own page."),
    ),
    Topic("fields", _("Forms"), _("Label, field, hint. Nothing is judged before the first save.")),
    Topic(
        "errors",
        _("Forms with errors"),
        _(
            "A summary on top leads to each field; the same words stand at the field, and what was typed stays."
        ),
        both=False,
    ),
    Topic(
        "notes",
        _("Notes and status lines"),
        _("A note says what happened or what to mind; the status line what is saved."),
    ),
    Topic(
        "tables",
        _("Tables"),
        _("Rows keep their height, numbers stand to the right; on a phone each row is a card."),
    ),
    Topic(
        "amounts",
        _("Bars, gauges and progress"),
        _("Every bar is a real count and says it in words as well."),
    ),
    Topic(
        "decision",
        _("Verdicts and facts"),
        _("One sentence first, then the checks behind it, then the facts."),
    ),
    Topic(
        "texts",
        _("Texts, code and differences"),
        _("Exact text keeps its line breaks; what changed is marked by more than colour."),
    ),
    Topic(
        "places",
        _("Finding one's way"),
        _("The rail, tabs and pages of a list; the current place is said, not only shown."),
        both=False,
    ),
    Topic("nothing", _("Empty and folded"), _("An empty place says what belongs there and how to begin.")),
    Topic(
        "print",
        _("The head on paper"),
        _("On paper alone: id, revision and checksum on every document."),
        both=False,
    ),
)

STATES: tuple[tuple[Any, type[Labelled]], ...] = (
    (_("Contract"), ContractState),
    (_("Object"), ObjectState),
    (_("Operation"), OperationState),
    (_("Approval"), ApprovalState),
    (_("Journal step"), StepState),
    (_("Section"), SectionState),
    (_("Resume decision"), Outcome),
    (_("Ways back"), Way),
    (_("Run of drills"), RunState),
    (_("Failure window"), WindowVerdict),
)


@require_safe
def style(request: HttpRequest) -> HttpResponse:
    wrong = SpecimenForm({"title": "", "effect": "free"}, auto_id="wrong_%s")
    wrong.is_valid()
    now = timezone.now()
    return render(
        request,
        "contracts/style.html",
        {
            "topics": TOPICS,
            "sides": [(side, SIDE_WORDS[side], SpecimenForm(auto_id=f"{side}_%s")) for side in SIDE_WORDS],
            "colours": COLOURS,
            "states": [(title, list(members)) for title, members in STATES],
            "wrong": wrong,
            "refused": refusal("stale_version"),
            "now": now,
            "later": now + timedelta(hours=5, minutes=12),
            "digest": DIGEST,
            "hidden": HIDDEN,
            "bar": counts((7, ObjectState.CONFIRMED), (2, ObjectState.IN_PROGRESS), (1, ObjectState.UNKNOWN)),
            "whole_bar": counts(*zip((5, 2, 34, 1, 2, 3), ObjectState, strict=True)),
            "checks": list(zip(CheckName, SHOWN_STANDINGS, strict=False)),
            "gauges": ((_("Model turns"), 37, 60), (_("Tool attempts"), 17, 20), (_("Tokens"), 200, 200)),
            "rail": list(rail()),
            "page": Paginator(range(120), 25).page(2),
        },
    )


SHOWN_STANDINGS = (Standing.PASSED, Standing.PASSED, Standing.ATTENTION, Standing.BLOCKED)


def counts(*pairs: tuple[int, ObjectState]) -> list[tuple[ObjectState, int]]:
    """Return what the tag `bar` takes."""
    return [(state, count) for count, state in pairs]


def rail() -> Iterable[RailEntry]:
    """Return the first sections of a rail, one in each state; the links stay on this page."""
    for section, state in zip(Section, SectionState, strict=False):
        yield RailEntry("#places", section.label, state.label, state.value, state is SectionState.IN_PROGRESS)

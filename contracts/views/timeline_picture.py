"""The picture of a timeline: the layout in words, ready to be written as SVG."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.timezone import get_current_timezone, localtime
from django.utils.translation import gettext, pgettext

from contracts.rules.states import ApprovalState, OperationState
from contracts.rules.timeline import Grain, MarkKind, Stretch, Tick, ticks
from contracts.rules.timeline_layout import AXIS, BAR, Glyph, Lane, Picture, lay_out
from contracts.views.timeline_marks import COMMITTED, ROLLED_BACK, USED, Line, Seen

# One picture for wide screens and paper, one for phones: glyphs beside each other, ticks, letters of a label.
SIZES = {"wide": (32, 8, 72), "narrow": (12, 4, 38)}
# Outlines by kind and signs by state, around the origin: told apart on paper too.
OUTLINES: Mapping[MarkKind, str] = {
    MarkKind.CHECKPOINT: "M0-7.5 7.5 0 0 7.5-7.5 0Z",
    MarkKind.OPERATION: "M-7-7H7V7H-7Z",
    MarkKind.APPROVAL: "M-7.5 0a7.5 7.5 0 1 0 15 0a7.5 7.5 0 1 0-15 0Z",
}
CHECK, CROSS, DASH = "M-3.5.3-1 2.8 3.5-2.6", "M-2.8-2.8 2.8 2.8M2.8-2.8-2.8 2.8", "M-3.4 0H3.4"
SIGNS: Mapping[str, str] = {
    "committed": "M0-2.5 2.5 0 0 2.5-2.5 0Z",
    "rolled_back": "M3.2 0H-2.6M-.4-2.4-2.8 0-.4 2.4",
    "confirmed": CHECK,
    "approved": CHECK,
    "rejected": CROSS,
    "unknown": "M-2.2-2.2C-2.2-5 2.4-5 2.4-2.2 2.4-.6 0-.6 0 1.2M0 3.6V4.4",
    "sending": "M-3.6 0H3M.8-2.6 3.4 0 .8 2.6",
    "abandoned": DASH,
    "withdrawn": DASH,
    "stale": "M-3.2-1.4H3.2M-3.2 1.4H3.2M1.8-3.6-1.8 3.6",
    "expired": "M-2.6-3.6H2.6L-2.6 3.6H2.6Z",
    "used": "M-2-3.4 3.4 0-2 3.4Z",
}


@dataclass(frozen=True, slots=True)
class ShownGlyph:
    """One glyph with its name; `ident` is the newest of its lines in the table."""

    glyph: Glyph
    ident: str
    name: str

    @property
    def kind(self) -> MarkKind:
        return self.glyph.first.kind

    @property
    def state(self) -> str:
        return self.glyph.first.state

    @property
    def outline(self) -> str:
        return OUTLINES[self.kind]

    @property
    def sign(self) -> str:
        return SIGNS.get(self.state, "")


@dataclass(frozen=True, slots=True)
class ShownLane:
    """One lane with its words; `url` leads to its time alone."""

    lane: Lane
    label: str
    url: str
    bar_name: str
    glyphs: list[ShownGlyph]


@dataclass(frozen=True, slots=True)
class ShownTick:
    """One tick: its day, where that is new, and its time; `anchor` keeps both inside the picture."""

    x: float
    day: str
    time: str
    anchor: str


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """One picture, ready to be written as SVG."""

    size: str
    height: int
    ticks: list[ShownTick]
    lanes: list[ShownLane]
    now_x: float | None
    layout: Picture
    axis: int = AXIS
    bar: int = BAR

    @property
    def leased(self) -> bool:
        """Tell whether any lease is drawn."""
        return any(lane.pieces for lane in self.layout.lanes)


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the legend."""

    kind: MarkKind
    state: str
    words: str
    outline: str
    sign: str


def query_of(stretch: Stretch) -> str:
    """Return the query that asks for one range of time."""
    ends = {"from": stretch.start.isoformat(), "to": stretch.end.isoformat()}
    return f"?{urlencode(ends)}"


def draw(seen: Seen, stretch: Stretch, now: datetime, size: str) -> ShownPicture:
    """Return the picture of a range of time in one of the `SIZES`."""
    slots, most, letters = SIZES[size]
    layout = lay_out(stretch, seen.leases, seen.marks, seen.courses, slots=slots)
    return ShownPicture(
        size=size,
        height=layout.height,
        ticks=[_tick(tick) for tick in ticks(stretch, get_current_timezone(), most)],
        lanes=[_lane(seen, lane, letters) for lane in layout.lanes],
        now_x=stretch.x(now) if stretch.start <= now <= stretch.end else None,
        layout=layout,
    )


def _tick(tick: Tick) -> ShownTick:
    anchor = "start" if tick.x < 6 else "end" if tick.x > 94 else "middle"
    day = date_format(tick.at, pgettext("date format", "j M"))
    if tick.grain is Grain.SECOND:
        return ShownTick(tick.x, day if tick.new_day else "", date_format(tick.at, "H:i:s"), anchor)
    if tick.grain is Grain.MINUTE:
        return ShownTick(tick.x, day if tick.new_day else "", date_format(tick.at, "H:i"), anchor)
    if tick.grain is Grain.DAY:
        return ShownTick(tick.x, "", day, anchor)
    form = pgettext("date format", "M Y") if tick.grain is Grain.MONTH else "Y"
    return ShownTick(tick.x, "", date_format(tick.at, form), anchor)


def _lane(seen: Seen, lane: Lane, letters: int) -> ShownLane:
    label, url, bar_name = _lane_words(seen, lane)
    return ShownLane(
        lane=lane,
        label=label if len(label) <= letters else f"{label[: letters - 1]}…",
        url=url,
        bar_name=bar_name,
        glyphs=[_glyph(seen, glyph) for glyph in lane.glyphs],
    )


def _lane_words(seen: Seen, lane: Lane) -> tuple[str, str, str]:
    if lane.kind is MarkKind.APPROVAL:
        return gettext("Approvals, from request to use"), "", ""
    if lane.generation is None:
        return gettext("Not sent"), "", ""
    label = gettext("Generation %(number)d") % {"number": lane.generation}
    if lane.lease is None:
        return label, "", ""
    line = seen.lines[lane.lease.ident]
    words = [label, _minutes(line), line.who, gettext("recorded by hand") if line.by_hand else ""]
    url = query_of(Stretch(lane.lease.start, lane.lease.end).widened())
    ended = f" – {_clock(line.until)}" if line.until else ""
    return (
        " · ".join(word for word in words if word),
        url,
        f"{line.name}: {line.words}, {_clock(line.at)}{ended}",
    )


def _minutes(line: Line) -> str:
    """Return from when until when an attempt lasted; its days stand at the axis."""
    begun = date_format(localtime(line.at), "H:i")
    if line.until is None:
        return gettext("since %(time)s") % {"time": begun}
    return f"{begun}–{date_format(localtime(line.until), 'H:i')}"


def _glyph(seen: Seen, glyph: Glyph) -> ShownGlyph:
    line = seen.lines[glyph.last.ident]
    if glyph.count == 1:
        return ShownGlyph(glyph, line.ident, f"{line.name}: {line.words}, {_clock(line.at)}")
    what = f"{glyph.count} × {gettext(line.kind.label)}: {line.words}"
    return ShownGlyph(glyph, line.ident, f"{what}, {_clock(glyph.first.at)} – {_clock(line.at)}")


def _clock(moment: datetime) -> str:
    return date_format(localtime(moment), pgettext("date format", "j F Y, H:i T"))


def legend(seen: Seen) -> list[Key]:
    """Return one entry for each glyph that may stand in the picture, in the order of kinds and states."""
    words = {(MarkKind.CHECKPOINT, "committed"): COMMITTED, (MarkKind.CHECKPOINT, "rolled_back"): ROLLED_BACK}
    words |= {(MarkKind.OPERATION, state.value): state.label for state in OperationState}
    words |= {(MarkKind.APPROVAL, state.value): state.label for state in ApprovalState}
    words[MarkKind.APPROVAL, "used"] = USED
    marks = [*seen.marks, *(mark for course in seen.courses for mark in course.marks)]
    there = {(mark.kind, mark.state) for mark in marks}
    return [
        Key(kind, state, f"{gettext(kind.label)}: {gettext(said)}", OUTLINES[kind], SIGNS.get(state, ""))
        for (kind, state), said in words.items()
        if (kind, state) in there
    ]

"""The layout of a timeline: which lane, which place, which glyph.

Across, everything is a share of the width in per cent, so that one picture fits every screen; down, it is pixels.
What would overlap is drawn as one glyph with its number; the table beside the picture holds every mark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from contracts.rules.timeline import Course, Lease, Mark, MarkKind, Stretch

LANES_MAX, COURSES_MAX = 24, 16  # drawn; what is left out is counted
LABEL, BAR, GAP, AXIS = 20, 14, 10, 36  # heights in pixels
TIER, COUNTED_TIER = 24, 32  # of a row of glyphs, and of one where a number stands below a glyph


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a lease: held, or `lapsed` and still not ended."""

    x: float
    end: float
    lapsed: bool

    @property
    def width(self) -> float:
        return round(self.end - self.x, 2)


@dataclass(frozen=True, slots=True)
class Tail:
    """A line that leads to a glyph, or from one that is still `open`."""

    x1: float
    x2: float
    y: int
    open: bool


@dataclass(frozen=True, slots=True)
class Glyph:
    """One place in the picture, for one mark or for several of one state that would overlap."""

    x: float
    y: int
    marks: tuple[Mark, ...]

    @property
    def first(self) -> Mark:
        return self.marks[0]

    @property
    def last(self) -> Mark:
        return self.marks[-1]

    @property
    def count(self) -> int:
        return len(self.marks)


@dataclass(frozen=True, slots=True)
class Lane:
    """One attempt (by generation), what belongs to none, or the requests: `y` is its top."""

    kind: MarkKind
    generation: int | None
    lease: Lease | None
    y: int
    height: int
    pieces: tuple[Piece, ...]
    tails: tuple[Tail, ...]
    glyphs: tuple[Glyph, ...]

    @property
    def label_y(self) -> int:
        return self.y + LABEL - 6

    @property
    def bar_y(self) -> int:
        return self.y + LABEL

    @property
    def bar_middle(self) -> int:
        return self.bar_y + BAR // 2


@dataclass(frozen=True, slots=True)
class Frame:
    """What the picture shows, and how much of its width one glyph takes."""

    stretch: Stretch
    room: float

    def x(self, moment: datetime) -> float:
        """Return where `moment` stands."""
        return self.stretch.x(moment)


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole layout. `lanes_left`, `courses_left`: how many found no room."""

    stretch: Stretch
    lanes: tuple[Lane, ...]
    height: int
    lanes_left: int
    courses_left: int


def lay_out(
    stretch: Stretch, leases: Sequence[Lease], marks: Sequence[Mark], courses: Sequence[Course], *, slots: int
) -> Picture:
    """Return where everything stands; `slots` glyphs find room beside each other."""
    frame = Frame(stretch, 100 / slots)
    generations = {lease.generation for lease in leases} | {mark.generation for mark in marks}
    known = sorted(one for one in generations if one is not None)
    kept: list[int | None] = [*known[-LANES_MAX:], *([None] if None in generations else [])]
    by_generation = {lease.generation: lease for lease in leases}
    lanes: list[Lane] = []
    y = AXIS
    for generation in kept:
        own = [mark for mark in marks if mark.generation == generation]
        lease = by_generation.get(generation) if generation is not None else None
        lanes.append(_lane(frame, generation, lease, own, y))
        y += lanes[-1].height + GAP
    left = 0
    if courses:
        lane, left = _courses(frame, courses, y)
        lanes.append(lane)
        y += lane.height + GAP
    return Picture(stretch, tuple(lanes), y, max(0, len(known) - LANES_MAX), left)


def _lane(frame: Frame, generation: int | None, lease: Lease | None, marks: Sequence[Mark], top: int) -> Lane:
    y = top + LABEL + (BAR + 4 if lease else 0)
    tails: list[Tail] = []
    glyphs: list[Glyph] = []
    for kind in (MarkKind.CHECKPOINT, MarkKind.OPERATION):
        own = sorted((mark for mark in marks if mark.kind is kind), key=lambda mark: mark.at)
        if own:
            found, height = _row(frame, own, y)
            glyphs += found
            tails += [tail for glyph in found for tail in _tails(frame, glyph)]
            y += height
    pieces = _pieces(frame.stretch, lease) if lease else ()
    return Lane(MarkKind.ATTEMPT, generation, lease, top, y - top, tuple(pieces), tuple(tails), tuple(glyphs))


def _pieces(stretch: Stretch, lease: Lease) -> list[Piece]:
    lapse = min(max(lease.lease_end or lease.end, lease.start), lease.end)
    ends = [(lease.start, lapse, False), (lapse, lease.end, True)]
    found = []
    for start, end, lapsed in ends:
        if end >= stretch.start and (end > start or not lapsed):
            found.append(Piece(stretch.x(start), stretch.x(end), lapsed))
    return found


def _row(frame: Frame, marks: Sequence[Mark], top: int) -> tuple[list[Glyph], int]:
    """Return the glyphs of marks sorted by time, and how high they are together.

    Marks nearer to each other than a glyph is wide share a place; there each state is a glyph of its own.
    """
    places: list[list[Mark]] = []
    begun = -frame.room
    for mark in marks:
        if (x := frame.x(mark.at)) - begun >= frame.room:
            places.append([])
            begun = x
        places[-1].append(mark)
    stacks = [_by_state(place) for place in places]
    tier = COUNTED_TIER if any(len(one) > 1 for stack in stacks for one in stack) else TIER
    glyphs = [
        Glyph(frame.x(stack[0][0].at), top + level * tier + TIER // 2, tuple(one))
        for stack in stacks
        for level, one in enumerate(stack)
    ]
    return glyphs, tier * max(len(stack) for stack in stacks)


def _by_state(marks: Iterable[Mark]) -> list[list[Mark]]:
    """Return the marks state by state, the state of the earliest first."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.state, []).append(mark)
    return list(found.values())


def _tails(frame: Frame, glyph: Glyph) -> list[Tail]:
    """Return the lines that lead to a glyph and from it, of all its marks as one."""
    found = []
    begun = [frame.x(mark.since) for mark in glyph.marks if mark.since is not None]
    open_till = [frame.x(mark.until) for mark in glyph.marks if mark.until is not None]
    if begun and min(begun) < glyph.x:
        found.append(Tail(min(begun), glyph.x, glyph.y, open=False))
    if open_till and max(open_till) > glyph.x:
        found.append(Tail(glyph.x, max(open_till), glyph.y, open=True))
    return found


def _courses(frame: Frame, courses: Sequence[Course], top: int) -> tuple[Lane, int]:
    """Return the lane of the requests, each on the first line that is free, and how many found none."""
    free: list[float] = []  # where each line is free again
    glyphs: list[Glyph] = []
    tails: list[Tail] = []
    left = 0
    for course in sorted(courses, key=lambda one: one.marks[0].at):
        begin, end = _ends(frame, course)
        line = next((n for n, x in enumerate(free) if begin - x >= frame.room), len(free))
        if line == COURSES_MAX:
            left += 1
            continue
        free[line : line + 1] = [end]
        y = top + LABEL + line * TIER + TIER // 2
        tails += _course_tails(frame, course, y)
        glyphs += _course_glyphs(frame, course, y)
    height = LABEL + TIER * len(free)
    return Lane(MarkKind.APPROVAL, None, None, top, height, (), tuple(tails), tuple(glyphs)), left


def _ends(frame: Frame, course: Course) -> tuple[float, float]:
    last = max(course.marks[-1].at, course.until or course.marks[-1].at)
    return frame.x(course.marks[0].at), frame.x(last)


def _course_tails(frame: Frame, course: Course, y: int) -> list[Tail]:
    begin, last = frame.x(course.marks[0].at), frame.x(course.marks[-1].at)
    found = [Tail(begin, last, y, open=False)] if last > begin else []
    if course.until is not None and frame.x(course.until) > last:
        found.append(Tail(last, frame.x(course.until), y, open=True))
    return found


def _course_glyphs(frame: Frame, course: Course, y: int) -> list[Glyph]:
    """Return a glyph for each mark in the range; of those that would overlap the last one tells how it went."""
    inside = [mark for mark in course.marks if frame.stretch.start <= mark.at <= frame.stretch.end]
    found: list[Glyph] = []
    for mark in inside:
        x = frame.x(mark.at)
        if found and x - found[-1].x < frame.room:
            found.pop()
        found.append(Glyph(x, y, (mark,)))
    return found

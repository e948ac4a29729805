"""The time of a contract's timeline: ranges that people choose, ticks at round moments, and what happened when."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from itertools import takewhile

from contracts.rules.words import N_, Labelled

SHOWN_AT_ONCE = timedelta(days=31)  # a longer history begins with its newest month
LEAST = timedelta(seconds=10)  # nothing shorter is stretched over a whole picture
# What people record by hand may lie anywhere; beyond these no margin and no tick could be added.
EARLIEST, LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(8000, 1, 1, tzinfo=UTC)


class MarkKind(Labelled):
    """What a mark is about."""

    ATTEMPT = "attempt", N_("Attempt")
    CHECKPOINT = "checkpoint", N_("Checkpoint")
    OPERATION = "operation", N_("Operation")
    APPROVAL = "approval", N_("Approval")


class Span(Labelled):
    """Ranges of time that people choose; each ends with the newest mark."""

    ALL = "all", N_("All")
    MONTH = "month", N_("Month")
    WEEK = "week", N_("Week")
    DAY = "day", N_("Day")
    HOUR = "hour", N_("Hour")
    MINUTES = "minutes", N_("10 minutes")


LENGTHS: dict[Span, timedelta] = {
    Span.MONTH: timedelta(days=31),
    Span.WEEK: timedelta(days=7),
    Span.DAY: timedelta(days=1),
    Span.HOUR: timedelta(hours=1),
    Span.MINUTES: timedelta(minutes=10),
}


def drawable(moment: datetime) -> datetime:
    """Return `moment`, or the nearest one that can be drawn."""
    return min(max(moment, EARLIEST), LATEST)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of time, both ends among it."""

    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def x(self, moment: datetime) -> float:
        """Return where `moment` stands, in per cent of the width; outside the range: at the nearer edge."""
        share = (moment - self.start) / self.length
        return round(100 * min(1.0, max(0.0, share)), 2)

    def newest(self, length: timedelta) -> "Stretch":
        """Return the last `length` of it."""
        return Stretch(max(self.start, self.end - length), self.end)

    def before(self, whole: "Stretch") -> "Stretch | None":
        """Return the range as long as this one that comes before it; None where nothing of `whole` does."""
        if self.start <= whole.start:
            return None
        start = self.start - min(self.length, self.start - whole.start)
        return Stretch(start, start + self.length)

    def after(self, whole: "Stretch") -> "Stretch | None":
        """Return the range as long as this one that comes after it; None where nothing of `whole` does."""
        if self.end >= whole.end:
            return None
        end = self.end + min(self.length, whole.end - self.end)
        return Stretch(end - self.length, end)

    def widened(self) -> "Stretch":
        """Return it with a margin at both ends, and never too short to look at."""
        margin = max(self.length * 0.02, (LEAST - self.length) / 2)
        return Stretch(self.start - margin, self.end + margin)


def spans_of(whole: Stretch) -> list[Span]:
    """Return the ranges worth a choice: all of it, and what is shorter than that."""
    shorter = [span for span, length in LENGTHS.items() if length < whole.length]
    return [Span.ALL, *shorter]


def chosen(whole: Stretch, span: str) -> tuple[Span, Stretch]:
    """Return the range somebody asked for by its name; for another word all, or the newest month of a long history."""
    if span in LENGTHS and LENGTHS[Span(span)] < whole.length:
        return Span(span), whole.newest(LENGTHS[Span(span)])
    if span != Span.ALL and whole.length > SHOWN_AT_ONCE:
        return Span.MONTH, whole.newest(SHOWN_AT_ONCE)
    return Span.ALL, whole


class Grain(StrEnum):
    """How finely a tick is labelled."""

    SECOND = "second"
    MINUTE = "minute"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class Step:
    """The distance of two ticks: so many seconds, days or months, and how long that is at least."""

    grain: Grain
    count: int
    length: timedelta


@dataclass(frozen=True, slots=True)
class Tick:
    """A round moment; `new_day`: whether its day is another than that of the tick before it."""

    x: float
    at: datetime
    grain: Grain
    new_day: bool


STEPS = (
    *(Step(Grain.SECOND, n, timedelta(seconds=n)) for n in (1, 2, 5, 10, 15, 30)),
    *(Step(Grain.MINUTE, 60 * n, timedelta(minutes=n)) for n in (1, 2, 5, 10, 15, 30)),
    *(Step(Grain.MINUTE, 3_600 * n, timedelta(hours=n)) for n in (1, 2, 3, 6, 12)),
    *(Step(Grain.DAY, n, timedelta(days=n)) for n in (1, 2, 7, 14)),
    *(Step(Grain.MONTH, n, timedelta(days=28 * n)) for n in (1, 3, 6)),
    *(Step(Grain.YEAR, 12 * n, timedelta(days=365 * n)) for n in (1, 2, 5, 10, 50, 100, 1_000)),
)


def ticks(stretch: Stretch, zone: tzinfo, most: int) -> list[Tick]:
    """Return at most `most` + 1 round moments of the range, by the clocks of `zone`."""
    step = next((one for one in STEPS if stretch.length <= most * one.length), STEPS[-1])
    found: list[Tick] = []
    for at in _moments(stretch, zone, step):
        new_day = not found or found[-1].at.date() != at.date()
        found.append(Tick(stretch.x(at), at, step.grain, new_day))
    return found


def _moments(stretch: Stretch, zone: tzinfo, step: Step) -> Iterator[datetime]:
    first = stretch.start.astimezone(zone)
    if step.grain in (Grain.SECOND, Grain.MINUTE):
        found = _steps_of_seconds(first, step.count)
    elif step.grain is Grain.DAY:
        found = _steps_of_days(first, step.count)
    else:
        found = _steps_of_months(first, step.count)
    return (at for at in takewhile(lambda at: at <= stretch.end, found) if at >= stretch.start)


def _steps_of_seconds(first: datetime, count: int) -> Iterator[datetime]:
    """Count from the midnight before; in UTC, so that no hour is missed or doubled when clocks are changed."""
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    passed = int((first.astimezone(UTC) - midnight).total_seconds()) // count
    while True:
        yield (midnight + timedelta(seconds=passed * count)).astimezone(first.tzinfo)
        passed += 1


def _steps_of_days(first: datetime, count: int) -> Iterator[datetime]:
    day = (first.toordinal() - 1) // count * count + 1  # the first day of all was a Monday
    while True:
        yield datetime.combine(date.fromordinal(day), time(), first.tzinfo)
        day += count


def _steps_of_months(first: datetime, count: int) -> Iterator[datetime]:
    month = (12 * first.year + first.month - 1) // count * count
    while True:
        yield datetime(max(1, month // 12), month % 12 + 1, 1, tzinfo=first.tzinfo)
        month += count


@dataclass(frozen=True, slots=True)
class Lease:
    """The time one attempt held the contract. `end` is when it ended, or now; its lease may have lapsed before."""

    ident: str
    generation: int
    start: datetime
    end: datetime
    lease_end: datetime | None
    open: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one moment under one generation (None: under none).

    `since`: where it began; `until`: how long it has stayed open.
    """

    ident: str
    kind: MarkKind
    state: str
    at: datetime
    generation: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What became of one request, in order of time; `until`: how long the last of it has stayed open."""

    marks: tuple[Mark, ...]
    until: datetime | None = None

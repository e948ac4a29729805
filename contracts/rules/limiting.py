"""What the cumulative limits leave: caps against totals over all attempts, whole and for one step.

Totals are sums that the server keeps. No new owner and no new process begins at zero, and what went beyond a
cap leaves nothing: never less than nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from contracts.rules.vocabulary import Measure
from contracts.rules.words import N_, Labelled

Totals = Mapping[str, Decimal]
NOTHING = Decimal(0)
PER_STEP = (Measure.TRIES_PER_STEP, Measure.FAILED_RECOVERIES)
NEAR_SHARE, CLOSE_SHARE = Decimal("0.80"), Decimal("0.95")


class Level(Labelled):
    """How near a total is to its cap."""

    FREE = "free", N_("Enough is left")
    NEAR = "near", N_("Four fifths are used")
    CLOSE = "close", N_("Nearly used up")
    REACHED = "reached", N_("Cap reached")


@dataclass(frozen=True, slots=True)
class Cap:
    """One agreed limit in the unit of its measure; without `cap` the measure is only counted."""

    measure: Measure
    cap: Decimal | None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """One limit as it stands: `left` is None where nothing is capped; `step` names the step it counts for."""

    measure: Measure
    cap: Decimal | None
    total: Decimal
    left: Decimal | None
    level: Level
    step: str = ""
    currency: str = ""


def limits_left(caps: Iterable[Cap], totals: Totals, *, step: str, step_totals: Totals) -> tuple[Left, ...]:
    """Return every limit in the order of the measures.

    `totals` are sums over the whole task, `step_totals` those over `step` alone: a limit per step is compared
    with the latter.
    """
    by_measure = {cap.measure: cap for cap in caps}
    return tuple(
        _left(by_measure.get(measure, Cap(measure, None)), step_totals, step)
        if measure in PER_STEP
        else _left(by_measure.get(measure, Cap(measure, None)), totals, "")
        for measure in Measure
    )


def _left(cap: Cap, totals: Totals, step: str) -> Left:
    total = totals.get(cap.measure, NOTHING)
    left = None if cap.cap is None else max(cap.cap - total, NOTHING)
    return Left(cap.measure, cap.cap, total, left, level_of(cap.cap, total), step, cap.currency)


def level_of(cap: Decimal | None, total: Decimal) -> Level:
    """Return how near `total` is to `cap`; a share is reached where it is exactly met."""
    if cap is None or total < cap * NEAR_SHARE:
        return Level.FREE
    if total < cap * CLOSE_SHARE:
        return Level.NEAR
    return Level.CLOSE if total < cap else Level.REACHED


def first_reached(limits: Iterable[Left]) -> Left | None:
    """Return the first limit, in the order given, whose cap is reached."""
    return next((left for left in limits if left.level is Level.REACHED), None)


def nearing(limits: Iterable[Left]) -> tuple[Left, ...]:
    """Return the limits of which people are to be warned, those already reached left out."""
    return tuple(left for left in limits if left.level in (Level.NEAR, Level.CLOSE))


def first_exceeded(limits: Iterable[Left], wanted: Totals) -> Left | None:
    """Return the first limit that does not leave the amount `wanted` of its measure.

    A cap may be met exactly. What wants nothing of a measure is not held up by it.
    """
    return next((left for left in limits if _too_much(left, wanted.get(left.measure, NOTHING))), None)


def _too_much(left: Left, amount: Decimal) -> bool:
    return left.left is not None and amount > left.left

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.limiting import (
    PER_STEP,
    Cap,
    Level,
    first_exceeded,
    first_reached,
    level_of,
    limits_left,
    nearing,
)
from contracts.rules.vocabulary import Measure

amounts = st.decimals(min_value=0, max_value=10**9, places=6)


def left(measure=Measure.TOKENS, cap="100", total="0", step_total="0"):
    caps = [Cap(measure, None if cap is None else Decimal(cap))]
    totals, of_step = {measure: Decimal(total)}, {measure: Decimal(step_total)}
    found = limits_left(caps, totals, step="draft", step_totals=of_step)
    return next(one for one in found if one.measure is measure)


@pytest.mark.parametrize(
    ("total", "level"),
    [
        ("0", Level.FREE),
        ("79.999999", Level.FREE),
        ("80", Level.NEAR),
        ("94.999999", Level.NEAR),
        ("95", Level.CLOSE),
        ("99.999999", Level.CLOSE),
        ("100", Level.REACHED),
        ("100.000001", Level.REACHED),
    ],
)
def test_people_are_warned_at_four_fifths_and_at_nineteen_twentieths(total, level):
    assert left(total=total).level is level


def test_without_a_cap_it_is_only_counted():
    counted = left(cap=None, total="1000000")
    assert (counted.left, counted.level, counted.total) == (None, Level.FREE, Decimal(1_000_000))


def test_every_measure_is_told_in_its_order_whether_capped_or_not():
    found = limits_left([], {}, step="draft", step_totals={})
    assert [one.measure for one in found] == list(Measure)
    assert {one.total for one in found} == {Decimal(0)}


@pytest.mark.parametrize("measure", list(Measure))
def test_limits_per_step_count_that_step_alone(measure):
    one = left(measure, total="90", step_total="10")
    assert (one.total, one.step) == ((Decimal(10), "draft") if measure in PER_STEP else (Decimal(90), ""))


def test_the_currency_goes_with_the_cost():
    found = limits_left([Cap(Measure.COST, Decimal(5), "EUR")], {}, step="", step_totals={})
    assert [one.currency for one in found if one.measure is Measure.COST] == ["EUR"]


def test_the_first_cap_reached_is_the_first_of_the_measures():
    caps = [
        Cap(Measure.COST, Decimal(1)),
        Cap(Measure.MODEL_TURNS, Decimal(1)),
        Cap(Measure.TOKENS, Decimal(9)),
    ]
    totals = {Measure.COST: Decimal(2), Measure.MODEL_TURNS: Decimal(1), Measure.TOKENS: Decimal(8)}
    found = limits_left(caps, totals, step="", step_totals={})
    assert first_reached(found).measure is Measure.MODEL_TURNS
    assert [one.measure for one in nearing(found)] == [Measure.TOKENS]
    assert first_reached(limits_left(caps, {}, step="", step_totals={})) is None


@pytest.mark.parametrize(("wanted", "held"), [("0", False), ("20", False), ("20.000001", True), ("21", True)])
def test_a_cap_may_be_met_exactly_and_not_passed(wanted, held):
    found = first_exceeded([left(total="80")], {Measure.TOKENS: Decimal(wanted)})
    assert (found is not None) is held


def test_what_wants_nothing_of_a_measure_is_not_held_up_by_it():
    assert first_exceeded([left(total="200")], {Measure.COST: Decimal(5)}) is None
    assert first_exceeded([left(cap=None)], {Measure.TOKENS: Decimal(10**9)}) is None


@given(cap=amounts.filter(bool), used=amounts, more=amounts)
def test_what_is_left_never_grows_by_use_and_never_falls_below_nothing(cap, used, more):
    before, after = left(cap=cap, total=used), left(cap=cap, total=used + more)
    assert 0 <= after.left <= before.left <= cap
    levels = list(Level)
    assert levels.index(level_of(cap, used + more)) >= levels.index(level_of(cap, used))
    assert (after.level is Level.REACHED) == (after.left == 0)

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from contracts.rules.timeline import (
    Course,
    Grain,
    Lease,
    Mark,
    MarkKind,
    Span,
    Stretch,
    chosen,
    drawable,
    spans_of,
    ticks,
)
from contracts.rules.timeline_layout import COURSES_MAX, LANES_MAX, lay_out

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)
DAY = Stretch(NOON - 24 * HOUR, NOON)


def mark(hours, state="committed", *, kind=MarkKind.CHECKPOINT, generation=1, **more):
    at = NOON - hours * HOUR
    return Mark(f"{kind}-{hours}-{state}", kind, state, at, generation=generation, **more)


def write(hours, state="confirmed", **more):
    return mark(hours, state, kind=MarkKind.OPERATION, **more)


def course(*hours, until=None):
    return Course(tuple(mark(one, kind=MarkKind.APPROVAL, generation=None) for one in hours), until)


def lease(start, end, lease_end=None, generation=1):
    ends = [NOON - hours * HOUR for hours in (start, end)]
    return Lease("a", generation, *ends, None if lease_end is None else NOON - lease_end * HOUR, open=False)


def drawn(leases=(), marks=(), courses=(), slots=24):
    return lay_out(DAY, leases, marks, courses, slots=slots)


def test_a_moment_stands_at_its_share_of_the_width():
    assert [DAY.x(NOON - hours * HOUR) for hours in (24, 18, 12, 0)] == [0, 25, 50, 100]


def test_a_moment_outside_stands_at_the_nearer_edge():
    assert (DAY.x(NOON - 30 * HOUR), DAY.x(NOON + HOUR)) == (0, 100)


def test_a_moment_alone_is_widened_to_something_to_look_at():
    assert Stretch(NOON, NOON).widened().length == timedelta(seconds=10)
    assert DAY.widened().length == DAY.length * 1.04


def test_the_range_before_and_after_is_as_long_and_stays_within_all():
    whole = Stretch(NOON - 60 * HOUR, NOON + HOUR)
    assert DAY.before(whole) == Stretch(NOON - 48 * HOUR, NOON - 24 * HOUR)
    assert DAY.after(whole) == Stretch(NOON - 23 * HOUR, NOON + HOUR)
    assert (whole.before(whole), whole.after(whole)) == (None, None)


def test_a_moment_beyond_all_margins_is_brought_back():
    beyond = datetime(9999, 12, 31, tzinfo=UTC)
    stretch = Stretch(drawable(datetime(1, 1, 1, tzinfo=UTC)), drawable(beyond))
    assert stretch.widened().length > stretch.length
    assert len(ticks(stretch.widened(), UTC, 8)) <= 9
    assert drawable(NOON) == NOON


def test_only_ranges_shorter_than_all_are_offered():
    assert spans_of(DAY) == [Span.ALL, Span.HOUR, Span.MINUTES]
    assert spans_of(Stretch(NOON, NOON)) == [Span.ALL]


@pytest.mark.parametrize(
    ("days", "asked", "span", "hours"),
    [
        (1, "", Span.ALL, 24),
        (1, "hour", Span.HOUR, 1),
        (1, "week", Span.ALL, 24),
        (1, "decade", Span.ALL, 24),
        (90, "", Span.MONTH, 31 * 24),
        (90, "all", Span.ALL, 90 * 24),
        (90, "day", Span.DAY, 24),
    ],
)
def test_a_range_is_chosen_by_its_name(days, asked, span, hours):
    found, stretch = chosen(Stretch(NOON - timedelta(days=days), NOON), asked)
    assert (found, stretch) == (span, Stretch(NOON - hours * HOUR, NOON))


@pytest.mark.parametrize(
    ("length", "grain"),
    [
        (timedelta(seconds=9), Grain.SECOND),
        (timedelta(minutes=3), Grain.SECOND),
        (timedelta(minutes=40), Grain.MINUTE),
        (timedelta(hours=30), Grain.MINUTE),
        (timedelta(days=5), Grain.DAY),
        (timedelta(days=60), Grain.DAY),
        (timedelta(days=300), Grain.MONTH),
        (timedelta(days=4_000), Grain.YEAR),
        (timedelta(days=700_000), Grain.YEAR),
    ],
)
def test_ticks_are_few_and_inside(length, grain):
    stretch = Stretch(NOON - length, NOON)
    found = ticks(stretch, UTC, 8)
    assert {tick.grain for tick in found} == {grain}
    assert 1 <= len(found) <= 9
    assert all(stretch.start <= tick.at <= stretch.end for tick in found)
    assert [tick.at for tick in found] == sorted(tick.at for tick in found)


def test_ticks_are_round_by_the_clocks_of_the_place():
    found = ticks(DAY, BERLIN, 8)
    assert [(tick.at.hour, tick.at.minute) for tick in found] == [(h % 24, 0) for h in range(15, 39, 3)]
    assert [tick.new_day for tick in found] == [True, False, False, True, False, False, False, False]


def test_no_tick_is_missed_when_clocks_are_changed():
    night = Stretch(datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 4, tzinfo=UTC))
    assert [tick.at.hour for tick in ticks(night, BERLIN, 8)] == [0, 1, 2, 2, 3, 4, 5]


def test_ticks_of_weeks_are_mondays_and_of_months_their_first():
    weeks = ticks(Stretch(NOON - timedelta(days=50), NOON), UTC, 8)
    assert {tick.at.weekday() for tick in weeks} == {0}
    months = ticks(Stretch(NOON - timedelta(days=200), NOON), UTC, 8)
    assert [(tick.at.month, tick.at.day) for tick in months][:3] == [(6, 1), (7, 1), (8, 1)]


def test_each_generation_has_a_lane_and_what_belongs_to_none_the_last():
    picture = drawn(
        [lease(20, 10, generation=2)], [mark(22), mark(15, generation=2), write(3, generation=None)]
    )
    assert [lane.generation for lane in picture.lanes] == [1, 2, None]
    assert [bool(lane.lease) for lane in picture.lanes] == [False, True, False]
    tops = [lane.y for lane in picture.lanes]
    assert tops == sorted(tops)
    assert picture.height > picture.lanes[-1].y + picture.lanes[-1].height


def test_a_lease_that_lapsed_before_the_end_has_two_pieces():
    (lane,) = drawn([lease(12, 0, 6)]).lanes
    assert [(piece.x, piece.width, piece.lapsed) for piece in lane.pieces] == [
        (50, 25, False),
        (75, 25, True),
    ]
    assert lane.bar_y < lane.bar_middle
    assert lane.label_y < lane.bar_y


@pytest.mark.parametrize("lease_end", [None, -2, 0])
def test_a_lease_that_held_to_the_end_is_one_piece(lease_end):
    (lane,) = drawn([lease(12, 0, lease_end)]).lanes
    assert [(piece.x, piece.end, piece.lapsed) for piece in lane.pieces] == [(50, 100, False)]


def test_a_lease_that_never_held_is_lapsed_from_its_start():
    (lane,) = drawn([lease(12, 0, 20)]).lanes
    assert [(piece.width, piece.lapsed) for piece in lane.pieces] == [(0, False), (50, True)]


def test_a_piece_before_the_range_is_not_drawn():
    (lane,) = drawn([lease(40, 12, 30)]).lanes
    assert [(piece.x, piece.lapsed) for piece in lane.pieces] == [(0, True)]


def test_marks_that_would_overlap_are_one_glyph_with_their_number():
    (lane,) = drawn(marks=[mark(12), mark(11.9), mark(11.8), mark(6)]).lanes
    assert [(glyph.x, glyph.count) for glyph in lane.glyphs] == [(50, 3), (75, 1)]
    assert lane.glyphs[0].first.at < lane.glyphs[0].last.at


def test_at_one_place_each_state_is_a_glyph_of_its_own():
    (lane,) = drawn(marks=[write(12), write(11.9, "rejected"), write(11.8)]).lanes
    assert [(glyph.x, glyph.first.state, glyph.count) for glyph in lane.glyphs] == [
        (50, "confirmed", 2),
        (50, "rejected", 1),
    ]
    assert lane.glyphs[0].y < lane.glyphs[1].y


def test_glyphs_of_a_row_never_touch():
    (lane,) = drawn(marks=[mark(hours / 10) for hours in range(240)]).lanes
    places = [glyph.x for glyph in lane.glyphs]
    assert min(b - a for a, b in pairwise(places)) >= 100 / 24 - 0.01
    assert sum(glyph.count for glyph in lane.glyphs) == 240


def test_a_tail_leads_from_the_intention_and_stays_open_till_now():
    marks = [write(12, "unknown", since=NOON - 18 * HOUR, until=NOON)]
    (lane,) = drawn(marks=marks).lanes
    assert [(tail.x1, tail.x2, tail.open) for tail in lane.tails] == [(25, 50, False), (50, 100, True)]


def test_a_tail_of_no_length_is_not_drawn():
    (lane,) = drawn(marks=[write(0, "sending", since=NOON, until=NOON)]).lanes
    assert lane.tails == ()


def test_requests_share_a_line_where_they_find_room():
    (lane,) = drawn(courses=[course(20, 18), course(19, 10), course(12, 6)]).lanes
    lines = sorted({glyph.y for glyph in lane.glyphs})
    assert [len([glyph for glyph in lane.glyphs if glyph.y == y]) for y in lines] == [4, 2]
    assert lane.kind is MarkKind.APPROVAL


def test_a_request_that_still_waits_is_drawn_till_now():
    (lane,) = drawn(courses=[course(12, until=NOON)]).lanes
    assert [(tail.x1, tail.x2, tail.open) for tail in lane.tails] == [(50, 100, True)]


def test_of_moments_at_one_place_the_last_tells_how_it_went():
    (lane,) = drawn(courses=[course(12, 11.99, 11.98)]).lanes
    assert [glyph.first.at for glyph in lane.glyphs] == [NOON - 11.98 * HOUR]


def test_only_the_moments_of_a_request_inside_the_range_are_marks():
    (lane,) = drawn(courses=[course(30, 12)]).lanes
    assert [glyph.x for glyph in lane.glyphs] == [50]
    assert [(tail.x1, tail.x2) for tail in lane.tails] == [(0, 50)]


def test_what_finds_no_room_is_counted():
    leases = [lease(20, 10, generation=n) for n in range(1, LANES_MAX + 4)]
    picture = drawn(leases, courses=[course(20, 2) for _ in range(COURSES_MAX + 2)])
    assert (picture.lanes_left, picture.courses_left) == (3, 2)
    assert picture.lanes[0].generation == 4

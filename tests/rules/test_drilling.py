from dataclasses import replace
from decimal import Decimal

import pytest

from contracts.rules.drilling import SPELLED, Counters, Target, judge, tell
from contracts.rules.windows import Window, WindowVerdict

CLEAN = Counters(repeat=1, expected=8, in_target=8, attempted=8, acknowledged=8)
ONE_HELD = replace(CLEAN, in_target=4, lost=4, left_open=4, unknown_held=1)


def test_counters_of_repetitions_are_summed_and_the_longest_time_stays():
    slow, quick = (replace(CLEAN, seconds_to_resume=Decimal(text)) for text in ("2.5", "0.5"))
    summed = slow + quick
    assert (summed.repeat, summed.expected, summed.in_target) == (2, 16, 16)
    assert summed.seconds_to_resume == (quick + slow).seconds_to_resume == Decimal("2.5")
    assert Counters() + CLEAN == CLEAN


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (CLEAN, WindowVerdict.HELD),
        (replace(CLEAN, stale_refused=3, recovered=2), WindowVerdict.HELD),
        (replace(CLEAN, duplicated=1, in_target=9), WindowVerdict.FAILED),
        (replace(CLEAN, unexpected=1), WindowVerdict.FAILED),
        (replace(CLEAN, repeated_steps=1), WindowVerdict.FAILED),
        (replace(CLEAN, lost=1, in_target=7), WindowVerdict.FAILED),
        (ONE_HELD, WindowVerdict.UNKNOWN_HELD),
        (replace(ONE_HELD, left_open=3), WindowVerdict.FAILED),
        (replace(ONE_HELD, duplicated=1), WindowVerdict.FAILED),
        (replace(CLEAN, unknown_held=1), WindowVerdict.UNKNOWN_HELD),
        (Counters(), WindowVerdict.HELD),
    ],
)
def test_the_verdict_looks_at_what_the_target_holds(found, verdict):
    assert judge(found) is verdict


def test_one_bad_repetition_among_good_ones_fails_the_window():
    assert judge(CLEAN + replace(CLEAN, duplicated=1) + CLEAN) is WindowVerdict.FAILED


@pytest.mark.parametrize("window", Window)
@pytest.mark.parametrize(
    "found",
    [
        CLEAN,
        replace(CLEAN, recovered=1, stale_refused=2),
        ONE_HELD,
        replace(CLEAN, unexpected=1),
        replace(CLEAN, duplicated=4, repeated_steps=4),
        replace(CLEAN, duplicated=1),
        replace(CLEAN, repeated_steps=1),
        replace(CLEAN, lost=1),
    ],
)
def test_every_outcome_of_every_window_has_one_sentence_that_its_values_fill(window, found):
    sentence, values = tell(window, found)
    assert "%(" not in sentence % values


def test_different_outcomes_are_told_differently():
    told = [
        tell(Window.RECEIPT_LOST, found)[0]
        for found in (
            CLEAN,
            replace(CLEAN, attempted=CLEAN.expected + 1),
            replace(CLEAN, recovered=1),
            ONE_HELD,
            replace(CLEAN, unexpected=1),
            replace(CLEAN, duplicated=1),
            replace(CLEAN, duplicated=1, repeated_steps=1),
            replace(CLEAN, repeated_steps=1),
            replace(CLEAN, lost=1),
        )
    ]
    assert len(set(told)) == len(told)
    assert (
        tell(Window.FROZEN_OWNER, replace(CLEAN, stale_refused=1))[0] != tell(Window.FROZEN_OWNER, CLEAN)[0]
    )


def test_every_verdict_is_spelled_for_scripts():
    assert set(SPELLED) == {*WindowVerdict, None}
    assert set(SPELLED.values()) == {"pass", "fail", "unknown_held", "not_expressible", "not_run"}


def test_the_targets_are_called_as_on_the_command_line():
    assert [target.value for target in Target] == ["plain", "deduplicates", "checks_generation", "proxy"]

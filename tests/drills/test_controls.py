"""Workers with known faults: a runner that does not find them proves nothing."""

import pytest

from contracts.drills.adapters import find_adapter
from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict
from tests.drills.unfenced import ADAPTER as UNFENCED

SAMPLE = "sqlite-sample"


def test_it_finds_the_second_page_of_a_log_that_repeats_what_it_finds_begun(drill, whole):
    cell = drill.run(find_adapter(SAMPLE), Window.RECEIPT_LOST, Target.PLAIN, 10 if whole else 1)
    assert cell.verdict is WindowVerdict.FAILED
    assert cell.counters.duplicated == cell.counters.repeat
    assert (cell.counters.lost, cell.counters.unexpected) == (0, 0)


def test_the_same_log_is_saved_by_a_target_that_recognises_the_key(drill):
    cell = drill.run(find_adapter(SAMPLE), Window.RECEIPT_LOST, Target.DEDUPLICATES)
    assert (cell.verdict, cell.counters.duplicated) == (WindowVerdict.HELD, 0)
    assert cell.counters.attempted == 9


def test_it_finds_that_one_lease_name_for_everyone_lets_two_resume(drill):
    cell = drill.run(find_adapter(SAMPLE), Window.TWO_RESUMES, Target.PLAIN)
    assert cell.verdict is WindowVerdict.FAILED
    assert cell.counters.duplicated > 0


def test_it_finds_the_fork_of_an_unfenced_writer(drill, whole):
    cell = drill.run(UNFENCED, Window.FROZEN_OWNER, Target.PLAIN, 10 if whole else 1)
    assert cell.verdict is WindowVerdict.FAILED
    assert cell.counters.duplicated >= cell.counters.repeat


def test_a_target_that_checks_generations_refuses_the_frozen_writer(drill):
    cell = drill.run(UNFENCED, Window.FROZEN_OWNER, Target.CHECKS_GENERATION)
    assert (cell.verdict, cell.counters.duplicated) == (WindowVerdict.HELD, 0)
    assert cell.counters.stale_refused == 1


def test_it_finds_a_page_that_rests_on_what_was_replaced_after_the_yes(drill):
    cell = drill.run(UNFENCED, Window.CHANGED_WHILE_PAUSED, Target.PLAIN)
    assert (cell.verdict, cell.counters.unexpected) == (WindowVerdict.FAILED, 1)


@pytest.mark.parametrize("window", [Window.BEFORE_COMMIT, Window.AFTER_COMMIT])
def test_a_plain_crash_harms_neither(drill, window):
    cell = drill.run(find_adapter(SAMPLE), window, Target.PLAIN)
    assert cell.verdict is WindowVerdict.HELD
    assert cell.counters.seconds_to_resume > 0

import pytest

from contracts.rules.drill_runs import (
    AFTER,
    OPEN,
    REPEAT_MAX,
    RunEnd,
    RunState,
    check_order,
    grid_facts,
    is_outdated,
)
from contracts.rules.drilling import Counters, Target
from contracts.rules.windows import Window, WindowVerdict


def test_an_order_has_each_window_once_and_in_the_order_of_the_grid():
    order = check_order("client", "plain", ["frozen_owner", "before_commit", "frozen_owner"], 3)
    assert (order.adapter, order.target, order.repeat) == ("client", Target.PLAIN, 3)
    assert order.windows == (Window.BEFORE_COMMIT, Window.FROZEN_OWNER)


@pytest.mark.parametrize(
    ("changed", "field", "code"),
    [
        ({"adapter": ""}, "adapter", "missing"),
        ({"adapter": "x" * 61}, "adapter", "missing"),
        ({"target": "moon"}, "target", "not_a_choice"),
        ({"windows": []}, "windows", "missing"),
        ({"windows": ["before_commit", "at_noon"]}, "windows", "not_a_choice"),
        ({"repeat": 0}, "repeat", "out_of_range"),
        ({"repeat": REPEAT_MAX + 1}, "repeat", "out_of_range"),
        ({"repeat": 11, "most": 10}, "repeat", "out_of_range"),
    ],
)
def test_what_is_wrong_with_an_order_is_named(changed, field, code):
    sound = {"adapter": "client", "target": "plain", "windows": ["before_commit"], "repeat": 1}
    (problem,) = check_order(**{**sound, **changed})
    assert (problem.field, problem.code) == (field, code)
    assert problem.sentence % problem.values


def test_everything_wrong_is_named_at_once():
    problems = check_order("", "", [], -1)
    assert [problem.field for problem in problems] == ["adapter", "target", "windows", "repeat"]


def test_every_end_leads_to_a_state_that_is_no_longer_open():
    assert set(AFTER) == set(RunEnd)
    assert set(AFTER.values()) == set(RunState) - OPEN


def test_a_run_is_as_old_as_the_version_it_drilled():
    assert not is_outdated("4", "4")
    assert is_outdated("4", "5")
    assert is_outdated("", "5")


@pytest.mark.parametrize(
    ("verdict", "facts"),
    [
        (WindowVerdict.HELD, {"counted": 8, "repeated": False, "verdict": "held"}),
        (WindowVerdict.UNKNOWN_HELD, {"counted": 8, "repeated": False, "verdict": "unknown_held"}),
        (WindowVerdict.NOT_EXPRESSIBLE, {"counted": None, "repeated": None, "verdict": "not_expressible"}),
        (None, {"counted": None, "repeated": None, "verdict": ""}),
    ],
)
def test_a_grid_holds_numbers_only_where_something_was_counted(verdict, facts):
    assert grid_facts(verdict, Counters(in_target=8)) == facts


def test_a_grid_says_whether_a_finished_step_ran_again():
    facts = grid_facts(WindowVerdict.FAILED, Counters(in_target=8, repeated_steps=1))
    assert facts["repeated"] is True

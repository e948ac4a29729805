"""Our own client, drilled as everybody else: nothing twice, nothing again, nothing lost."""

import pytest

from contracts.drills.adapters import find_adapter
from contracts.drills.keeping import TEAM
from contracts.models import Contract
from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict

pytestmark = pytest.mark.django_db(transaction=True)
HELD_FOR_PERSON = (Window.FROZEN_OWNER, Target.PLAIN)


def check(cell):
    """Nothing is there twice, and what is not there waits for a person, who was told."""
    counters = cell.counters
    told = (cell.window, cell.target, counters)
    assert (counters.duplicated, counters.repeated_steps, counters.unexpected) == (0, 0, 0), told
    if (cell.window, cell.target) == HELD_FOR_PERSON:
        assert cell.verdict is WindowVerdict.UNKNOWN_HELD, told
        assert counters.unknown_held == counters.repeat, told
    else:
        assert (cell.verdict, counters.lost, counters.unknown_held) == (WindowVerdict.HELD, 0, 0), told


# What is walked on every run: where our client differs most from others.
ALWAYS = [
    (Target.CHECKS_GENERATION, [Window.FROZEN_OWNER, Window.CHANGED_WHILE_PAUSED]),
    (Target.PLAIN, [Window.FROZEN_OWNER, Window.RECEIPT_LOST]),
]
EVERY = [(target, list(Window)) for target in Target]


def test_no_page_is_there_twice_and_no_step_runs_again(drill, whole):
    for target, windows in EVERY if whole else ALWAYS:
        for cell in drill.run_all(find_adapter("client"), windows, target, 10 if whole else 1):
            check(cell)
    assert set(Contract.objects.values_list("team__slug", flat=True)) == {TEAM}

"""A run never changes once it has ended, a result never at all; and each constraint bites."""

import pytest
from django.db import IntegrityError, transaction

from contracts.models import DrillResult, DrillRun
from tests import builders, people
from tests.drilled import a_done_run, a_run, begun

pytestmark = pytest.mark.django_db
ENDED = {"ended_at": "2030-01-01T00:00Z", "end_reason": "asked"}
# Constraint → model and the columns that break it.
BROKEN = {
    "run_state_is_known": (DrillRun, {"state": "asleep", **ENDED}),
    "run_target_is_known": (DrillRun, {"target": "moon"}),
    "run_repeats_in_range": (DrillRun, {"repeat": 0}),
    "run_end_is_known": (DrillRun, {"state": "done", **ENDED, "end_reason": "bored"}),
    "run_end_has_reason": (DrillRun, {"state": "done"}),
    "result_window_is_known": (DrillResult, {"window": "at_noon"}),
    "result_verdict_is_known": (DrillResult, {"verdict": "fine"}),
}
ONCE = {"one_open_run_per_contract", "one_result_per_window"}


def breaks(name, write):
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        write()
    assert caught.value.__cause__.diag.constraint_name == name


def test_checks_bite():
    run = begun(a_run())
    result = {"run": run, "window": "before_commit", "verdict": "held", "counters": {}, "sentence": "x"}
    for name, (model, columns) in BROKEN.items():
        if model is DrillRun:
            breaks(name, lambda columns=columns: DrillRun.objects.filter(pk=run.pk).update(**columns))
        else:
            breaks(name, lambda columns=columns: DrillResult.objects.create(**{**result, **columns}))


def test_a_contract_has_one_open_run_and_a_window_one_result():
    contract = builders.a_draft()
    run = a_done_run(contract)
    one, other = a_run(contract), run.results.first()
    one.pk, one.run_id, one._state.adding = None, "D-0000000000", True
    other.pk, other._state.adding = None, True
    breaks("one_open_run_per_contract", one.save)
    breaks("one_result_per_window", other.save)


@pytest.mark.parametrize(
    "write",
    [
        lambda run: DrillResult.objects.filter(run=run).update(verdict="held"),
        lambda run: DrillResult.objects.filter(run=run).delete(),
        lambda run: DrillRun.objects.filter(pk=run.pk).update(adapter="client"),
        lambda run: DrillRun.objects.filter(pk=run.pk).delete(),
    ],
)
def test_what_a_drill_came_to_stays(write):
    run = a_done_run()
    with pytest.raises(IntegrityError), transaction.atomic():
        write(run)


def test_a_run_is_seen_with_its_contract_and_by_everybody_if_it_has_none():
    contract = builders.a_draft()
    theirs, nobodys = a_run(contract), a_run()
    assert list(DrillRun.objects.of(contract.pk)) == [theirs]
    assert set(DrillRun.objects.visible_to(people.viewer(contract.team))) == {theirs, nobodys}
    assert set(DrillRun.objects.visible_to(people.stranger())) == {nobodys}
    assert set(DrillRun.objects.open()) == {theirs, nobodys}

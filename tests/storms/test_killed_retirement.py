"""Retirement killed at every seam: a contract keeps everything or has lost all that may go; a second run ends it."""

import pytest
from django.core.management import call_command

from contracts.gates.beats import database_now
from contracts.models import Checkpoint, Event, JournalStep
from contracts.rules.windows import Seam
from tests.gates.test_retention import a_worked_task, ended
from tests.storms.test_killed_import import BEFORE_COMMIT, killed_at

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def contracts():
    """Two contracts that ended long ago; the command takes the older first."""
    return [ended(a_worked_task(), days=days) for days in (60, 50)]


def day():
    return f"{database_now():%Y-%m-%d}"


def left(contract):
    """Return how many states and results are left, and how often their removal was recorded."""
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None
    return (
        Checkpoint.objects.filter(contract=contract, inline_state__isnull=False).count(),
        JournalStep.objects.filter(contract=contract, result__isnull=False).count(),
        Event.objects.of(contract.pk).filter(act="retire", refused="").count(),
    )


@pytest.mark.parametrize("seam", BEFORE_COMMIT)
def test_killed_before_its_commit_it_leaves_both_whole_and_the_next_run_takes_both(contracts, seam):
    killed_at(seam, "retire", "whole", "retire", day())
    assert [left(contract) for contract in contracts] == [(1, 1, 0)] * 2
    call_command("retire", "--ended-before", day())
    assert [left(contract) for contract in contracts] == [(0, 0, 1)] * 2


def test_killed_between_two_contracts_the_next_run_takes_the_other_alone(contracts):
    killed_at(Seam.COMMITTED, "retire", "whole", "retire", day())
    assert [left(contract) for contract in contracts] == [(0, 0, 1), (1, 1, 0)]
    call_command("retire", "--ended-before", day())
    assert [left(contract) for contract in contracts] == [(0, 0, 1)] * 2


def test_without_its_transaction_content_goes_that_no_event_tells_of(contracts):
    """The control: the same kill finds what the transaction is for."""
    killed_at(Seam.WRITTEN, "retire", "torn", "retire", day())
    assert left(contracts[0]) == (0, 0, 0)

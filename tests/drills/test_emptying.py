"""A test that commits leaves no job behind for the next one, wherever it asked for a run."""

import pytest
from django.test import TransactionTestCase
from procrastinate.contrib.django.models import ProcrastinateJob

from tests.drilled import a_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_jobs_are_forgotten_with_everything_else():
    a_run()
    assert ProcrastinateJob.objects.count() == 1
    TransactionTestCase("run")._fixture_teardown()
    assert not ProcrastinateJob.objects.exists()

"""Workers whose clocks are an hour ahead or behind: leases, expiry and what is asked go by the database's clock."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from contracts.client import NotResumable, Workbench
from contracts.gates.beats import database_now
from contracts.models import Attempt, Checkpoint, Event, Operation, OwnerGate
from tests.client.targets import a_task, a_token
from tests.serving import served
from tests.storms.counting import Counters
from tests.storms.targets import targets

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600
LEASE = 4


@pytest.fixture(scope="module")
def url(tmp_path_factory, django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), served(tmp_path_factory.mktemp("served"), workers=1) as url:
        yield url


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with targets(tmp_path_factory.mktemp("targets")) as address:
        yield address


@pytest.fixture
def contract():
    contract = a_task()
    OwnerGate.objects.filter(contract=contract).update(lease_seconds=LEASE, renew_seconds=1)
    return contract


@pytest.fixture
def worker(url, address, contract):
    """Start a worker whose clock is so many seconds ahead; it ends with the test."""
    started = []

    def start(seconds):
        target = f"{address}/{contract.pk},checks-generation,lose-a-receipt"
        words = [str(seconds), url, a_token(contract, "shifted"), contract.task_id, target]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.storms.shifted", *words],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def told(process):
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize(("shift", "by_own_clock"), [(HOUR, True), (-HOUR, False), (0, False)])
def test_a_lease_lasts_as_long_as_the_database_says(url, contract, worker, shift, by_own_clock):
    began = database_now()
    process = worker(shift)
    lapsed, reference, commits = told(process)
    ended = database_now()
    # It held the task for several leases, renewed them, and found out what became of the page it was told nothing of.
    assert (reference, commits > 1) == ("page-1", True)
    assert Operation.objects.get(contract=contract).state == "confirmed"
    moments = Event.objects.of(contract.pk).filter(actor="shifted").values_list("at", flat=True)
    assert all(began <= at <= ended for at in moments)
    # The control is the same worker's own opinion: by a clock that runs ahead, its lease had never begun.
    assert lapsed is by_own_clock
    assert not Event.objects.of(contract.pk).exclude(refused="").exists()
    with Workbench(url, a_token(contract, "second")) as workbench:
        with pytest.raises(NotResumable) as waiting:  # it is still held, whatever the worker's clock says
            workbench.resume(contract.task_id)
        assert waiting.value.waits
    Counters(attempted=commits, acknowledged=commits, unknown=1, recovered=1).tell(
        f"clock wrong by {shift} s"
    )


@pytest.mark.parametrize(("shift", "by_own_clock"), [(HOUR, True), (-HOUR, False)])
def test_a_frozen_owner_is_displaced_when_the_database_says_so(url, contract, worker, shift, by_own_clock):
    process = worker(shift)
    told(process)
    os.kill(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    with Workbench(url, a_token(contract, "second")) as workbench:
        run = workbench.resume(contract.task_id, wait=60)
        points = Checkpoint.objects.filter(contract=contract).count()
        process.send_signal(signal.SIGCONT)
        process.stdin.write("go on\n")
        process.stdin.flush()
        # The control: by a clock that runs behind, the lease of the displaced owner still lasts.
        assert told(process) == [by_own_clock, "stale_generation"]
        assert Checkpoint.objects.filter(contract=contract).count() == points
    first = Attempt.objects.get(contract=contract, worker="shifted")
    assert (first.end_reason, run.generation) == ("lease_lapsed", 2)
    assert timedelta() <= first.ended_at - first.lease_end < timedelta(seconds=HOUR)

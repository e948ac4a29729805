"""A real process that owns a task is frozen past its lease, another takes over, and the first one thaws."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from django.db import connection

from contracts.models import Attempt, Contract, Event
from contracts.rules.states import ContractState
from tests import builders
from tests.gates.watching import events_of, force, snapshot
from tests.gates.workers.owners import OTHER, granted, lapse
from tests.races.racing import say

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
TRIED = ["dispatch", "complete", "renew", "request_pause", "release", "dispatch"]


@contextmanager
def a_worker(shape, contract, name):
    """Start a worker that resumes `contract`; give its process once it holds the task."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + quote(connection.settings_dict["NAME"]))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.storms.frozen", shape, str(contract.pk), name],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url.geturl()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert json.loads(process.stdout.readline())[0] == "ready"
        yield process
    finally:
        process.kill()
        process.wait(30)
        process.stdin.close()
        process.stdout.close()


def frozen(process):
    """Freeze the process; it wakes up where it stood."""
    process.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


def thawed(process):
    """Let the process go on, and return what its writes were answered."""
    process.send_signal(signal.SIGCONT)
    process.stdin.write("go on\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def a_task_with_a_write():
    contract = builders.a_paused()
    builders.a_row(contract, "operation")
    contract.refresh_from_db()
    return contract


def taken_over(contract):
    """Let the lease of the frozen one run out, and another worker hold the task and be at work."""
    lapse(contract)
    grant = granted(contract, OTHER)
    force(contract, ContractState.RUNNING)
    return grant.attempt


def test_r6_a_frozen_owner_that_thaws_writes_nothing_and_each_try_is_on_record(whole):
    times, stale = (100, 0) if whole else (4, 0)
    for _ in range(times):
        contract = a_task_with_a_write()
        with a_worker("fenced", contract, "frozen-writer") as process:
            frozen(process)
            successor = taken_over(contract)
            before, known = snapshot(contract), len(events_of(contract))
            answers = thawed(process)
        assert answers == ["stale_generation"] * len(TRIED)
        stale += snapshot(contract) != before
        events = events_of(contract)[known:]
        assert [(event.act, event.refused, event.actor) for event in events] == [
            (act, "stale_generation", "frozen-writer") for act in TRIED
        ]
        assert Attempt.objects.get(contract=contract, ended_at__isnull=True).pk == successor.pk
    assert stale == 0
    say(f"frozen and thawed {times} times: {stale} stale writes, {times * len(TRIED)} refusals on record")


def test_a_frozen_owner_that_nobody_displaced_goes_on_after_a_renewal():
    contract = a_task_with_a_write()
    with a_worker("fenced", contract, "frozen-writer") as process:
        frozen(process)
        lapse(contract)
        answers = thawed(process)
    # The lapsed lease sends nothing; once renewed, it is the owner's as before.
    assert answers == ["lease_lapsed", "lease_lapsed", "done", "done", "done", "not_open"]
    contract.refresh_from_db()
    assert contract.state == "paused"


def test_control_the_same_writes_without_the_fence_go_through():
    contract = a_task_with_a_write()
    with a_worker("naive", contract, "frozen-writer") as process:
        frozen(process)
        taken_over(contract)
        before = snapshot(contract)
        answers = thawed(process)
    assert answers == ["written"] * 2
    assert snapshot(contract) != before
    assert Contract.objects.get(pk=contract.pk).generation == 2
    assert (
        not Event.objects.filter(contract=contract, actor="frozen-writer")
        .exclude(act="resume")
        .exclude(act="grant")
    )

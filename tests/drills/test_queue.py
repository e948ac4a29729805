"""Runs asked for on a page: carried out one at a time, stopped, and found when their worker was killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading

import psutil
import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from contracts.drills.adapter import Adapter
from contracts.drills.processes import MARK, ROOT
from contracts.drills.storing import bury_dead, carry_out, lives
from contracts.drills.surroundings import database_url
from contracts.gates.drilling import ask_to_stop
from contracts.models import DrillRun, WindowRow
from tests import builders
from tests.drilled import OTTO, a_run, begun
from tests.drills.queueing import background_worker, until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _a_data_folder(tmp_path, settings):
    settings.WORKBENCH_DATA = tmp_path


def mark_in(folder):
    """Return the mark of what the worker with this data folder has started; nothing while there is nothing."""
    records = [file.read_text("utf-8") for file in folder.rglob("running/*.json")]
    return json.loads(records[0])["mark"] if records else ""


def bearing(mark):
    """Return the processes of one run of cells."""
    found = []
    for process in psutil.process_iter():
        try:
            bears = process.environ().get(MARK, "").startswith(mark)
            if bears and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def at_work(run, folder):
    """Wait until a worker of the drill runs; return the mark of all that it has started."""

    def look():
        mark = mark_in(folder) if stands(run) == "running" else ""
        return mark if mark and bearing(mark) else ""

    return until(look)


def stands(run):
    run.refresh_from_db()
    return run.state


def test_a_run_whose_worker_was_killed_is_found_and_the_next_is_carried_out(tmp_path):
    contract = builders.a_complete_draft()
    doomed = a_run(contract, windows=["before_commit"], repeat=50)
    waiting = a_run(windows=["before_commit"], repeat=1)
    with background_worker(tmp_path) as worker:
        mark = at_work(doomed, tmp_path)
        assert stands(waiting) == "queued"  # one at a time
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        left = bearing(mark)
        assert left
        assert not lives(doomed)
    with background_worker(tmp_path) as worker:
        until(lambda: stands(doomed) == "failed")
        assert doomed.end_reason == "runner_gone"
        assert not psutil.wait_procs(left, timeout=10)[1]
        until(lambda: stands(waiting) not in ("queued", "running"))
        assert waiting.state == "done", (waiting.fault, tmp_path.joinpath("worker.log").read_text())
        assert waiting.results.get().counters["expected"] == 8
        until(lambda: not ProcrastinateJob.objects.exists())
        assert not mark_in(tmp_path)
    assert WindowRow.objects.get(contract=contract, window="before_commit").verdict == ""


def test_a_job_whose_worker_was_killed_before_the_run_began_is_handed_out_again(tmp_path):
    run = a_run(windows=["before_commit"], repeat=1)
    taker = [sys.executable, "-m", "tests.drills.taker"]
    environment = os.environ | {"DATABASE_URL": database_url(), "WORKBENCH_DATA": str(tmp_path)}
    assert subprocess.run(taker, cwd=ROOT, env=environment, check=False).returncode == -signal.SIGKILL
    assert (stands(run), ProcrastinateJob.objects.get().status) == ("queued", "doing")
    with connection.cursor() as cursor:  # its last sign of life was a minute ago
        cursor.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute'")
        assert cursor.rowcount == 1
    with background_worker(tmp_path):
        until(lambda: stands(run) not in ("queued", "running"))
    assert (run.state, run.results.get().counters["expected"]) == ("done", 8)
    assert "is handed out again" in tmp_path.joinpath("worker.log").read_text()


def test_a_run_is_stopped_and_so_is_one_whose_worker_is_told_to_end(tmp_path):
    first = a_run(windows=["before_commit"], repeat=50)
    with background_worker(tmp_path) as worker:
        mark = at_work(first, tmp_path)
        ask_to_stop(run=first, actor=OTTO)
        until(lambda: stands(first) == "stopped")
        assert (first.end_reason, first.results.count()) == ("asked", 0)
        assert not bearing(mark)
        second = a_run(windows=["before_commit"], repeat=50)
        mark = at_work(second, tmp_path)
        worker.terminate()
        assert worker.wait(30) == 0
        assert stands(second) == "stopped"
        assert second.end_reason == "runner_ended"
        assert not bearing(mark)


def test_a_dead_runner_is_known_by_its_process_here_and_by_its_silence_elsewhere():
    here, mine = socket.gethostname(), psutil.Process()
    alive = begun(a_run(), host=here, pid=mine.pid, began=mine.create_time())
    another = begun(a_run(), host=here, pid=mine.pid, began=mine.create_time() - 100)
    gone = begun(a_run(), host=here, pid=2**22 + 1)
    far, silent = begun(a_run(), host="elsewhere"), begun(a_run(), host="elsewhere")
    DrillRun.objects.filter(pk=silent.pk).update(seen_at="2020-01-01T00:00Z")
    waiting = a_run()
    assert set(bury_dead()) == {another.run_id, gone.run_id, silent.run_id}
    assert [stands(run) for run in (alive, far, waiting)] == ["running", "running", "queued"]
    assert bury_dead() == []


def test_a_run_that_was_stopped_before_its_turn_is_left_alone():
    run = a_run()
    ask_to_stop(run=run, actor=OTTO)
    assert carry_out(run.run_id, stop=threading.Event()).state == "stopped"


def test_a_run_whose_parts_are_missing_says_what_to_install(monkeypatch):
    absent = Adapter(name="x", title="X", command=(), needs=("no_such_module",), install="get x")
    monkeypatch.setattr("contracts.drills.storing.find_adapter", lambda _name: absent)
    run = a_run()
    ended = carry_out(run.run_id, stop=threading.Event())
    assert (ended.state, ended.end_reason) == ("failed", "parts_missing")
    assert "get x" in ended.fault


def test_a_fault_of_the_runner_itself_is_told_and_its_trace_kept(monkeypatch, tmp_path):
    monkeypatch.setattr("contracts.drills.storing.find_adapter", lambda _name: 1 / 0)
    run = a_run()
    with pytest.raises(ZeroDivisionError):
        carry_out(run.run_id, stop=threading.Event())
    assert stands(run) == "failed"
    assert (run.end_reason, run.fault) == ("fault", "ZeroDivisionError: division by zero")
    assert "1 / 0" in next(tmp_path.rglob("fault.txt")).read_text()


@pytest.mark.parametrize("words", ["", "no answer from postgresql://drill:hunter2hunter2@127.0.0.1/drill_x"])
def test_a_fault_that_holds_a_secret_is_told_by_its_kind_alone(monkeypatch, words):
    def fail(_name):
        raise RuntimeError(words)

    monkeypatch.setattr("contracts.drills.storing.find_adapter", fail)
    run = a_run()
    with pytest.raises(RuntimeError):
        carry_out(run.run_id, stop=threading.Event())
    assert stands(run) == "failed"
    assert run.fault == "RuntimeError"

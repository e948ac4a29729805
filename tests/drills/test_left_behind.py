"""Nothing outlives its runner: not after an end of its own, not after Ctrl-C, not after `kill -9`."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from contracts.drills.processes import MARK, ROOT, clean_up, recorded, sweep
from contracts.drills.running import clean_up_after_killed
from contracts.drills.surroundings import database_url
from contracts.models import DrillResult, DrillRun

PATIENCE = 90


def bearing(mark):
    """Return the processes that bear a mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK, "").startswith(mark):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]


def until(seen):
    """Wait for what `seen` returns, once it is something."""
    end = time.monotonic() + PATIENCE
    while not (found := seen()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def frozen_in(folder):
    """Return the mark of the runner below `folder` once its worker is frozen."""

    def look():
        logs = list(folder.rglob("log.txt"))
        records = list(folder.rglob("running/*.json"))
        if records and any("SIGSTOP to" in log.read_text() for log in logs):
            return json.loads(records[0].read_text())["mark"]
        return ""

    return until(look)


def test_what_a_killed_runner_left_is_ended_by_the_next_start(tmp_path, settings):
    settings.WORKBENCH_DATA = tmp_path / "workbench"
    runner = subprocess.Popen([sys.executable, "-m", "tests.drills.runner", str(tmp_path)], cwd=ROOT)
    mark = frozen_in(tmp_path)
    runner.kill()
    runner.wait()
    assert any(process.status() == psutil.STATUS_STOPPED for process in bearing(mark))
    assert clean_up_after_killed() >= 1
    assert bearing(mark) == []
    assert not list(tmp_path.rglob("running/*.json"))


def test_what_a_living_runner_started_is_left_alone(tmp_path):
    with recorded(tmp_path) as started:
        process = started.start([sys.executable, "-c", "import time; time.sleep(60)"], {})
        assert clean_up(tmp_path) == (0, [])
        assert process.poll() is None
    assert process.poll() is not None


def test_a_process_that_only_has_the_same_id_is_left_alone(tmp_path):
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        born = psutil.Process(other.pid).create_time()
        told = {"runner": [os.getpid(), 1.0], "mark": "no-such-mark", "databases": ["drill_x"]}
        tmp_path.joinpath("a.json").write_text(json.dumps({**told, "processes": [[other.pid, born - 100]]}))
        assert clean_up(tmp_path) == (0, ["drill_x"])
        assert other.poll() is None
        tmp_path.joinpath("b.json").write_text(json.dumps({**told, "processes": [[other.pid, born]]}))
        assert clean_up(tmp_path) == (1, ["drill_x"])
        assert not psutil.pid_exists(other.pid)


def test_a_record_that_was_half_written_is_passed_over(tmp_path):
    tmp_path.joinpath("a.json").write_text("{")
    assert clean_up(tmp_path) == (0, [])
    assert clean_up(tmp_path / "none") == (0, [])


def test_what_a_worker_itself_started_ends_too(tmp_path):
    program = "import subprocess; p = subprocess.Popen(['sleep', '60'], start_new_session=True); print(p.pid)"
    with recorded(tmp_path) as started:
        process = started.start([sys.executable, "-c", program], {}, part="x")
        child = psutil.Process(int(process.stdout.readline()))
        assert sweep(f"{started.mark}.other.") == 0
        started.end("x")
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_leaves_nothing_running_and_no_half_result(tmp_path, number):
    words = ["drill", "--adapter", "sqlite-sample", "--window", "all", "--target", "plain"]
    command = subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url(), "WORKBENCH_DATA": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    mark = until(lambda: [json.loads(file.read_text())["mark"] for file in tmp_path.rglob("running/*.json")])[
        0
    ]
    until(lambda: any("worker 1: model" in log.read_text() for log in tmp_path.rglob("log.txt")))
    asked = time.monotonic()
    command.send_signal(number)
    said = command.communicate(timeout=30)[0]
    assert (command.returncode, "Nothing is left running" in said) == (130, True)
    assert time.monotonic() - asked < 15
    assert bearing(mark) == []
    assert not list(tmp_path.rglob("running/*.json"))
    assert not DrillResult.objects.exists()
    assert DrillRun.objects.get().state == "stopped"

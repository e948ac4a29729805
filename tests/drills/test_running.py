import json
import sys
import time

import psycopg
import pytest

from contracts.drills.adapter import Adapter
from contracts.drills.adapters import MODULES, all_adapters, find_adapter
from contracts.drills.processes import DrillStopped
from contracts.drills.running import DrillRefused, own_command, versions_of
from contracts.drills.surroundings import database_url, drop_databases, own_database
from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict
from tests.drills.cells import Drill

CANNOT = "It has no memory."


def scripted(how, **more):
    command = (sys.executable, "-m", "tests.drills.scripted", how)
    return Adapter(name="scripted", title="Scripted", command=command, **more)


def test_a_crash_point_may_be_reached_by_creating_a_file(drill):
    cell = drill.run(scripted("files"), Window.BEFORE_COMMIT, Target.PLAIN)
    assert (cell.verdict, cell.counters.in_target) == (WindowVerdict.HELD, 8)
    assert "runner: SIGKILL to worker 1" in drill.lines


def test_evidence_of_every_repetition_stays(drill):
    cell = drill.run(scripted("files"), Window.BEFORE_COMMIT, Target.PLAIN, 2)
    assert (cell.counters.repeat, cell.counters.expected) == (2, 16)
    assert cell.log.read_text().count("repetition ") == 2
    kept = json.loads(cell.evidence.joinpath("2", "counted.json").read_text())
    assert len(kept["record"]["pages"]) == 8
    assert cell.evidence.joinpath("1", "target", "pages.sqlite").exists()
    told = cell.plain()
    assert (told["window"], told["verdict"], told["repeat"], told["lost"]) == ("before_commit", "pass", 2, 0)
    assert "reason" not in told


def test_a_point_that_is_never_reached_gives_no_verdict(drill):
    cell = drill.run(scripted("silent"), Window.AFTER_COMMIT, Target.PLAIN)
    assert (cell.verdict, cell.plain()["verdict"]) == (None, "not_run")
    assert "committed" in cell.reason


def test_a_worker_that_never_asks_gives_no_verdict_either(drill):
    cell = drill.run(scripted("silent"), Window.CHANGED_WHILE_PAUSED, Target.PLAIN)
    assert cell.verdict is None


def test_what_an_adapter_cannot_do_is_said_and_nothing_is_started(drill):
    adapter = scripted(
        "files", cannot={Window.BEFORE_COMMIT: CANNOT, (Window.TWO_RESUMES, Target.PLAIN): CANNOT}
    )
    cells = drill.run_all(adapter, [Window.BEFORE_COMMIT, Window.TWO_RESUMES], Target.PLAIN)
    assert [cell.verdict for cell in cells] == [WindowVerdict.NOT_EXPRESSIBLE] * 2
    assert cells[0].plain()["reason"] == CANNOT
    assert adapter.why_not(Window.TWO_RESUMES, Target.DEDUPLICATES) == ""
    assert not any("starts" in line for line in drill.lines)


def test_an_adapter_whose_parts_are_missing_says_what_to_install(drill):
    adapter = scripted("files", needs=("no_such_module",), install="uv sync --group none")
    with pytest.raises(DrillRefused, match="uv sync --group none") as refused:
        drill.run(adapter, Window.BEFORE_COMMIT, Target.PLAIN)
    assert refused.value.values["missing"] == "no_such_module"


def test_a_worker_that_is_never_done_has_lost_its_objects(drill):
    cell = drill.run(scripted("deaf", pause=0.01), Window.RECEIPT_LOST, Target.PLAIN)
    assert (cell.verdict, cell.counters.lost) == (WindowVerdict.FAILED, 8)
    assert "runner: starts worker 6" in drill.lines


def test_a_worker_that_hangs_is_ended(drill):
    cell = drill.run(scripted("hangs", longest=0.3, pause=0.01), Window.RECEIPT_LOST, Target.PLAIN)
    assert cell.counters.lost == 8


def test_stopping_ends_everything_within_seconds(tmp_path, settings):
    settings.WORKBENCH_DATA = tmp_path / "workbench"
    drill = Drill(tmp_path, stop_at="starts worker 1")
    asked = time.monotonic()
    with pytest.raises(DrillStopped):
        drill.run(scripted("hangs"), Window.RECEIPT_LOST, Target.PLAIN)
    assert time.monotonic() - asked < 20
    assert not list(tmp_path.rglob("running/*.json"))


def test_a_stop_that_was_asked_for_before_is_heard(tmp_path, settings):
    settings.WORKBENCH_DATA = tmp_path / "workbench"
    drill = Drill(tmp_path)
    drill.stop.set()
    with pytest.raises(DrillStopped):
        drill.run(scripted("files"), Window.BEFORE_COMMIT, Target.PLAIN)


def test_an_own_program_that_is_not_there_is_refused(drill):
    with pytest.raises(DrillRefused):
        drill.run(own_command(["no-such-program", "x"]), Window.BEFORE_COMMIT, Target.PLAIN)


def test_an_own_command_cannot_be_drilled_through_our_proxy():
    own = own_command([sys.executable, "worker.py"])
    assert own.why_not(Window.BEFORE_COMMIT, Target.PROXY)
    assert not own.why_not(Window.BEFORE_COMMIT, Target.PLAIN)
    assert own.missing() == ()


def test_every_adapter_can_be_looked_at_without_its_framework():
    names = [adapter.name for adapter in all_adapters()]
    assert len(names) == len(set(names)) >= len(MODULES)
    assert {"client", "sqlite-sample"} <= set(names)
    for adapter in all_adapters():
        assert adapter.title
        assert adapter.install or not adapter.needs


@pytest.mark.django_db
def test_results_name_the_versions_of_everything():
    versions = versions_of(find_adapter("client"))
    assert set(versions) >= {"python", "postgresql", "django"}


@pytest.mark.django_db
def test_a_database_of_a_repetition_is_gone_afterwards(tmp_path):
    class Started:
        def __init__(self):
            self.databases = []

        def write(self):
            pass

    started = Started()
    with own_database(started) as url:
        (name,) = started.databases
        with psycopg.connect(url) as line:
            assert line.info.dbname == name
    assert started.databases == []
    with psycopg.connect(database_url()) as line:
        assert not line.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()


@pytest.mark.django_db
def test_no_other_database_is_ever_dropped():
    drop_databases([database_url().rpartition("/")[2].partition("?")[0]])
    with psycopg.connect(database_url()):
        pass

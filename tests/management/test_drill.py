import json
import os
import shlex
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from contracts.drills.processes import ROOT
from contracts.models import DrillResult, DrillRun, WindowRow
from tests import builders
from workbench.postgres import EmbeddedPostgres

pytestmark = pytest.mark.django_db(transaction=True)
OWN = shlex.join([sys.executable, "-m", "tests.drills.scripted", "files"])
KEYS = {
    "window",
    "repeat",
    "expected",
    "in_target",
    "lost",
    "duplicated",
    "repeated_steps",
    "unknown_held",
    "stale_refused",
    "verdict",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, settings):
    settings.WORKBENCH_DATA = tmp_path
    settings.WORKBENCH_DRILLS = True


def drilled(*words):
    out = StringIO()
    call_command("drill", *words, stdout=out, stderr=out)
    return out.getvalue()


def test_it_prints_counters_as_json_and_stores_the_run():
    told = json.loads(drilled("--command", OWN, "--window", "before_commit", "--repeat", "2", "--json"))
    (window,) = told["windows"]
    assert set(window) >= KEYS
    assert (window["window"], window["repeat"], window["in_target"]) == ("before_commit", 2, 16)
    assert window["verdict"] == "pass"
    assert {"python", "postgresql"} <= set(told["versions"])
    assert told["adapter"] == "own"
    assert DrillResult.objects.get().run.run_id == told["run"] == DrillRun.objects.get().run_id


def test_it_prints_a_table_that_needs_no_colours():
    said = drilled("--command", OWN, "--window", "before_commit")
    assert "worker 1: model object-1" in said
    (line,) = [line for line in said.splitlines() if line.startswith("+ before_commit")]
    assert line.split()[3:10] == ["8", "8", "0", "0", "0", "0", "0"]


def test_all_targets_are_told_one_after_the_other():
    words = ["--command", OWN, "--window", "before_commit", "--target", "all", "--json"]
    told = json.loads(drilled(*words))
    assert [run["target"] for run in told] == ["plain", "deduplicates", "checks_generation", "proxy"]
    assert [run["windows"][0]["verdict"] for run in told] == ["pass", "pass", "pass", "not_expressible"]


def test_it_refuses_where_drills_are_not_allowed(settings):
    settings.WORKBENCH_DRILLS = False
    with pytest.raises(CommandError, match="WORKBENCH_DRILLS"):
        drilled("--window", "before_commit")
    assert not DrillRun.objects.exists()


@pytest.mark.parametrize("repeat", ["0", "-1", "1001"])
def test_it_refuses_a_number_of_repetitions_out_of_range(repeat):
    with pytest.raises(CommandError):
        drilled("--repeat", repeat)


def test_it_fills_the_grid_of_a_contract():
    contract = builders.a_paused()
    drilled("--command", OWN, "--window", "before_commit", "--contract", contract.task_id, "--json")
    row = WindowRow.objects.get(contract=contract, window="before_commit")
    assert (row.counted, row.repeated, row.verdict, row.run_by) == (8, False, "held", "console")
    assert not WindowRow.objects.exclude(pk=row.pk).exclude(verdict="").exists()


def test_it_refuses_a_contract_that_is_not_there():
    with pytest.raises(CommandError):
        drilled("--contract", "no-such-task")


def test_it_says_what_an_own_program_lacks():
    with pytest.raises(CommandError, match="no-such-program"):
        drilled("--command", "no-such-program", "--window", "before_commit")


def manage(database, folder, *words):
    environment = os.environ | {
        "DATABASE_URL": database,
        "WORKBENCH_DATA": str(folder),
        "WORKBENCH_DRILLS": "1",
    }
    told = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return told.returncode, told.stdout, told.stderr


def test_a_new_database_is_made_ready_and_an_older_one_is_not_changed_unasked(tmp_path):
    words = ["drill", "--adapter", "sqlite-sample", "--window", "before_commit"]
    with EmbeddedPostgres(tmp_path) as database:
        code, said, _ = manage(database, tmp_path, *words)
        assert code == 0
        assert "+ before_commit" in said
        assert manage(database, tmp_path, "migrate", "contracts", "0010")[0] == 0
        code, _, complaint = manage(database, tmp_path, *words)
        assert code == 1
        assert "manage.py migrate" in complaint
        assert "Traceback" not in complaint

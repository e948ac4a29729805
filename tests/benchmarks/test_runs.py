"""Every benchmark runs to its end with small sizes; what is no matter of speed is asserted."""

import json
import os
import subprocess
import sys

import pytest

from tests.benchmarks import approvals, bulk, exports, scale
from tests.serving import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


def test_pages_run_beside_the_admin_with_few_queries_bytes_and_requests(tmp_path):
    """The admin needs settings of its own, and so a process and a server of its own."""
    file = tmp_path / "rows.json"
    words = [sys.executable, "-m", "tests.benchmarks", "pages", "--small", "--json", str(file)]
    run = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=500, env=_bare_environment()
    )
    assert run.returncode == 0, run.stderr
    rows = json.loads(file.read_text("utf-8"))
    pages = {row["page"]: row for row in rows if "page" in row}
    assert pages["bare page"]["queries"] == 2  # the session and the person
    assert max(pages[name]["queries"] for name in ("list", "approval")) <= 12
    assert pages["approval"]["cold_bytes"] <= 100_000
    assert pages["objects: 20"]["queries"] == pages["objects: 120"]["queries"]
    ours, admins = (row for row in rows if "saved" in row)
    assert (ours["status"], ours["changed"]) == (302, 120)
    assert admins["status"] == 400  # more fields than one form may have


def _bare_environment():
    """Return the environment without the database of this test."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("WORKBENCH_", "DJANGO_"))
    }
    kept.pop("DATABASE_URL", None)
    return kept


def test_exports_grow_by_no_more_memory_than_they_may():
    rows = [row for row in exports.run(**exports.SMALL) if "form" in row]
    assert {row["form"] for row in rows} == set(exports.FORMS)
    assert max(row["growth_mib"] for row in rows) <= 15
    assert min(row["bytes"] for row in rows) > 0


def test_scale_is_measured_for_decisions_steps_and_the_list():
    rows = [row for row in scale.run(**scale.SMALL) if "what" in row]
    assert {(row["what"], row["size"]) for row in rows} == {
        *((what, size) for what in ("decision", "step commit") for size in (50, 500)),
        *(("list of contracts", size) for size in (10, 60)),
    }


def test_every_approval_item_is_decided_once_and_by_the_control_more_often():
    ours, control, *aims = approvals.run(**approvals.SMALL)
    assert (ours["most_on_one"], ours["fewest_on_one"]) == (1, 1)
    assert ours["decisions"] == ours["items"]
    assert control["most_on_one"] > 1
    assert all(one["reached"] for one in aims)


def test_finding_sorting_and_acting_in_bulk_need_few_queries():
    rows = bulk.run(**bulk.SMALL)
    asked = {row["asked"]: row["queries"] for row in rows if row.get("asked") in bulk.QUESTIONS}
    assert set(asked) == set(bulk.QUESTIONS)
    assert max(asked.values()) <= bulk.MOST_QUERIES
    acts = [row for row in rows if "act" in row]
    assert [row["changed"] for row in acts] == [120] * 4
    assert max(row["queries"] for row in acts) <= 20

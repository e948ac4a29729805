"""The workbench itself is killed at a seam of its own gates, while a client's worker is at work."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from contracts.drills.adapters import find_adapter
from contracts.drills.processes import present
from contracts.drills.surroundings import served_workbench
from contracts.rules.drilling import Target
from contracts.rules.windows import Seam, Window, WindowVerdict

pytestmark = pytest.mark.django_db(transaction=True)
GATES = ("intend", "dispatch", "report", "commit_step")
# What is walked on every run: where something is stored that the worker has not heard of, and where nothing is.
ALWAYS = [(Seam.COMMITTED, "dispatch"), (Seam.BEGUN, "report")]
EVERY = [(seam, gate) for seam in Seam for gate in GATES]


def test_a_workbench_killed_at_a_seam_costs_no_page_and_makes_none_twice(drill, whole, tmp_path):
    for seam, gate in EVERY * 10 if whole else ALWAYS:
        marker = tmp_path / "killed"
        marker.unlink(missing_ok=True)
        # Away for longer than the lease, the workbench makes the worker stop by itself; others are started then.
        cell = drill.run(client_at(seam, gate, marker), Window.RECEIPT_LOST, Target.CHECKS_GENERATION)
        assert (cell.verdict, cell.counters.duplicated) == (WindowVerdict.HELD, 0), (seam, gate, cell)
        # A gate that answers with one statement of its own passes only its first and its last seam.
        assert marker.exists() or seam not in (Seam.BEGUN, Seam.COMMITTED)


def client_at(seam, gate, marker):
    """Return our client's adapter, with a workbench that dies at this seam of this gate."""

    @contextmanager
    def services(folder):
        kill = {"KILL_AT": f"{seam.value} {gate} {marker}"}
        with served_workbench(present(), folder, kill, "tests.drills.killed_workbench:application") as url:
            yield {"WORKBENCH_URL": url}

    return replace(find_adapter("client"), services=services)

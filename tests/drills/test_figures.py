"""What a drill provokes is counted by the drill, and not by the figures of the workbench that ran it."""

import httpx
import pytest

from contracts.drills.processes import recorded
from contracts.drills.surroundings import served_workbench

TOKEN = "a-token-of-the-machine-that-asks-" + "0123456789" * 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("more", "status"), [({}, 404), ({"WORKBENCH_METRICS_TOKEN": TOKEN}, 200)])
def test_the_workbench_of_a_drill_counts_nothing(tmp_path, monkeypatch, more, status):
    """The control is one that is told to: it would count into the folder of the workbench that ran it."""
    monkeypatch.setenv("WORKBENCH_METRICS_TOKEN", TOKEN)
    bears = {"Authorization": f"Bearer {TOKEN}"}
    with recorded(tmp_path / "running") as started, served_workbench(started, tmp_path, more) as address:
        assert httpx.get(f"{address}/metrics", headers=bears, timeout=60).status_code == status

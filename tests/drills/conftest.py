import pytest

from contracts.drills.running import records_folder
from tests.drills.cells import Drill


@pytest.fixture
def drill(tmp_path, settings):
    """Cells to run, after which nothing may be left: no process and no record."""
    settings.WORKBENCH_DATA = tmp_path / "workbench"
    yield Drill(tmp_path)
    assert not list(records_folder().glob("*.json"))

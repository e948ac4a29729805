"""Running cells as the tests want it: quickly, with what was said, in a folder of the test."""

import subprocess
import sys
import threading

import pytest

from contracts.drills.adapters import find_adapter
from contracts.drills.running import run_cells
from contracts.rules.drilling import Target


class Drill:
    """Runs cells of one adapter; `lines` grows with everything that is said. `stop_at`: stop when this is said."""

    def __init__(self, folder, stop_at=""):
        self.folder, self.lines, self.stop = folder, [], threading.Event()
        self._stop_at = stop_at

    def run(self, adapter, window, target, repeat=1):
        """Return the result of one window."""
        return self.run_all(adapter, [window], target, repeat)[0]

    def run_all(self, adapter, windows, target, repeat=1):
        """Return the results of several windows."""
        folder = self.folder / "evidence"
        return run_cells(adapter, windows, target, repeat, folder=folder, progress=self._tell, stop=self.stop)

    def _tell(self, *told):
        line = told[-1]
        self.lines.append(line)
        if self._stop_at and self._stop_at in line:
            self.stop.set()


def counted(name, window, folder, target=Target.PLAIN):
    """Run one cell once; return its counters and verdict."""
    drill = Drill(folder)
    result = drill.run(find_adapter(name), window, target)
    assert result.counters is not None, drill.lines
    return result.counters, result.verdict


def declared_without(module, *frameworks):
    """Return the names that an adapter's file declares in a Python that has neither Django nor the frameworks."""
    absent = ", ".join(f"{name}=None" for name in ("django", *frameworks))
    program = (
        f"import sys; sys.modules.update({absent})\n"
        f"from contracts.drills.adapters.{module} import ADAPTERS\n"
        "print(*(adapter.name for adapter in ADAPTERS))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return said.stdout.split()


def needs(name):
    """Return the mark that skips a test where parts of the adapter are missing, and says what to install."""
    adapter = find_adapter(name)
    missing = ", ".join(adapter.missing())
    return pytest.mark.skipif(bool(missing), reason=f"{missing} is not here: {adapter.install}")


def needing(*names):
    """Return the names as parameters, each skipped where parts of its adapter are missing."""
    return [pytest.param(name, marks=needs(name)) for name in names]

"""Running cells as the tests want it: quickly, with what was said, in a folder of the test."""

import threading

from contracts.drills.running import run_cells


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

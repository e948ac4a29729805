"""The processes of an example: its content system, and one worker after the other, told line by line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from django.utils.translation import gettext

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = "contracts.client.examples"
Say = Callable[[str], object]


class Processes:
    """Starts and ends the processes of one example task. `folder`: where target and model keep their records."""

    def __init__(self, folder: Path, say: Say) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model_record = folder / "model-calls.jsonl"
        self._folder, self._say = folder, say
        self._note = folder / "worker.json"

    @contextmanager
    def content_system(self, *, loses: bool = True) -> Iterator[str]:
        """Run the content system, which loses one receipt if asked to; gives its address."""
        words = [sys.executable, "-m", f"{EXAMPLES}.content_system", str(self._folder)]
        words += ["checks-generation", *(["lose-a-receipt"] if loses else [])]
        process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdin is not None  # noqa: S101, PT018
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(timeout=30)
            process.stdout.close()

    def run_worker(self, module: str, environment: dict[str, str], *, kill_at: str = "") -> int:
        """Run one worker to its end, telling its lines; return its exit code, below zero if it was killed.

        `kill_at`: kill it, as a power cut would, a moment after it has said this.
        """
        self._end_left_over()
        own = {"MODEL_RECORD": str(self.model_record), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", f"{EXAMPLES}.{module}"],
            cwd=ROOT,
            env=os.environ | own | environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert process.stdout is not None  # noqa: S101
        self._remember(process.pid)
        started = gettext("worker %(pid)s starts (kill -9 %(pid)s at any moment)")
        self._say(started % {"pid": process.pid})
        try:
            for line in process.stdout:
                self._say(f"    {line.rstrip()}")
                if kill_at and kill_at in line:
                    time.sleep(0.3)  # the model is in the middle of its words
                    process.kill()
            return process.wait()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            self._note.unlink(missing_ok=True)

    def _remember(self, pid: int) -> None:
        self._note.write_text(json.dumps([pid, psutil.Process(pid).create_time()]))

    def _end_left_over(self) -> None:
        """End the worker of a run that was itself killed: two at once are no harm, but hard to follow."""
        try:
            pid, born = json.loads(self._note.read_text("utf-8"))
            left = psutil.Process(pid)
            if left.create_time() == born:
                left.send_signal(signal.SIGKILL)
                ended = gettext("worker %(pid)s of the last run was still at work and is ended")
                self._say(ended % {"pid": pid})
        except (OSError, ValueError, psutil.Error):
            return

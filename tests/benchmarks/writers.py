"""Writers as processes of their own: workers are, and threads of one Python would share its one lock.

Between their turns the processes stand still (SIGSTOP), so that nobody's background threads take time from
whoever is measured.
"""

import contextlib
import importlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from tests.benchmarks.contenders import Place

PATIENCE = 600.0  # seconds until a writer must be ready, or its answer must come
WARM = 0.3  # seconds before each measurement that are not counted


class Team:
    """The writers of one contender, started and standing still."""

    def __init__(self, module: str, name: str, place: Place, made: dict[str, Any], size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.name = name
        self.pipes: list[Connection] = []
        self.processes = []
        for number in range(size):
            ours, theirs = context.Pipe()
            words = (theirs, module, name, (place, made, number))
            process = context.Process(target=_write_when_told, args=words, daemon=True)
            process.start()
            self.pipes.append(ours)
            self.processes.append(process)
            if number == 0:  # alone, so that what it compiles is there for the others
                self._answer(number)
        for number in range(1, size):
            self._answer(number)
        self._signal(signal.SIGSTOP, size)

    def measure(self, writers: int, seconds: float) -> float:
        """Return durable commits per second of the first `writers` together."""
        self._signal(signal.SIGCONT, writers)
        for pipe in self.pipes[:writers]:
            pipe.send(seconds)
        rates = [self._answer(number) for number in range(writers)]
        self._signal(signal.SIGSTOP, writers)
        return sum(rates)

    def end(self) -> None:
        """End the processes, standing still or not."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()

    def _signal(self, which: signal.Signals, writers: int) -> None:
        for process in self.processes[:writers]:
            assert process.pid is not None
            os.kill(process.pid, which)

    def _answer(self, number: int) -> float:
        if not self.pipes[number].poll(PATIENCE):
            raise SystemExit(f"writer {number} of {self.name} does not answer")
        try:
            answer = self.pipes[number].recv()
        except EOFError:
            raise SystemExit(f"writer {number} of {self.name} died; what it said stands above") from None
        return float(answer)


@contextlib.contextmanager
def team(module: str, name: str, place: Place, made: dict[str, Any], size: int) -> Iterator[Team]:
    """Start the writers of one contender, and end them with the block."""
    made_team = Team(module, name, place, made, size)
    try:
        yield made_team
    finally:
        made_team.end()


def _write_when_told(pipe: Connection, module: str, name: str, given: tuple[Any, ...]) -> None:
    write = importlib.import_module(f"tests.benchmarks.contenders.{module}").writer(name, *given)
    write(time.monotonic() + 0.01)  # what is done once only: preparing statements, opening connections
    pipe.send(0)
    while True:
        seconds = pipe.recv()
        write(time.monotonic() + WARM)
        begin = time.monotonic()
        count = write(begin + seconds)
        pipe.send(count / (time.monotonic() - begin))

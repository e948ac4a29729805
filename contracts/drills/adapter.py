"""What the runner must know of a worker to drill it: how it is started, what surrounds it, what it cannot do."""

import importlib.metadata
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from contracts.rules.drilling import Target
from contracts.rules.windows import Window
from contracts.rules.words import N_

OBJECTS = tuple(f"object-{number}" for number in range(1, 9))
VICTIM = "object-4"
BEFORE_VICTIM = "object-3"
FIRST_VERSION, NEXT_VERSION = "v1", "v2"

Environment = Mapping[str, str]
# What cannot be done: a window at all, a target at all, or one window at one target.
Cannot = Mapping[Window | Target | tuple[Window, Target], str]


@dataclass(frozen=True, slots=True)
class Setting:
    """One repetition. `folder` outlives every worker of it; `address` is the target's."""

    window: Window
    target: Target
    task: str
    folder: Path
    address: str
    services: Environment = field(
        default_factory=dict
    )  # what the adapter's services gave, and DRILL_DATABASE


class Keeper(Protocol):
    """What surrounds one task in one repetition: the people, the sources, and whoever keeps account."""

    def environment(self) -> Environment:
        """Return what the workers of this task are given besides the usual variables."""

    def approve(self, work_object: str) -> None:
        """Say yes, as a person, to what the worker asks for this object."""

    def change(self, work_object: str) -> None:
        """Replace the source of this object by its next version."""

    def held(self) -> int:
        """Return how many writes are left unknown and wait for a person."""

    def unfinished(self) -> frozenset[str]:
        """Return the objects that the account itself says are not done."""

    def recovered(self) -> int:
        """Return how many writes of unknown result were settled by asking the target."""

    def refused(self) -> int:
        """Return how many writes of a displaced worker were refused before they reached the target."""


class FileKeeper:
    """The keeper of workers that have none: sources and a person's yes are files in the task's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for part in ("sources", "approved"):
            folder.joinpath(part).mkdir(parents=True, exist_ok=True)
        for name in OBJECTS:
            folder.joinpath("sources", name).write_text(FIRST_VERSION, "utf-8")

    def environment(self) -> Environment:
        """Nothing more."""
        return {}

    def approve(self, work_object: str) -> None:
        """Write the yes that `Marks.approved` reads."""
        self._folder.joinpath("approved", work_object).write_text("yes", "utf-8")

    def change(self, work_object: str) -> None:
        """Write the next version of the source."""
        self._folder.joinpath("sources", work_object).write_text(NEXT_VERSION, "utf-8")

    def held(self) -> int:
        """Nobody keeps account of writes here."""
        return 0

    def unfinished(self) -> frozenset[str]:
        """Nobody keeps account of objects here."""
        return frozenset()

    def recovered(self) -> int:
        """Nobody asks here."""
        return 0

    def refused(self) -> int:
        """Nobody refuses here but the target."""
        return 0


@contextmanager
def keep_files(setting: Setting) -> Iterator[Keeper]:
    """Give the keeper of workers that have none of their own."""
    yield FileKeeper(setting.folder)


@contextmanager
def no_services(folder: Path) -> Iterator[Environment]:  # noqa: ARG001
    """Start nothing."""
    yield {}


def nothing_more() -> dict[str, str]:
    """Return no further versions."""
    return {}


def nothing_lacks() -> tuple[str, ...]:
    """Return no further thing that is missing."""
    return ()


def module_command(module: str, *words: str) -> tuple[str, ...]:
    """Return the command line of a worker that is a module of `contracts.drills.adapters`."""
    return (sys.executable, "-m", f"contracts.drills.adapters.{module}", *words)


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


PROXY_IS_OURS = N_("The single write proxy is part of the workbench; only its own workers write by it.")


@dataclass(frozen=True, slots=True)
class Adapter:
    """One worker that can be drilled. Durations in seconds."""

    name: str  # on the command line and in results
    title: str  # as people read it, a message id; most are proper names
    command: tuple[str, ...]  # of the worker's process
    needs: tuple[str, ...] = ()  # distributions that must be installed
    lacks: Callable[[], tuple[str, ...]] = nothing_lacks  # further things that are missing, such as programs
    install: str = ""  # the command that brings what is missing
    packages: tuple[str, ...] = ()  # distributions whose versions belong to a result
    more_versions: Callable[[], Mapping[str, str]] = nothing_more
    cannot: Cannot = field(default_factory=dict)  # each with one sentence, a message id, that says why
    database: bool = False  # whether each repetition gets a PostgreSQL database of its own, DRILL_DATABASE
    fences_itself: bool = False  # whether it has generations of its own and tells them to the target
    lease: float = 1.0  # how long a frozen worker must be still until another may take over
    pause: float = 0.2  # between two starts
    longest: float = 60.0  # one worker that runs longer is ended
    services: Callable[[Path], AbstractContextManager[Environment]] = no_services  # once for all cells
    keeper: Callable[[Setting], AbstractContextManager[Keeper]] = keep_files  # once for each repetition

    def missing(self) -> tuple[str, ...]:
        """Return the distributions and programs that are not here."""
        return tuple(name for name in self.needs if not _is_installed(name)) + self.lacks()

    def why_not(self, window: Window, target: Target) -> str:
        """Return the sentence that says why this cell cannot be expressed; empty if it can."""
        for place in ((window, target), window, target):
            if place in self.cannot:
                return self.cannot[place]
        return ""

    def versions(self) -> dict[str, str]:
        """Return the versions of everything a result depends on, without the database's."""
        import importlib.metadata  # here: workers load this file, and it is slow

        found = {name: importlib.metadata.version(name) for name in self.packages}
        return {"python": platform.python_version(), **found, **self.more_versions()}

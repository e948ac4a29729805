"""Adding up what several processes have counted: each has files of its own in one folder.

A process that has ended leaves its files behind. What they hold must not be lost, or every total would fall; so they
are taken together into one, and the folder stays as small as the number of living processes.
"""

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

from workbench.folder import open_lock
from workbench.observing.counting import COUNTED, write_down
from workbench.observing.counts_folder import FOLDER
from workbench.observing.standing import Standing

GONE = "gone"  # stands where a living process has its number


def exposition() -> tuple[bytes, str]:
    """Return every figure in Prometheus' text form, and its media type."""
    standing = CollectorRegistry()
    standing.register(Standing())
    return generate_latest(standing) + _counted(), CONTENT_TYPE_LATEST


def _counted() -> bytes:
    write_down()  # the other processes have done so within the last second
    place = os.environ.get(FOLDER, "")
    if not place:
        return generate_latest(COUNTED)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=place)
    with _alone(Path(place)):
        _take_together(Path(place))
        return generate_latest(registry)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder: two that take together at once would count the dead twice."""
    with open_lock(folder / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _take_together(folder: Path) -> None:
    for kind, paths in _of_the_dead(folder).items():
        whole = MmapedDict(str(folder / f"{kind}_{GONE}.db"))
        for path in paths:
            for key, value, timestamp, _ in MmapedDict.read_all_values_from_file(str(path)):
                whole.write_value(key, whole.read_value(key)[0] + value, timestamp)
            path.unlink()
        whole.close()


def _of_the_dead(folder: Path) -> dict[str, list[Path]]:
    """Return the files of processes that have ended, by what they hold: counters or histograms."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*_*.db")):
        kind, _, number = path.stem.rpartition("_")
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            found[kind].append(path)
    return found

"""Where two JSON values differ, place by place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class Absent(Enum):
    """What stands where one of two values has nothing at all."""

    HERE = auto()


ABSENT = Absent.HERE


@dataclass(frozen=True, slots=True)
class Place:
    """One place at which two values differ, as a JSON pointer (RFC 6901), with what stood and stands there."""

    pointer: str
    was: Any
    now: Any


def differences(was: Any, now: Any, pointer: str = "") -> Iterator[Place]:
    """Yield the places at which `now` differs from `was`, in the order of `was`, then what is new.

    Lists are compared place by place. Numbers and truth values are different things.
    """
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in [*was, *(key for key in now if key not in was)]:
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from differences(was.get(key, ABSENT), now.get(key, ABSENT), f"{pointer}/{step}")
    elif isinstance(was, list) and isinstance(now, list):
        for place in range(max(len(was), len(now))):
            old, new = _at(was, place), _at(now, place)
            yield from differences(old, new, f"{pointer}/{place}")
    elif was != now or isinstance(was, bool) != isinstance(now, bool):
        yield Place(pointer, was, now)


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else ABSENT

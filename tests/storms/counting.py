"""What every storm counts, in one line that reads the same everywhere."""

from dataclasses import dataclass, fields

from tests.races.racing import say


@dataclass(slots=True)
class Counters:
    """Writes, or requests, of one storm.

    `unknown`: their answer never came; `recovered`: of those, settled by asking again. `lost`: acknowledged, and
    not there afterwards; `duplicated`: there more than once; `unexpected`: answered what no rule provides for.
    """

    attempted: int = 0
    acknowledged: int = 0
    unknown: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    recovered: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing was lost, doubled or out of place, and nothing stayed unknown."""
        return not (self.lost or self.duplicated or self.unexpected) and self.recovered == self.unknown

    def tell(self, storm: str) -> None:
        """Print them; read with `pytest -rP` or `-s`."""
        counts = ", ".join(f"{field.name} {getattr(self, field.name):,}" for field in fields(self))
        say(f"{storm}: {counts}")

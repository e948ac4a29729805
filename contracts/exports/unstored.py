"""A contract that stands in no database, told as a snapshot is: a worksheet filled in without an account."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from contracts.models import Contract
from contracts.models.content import plain
from contracts.rules.parts import PARTS

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unstored:
    """What somebody filled in: `contract` was never saved, and `rows` holds the rows of each part by fact."""

    contract: Contract
    complete_sections: tuple[str, ...]
    rows: Mapping[str, Sequence[Row]]

    def stream(self, part: str) -> Iterator[Sequence[Any]]:
        """Yield the values of each row of `part` in the order of the part's fields, as JSON holds them."""
        fields = PARTS[part].fields
        for row in self.rows.get(part, ()):
            yield [plain(row.get(field.name, field.empty)) for field in fields]

    def object_counts(self) -> Mapping[str, int]:
        """Return object state → number of objects in it."""
        state = PARTS["object"].field("state")
        return Counter(row.get("state", state.empty) for row in self.rows.get("object", ()))

    def usage_totals(self) -> Mapping[str, Decimal]:
        """Return measure → what was used, of the entries that name both."""
        totals: defaultdict[str, Decimal] = defaultdict(Decimal)
        for row in self.rows.get("usage", ()):
            if row.get("measure") and row.get("amount") is not None:
                totals[row["measure"]] += row["amount"]
        return totals

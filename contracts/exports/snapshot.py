"""One consistent snapshot of a contract, read in constant memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count

from contracts.models import ROWS, Contract, SectionMark, UsageEntry, WorkObject
from contracts.models.content import plain
from contracts.models.standing import one_moment
from contracts.rules.fields import Kind
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Section

CHUNK_ROWS = 2_000
# Kinds whose stored value is not what JSON holds; all others pass as they are.
CONVERTED = frozenset({Kind.MOMENT, Kind.AMOUNT})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A contract as it stood at one moment; its rows are read while the snapshot is open."""

    contract: Contract
    complete_sections: tuple[str, ...]

    def stream(self, part: str) -> Iterator[Sequence[Any]]:
        """Yield the values of each row of `part` in the order of the part's fields, as JSON holds them."""
        model = ROWS[part]
        fields = PARTS[part].fields
        rows = model.objects.of(self.contract.pk).values_list(*(model.FACTS[field.name] for field in fields))
        converted = [index for index, field in enumerate(fields) if field.kind in CONVERTED]
        for row in rows.iterator(chunk_size=CHUNK_ROWS):
            values = list(row)
            for index in converted:
                values[index] = plain(values[index])
            yield values

    def single(self, part: str) -> dict[str, Any]:
        """Return the one row of a part that has exactly one."""
        names = [field.name for field in PARTS[part].fields]
        return dict(zip(names, next(iter(self.stream(part))), strict=True))

    def object_counts(self) -> Mapping[str, int]:
        """Return object state → number of objects in it; states without any are left out."""
        rows = WorkObject.objects.filter(contract_id=self.contract.pk).values_list("state")
        return dict(rows.annotate(Count("pk")))

    def usage_totals(self) -> Mapping[str, Decimal]:
        """Return measure → what was used over all attempts."""
        totals: Mapping[str, Decimal] = UsageEntry.objects.filter(contract_id=self.contract.pk).totals()
        return totals


@contextmanager
def open_snapshot(contract_id: int) -> Iterator[Snapshot]:
    """Open a snapshot of one contract, read in one moment (see `one_moment`).

    Keep it open briefly: write what is told into a file and send the file, so that a slow reader does not hold
    the snapshot. Raises Contract.DoesNotExist.
    """
    with one_moment():
        yield _read(contract_id)


def _read(contract_id: int) -> Snapshot:
    contract = Contract.objects.select_related("team").get(pk=contract_id)
    marks = set(
        SectionMark.objects.filter(contract_id=contract_id, complete=True).values_list("section", flat=True)
    )
    return Snapshot(contract, tuple(section.value for section in Section if section.value in marks))

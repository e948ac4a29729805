"""What every row of a contract's content shares: the contract it belongs to, a version, and its facts.

The contract's id stands in every table and in every unique key, so that the data can be distributed by
contract one day. A migration makes the primary key of each content table `(id, contract_id)` and each
reference inside a contract `(reference, contract_id)`: a row can then never point into another contract.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

from contracts.models.domains import Number


def plain(value: Any) -> Any:
    """Return `value` as JSON holds it: times in UTC with `Z`, decimals as text without an exponent."""
    if value is None or isinstance(value, str | int):
        return value  # most are, and many rows at once are told to the events
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return value


class ContentQuerySet[Row: ContentRow](models.QuerySet[Row]):
    """Reads that every table of content offers."""

    def of(self, contract_id: int) -> "ContentQuerySet[Row]":
        """Return the rows of one contract, in the order people and exports see them."""
        return self.filter(contract_id=contract_id).order_by(*self.model.ORDER)

    def joined(self) -> "ContentQuerySet[Row]":
        """Return the set with the rows that facts refer to, so that reading facts needs no further query."""
        relations = relations_of(self.model)
        return self.select_related(*relations) if relations else self

    def stream_facts(self, chunk_size: int = 2_000) -> Iterator[dict[str, Any]]:
        """Yield the facts of each row without building model instances, in constant memory."""
        names, paths = list(self.model.FACTS), list(self.model.FACTS.values())
        for values in self.values_list(*paths).iterator(chunk_size=chunk_size):
            yield {name: plain(value) for name, value in zip(names, values, strict=True)}


class ContentRow(models.Model):
    """A row of one contract.

    `FACTS` maps the name a fact has outside (events, JSON, forms) to the path of the column that holds it.
    `NATURAL` names the facts by which people tell one row from another. `ORDER` is the stable order.
    """

    FACTS: ClassVar[Mapping[str, str]] = {}
    NATURAL: ClassVar[tuple[str, ...]] = ()
    ORDER: ClassVar[tuple[str, ...]] = ("id",)

    # No index of its own: every table has a unique key that begins with the contract.
    contract = models.ForeignKey(
        "contracts.Contract", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    version = Number(default=1)  # rises with every edit; optimistic lock
    stored_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[ContentQuerySet[Any]] = ContentQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        abstract = True

    def facts(self) -> dict[str, Any]:
        """Return the row as it appears in events and exports."""
        found = {}
        for name, relation, column in _ways_to_facts(type(self)):
            holder = getattr(self, relation) if relation else self
            found[name] = plain(getattr(holder, column)) if holder is not None else None
        return found

    def natural_key(self) -> str:
        """Return the words by which people tell this row from its neighbours."""
        words = []
        for name in self.NATURAL:
            relation, _, column = self.FACTS[name].rpartition("__")
            holder = getattr(self, relation) if relation else self
            words.append(str(getattr(holder, column)) if holder is not None else "–")
        return " · ".join(words)


class OrderedRow(ContentRow):
    """A row that people may move up and down."""

    ORDER = ("position", "id")

    position = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True


def relations_of(model: type[ContentRow]) -> dict[str, dict[str, str]]:
    """Return relation → (column of the other table → name of the fact), the identifying column first."""
    relations: dict[str, dict[str, str]] = {}
    for fact, path in model.FACTS.items():
        relation, _, column = path.partition("__")
        if column:
            relations.setdefault(relation, {})[column] = fact
    return relations


@cache
def _ways_to_facts(model: type[ContentRow]) -> tuple[tuple[str, str, str], ...]:
    """Return (fact, relation or nothing, column) for each fact; a path goes over one relation at most."""
    ways = []
    for name, path in model.FACTS.items():
        relation, _, column = path.rpartition("__")
        ways.append((name, relation, column))
    return tuple(ways)


def guarded_contract() -> Any:
    """Return the reference to the contract for a row that always names an attempt.

    That reference holds the contract too, and the database need not look for it once more at every step.
    """
    return models.ForeignKey(
        "contracts.Contract", on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )


def reference(to: str, **options: Any) -> Any:
    """Return a reference to another row of the same contract (its composite constraint is in a migration).

    Tables that every step writes take `db_index=False`: whoever looks there looks within one contract, by an index
    that begins with it, and one index less is to be written each time.
    """
    options.setdefault("null", True)
    options.setdefault("blank", True)
    options.setdefault("on_delete", models.PROTECT)
    options.setdefault("related_name", "+")
    return models.ForeignKey(to, db_constraint=False, **options)


def one_of(field: str, words: type[Any], *, optional: bool = False) -> models.Q:
    """Return the condition that `field` holds one of the closed list `words`."""
    allowed = models.Q(**{f"{field}__in": [word.value for word in words]})
    return allowed | models.Q(**{field: ""}) if optional else allowed


def choices(words: type[Any]) -> dict[str, str]:
    """Return `words` as Django choices: stored value → English label (translated where it is shown)."""
    return {word.value: word.label for word in words}

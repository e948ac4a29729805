"""From the words by which people name another row to the row itself, always within one contract."""

from collections.abc import Iterable, Mapping
from typing import Any

from contracts.models import ContentRow
from contracts.models.content import relations_of
from contracts.rules.refusals import SENTENCES
from contracts.rules.verdict import Problem


class References:
    """Finds the rows that many values of one table refer to, with one query per relation."""

    def __init__(self, contract_id: int, model: type[ContentRow], rows: Iterable[Mapping[str, Any]]) -> None:
        self._relations = relations_of(model)
        self._found = {
            relation: self._load(contract_id, model, relation, rows) for relation in self._relations
        }

    def _load(
        self, contract_id: int, model: type[ContentRow], relation: str, rows: Iterable[Mapping[str, Any]]
    ) -> dict[Any, list[ContentRow]]:
        (key_column, key_fact), *_ = self._relations[relation].items()
        target: type[ContentRow] = model._meta.get_field(relation).related_model  # type: ignore[assignment]
        wanted = {row[key_fact] for row in rows if row.get(key_fact)}
        found: dict[Any, list[ContentRow]] = {}
        if wanted:
            for row in target.objects.filter(contract_id=contract_id, **{f"{key_column}__in": wanted}):
                found.setdefault(getattr(row, key_column), []).append(row)
        return found

    def resolve(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
        """Return relation → row (or None), and a problem for each name that leads nowhere."""
        resolved: dict[str, Any] = {}
        problems = []
        for relation, columns in self._relations.items():
            (_, key_fact), *others = columns.items()
            if not values.get(key_fact):
                resolved[relation] = None
                continue
            candidates = self._found[relation].get(values[key_fact], [])
            row = _choose(candidates, {c: values.get(f) for c, f in others})
            resolved[relation] = row
            if row is None:
                problems.append(Problem(key_fact, "unknown_reference", SENTENCES["unknown_reference"]))
        return resolved, problems


def plain_columns(model: type[ContentRow], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that stand in columns of the row itself."""
    return {path: values[fact] for fact, path in model.FACTS.items() if "__" not in path and fact in values}


def _choose(candidates: list[ContentRow], given: Mapping[str, Any]) -> ContentRow | None:
    """Return the row that has every given value; where several have, the current one, else the newest."""
    fitting = [
        row
        for row in candidates
        if all(not value or getattr(row, column) == value for column, value in given.items())
    ]
    fitting.sort(key=lambda row: (getattr(row, "current", True), row.pk))
    return fitting[-1] if fitting else None

"""The objects and the open operations that a resume decision looks at, however many are settled."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection, models
from django.db.models import Count, Value

from contracts.models.objects import WorkObject
from contracts.models.operations import Operation
from contracts.rules.resume_facts import SAMPLE
from contracts.rules.resume_rows import distinct
from contracts.rules.resume_samples import MATTERS, MAY_HAVE_LEFT, WAITS_WITH_OBJECT
from contracts.rules.rows import Values
from contracts.rules.states import ObjectState, OperationState

# Written out: building these two anew for each decision costs more than running them. Each begins with what is
# no longer current or not settled, so that a hundred thousand confirmed objects are never visited.
_DRIFTED = """
WITH former AS (SELECT id FROM contracts_source WHERE contract_id = %(contract)s AND NOT current),
drifted AS (
    SELECT id FROM contracts_workobject WHERE contract_id = %(contract)s AND state = 'confirmed'
        AND source_id IN (SELECT id FROM former)
    UNION
    SELECT id FROM contracts_workobject WHERE contract_id = %(contract)s AND state = 'confirmed'
        AND artefact_id IN (SELECT id FROM contracts_artefact WHERE contract_id = %(contract)s AND NOT current)
    UNION
    SELECT made.id FROM contracts_workobject made
        JOIN contracts_artefact artefact ON artefact.id = made.artefact_id
        JOIN contracts_source origin ON origin.id = artefact.source_id
        LEFT JOIN contracts_source own ON own.id = made.source_id
    WHERE made.contract_id = %(contract)s AND made.state = 'confirmed'
        AND made.artefact_id IN (
            SELECT id FROM contracts_artefact WHERE contract_id = %(contract)s
                AND source_id IN (SELECT id FROM former)
        )
        AND origin.source_id IS DISTINCT FROM own.source_id
)
"""
# One piece for each state, spelled out: for a state not known beforehand the wrong index is taken.
_OF_STATE = """
(
    SELECT position, id, object_id, state, 0 AS drifted FROM contracts_workobject
    WHERE contract_id = %(contract)s AND state = '{state}' ORDER BY position, id LIMIT %(sample)s
)
UNION ALL
"""
_OF_DRIFTED = """
(
    SELECT position, id, object_id, state, count(*) OVER () FROM contracts_workobject
    WHERE contract_id = %(contract)s AND id IN (SELECT id FROM drifted)
    ORDER BY position, id LIMIT %(sample)s
)
ORDER BY 1, 2
"""
_STATES = (ObjectState.PENDING, *sorted(MATTERS))
OBJECTS = _DRIFTED + "".join(_OF_STATE.format(state=state.value) for state in _STATES) + _OF_DRIFTED
# `free` is read only as far as the limits ask, in its own order.
OPERATIONS = """
WITH free AS MATERIALIZED (
    SELECT held.id, held.step
    FROM contracts_operation AS held
    LEFT JOIN contracts_workobject AS object ON object.id = held.work_object_id
    LEFT JOIN contracts_source AS source ON source.id = object.source_id
    LEFT JOIN contracts_artefact AS artefact ON artefact.id = object.artefact_id
    LEFT JOIN contracts_source AS origin ON origin.id = artefact.source_id
    WHERE held.contract_id = %(contract)s AND held.state = 'pending' AND (
        object.state IS NULL OR object.state <> ALL (%(waits)s::text[]) AND (
            object.state <> 'confirmed'
            OR COALESCE(source.current, true) AND COALESCE(artefact.current, true)
                AND (COALESCE(origin.current, true) OR origin.source_id = source.source_id)
        )
    )
    ORDER BY held.intended_at, held.id
),
taken AS (
    SELECT id, bool_and(held_back) AS held_back FROM (
        SELECT id, false AS held_back FROM contracts_operation
        WHERE contract_id = %(contract)s AND state = ANY (%(left)s::text[])
        UNION ALL
        (SELECT id, false FROM free WHERE step = %(step)s LIMIT %(sample)s)
        UNION ALL
        (SELECT id, false FROM free LIMIT %(sample)s)
        UNION ALL
        (
            SELECT id, true FROM contracts_operation WHERE contract_id = %(contract)s AND state = 'pending'
            ORDER BY intended_at, id LIMIT 1
        )
    ) AS every GROUP BY id
)
SELECT operation.id, taken.held_back, operation.key, object.object_id AS object, tool.tool, operation.step,
    operation.round, operation.parameters::text, operation.fingerprint, operation.target, operation.state,
    operation.generation, operation.tries, operation.reconciliation::text, operation.intended_at,
    operation.sent_at, operation.settled_at
FROM taken
JOIN contracts_operation AS operation USING (id)
JOIN contracts_toolcontract AS tool ON tool.id = operation.tool_id
LEFT JOIN contracts_workobject AS object ON object.id = operation.work_object_id
ORDER BY operation.intended_at, operation.id
"""


def counts(contract_id: int) -> dict[str, int]:
    """Return object state → number of objects."""
    objects = WorkObject.objects.filter(contract_id=contract_id).order_by()
    return dict(objects.values_list("state").annotate(count=Count("*")))


def objects(contract_id: int) -> list[Values]:
    """Return the first objects of each state that matters or waits, and of those confirmed that drifted.

    Each has `id`, `object_id`, `state` and `drifted`: how many did in all if it is one of them, else 0.
    """
    return _select(OBJECTS, contract=contract_id, sample=SAMPLE)


def open_operations(contract_id: int, step: str) -> list[Values]:
    """Return the open operations that can come along, in the order of the ledger (see `open_rows`).

    Beside the facts that a decision needs each has `id` and `held_back`: it is pending, and its object is
    unknown, skipped, to be rechecked or drifted.
    """
    waits, left = ([state.value for state in states] for states in (WAITS_WITH_OBJECT, MAY_HAVE_LEFT))
    rows = _select(OPERATIONS, contract=contract_id, step=step, waits=waits, left=left, sample=SAMPLE)
    for row in rows:
        row["parameters"] = json.loads(row["parameters"])
        row["reconciliation"] = json.loads(row["reconciliation"] or "null")
    return rows


@dataclass(frozen=True, slots=True)
class Writes:
    """Tool and state of the operations of some objects and of some steps."""

    by_object: dict[int, list[tuple[str, str]]]
    by_step: dict[str, list[tuple[str, str]]]

    def of_object(self, row: Values) -> tuple[OperationState, ...]:
        """Return the states of an object's operations."""
        return distinct(state for _, state in self.by_object.get(row["id"], ()))

    def of_step(self, row: Values) -> list[tuple[str, str]]:
        """Return tool and state of a step's operations."""
        return self.by_step.get(row["key"], [])


def writes(contract_id: int, of_objects: Iterable[Values], of_steps: Iterable[Values]) -> Writes:
    """Return the operations of these objects, and those that name one of these steps as theirs."""
    found = Writes({}, {})
    ids, steps = [row["id"] for row in of_objects], [row["key"] for row in of_steps]
    if not ids and not steps:
        return found
    ledger = Operation.objects.filter(contract_id=contract_id).order_by()
    no_object = Value(0, output_field=models.BigIntegerField())
    no_step = Value("", output_field=models.CharField())
    told = ("tool__tool", "state")
    mine = ledger.filter(work_object_id__in=ids).values_list("work_object_id", no_step, *told)
    named = ledger.filter(step__in=steps).values_list(no_object, "step", *told)
    for work_object, step, tool, state in mine.union(named):
        if work_object:
            found.by_object.setdefault(work_object, []).append((tool, state))
        else:
            found.by_step.setdefault(step, []).append((tool, state))
    return found


def _select(statement: str, **values: Any) -> list[Values]:
    """Return the rows of a statement by the names of its columns."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

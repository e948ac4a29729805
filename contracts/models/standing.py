"""How a contract stands: the facts of a resume decision out of its rows.

An export read by `rules.resume_reading` gives the same facts: both use the same functions and look at the same
rows. The number of queries is fixed, and none reads more for a hundred thousand settled objects, operations,
steps or usage entries than for one, but for the count of the objects by state (of an index alone).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from typing import Any

from django.db import connection, transaction

from contracts.models import standing_rows as read
from contracts.models import standing_work as work
from contracts.models.events import Event
from contracts.models.identity import Contract
from contracts.rules.limiting import Cap
from contracts.rules.resume_facts import SAMPLE, Caller, Facts, ObjectRow, OpenWrite, Place
from contracts.rules.resume_rows import (
    changed_since,
    key_faults,
    order_faults,
    read_begun,
    read_held,
    read_holder,
    read_newest_policy,
    read_operation,
    read_point,
    read_task,
    read_tool,
    state_faults,
)
from contracts.rules.resume_samples import first_faults, open_rows
from contracts.rules.resuming import Decision, decide
from contracts.rules.rows import Values
from contracts.rules.states import ObjectState
from contracts.rules.vocabulary import Effect, Measure, Plane

# Of the newest events each hash is computed anew, and they must lead to the head that the contract itself keeps:
# an event lost, added or changed since the last decisions is found. All of them take a second and more for a
# hundred thousand, so the page of events looks at those, not every decision.
EVENTS_LOOKED_AT = 100


def decision_for(contract: Contract, caller: Caller, now: datetime) -> Decision:
    """Return the resume decision on a contract as it stands in one moment, whatever the row in memory says.

    `now` is the database's clock. Raises Contract.DoesNotExist.
    """
    with one_moment():
        return decide(gather_facts(Contract.objects.get(pk=contract.pk)), caller, now)


def gather_facts(contract: Contract) -> Facts:
    """Return all that a resume decision rests on.

    `contract` as it stands: the caller holds its lock, or has read it within `one_moment`; else the facts could
    be of two different moments.
    """
    gate, totals = read.gate_and_totals(contract.pk)
    newest = read.newest_policy(contract.pk)
    measured = read.measured_checkpoints(contract.pk)
    standing = next((row for row in reversed(measured) if row["rolled_back_at"] is None), None)
    point = read_point(standing) if standing else None
    step = point.next_step if point else ""
    tools = read.tools(contract.pk)
    ledger = work.open_operations(contract.pk, step)
    operations = open_rows(ledger, step, {row["key"] for row in ledger if row["held_back"]})
    attempts = read.attempts(contract.pk, {row["generation"] for row in operations})
    objects = work.objects(contract.pk)
    begun = read.begun_steps(contract.pk)
    matter = [row for row in objects if row["state"] != ObjectState.PENDING]
    writes = work.writes(contract.pk, matter, begun)
    effects = {row["tool"]: Effect(row["effect"]) for row in tools}
    of_checkpoints = chain(order_faults(*read.order_of_checkpoints(contract.pk)), state_faults(measured))
    events = max(contract.event_count - EVENTS_LOOKED_AT, 0)
    return Facts(
        task=read_task(
            contract.task_id, _columns(contract, Contract.FACTS), _columns(contract, Contract.LIFE), gate
        ),
        policy=read_newest_policy(newest),
        holder=next((read_holder(row) for row in attempts if row["ended_at"] is None), None),
        point=point,
        faults=tuple(first_faults(chain(of_checkpoints, key_faults(contract.task_id, operations)))),
        chain_whole=Event.objects.first_break(contract, after=events) is None,
        chain_from=events + 1,
        caps=tuple(
            Cap(Measure(row["measure"]), row["cap"], row["currency"]) for row in read.limits(contract.pk)
        ),
        totals=totals,
        step_totals=read.step_totals(contract.pk, step),
        tools={row["tool"]: read_tool(row) for row in tools},
        operations=tuple(_open_writes(contract, operations, attempts, newest)),
        counts=work.counts(contract.pk),
        drifted=next((row["drifted"] for row in objects if row["drifted"]), 0),
        rows=tuple(_object_row(row, writes) for row in matter),
        waiting=tuple(row["object_id"] for row in objects if row["state"] == ObjectState.PENDING)[:SAMPLE],
        begun=tuple(read_begun(row, writes.of_step(row), effects) for row in begun),
        planes=tuple(
            Place(Plane(row["plane"]), row["authority"], row["readers"]) for row in read.planes(contract.pk)
        ),
    )


@contextmanager
def one_moment() -> Iterator[None]:
    """Let everything read within be of one moment, by a read-only transaction that sees one state of the database.

    Inside a transaction that has begun already its isolation stays as it is.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _columns(contract: Contract, facts: dict[str, str]) -> dict[str, Any]:
    return {name: getattr(contract, column) for name, column in facts.items()}


def _object_row(row: Values, writes: work.Writes) -> ObjectRow:
    return ObjectRow(row["object_id"], ObjectState(row["state"]), bool(row["drifted"]), writes.of_object(row))


def _open_writes(
    contract: Contract, operations: list[Values], attempts: list[Values], policy: Values | None
) -> Iterator[OpenWrite]:
    items = read.newest_items(contract.pk, [row["id"] for row in operations])
    lost = read.deciders_who_lost_it(contract.pk, [item["id"] for item in items.values()])
    granted = {row["generation"]: row for row in attempts}
    number = policy["number"] if policy else 0
    for row in operations:
        held, item = None, items.get(row["id"])
        if item is not None:
            present = changed_since(item, row, item["now"], policy_number=number, deadline=contract.deadline)
            held = read_held(item, present, deciders_still_may=item["id"] not in lost)
        yield OpenWrite(read_operation(row, granted.get(row["generation"])), held, row["held_back"])

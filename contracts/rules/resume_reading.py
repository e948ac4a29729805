"""The facts of a resume decision out of a contract's exported JSON document, without the workbench that made it.

Whoever holds nothing but the document comes to the same verdict as the server, which builds its facts from rows
with the same functions. An export is read as it stands: unlike an import, nothing of it is stored, so a decision
in it keeps the state it had. What a document cannot show stays unknown: the chain of events, and whether those
who decided may still decide.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from contracts.rules.coherence import LISTS, check_coherence
from contracts.rules.document import FORMAT, LIFE, SCHEMA_VERSION
from contracts.rules.fingerprint import canonical, digest_bytes, fingerprint, operation_key
from contracts.rules.limiting import PER_STEP, Cap
from contracts.rules.parts import PARTS
from contracts.rules.parts.part import Part
from contracts.rules.resume_facts import SAMPLE, Begun, Facts, ObjectRow, OpenWrite, Place
from contracts.rules.resume_rows import (
    changed_since,
    distinct,
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
from contracts.rules.resume_samples import (
    LOOKED_BACK,
    MATTERS,
    WAITS_WITH_OBJECT,
    first_faults,
    first_rows,
    open_rows,
    with_state,
)
from contracts.rules.rows import Values, check_row
from contracts.rules.states import ObjectState, OperationState, StepState
from contracts.rules.verdict import Problem
from contracts.rules.vocabulary import Effect, Measure, Plane
from contracts.rules.words import N_

Rows = Mapping[str, Sequence[Values]]


class UnreadableExport(ValueError):
    """A document that is no export of a contract; `problems` names each place by JSON pointer."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(", ".join(f"{problem.field}: {problem.code}" for problem in problems))
        self.problems = problems


def facts_of(document: Any) -> Facts:
    """Return the facts in a parsed JSON document of schema version 1. Raises UnreadableExport."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise UnreadableExport(
            Problem("/format", "unknown_format", N_("This is not a resume-state contract."))
        )
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or type(version) is not int:  # True and 1.0 are equal to 1
        sentence = N_("Only schema version %(known)d can be read here; migrate the document first.")
        problem = Problem("/schema_version", "unknown_version", sentence, {"known": SCHEMA_VERSION})
        raise UnreadableExport(problem)
    identity = _row(PARTS["identity"], document.get("identity"), "/identity")
    life = _row(LIFE, document.get("life"), "/life")
    gate = _row(PARTS["gate"], document.get("gate"), "/gate")
    rows = {part: list(_list(PARTS[part], document.get(key, []), key)) for key, part in LISTS.items()}
    task_id = str(document.get("task_id", ""))
    _fill_in(task_id, rows)
    # Work in flight is no fault here: the document is read, not taken over.
    problems = [found for found in check_coherence(identity, life, rows) if found.code != "not_at_rest"]
    if problems:
        raise UnreadableExport(*problems)
    return facts_from(task_id, identity, life, gate, rows)


def _fill_in(task_id: str, rows: Rows) -> None:
    """Compute what a document written by hand may leave out; what it states is left to be checked."""
    for part, name, form in (
        ("checkpoint", "inline_state", canonical),
        ("artefact", "inline_text", str.encode),
    ):
        for row in rows[part]:
            if row[name] not in ("", None):
                content = form(row[name])
                row["sha256"] = row["sha256"] or digest_bytes(content)
                row["size_bytes"] = row["size_bytes"] or len(content)
    for row in rows["operation"]:
        call = (task_id, row["step"], row["round"], row["tool"], row["parameters"])
        row["key"] = row["key"] or operation_key(*call)
        row["fingerprint"] = row["fingerprint"] or fingerprint(row["parameters"])


def _list(part: Part, given: Any, key: str) -> Iterator[Values]:
    if not isinstance(given, list):
        raise UnreadableExport(Problem(f"/{key}", "wrong_type", N_("This must be a list.")))
    for index, row in enumerate(given):
        yield _row(part, row, f"/{key}/{index}")


def _row(part: Part, given: Any, place: str) -> Values:
    if not isinstance(given, Mapping):
        raise UnreadableExport(Problem(place, "wrong_type", N_("This must be a JSON object.")))
    checked = check_row(part, given, document=True)
    if checked.problems:
        raise UnreadableExport(
            *(replace(found, field=f"{place}/{found.field}") for found in checked.problems)
        )
    return checked.values


def facts_from(task_id: str, identity: Values, life: Values, gate: Values, rows: Rows) -> Facts:
    """Return the facts in the clean rows of one contract (part → rows, each in the contract's order)."""
    checkpoints = sorted(rows["checkpoint"], key=lambda row: row["sequence"])
    standing = [row for row in checkpoints if row["rolled_back_at"] is None]
    point = read_point(standing[-1]) if standing else None
    drifted = set(drifted_objects(rows))
    step = point.next_step if point else ""
    held_back = _held_back(rows, drifted)
    operations = open_rows(rows["operation"], step, held_back)
    faults = chain(
        order_faults(checkpoints[-LOOKED_BACK:], rows["attempt"]),
        state_faults(with_state(checkpoints)),
        key_faults(task_id, operations),
    )
    return Facts(
        task=read_task(task_id, identity, life, gate),
        policy=read_newest_policy(max(rows["policy"], key=lambda row: row["number"], default=None)),
        holder=next((read_holder(row) for row in rows["attempt"] if row["ended_at"] is None), None),
        point=point,
        faults=tuple(first_faults(faults)),
        caps=tuple(Cap(Measure(row["measure"]), row["cap"], row["currency"]) for row in rows["limit"]),
        totals=_totals(row for row in rows["usage"] if row["measure"] not in PER_STEP),
        step_totals=_totals(
            row for row in rows["usage"] if row["measure"] in PER_STEP and row["step"] == step
        ),
        tools={row["tool"]: read_tool(row) for row in rows["tool"]},
        operations=tuple(_open_writes(identity, rows, operations, held_back)),
        counts=_counts(rows["object"]),
        drifted=len(drifted),
        rows=tuple(first_rows(_object_rows(rows, drifted))),
        waiting=tuple(islice(_ids_in(rows["object"], ObjectState.PENDING), SAMPLE)),
        begun=tuple(islice(_begun(rows), SAMPLE)),
        planes=tuple(Place(Plane(row["plane"]), row["authority"], row["readers"]) for row in rows["plane"]),
    )


def _totals(usage: Iterable[Values]) -> dict[str, Decimal]:
    totals: dict[str, Decimal] = {}
    for row in usage:
        totals[row["measure"]] = totals.get(row["measure"], Decimal(0)) + row["amount"]
    return totals


def _counts(objects: Iterable[Values]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in objects:
        counts[row["state"]] = counts.get(row["state"], 0) + 1
    return counts


def _ids_in(objects: Iterable[Values], state: ObjectState) -> Iterator[str]:
    return (row["object_id"] for row in objects if row["state"] == state)


def drifted_objects(rows: Rows) -> Iterator[str]:
    """Yield the confirmed objects whose source or artefact, or the artefact's source, is no longer current.

    Whoever accepted an artefact for another version of its very source knew that source.
    """
    sources = {_version(row, "source_id"): row["current"] for row in rows["source"]}
    artefacts = {_version(row, "artefact_id"): row for row in rows["artefact"]}
    for row in rows["object"]:
        if row["state"] == ObjectState.CONFIRMED:
            artefact = artefacts.get(_named(row, "artefact"))
            bases = [sources.get(_named(row, "source"))]
            if artefact is not None:
                bases.append(artefact["current"])
                if not row["source"] or artefact["source"] != row["source"]:
                    bases.append(sources.get(_named(artefact, "source")))
            if False in bases:
                yield row["object_id"]


def _version(row: Values, name: str) -> tuple[str, str, str]:
    return row[name], row["version_label"], row["sha256"]


def _named(row: Values, name: str) -> tuple[str, str, str]:
    return row[name], row[f"{name}_version"], row[f"{name}_sha256"]


def _held_back(rows: Rows, drifted: set[str]) -> set[str]:
    """Return the keys of the pending operations that wait with their object."""
    objects = {row["object_id"] for row in rows["object"] if row["state"] in WAITS_WITH_OBJECT} | drifted
    pending = (row for row in rows["operation"] if row["state"] == OperationState.PENDING)
    return {row["key"] for row in pending if row["object"] in objects}


def _object_rows(rows: Rows, drifted: set[str]) -> Iterator[ObjectRow]:
    states: dict[str, list[str]] = {}
    for row in rows["operation"]:
        states.setdefault(row["object"], []).append(row["state"])
    for row in rows["object"]:
        name = row["object_id"]
        if row["state"] in MATTERS or name in drifted:
            yield ObjectRow(name, ObjectState(row["state"]), name in drifted, distinct(states.get(name, ())))


def _begun(rows: Rows) -> Iterator[Begun]:
    """Yield the steps found begun; the operations of a step are those that name its key as their step."""
    writes: dict[str, list[tuple[str, str]]] = {}
    for row in rows["operation"]:
        writes.setdefault(row["step"], []).append((row["tool"], row["state"]))
    effects = {row["tool"]: Effect(row["effect"]) for row in rows["tool"]}
    for row in rows["step"]:
        if row["state"] == StepState.STARTED:
            yield read_begun(row, writes.get(row["key"], ()), effects)


def _open_writes(
    identity: Values, rows: Rows, operations: Iterable[Values], held_back: set[str]
) -> Iterator[OpenWrite]:
    items = {row["operation_key"]: row for row in rows["approval"]}  # the newest stands last
    newest = max((row["number"] for row in rows["policy"]), default=0)
    drafts = {row["artefact_id"]: row for row in rows["artefact"] if row["current"]}
    attempts = {row["generation"]: row for row in rows["attempt"]}
    for row in operations:
        held = None
        if item := items.get(row["key"]):
            draft = drafts.get(item["draft"], {})
            deadline = identity["deadline"]
            held = read_held(item, changed_since(item, row, draft, policy_number=newest, deadline=deadline))
        operation = read_operation(row, attempts.get(row["generation"]))
        yield OpenWrite(operation, held, held_back=row["key"] in held_back)

"""Saving several rows of one part together: all of them or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.rows import Change, prepare_edit, store
from contracts.rules.parts import Part
from contracts.rules.refusals import refusal
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor


@dataclass(frozen=True, slots=True)
class Edit:
    """One row's new values, and the version the person saw."""

    row_id: int
    version: int
    values: Mapping[str, Any]


def edit_rows(*, contract_id: int, actor: Actor, part: Part, edits: Sequence[Edit]) -> Verdict:
    """Store all `edits` or none; the outcome is the list of rows.

    A refusal names each row: the field of a problem is `row id:field`. With `stale_version` the outcome is
    the first row that somebody changed meanwhile.
    """

    def body(turn: Turn) -> Verdict:
        prepared = [(edit, _prepare_once(turn, part, edit, edits)) for edit in edits]
        refused = [(edit, one) for edit, one in prepared if isinstance(one, Verdict) and not one.allowed]
        turn.subject = ""
        if refused:
            return _together(refused)
        changed = any(isinstance(one, Change) for _, one in prepared)
        rows = [store(turn, one).outcome for _, one in prepared]
        return allow(rows, code="done" if changed else "unchanged")

    return take_turn(contract_id=contract_id, actor=actor, act="edit", part=part.name, body=body)


def _prepare_once(turn: Turn, part: Part, edit: Edit, edits: Sequence[Edit]) -> Verdict | Change:
    """Ask about one edit; a row that stands twice in the same saving would be overwritten unseen."""
    if sum(other.row_id == edit.row_id for other in edits) > 1:
        return refusal("stale_version")
    return prepare_edit(turn, part, edit.row_id, edit.version, edit.values)


def _together(refused: list[tuple[Edit, Verdict]]) -> Verdict:
    _, first = refused[0]
    problems = tuple(
        Problem(f"{edit.row_id}:{problem.field}", problem.code, problem.sentence, problem.values)
        for edit, verdict in refused
        for problem in verdict.problems
    )
    return refusal(first.code, problems=problems, outcome=first.outcome, **first.values)

"""Changing the rules of deciding while the contract is in use: an operator's act, and a version of its own."""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import stale_items
from contracts.gates.rows import check_reason, closed, next_policy
from contracts.models import ApprovalPolicy, TeamRole, people_with
from contracts.rules.parts.part import ALIVE
from contracts.rules.parts.plan import POLICY
from contracts.rules.refusals import refusal
from contracts.rules.rows import check_row
from contracts.rules.states import ContractState
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor, OnTimeout, Right
from contracts.rules.words import N_

EMPTY = N_("This must be filled in.")
IN_USE = ALIVE - {ContractState.DRAFT}


def change_policy(
    *, contract_id: int, actor: Actor, version: int, values: Mapping[str, Any], reason: str
) -> Verdict:
    """Put another version of the policy in force; every open item was bound to the former one and goes stale.

    `version` is the row version the person saw; a policy changed meanwhile is refused with `stale_version` and
    stands in the outcome. Saving what stands changes nothing. The outcome is the policy in force.
    """

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, IN_USE)
        if shut is not None:
            return shut
        row = ApprovalPolicy.objects.of(turn.contract.pk).last()
        if row is None:
            return refusal("policy_unreadable")
        if row.version != version:
            return refusal("stale_version", outcome=row)
        return _change(turn, row, values, reason)

    return take_turn(contract_id=contract_id, actor=actor, act="change_policy", part="policy", body=body)


def _change(turn: Turn, row: ApprovalPolicy, values: Mapping[str, Any], reason: str) -> Verdict:
    before = row.facts()
    checked = check_row(POLICY, values, standing={"number": row.number})
    problems = (*_left_empty(values), *checked.problems)
    if problems:
        return refusal("bad_values", problems=problems)
    for name, value in checked.values.items():
        setattr(row, name, value)
    if row.facts() == before:
        return allow(row, code="unchanged")
    refused = check_reason(reason) or _recipient(turn, row)
    if refused is not None:
        return refused
    next_policy(row)
    turn.answer()
    row.version += 1
    row.save()
    after = {**row.facts(), "reason": reason.strip()}
    turn.note("change_policy", "policy", row.natural_key(), before, after)
    stale_items(turn)
    return allow(row)


def _left_empty(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Name each rule that was emptied or left out: a quorum never falls back to one by an empty field."""
    for field in POLICY.given:
        if field.default and not str(values.get(field.name) or "").strip():
            yield Problem(field.name, "missing", EMPTY)


def _recipient(turn: Turn, row: ApprovalPolicy) -> Verdict | None:
    """Refuse to pass on to nobody: a person with the right to decide, or a role of the team that has it."""
    if row.on_timeout != OnTimeout.PASS_ON:
        return None
    people = people_with(Right.DECIDE, turn.contract.pk)
    roles = TeamRole.objects.filter(team=turn.contract.team_id, role=row.pass_on_to)
    found = (
        people.filter(username=row.pass_on_to).exists() or people.filter(groups__team_role__in=roles).exists()
    )
    return None if found else refusal("no_such_recipient")

"""Adding, editing, removing and moving the rows of a section, and marking the section complete."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import stale_items, touches_a_binding
from contracts.gates.filling import fill_in, follow, make_way, promote
from contracts.gates.references import References, plain_columns
from contracts.models import (
    ROWS,
    Approval,
    ApprovalPolicy,
    Attempt,
    Checkpoint,
    ContentRow,
    Contract,
    JournalStep,
    Operation,
    OrderedRow,
    SectionMark,
)
from contracts.rules.fields import Field, Kind, Refused, check_field
from contracts.rules.parts import PARTS, Part
from contracts.rules.parts.part import ALIVE, DRAFT
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.rows import check_row
from contracts.rules.states import ContractState, OperationState
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind, Section
from contracts.rules.windows import Window
from contracts.rules.words import N_

VERSIONED = ("version_label", "sha256", "location", "inline_text")
# Facts that were agreed when the contract left draft, in parts that stay open for other facts.
AGREED: Mapping[str, tuple[str, ...]] = {
    "source": ("source_id", *VERSIONED),
    "artefact": ("artefact_id", *VERSIONED),
    "object": ("object_id",),
    "window": ("window", "title", "setting", "provoked", "expected"),
}
# Parts that record what happened; totals and history are never reset.
RECORDS = frozenset({"attempt", "checkpoint", "step", "usage"})
REASON = Field("reason", Kind.TEXT, N_("Reason"), required=True, limit=2_000)
# The fact of a row from which other rows were sealed: while they are there, it stays.
SEALED = {"tool": "tool", "operation": "key"}


@dataclass(slots=True)
class Change:
    """One row about to be stored; every rule was asked."""

    part: Part
    row: Any
    before: dict[str, Any] | None
    after: dict[str, Any]


def add_row(*, contract_id: int, actor: Actor, part: Part, values: Mapping[str, Any]) -> Verdict:
    """Store a new row of `part` from raw `values`. The outcome is the row."""

    def body(turn: Turn) -> Verdict:
        if not part.addable:
            return refusal("not_addable")
        shut = closed(turn, part.open_in)
        if shut is not None:
            return shut
        return store(turn, _prepare(turn, part, ROWS[part.name](contract=turn.contract), values, new=True))

    return take_turn(contract_id=contract_id, actor=actor, act="add", part=part.name, body=body)


def edit_row(
    *, contract_id: int, actor: Actor, part: Part, row_id: int, version: int, values: Mapping[str, Any]
) -> Verdict:
    """Store changed `values` in a row that is still at `version`.

    A row that somebody changed meanwhile is refused with `stale_version`; the outcome is then the row as it
    stands. Saving what stands already changes nothing and records nothing.
    """

    def body(turn: Turn) -> Verdict:
        return store(turn, prepare_edit(turn, part, row_id, version, values))

    return take_turn(contract_id=contract_id, actor=actor, act="edit", part=part.name, body=body)


def prepare_edit(
    turn: Turn, part: Part, row_id: int, version: int, values: Mapping[str, Any]
) -> Verdict | Change:
    """Ask every rule about one edit; see `edit_row`. What comes back is for `store`."""
    shut = closed(turn, part.mendable_in)
    if shut is not None:
        return shut
    row = _load(turn, part, row_id)
    if row is None:
        return refusal("row_gone")
    newest = _in_force(row)
    if newest.pk != row.pk or row.version != version:
        return refusal("stale_version", outcome=newest)
    return _may_mend(turn, part, row) or _prepare(turn, part, row, values, new=False)


def store(turn: Turn, prepared: Verdict | Change) -> Verdict:
    """Write a prepared change; a verdict stands as it is."""
    if isinstance(prepared, Verdict):
        return prepared
    turn.answer()
    row, part, new = prepared.row, prepared.part, prepared.before is None
    make_way(turn, row, new=new)
    if not new:
        row.version += 1
    if part.name != "identity":  # the contract itself is saved when the turn is settled
        row.save()
    turn.note("add" if new else "edit", part.name, _name(row), prepared.before, prepared.after)
    follow(turn, row, new=new)
    if touches_a_binding([part.name]):
        stale_items(turn)
    return allow(row)


def remove_row(*, contract_id: int, actor: Actor, part: Part, row_id: int, version: int) -> Verdict:
    """Remove a row that nothing refers to, while the contract is a draft. The outcome is the row as it was."""

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, part.mendable_in & DRAFT)
        if shut is not None:
            return shut
        row = _load(turn, part, row_id)
        if row is None:
            return refusal("row_gone")
        if row.version != version:
            return refusal("stale_version", outcome=row)
        return _may_remove(turn, part, row) or _remove(turn, part, row)

    return take_turn(contract_id=contract_id, actor=actor, act="remove", part=part.name, body=body)


def move_row(*, contract_id: int, actor: Actor, part: Part, row_id: int, down: bool) -> Verdict:
    """Swap an ordered row with its neighbour above, or below if `down`."""

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, part.open_in)
        if shut is not None:
            return shut
        row = _load(turn, part, row_id)
        if not isinstance(row, OrderedRow):
            return refusal("row_gone")
        return _swap(turn, part, row, down=down)

    return take_turn(contract_id=contract_id, actor=actor, act="move", part=part.name, body=body)


def mark_section(*, contract_id: int, actor: Actor, section: Section, complete: bool) -> Verdict:
    """Record a person's word that a section is complete, or no longer is."""

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, ALIVE)
        if shut is not None:
            return shut
        found = SectionMark.objects.filter(contract=turn.contract, section=section.value).first()
        mark = found or SectionMark(contract=turn.contract, section=section.value)
        if mark.complete == complete:
            return allow(mark, code="unchanged")
        turn.answer()
        before = mark.facts()
        mark.complete = complete
        mark.version += 1 if found else 0
        mark.save()
        turn.note("mark", "mark", section.value, before, mark.facts())
        return allow(mark)

    return take_turn(
        contract_id=contract_id, actor=actor, act="mark", part="mark", subject=section.value, body=body
    )


def check_reason(reason: str) -> Verdict | None:
    """Return what is wrong with a reason that must be given, or None."""
    if not reason.strip():
        return refusal("reason_missing")
    try:
        check_field(REASON, reason)
    except Refused as refused:
        return refusal("bad_values", problems=(refused.problem,))
    return None


def closed(turn: Turn, open_in: frozenset[ContractState]) -> Verdict | None:
    """Return why nothing can be changed now, or None: the state, or a deadline that has passed.

    A draft may still be given another deadline; outside draft a passed one blocks like a cancellation.
    """
    contract = turn.contract
    if contract.state not in open_in:
        return not_open(contract)
    due = contract.deadline if contract.state != ContractState.DRAFT else None
    return refusal("deadline_passed") if due is not None and due <= turn.now else None


def not_open(contract: Contract) -> Verdict:
    """Return the refusal that names the state in which nothing can be changed."""
    return refusal("not_open", state=ContractState(contract.state).label)


def _load(turn: Turn, part: Part, row_id: int) -> Any:
    """Return the row of this contract, or None; the identity is the contract itself."""
    row: Any
    if part.name == "identity":
        row = turn.contract if turn.contract.pk == row_id else None
    else:
        model = ROWS[part.name]
        rows = model.objects.joined()
        row = rows.filter(contract_id=turn.contract.pk, pk=row_id).first()
    turn.subject = _name(row) if row is not None else ""
    return row


def _may_mend(turn: Turn, part: Part, row: Any) -> Verdict | None:
    """Refuse what people did not record by hand: a worker's records, decisions, calls that may have left.

    What was recorded before a contract first left draft stays, also when it is a draft again.
    """
    if turn.contract.plan_digest and part.name in RECORDS:
        return refusal("record_stays")
    attempt = row if isinstance(row, Attempt) else None
    if isinstance(row, Checkpoint | JournalStep):
        attempt = row.attempt
    by_worker = attempt is not None and not attempt.by_hand
    decided = not part.addable and not part.fixed
    left = isinstance(row, Operation) and row.state != OperationState.PENDING
    return refusal("kept_by_worker") if by_worker or decided or left else None


def _may_remove(turn: Turn, part: Part, row: Any) -> Verdict | None:
    if part.fixed and (not part.addable or row.window in set(Window)):
        return refusal("fixed_row")
    users = _users(turn.contract, row)
    if users:
        return refusal("row_in_use", users=", ".join(users))
    return _may_mend(turn, part, row)


def _prepare(turn: Turn, part: Part, row: Any, values: Mapping[str, Any], *, new: bool) -> Verdict | Change:
    before = None if new else row.facts()
    standing = {field.name: before[field.name] for field in part.fields if field.server} if before else None
    checked = check_row(part, values, standing=standing)
    resolved, unknown = _references(turn, part, checked.values) if not checked.problems else ({}, [])
    problems = (*checked.problems, *unknown, *_immovable(turn, part, before, checked.values))
    if problems:
        return refusal("bad_values", problems=problems)
    for column, value in {**plain_columns(type(row), checked.values), **resolved}.items():
        setattr(row, column, value)
    fill_in(turn, row, new=new)
    after = row.facts()
    if after == before:
        return allow(row, code="unchanged")
    if isinstance(row, ApprovalPolicy) and _binds(turn.contract):
        next_policy(row)
        after = row.facts()
    return (
        _raised(turn, part, before, after)
        or _unsealed(turn, part, row, before, after)
        or Change(part, row, before, after)
    )


def _binds(contract: Contract) -> bool:
    """Tell whether anything can already be bound to the policy as it stands."""
    return bool(contract.plan_digest) or Approval.objects.filter(contract=contract).exists()


def _in_force(row: Any) -> Any:
    """Return the row itself; of a former version of the policy the one in force, which took its place."""
    return ApprovalPolicy.objects.of(row.contract_id).last() if isinstance(row, ApprovalPolicy) else row


def next_policy(row: ApprovalPolicy) -> None:
    """Make `row` the next version of the policy: the former one stays, with what was decided under it."""
    row.pk, row._state.adding = None, True
    row.number += 1


def _raised(
    turn: Turn, part: Part, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Verdict | None:
    """Refuse a reviewer who raises or lifts a cap that was agreed when the contract first left draft."""
    if part.name != "limit" or before is None or before["cap"] is None or not turn.contract.plan_digest:
        return None
    raised = after["cap"] is None or Decimal(after["cap"]) > Decimal(before["cap"])
    return refusal("cap_needs_operator") if raised and turn.actor.kind != ActorKind.OPERATOR else None


def _unsealed(
    turn: Turn, part: Part, row: Any, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Verdict | None:
    """Refuse a change that would leave other rows with a key or a binding that no longer holds."""
    fact = SEALED.get(part.name)
    if before is None or fact is None or before[fact] == after[fact]:
        return None
    users = _users(turn.contract, row)
    return refusal("row_in_use", users=", ".join(users)) if users else None


def _name(row: Any) -> str:
    return row.natural_key() if isinstance(row, ContentRow) else str(row)


def _references(turn: Turn, part: Part, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    if part.name == "identity":
        return {}, []
    return References(turn.contract.pk, ROWS[part.name], [values]).resolve(values)


def _immovable(
    turn: Turn, part: Part, before: Mapping[str, Any] | None, values: Mapping[str, Any]
) -> list[Problem]:
    """Name what may not change in a row that stands: the six windows' names, and published versions."""
    if before is None:
        return []
    names: tuple[str, ...] = ()
    if part.name == "window" and before["window"] in set(Window):
        names = ("window",)
    if turn.contract.state != ContractState.DRAFT:
        names = (*names, *AGREED.get(part.name, ()))
    codes = {
        "window": "fixed_row",
        **dict.fromkeys((*VERSIONED, "source_id", "artefact_id"), "new_version_needed"),
    }
    return [
        Problem(name, code, SENTENCES[code])
        for name in dict.fromkeys(names)
        for code in [codes.get(name, "agreed_in_draft")]
        if name in before
        and name in values
        and values[name] != before[name]
        and not (name == "sha256" and not values[name])  # left empty where it is computed
    ]


def _remove(turn: Turn, part: Part, row: Any) -> Verdict:
    turn.answer()
    before = row.facts()
    row.delete()
    turn.note("remove", part.name, turn.subject, before, None)
    promote(turn, row)
    if touches_a_binding([part.name]):
        stale_items(turn)
    return allow(before)


def _users(contract: Contract, row: ContentRow) -> list[str]:
    """Return the kinds of rows that still refer to `row`."""
    used = []
    for name, model in ROWS.items():
        columns = [
            field.name
            for field in model._meta.get_fields()
            if field.many_to_one and field.related_model is type(row) and field.concrete
        ]
        if any(
            model.objects.filter(contract_id=contract.pk, **{column: row.pk}).exists() for column in columns
        ):
            used.append(PARTS[name].title)
    return used


def _swap(turn: Turn, part: Part, row: OrderedRow, *, down: bool) -> Verdict:
    rows = type(row).objects.filter(contract_id=turn.contract.pk)
    beyond = rows.filter(position__gt=row.position) if down else rows.filter(position__lt=row.position)
    other = beyond.order_by("position" if down else "-position", "id" if down else "-id").first()
    if other is None:
        return refusal("nothing_to_move")
    turn.answer()
    before = {"position": row.position}
    row.position, other.position = other.position, row.position
    type(row).objects.bulk_update([row, other], ["position"])
    turn.note("move", part.name, row.natural_key(), before, {"position": row.position})
    return allow(row)

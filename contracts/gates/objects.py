"""Many rows at once: a pasted table stored whole or not at all, and one act on many objects."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import F

from contracts.gates.beats import Turn, store_rows, take_turn
from contracts.gates.binding import stale_items, touches_a_binding
from contracts.gates.filling import STEP_OF_POSITION, digest_inline, follow_sources, next_number, retire
from contracts.gates.rechecking import point_to_current
from contracts.gates.references import References, plain_columns
from contracts.gates.rows import check_reason, closed
from contracts.models import ROWS, Artefact, ContentRow, Source, WorkObject
from contracts.rules.parts import Part
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.rows import check_row
from contracts.rules.states import OBJECT_MOVES, Act, ContractState, ObjectState, may_move
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import Actor

IDENTITY_OF = {"source": ("source_id", "version_label", "sha256"), "object": ("object_id",)}
IDENTITY_OF["artefact"] = ("artefact_id", "version_label", "sha256")
# What a person may do to many objects: act → (states it leads from, state it leads to).
PERSONS_ACTS: Mapping[Act, ObjectState] = {
    Act.BEGIN: ObjectState.IN_PROGRESS,
    Act.ACCEPT: ObjectState.CONFIRMED,
    Act.SEND_BACK: ObjectState.PENDING,
    Act.SKIP: ObjectState.SKIPPED,
}
OPEN_FOR_OBJECTS = frozenset(ContractState) - {ContractState.COMPLETED, ContractState.CANCELLED}


def add_lines(*, contract_id: int, actor: Actor, part: Part, lines: Sequence[Mapping[str, Any]]) -> Verdict:
    """Store all `lines` (raw values) as new rows of `part`, or none.

    A bad line is named by a problem whose field is `line number:field` (numbers from 1). The outcome is the
    number of rows stored.
    """

    def body(turn: Turn) -> Verdict:
        if not part.pasteable:
            return refusal("not_addable")
        shut = closed(turn, part.open_in)
        if shut is not None:
            return shut
        return _store_lines(turn, part, lines)

    return take_turn(contract_id=contract_id, actor=actor, act="add_lines", part=part.name, body=body)


def check_lines(contract_id: int, part: Part, lines: Sequence[Mapping[str, Any]]) -> tuple[Problem, ...]:
    """Return every problem that `add_lines` would name, without storing or locking anything."""
    return _read_lines(contract_id, part, lines)[1]


def change_objects(
    *, contract_id: int, actor: Actor, act: Act, object_ids: Collection[str], reason: str = ""
) -> Verdict:
    """Let a person begin, accept, send back or skip objects; all of them or none.

    The outcome is the number of objects changed. An object from whose state the act is not legal refuses
    the whole.
    """

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, OPEN_FOR_OBJECTS)
        if shut is not None:
            return shut
        refused = check_reason(reason) if reason.strip() or act is Act.SKIP else None
        if refused is not None:
            return refused
        if not object_ids:
            return refusal("nothing_selected")
        rows = WorkObject.objects.of(turn.contract.pk).filter(object_id__in=list(object_ids))
        found = list(rows.joined())
        if len(found) < len(set(object_ids)):
            return refusal("row_gone")
        return _change(turn, act, found, reason.strip())

    return take_turn(contract_id=contract_id, actor=actor, act=act.value, part="object", body=body)


def _change(turn: Turn, act: Act, rows: list[WorkObject], reason: str) -> Verdict:
    after = PERSONS_ACTS[act]
    for row in rows:
        if not may_move(OBJECT_MOVES, row.state, after, act):
            problem = Problem(row.object_id, "illegal_move", SENTENCES["illegal_move"], {"state": row.state})
            return refusal("illegal_move", problems=(problem,), state=ObjectState(row.state).label)
    turn.answer()
    settled = after in (ObjectState.CONFIRMED, ObjectState.SKIPPED)
    changes: dict[str, Any] = {"state": after.value, "settled_by": "", "settled_at": None}
    if settled:
        changes |= {"settled_by": turn.actor.name, "settled_at": turn.now}
    if reason:
        changes["note"] = reason
    befores = [row.facts() for row in rows]
    rechecked = [row for row in rows if row.state == ObjectState.RECHECK and act is not Act.SKIP]
    WorkObject.objects.bulk_update(
        point_to_current(turn, rechecked), ["source", "artefact"], batch_size=1_000
    )
    for row, before in zip(rows, befores, strict=True):
        for column, value in changes.items():
            setattr(row, column, value)
        turn.note(act.value, "object", row.natural_key(), before, row.facts())
    chosen = WorkObject.objects.filter(contract_id=turn.contract.pk, pk__in=[row.pk for row in rows])
    chosen.update(version=F("version") + 1, **changes)
    return allow(len(rows))


def _store_lines(turn: Turn, part: Part, lines: Sequence[Mapping[str, Any]]) -> Verdict:
    rows, problems = _read_lines(turn.contract.pk, part, lines)
    if problems:
        bad = {problem.field.partition(":")[0] for problem in problems}
        return refusal("lines_bad", problems=problems, count=len(bad))
    model = ROWS[part.name]
    position = next_number(turn, model, "position", STEP_OF_POSITION)
    for number, row in enumerate(rows):
        row.contract = turn.contract
        row.position = position + number * STEP_OF_POSITION  # type: ignore[attr-defined]
    turn.answer()
    _keep_one_current(turn, part, rows)
    store_rows(rows)
    for row in rows:
        turn.note("add", part.name, row.natural_key(), None, row.facts())
    if part.name == "source":
        follow_sources(turn, {row.source_id for row in rows if isinstance(row, Source)})
    if touches_a_binding([part.name]):
        stale_items(turn)
    return allow(len(rows))


def _read_lines(
    contract_id: int, part: Part, lines: Sequence[Mapping[str, Any]]
) -> tuple[list[ContentRow], tuple[Problem, ...]]:
    checked = [check_row(part, line) for line in lines]
    problems = [
        Problem(f"{number}:{p.field}", p.code, p.sentence, p.values)
        for number, one in enumerate(checked, 1)
        for p in one.problems
    ]
    good = [(number, one.values) for number, one in enumerate(checked, 1) if not one.problems]
    references = References(contract_id, ROWS[part.name], [values for _, values in good])
    rows = []
    for number, values in good:
        resolved, unknown = references.resolve(values)
        problems += [Problem(f"{number}:{p.field}", p.code, p.sentence, p.values) for p in unknown]
        row = ROWS[part.name](**plain_columns(ROWS[part.name], values), **resolved)
        if isinstance(row, Artefact):
            digest_inline(row)
        rows.append((number, row))
    problems += _twice(contract_id, part, rows)
    problems.sort(key=lambda problem: int(problem.field.partition(":")[0]))
    return [row for _, row in rows], tuple(problems)


def _twice(contract_id: int, part: Part, rows: list[tuple[int, ContentRow]]) -> list[Problem]:
    """Name each line whose identity stands in the contract already or in an earlier line."""
    columns = IDENTITY_OF[part.name]
    firsts = [getattr(row, columns[0]) for _, row in rows]
    stored = ROWS[part.name].objects.filter(contract_id=contract_id, **{f"{columns[0]}__in": firsts})
    seen = set(stored.values_list(*columns))
    problems = []
    for number, row in rows:
        identity = tuple(getattr(row, column) for column in columns)
        if identity in seen:
            code = "object_id_once" if part.name == "object" else f"{part.name}_version_once"
            problems.append(Problem(f"{number}:{columns[0]}", code, SENTENCES[code]))
        seen.add(identity)
    return problems


def _keep_one_current(turn: Turn, part: Part, rows: list[Any]) -> None:
    """Of several versions of one thing the last line is current; versions stored before give way."""
    if part.name == "object":
        return
    column = IDENTITY_OF[part.name][0]
    newest = {getattr(row, column): row for row in rows}
    for row in rows:
        row.current = newest[getattr(row, column)] is row
    model: Any = ROWS[part.name]
    former = model.objects.of(turn.contract.pk).filter(current=True, **{f"{column}__in": list(newest)})
    retire(turn, former.joined())

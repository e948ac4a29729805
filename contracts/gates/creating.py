"""Creating a contract: blank, from an example, as a copy or from a file, always by one document."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import IntegrityError, transaction

from contracts.gates.beats import Turn, database_now, refused_by, store_rows, walk_beats
from contracts.gates.filling import STEP_OF_POSITION
from contracts.gates.references import References, plain_columns
from contracts.models import (
    ROWS,
    Approval,
    Artefact,
    Contract,
    ContractGroupPermission,
    ContractUserPermission,
    Operation,
    OrderedRow,
    ReservedTaskId,
    SectionMark,
    Team,
    TeamRole,
    UsageTotal,
)
from contracts.rules.document import FIXED, LISTS, Document
from contracts.rules.parts import PARTS
from contracts.rules.refusals import refusal
from contracts.rules.rows import Values
from contracts.rules.verdict import Problem, Verdict, allow
from contracts.rules.vocabulary import ROLE_RIGHTS, Actor, Right, Role

CREATORS_RIGHTS = (Right.VIEW, Right.FILL, Right.EXPORT, Right.SHARE)
# Parts whose rows every contract has: the fact that tells them apart, and its words.


def create_contract(*, user: Any, actor: Actor, team: Team, document: Document) -> Verdict:
    """Store a checked document as a new contract of `team`; all of it or nothing.

    The outcome is the contract. The same task id with the same definition gives the contract that is there
    (code `exists`); with another definition, or in another team, it is refused and the first stays
    untouched. A task id is never used twice, not even after its contract is gone.
    """

    def open_turn() -> Turn | Verdict:
        if not _may_create(user, team):
            return refusal("not_a_member")
        return _reserve(document, team) or _new_turn(actor, team, document)

    if document.problems:
        return refusal("bad_values", problems=tuple(document.problems))
    try:
        return walk_beats("create", open_turn, lambda turn: _create(turn, user, document))
    except IntegrityError as error:
        return refused_by(error)


def _may_create(user: Any, team: Team) -> bool:
    return TeamRole.objects.filter(team=team, role=Role.REVIEWER.value, group__user=user).exists()


def _reserve(document: Document, team: Team) -> Verdict | None:
    """Reserve the task id, which is the lock, or return what stands in its place."""
    try:
        with transaction.atomic():  # a savepoint: the id may be taken
            ReservedTaskId.objects.create(task_id=document.task_id, plan_digest=document.digest)
        return None
    except IntegrityError:
        same = ReservedTaskId.objects.filter(task_id=document.task_id, plan_digest=document.digest).exists()
        contract = Contract.objects.filter(task_id=document.task_id, team=team).first()
    return allow(contract, code="exists") if same and contract is not None else refusal("task_id_taken")


def _new_turn(actor: Actor, team: Team, document: Document) -> Turn:
    now = database_now()
    contract = Contract(
        task_id=document.task_id,
        team=team,
        created_by=actor.name,
        revision=document.revision,
        revised_at=document.revised_at or now,
        **{path: document.identity[name] for name, path in Contract.FACTS.items()},
        **_life_columns(document.life),
    )
    return Turn(contract, now, actor, "create", fresh=True)


def _create(turn: Turn, user: Any, document: Document) -> Verdict:
    contract = turn.contract
    turn.answer()
    contract.save(force_insert=True)
    UsageTotal.objects.create(contract=contract)  # before the entries: a trigger adds them up
    _grant(user, contract, contract.team)
    counts, problems = _store_rows(contract, document)
    if problems:
        return refusal("bad_values", problems=tuple(problems))
    SectionMark.objects.bulk_create(
        [SectionMark(contract=contract, section=name, complete=True) for name in document.complete_sections]
    )
    after = {"digest": document.digest, "rows": counts, "identity": contract.facts()}
    turn.note("create", "contract", contract.task_id, None, after)
    return allow(contract)


def _life_columns(life: Mapping[str, Any]) -> dict[str, Any]:
    return {path: life[name] for name, path in Contract.LIFE.items()}


def _grant(user: Any, contract: Contract, team: Team) -> None:
    """Give the team's role groups their rights, and the creator those of an owner."""
    permissions = {p.codename: p for p in Permission.objects.filter(content_type__app_label="contracts")}
    groups: dict[str, Group] = {entry.role: entry.group for entry in team.roles.select_related("group")}
    ContractGroupPermission.objects.bulk_create(
        ContractGroupPermission(
            group=groups[role.value], permission=permissions[right.value], content_object=contract
        )
        for role, rights in ROLE_RIGHTS.items()
        if role.value in groups
        for right in rights
    )
    ContractUserPermission.objects.bulk_create(
        ContractUserPermission(user=user, permission=permissions[right.value], content_object=contract)
        for right in CREATORS_RIGHTS
    )


def _store_rows(contract: Contract, document: Document) -> tuple[dict[str, int], list[Problem]]:
    """Store every row; return part → number of rows, and a problem for each name that leads nowhere."""
    counts: dict[str, int] = {}
    problems: list[Problem] = []
    for part, model in ROWS.items():
        listed = [document.gate] if part == "gate" else document.rows[part]
        rows = _with_fixed(part, listed)
        references = References(contract.pk, model, rows)
        fresh = []
        for number, values in enumerate(rows, 1):
            resolved, unknown = references.resolve(values)
            problems += [_at_pointer(part, number, problem) for problem in unknown]
            row = model(contract=contract, **plain_columns(model, values), **resolved)
            if isinstance(row, OrderedRow):
                row.position = number * STEP_OF_POSITION
            fresh.append(row)
        if problems:
            break
        store_rows(_bound(contract, fresh))
        counts[part] = len(fresh)
    return counts, problems


def _at_pointer(part: str, number: int, problem: Problem) -> Problem:
    """Name the place in the document; only references can be wrong here, and their rows are listed in order."""
    key = next(key for key, name in LISTS.items() if name == part)
    return Problem(f"/{key}/{number - 1}/{problem.field}", problem.code, problem.sentence, problem.values)


def _with_fixed(part: str, listed: list[Values]) -> list[Values]:
    """Complete the rows that every contract has, in their own order and before rows of one's own."""
    if part == "policy" and not listed:
        return [{field.name: field.empty for field in PARTS[part].fields}]
    if part not in FIXED:
        return listed
    fact, words = FIXED[part]
    given = {values[fact]: values for values in listed}
    blank = {field.name: field.empty for field in PARTS[part].fields}
    if part == "window" and set(words) <= set(given):
        return listed  # people may have moved them
    fixed = [given.pop(word.value, {**blank, fact: word.value}) for word in words]
    return [*fixed, *given.values()]


def _bound(contract: Contract, rows: list[Any]) -> list[Any]:
    """Bind each approval item to the operation and the very draft version that it names."""
    items = [row for row in rows if isinstance(row, Approval)]
    if items:
        operations = {row.key: row for row in Operation.objects.of(contract.pk)}
        drafts = {(a.artefact_id, a.version_label, a.sha256): a for a in Artefact.objects.of(contract.pk)}
    for row in items:
        row.operation = operations[row.operation_key]
        if row.draft is not None:
            row.draft = drafts.get((row.draft.artefact_id, row.draft_version, row.draft_sha256), row.draft)
    return rows

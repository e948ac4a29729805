"""Tokens of workers: issued, changed for another, revoked; each is recorded in every contract it reaches."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.db.models import Q
from django.db.models.functions import Now

from contracts.gates.beats import Turn, database_now, settle, walk_beats
from contracts.models import Contract, Team, TokenScope, WorkerToken
from contracts.models.content import plain
from contracts.rules.fields import Refused, check_field
from contracts.rules.refusals import refusal
from contracts.rules.tokens import DAYS, OVERLAPPING, SECRET_BYTES, WORKER, make_token, token_digest
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor

USE_NOTED = timedelta(minutes=1)  # how exactly the last use is kept: a busy worker is no reason to write


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token. `token` is shown once and kept nowhere."""

    token: str
    row: WorkerToken


def issue_token(
    *, actor: Actor, team: Team, worker: str, contract_ids: Sequence[int], days: int | str
) -> Verdict:
    """Issue a token for `worker` that reaches exactly these contracts of `team`. The outcome is `Issued`.

    The caller has checked that the person may give access to each of them.
    """
    problems, checked = [], []
    for field, raw in ((WORKER, worker), (DAYS, days)):
        try:
            checked.append(check_field(field, raw))
        except Refused as refused:
            problems.append(refused.problem)
    if problems:
        return refusal("bad_values", problems=tuple(problems))
    name, good_for = checked

    def body(turn: Turn, contracts: list[Contract]) -> Verdict:
        if {contract.team_id for contract in contracts} != {team.pk} or len(contracts) != len(
            set(contract_ids)
        ):
            return refusal("no_contract_chosen")
        return _may_bear(turn, name, contracts) or _issue(turn, team, name, contracts, good_for)

    return _in_turn("issue_token", actor, sorted(set(contract_ids)), body)


def rotate_token(*, actor: Actor, token_id: str, days: int | str) -> Verdict:
    """Issue another token of the same worker and reach; the old one stays until it is revoked or expires."""
    try:
        good_for = check_field(DAYS, days)
    except Refused as refused:
        return refusal("bad_values", problems=(refused.problem,))

    def body(turn: Turn, contracts: list[Contract]) -> Verdict:
        row = WorkerToken.objects.select_related("team").get(token_id=token_id)
        if row.revoked_at or row.expires_at <= turn.now:
            return refusal("token_ended")
        return _may_bear(turn, row.worker, contracts) or _issue(
            turn, row.team, row.worker, contracts, good_for, instead_of=token_id
        )

    return _in_turn("rotate_token", actor, _reach(token_id), body, token_id)


def revoke_token(*, actor: Actor, token_id: str) -> Verdict:
    """End a token at once. The outcome is the token."""

    def body(turn: Turn, contracts: list[Contract]) -> Verdict:
        row = WorkerToken.objects.get(token_id=token_id)
        if row.revoked_at:
            return allow(row, code="unchanged")
        turn.answer()
        row.revoked_at, row.revoked_by = turn.now, actor.name
        row.save(update_fields=["revoked_at", "revoked_by"])
        _record(turn, contracts, "revoke_token", row)
        return allow(row)

    return _in_turn("revoke_token", actor, _reach(token_id), body, token_id)


def note_use(token_key: int) -> None:
    """Remember that the token of this primary key was used, at most once a minute."""
    unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=Now() - USE_NOTED)
    WorkerToken.objects.filter(unnoted, pk=token_key).update(last_used_at=Now())


def _in_turn(
    act: str,
    actor: Actor,
    contract_ids: Sequence[int],
    body: Callable[[Turn, list[Contract]], Verdict],
    subject: str = "",
) -> Verdict:
    """Run `body` with all contracts locked, by primary key; a refusal is recorded in the first."""
    locked: list[Contract] = []

    def open_turn() -> Turn | Verdict:
        rows = Contract.objects.select_for_update().filter(pk__in=contract_ids).order_by("pk")
        locked[:] = rows
        if not locked:
            return refusal("no_such_token" if subject else "no_contract_chosen")
        return Turn(locked[0], database_now(), actor, act, "token", subject)

    return walk_beats(act, open_turn, lambda turn: body(turn, locked))


def _may_bear(turn: Turn, worker: str, contracts: list[Contract]) -> Verdict | None:
    if get_user_model().objects.filter(username__iexact=worker).exists():
        return refusal("worker_is_person")
    for contract in contracts:
        live = WorkerToken.objects.live(turn.now).filter(worker=worker, scopes__contract=contract)
        if live.count() >= OVERLAPPING:
            return refusal("tokens_overlap", task=contract.task_id)
    return None


def _issue(
    turn: Turn, team: Team, worker: str, contracts: list[Contract], days: int, *, instead_of: str = ""
) -> Verdict:
    token = make_token(secrets.token_bytes(SECRET_BYTES))
    row = WorkerToken(
        team=team,
        token_id=f"T-{secrets.token_hex(5)}",
        worker=worker,
        digest=token_digest(token),
        made_by=turn.actor.name,
        expires_at=turn.now + timedelta(days=days),
    )
    turn.subject = row.token_id
    turn.answer()
    row.save()
    TokenScope.objects.bulk_create(TokenScope(token=row, contract=contract) for contract in contracts)
    _record(turn, contracts, turn.act, row, instead_of)
    return allow(Issued(token, row))


def _record(turn: Turn, contracts: list[Contract], act: str, row: WorkerToken, instead_of: str = "") -> None:
    """Record the change in every contract the token reaches; the first is settled with the turn itself."""
    after = {"worker": row.worker, "expires_at": plain(row.expires_at), "revoked_at": plain(row.revoked_at)}
    if instead_of:
        after["instead_of"] = instead_of
    for contract in contracts:
        own = turn if contract is turn.contract else Turn(contract, turn.now, turn.actor, act, "token")
        own.note(act, "token", row.token_id, None, after)
        if own is not turn:
            settle(own, allow())


def _reach(token_id: str) -> list[int]:
    scopes = TokenScope.objects.filter(token__token_id=token_id).order_by("contract")
    return list(scopes.values_list("contract_id", flat=True))

"""The seven beats of every change: begin, lock, read again, ask the rule, write, record, commit.

A gate hands its middle (ask and write) to `take_turn`, which does the rest. Whatever happens in between is
one durable transaction; a refusal writes nothing but its own event.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from django.apps import apps
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import JSONField
from psycopg import errors
from psycopg.types.json import Jsonb

from contracts.gates import answers, witnesses
from contracts.models import ContentRow, Contract, Event
from contracts.models.content import plain
from contracts.models.domains import DOMAINS
from contracts.rules.fingerprint import chain_hash
from contracts.rules.refusals import SENTENCES, refusal
from contracts.rules.verdict import Problem, Verdict
from contracts.rules.vocabulary import Actor
from contracts.rules.windows import Seam

log = logging.getLogger(__name__)
RETRIES = 5
SUBJECT_MAX = 400  # characters of a subject that an event keeps
WRITE_LOCK = 7_001  # first half of the advisory lock under which a write leaves or an owner changes
Listener = Callable[[Seam, str], None]
listeners: list[Listener] = []  # tests may stop or kill the program at a seam; nothing else writes here


@dataclass(slots=True)
class Entry:
    """One event about to be recorded."""

    act: str
    part: str
    subject: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    refused: str = ""


@dataclass(slots=True)
class Turn:
    """One gate's turn with a locked contract: the row, the time, the actor, and what is to be recorded.

    `part` and `subject` name what a refusal is recorded against. `fresh`: the contract is made in this very
    turn, so that a refusal leaves nothing of it. `stands`: what was noted is true whatever becomes of the
    act (an item whose time has run out), and is stored together with the refusal.
    """

    contract: Contract
    now: datetime
    actor: Actor
    act: str = ""
    part: str = "contract"
    subject: str = ""
    fresh: bool = False
    entries: list[Entry] = field(default_factory=list)
    answered: bool = False
    stands: bool = False

    def note(
        self,
        act: str,
        part: str,
        subject: str,
        before: dict[str, Any] | None = None,
        after: dict[str, Any] | None = None,
    ) -> None:
        """Remember one change; it is recorded before the commit."""
        self.entries.append(Entry(act, part, subject, before, after))

    def answer(self) -> None:
        """Mark that every rule was asked: what follows only writes. Marking twice is marking once."""
        if not self.answered:
            self.answered = True
            pass_seam(Seam.ALLOWED, self.act)


def pass_seam(seam: Seam, gate: str) -> None:
    """Tell the listeners that `gate` has reached `seam`. A seam never skips a step."""
    for listener in listeners:
        listener(seam, gate)


def take_turn(
    *,
    contract_id: int,
    actor: Actor,
    act: str,
    body: Callable[[Turn], Verdict],
    part: str = "contract",
    subject: str = "",
    write_lock: bool = False,
) -> Verdict:
    """Run `body` with the contract locked, record what it noted, and commit.

    `write_lock`: wait first until no write of the contract is on its way through the proxy, and let none leave
    before the end; whatever ends an attempt or changes the generation asks for it.

    A refusal is recorded as an event with its code. A broken constraint becomes a refusal too, see
    `refused_by`. Serialisation failures and deadlocks are tried again, at most RETRIES times.
    """

    def open_turn() -> Turn | Verdict:
        if write_lock:
            lock_writes(contract_id)
        contract = lock_contract(contract_id)
        if contract is None:
            return refusal("contract_gone")
        # Asked after the lock is held: a column of the locking statement may be computed before the wait.
        return Turn(contract, database_now(), actor, act, part, subject)

    try:
        return walk_beats(act, open_turn, body)
    except IntegrityError as error:
        verdict = refused_by(error)
    return walk_beats(act, open_turn, lambda _turn: verdict)


def walk_beats(act: str, open_turn: Callable[[], Turn | Verdict], body: Callable[[Turn], Verdict]) -> Verdict:
    """Walk one gate through its beats, again after a serialisation failure or a deadlock.

    `open_turn` locks and reads; where it gives a verdict, that is the answer and nothing is recorded.
    """
    failures = 0
    while True:
        try:
            return _walk_once(act, open_turn, body)
        except OperationalError as error:
            failures += 1
            if failures > RETRIES or not may_be_tried_again(error):
                raise
            log.info("gate %s is tried again after a conflict", act)


def _walk_once(act: str, open_turn: Callable[[], Turn | Verdict], body: Callable[[Turn], Verdict]) -> Verdict:
    with transaction.atomic(durable=True):
        begin(act)
        answers.claim()
        turn = open_turn()
        if isinstance(turn, Verdict):
            return turn
        pass_seam(Seam.LOCKED, act)
        verdict = body(turn)
        turn.answer()
        pass_seam(Seam.WRITTEN, act)
        settle(turn, verdict)
        answers.keep(verdict)
        pass_seam(Seam.RECORDED, act)
    conclude(act)
    if witnesses.witnesses:
        witnesses.answered(act, verdict, [entry.act for entry in turn.entries])
    return verdict


def begin(act: str) -> None:
    """Pass the seam before anything of `act` is written."""
    pass_seam(Seam.BEGUN, act)


def conclude(act: str) -> None:
    """Pass the seam behind the commit of `act`, which keeps the answer it stored."""
    answers.committed()
    pass_seam(Seam.COMMITTED, act)


def lock_writes(contract_id: int) -> None:
    """Take the write lock of one contract until the transaction ends; always before the contract's row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [WRITE_LOCK, contract_id])


def may_lock_writes(contract_id: int) -> bool:
    """Take the write lock if no write is on its way, without waiting; so it may be asked for with the row locked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [WRITE_LOCK, contract_id])
        return bool(cursor.fetchone()[0])


def lock_contract(contract_id: int) -> Contract | None:
    """Lock one contract and read it as it stands once the lock is held; None if there is none."""
    return Contract.objects.select_for_update().filter(pk=contract_id).first()


def database_now() -> datetime:
    """Return the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def settle(turn: Turn, verdict: Verdict) -> None:
    """Store the events of the turn and, if anything changed, the contract's next revision."""
    contract = turn.contract
    if not verdict.allowed and turn.fresh:
        transaction.set_rollback(True)
        return
    if not verdict.allowed:
        kept = turn.entries if turn.stands else []
        turn.entries = [*kept, Entry(turn.act, turn.part, turn.subject, refused=verdict.code)]
    if not turn.entries:
        return
    append_events(contract, turn.now, turn.actor, turn.entries)
    if (verdict.allowed or turn.stands) and not turn.fresh:
        contract.revision += 1
        contract.revised_at = turn.now
        contract.save()
    else:  # whatever a refused act had set on the row in memory stays there
        contract.save(update_fields=["event_count", "event_head"])


def append_events(contract: Contract, now: datetime, actor: Actor, entries: Iterable[Entry]) -> None:
    """Append `entries` to the contract's chain and move its head (the caller stores the contract)."""
    rows = []
    for entry in entries:
        previous = contract.event_head
        sealed = {
            "sequence": contract.event_count + 1,
            "at": plain(now),
            "actor": actor.name,
            "actor_kind": actor.kind.value,
            "act": entry.act,
            "part": entry.part,
            "subject": entry.subject[:SUBJECT_MAX],
            "before": entry.before,
            "after": entry.after,
            "refused": entry.refused,
        }
        contract.event_count += 1
        contract.event_head = chain_hash(previous, {"task_id": contract.task_id, **sealed})
        sealed["before"], sealed["after"] = _jsonb(entry.before), _jsonb(entry.after)
        rows.append((contract.pk, *sealed.values(), previous, contract.event_head))
    copy_rows(Event, ("contract_id", *Event.SEALED, "previous", "hash"), rows)


def store_rows(rows: Sequence[ContentRow]) -> None:
    """Insert new rows of one table without reading their keys back.

    What the database itself fills in is left to it.
    """
    if not rows:
        return
    fields: list[Any] = [
        field
        for field in type(rows[0])._meta.concrete_fields
        if not (field.primary_key or field.has_db_default())
    ]
    whole = {field.attname for field in fields if isinstance(field, JSONField)}
    names = [field.attname for field in fields]
    values = (
        [_jsonb(getattr(row, name)) if name in whole else getattr(row, name) for name in names]
        for row in rows
    )
    copy_rows(type(rows[0]), names, values)


def copy_rows(model: type[ContentRow], names: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert `rows` (values of the columns `names`) by COPY: for thousands several times faster than INSERT."""
    quote = connection.ops.quote_name
    command = f"COPY {quote(model._meta.db_table)} ({', '.join(map(quote, names))}) FROM STDIN"
    with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(command) as copy:
        for row in rows:
            copy.write_row(row)


def _jsonb(value: Any) -> Jsonb | None:
    return None if value is None else Jsonb(value)


def refused_by(error: IntegrityError) -> Verdict:
    """Return the refusal that a broken constraint stands for.

    The constraint's name is its code. A constraint without a sentence of its own refuses as `bad_values`
    with a problem of that code: whatever a document holds, its reader is answered. Any other constraint is
    a fault of the program, and the error is raised.
    """
    cause = error.__cause__
    name = (cause.diag.constraint_name if isinstance(cause, errors.IntegrityError) else None) or ""
    if name in SENTENCES:
        return refusal(name)
    if name not in declared_constraints():
        raise error
    return refusal("bad_values", problems=(Problem("", name, SENTENCES["bad_values"]),))


@cache
def declared_constraints() -> frozenset[str]:
    """Return the names of the constraints that the models of the contract declare, or their domains."""
    models = apps.get_app_config("contracts").get_models()
    of_tables = {constraint.name for model in models for constraint in model._meta.constraints}
    return frozenset(of_tables | {domain.constraint for domain in DOMAINS.values()})


def may_be_tried_again(error: OperationalError) -> bool:
    """Tell whether `error` is a conflict with somebody else's transaction: the same may succeed a moment later."""
    return isinstance(error.__cause__, errors.SerializationFailure | errors.DeadlockDetected)

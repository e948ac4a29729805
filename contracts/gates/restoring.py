"""After the database was restored to an earlier moment: the world outside is later than the ledger.

What was granted, sent, decided and revoked in between is lost here and true there. So no generation that may have
been granted is granted again, whatever may have left is unknown, and nobody goes on with a token or a session that
may have been ended. One contract is one turn: whatever interrupts this, the next run does what is left.
"""

from datetime import datetime

from django.contrib.sessions.models import Session

from contracts.gates.beats import Turn, database_now, take_turn
from contracts.gates.rows import check_reason, not_open
from contracts.gates.tokens import revoke_token
from contracts.gates.workers.displaced import settle_displaced
from contracts.gates.workers.fencing import open_attempt
from contracts.models import Contract, Event, Operation, WorkerToken
from contracts.models.content import plain
from contracts.rules.retention import ENDED
from contracts.rules.states import Act, ContractState, OperationState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, AttemptEnd

AHEAD = 1_000  # generations that may have been granted in between, and more
MAY_HAVE_LEFT = [OperationState.PENDING.value, OperationState.SENDING.value]
BATCH = 1_000


def fence_restored(
    *, contract_id: int, actor: Actor, restored_to: datetime, reason: str, ahead: int = AHEAD
) -> Verdict:
    """Fence every owner of one contract by a generation that nobody can have; the outcome is the contract.

    Each operation that is not settled becomes unknown, even one whose worker is known to write the ledger first: it
    is that ledger which is lost. `ahead`: by how much the generation rises. The same `restored_to` once more is
    `unchanged`. Codes of refusals: reason_missing, not_open (the contract has ended, and nobody goes on with it).
    """

    def body(turn: Turn) -> Verdict:
        contract = turn.contract
        if contract.state in ENDED:
            return not_open(contract)
        if _is_done(contract, restored_to):
            return allow(contract, code="unchanged")
        refused = check_reason(reason)
        if refused is not None:
            return refused
        turn.answer()
        before = contract.life()
        _end_attempt(turn)
        contract.generation += ahead
        _mark_unknown(turn)
        if contract.state != ContractState.DRAFT:
            contract.state = ContractState.PAUSED.value
        told = {**contract.life(), "restored_to": plain(restored_to), "reason": reason.strip()}
        turn.note("fence_restored", "contract", contract.task_id, before, told)
        return allow(contract)

    return take_turn(contract_id=contract_id, actor=actor, act="fence_restored", body=body, write_lock=True)


def revoke_everything(*, actor: Actor) -> tuple[int, int]:
    """End every token and every session; return how many of each there were.

    Which of them had been ended after the moment of the backup is not known any more.
    """
    tokens = WorkerToken.objects.live(database_now()).values_list("token_id", flat=True)
    revoked = sum(revoke_token(actor=actor, token_id=token).code == "done" for token in list(tokens))
    sessions, _ = Session.objects.all().delete()
    return revoked, sessions


def _is_done(contract: Contract, restored_to: datetime) -> bool:
    told = Event.objects.of(contract.pk).filter(act="fence_restored", after__restored_to=plain(restored_to))
    return told.exists()


def _end_attempt(turn: Turn) -> None:
    attempt = open_attempt(turn)
    if attempt is not None:
        attempt.synchronous = False
        settle_displaced(turn, attempt, AttemptEnd.TAKEN_OVER)


def _mark_unknown(turn: Turn) -> None:
    """Turn what is pending without an owner unknown: one of the generations that are lost may have sent it."""
    rows = Operation.objects.joined().filter(contract=turn.contract, state__in=MAY_HAVE_LEFT).order_by("pk")
    touched = list(rows)
    for row in touched:
        before = row.facts()
        row.state, row.settled_at = OperationState.UNKNOWN.value, turn.now
        row.generation = turn.contract.generation - 1
        row.version += 1
        turn.note(Act.OWNER_LOST.value, "operation", row.natural_key(), before, row.facts())
    columns = ["generation", "state", "settled_at", "version"]
    Operation.objects.bulk_update(touched, columns, batch_size=BATCH)

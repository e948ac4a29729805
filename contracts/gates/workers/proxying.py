"""The single write proxy: the workbench itself performs the write, while nobody can take the task over.

The write lock of the contract is held, on a connection of its own, from before the owner is checked until the
result is in the ledger; every change of the generation waits for it. The contract's row is locked for no longer
than storing takes, so that pages and steps go on meanwhile.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import errors

from contracts.gates.beats import WRITE_LOCK, Turn, take_turn
from contracts.gates.sending import dispatch
from contracts.gates.workers.carrying import Carried, NotCarried, Way, way_to
from contracts.gates.workers.ledger import load_operation, report
from contracts.models import Operation
from contracts.rules.fingerprint import canonical
from contracts.rules.ledger import Reported
from contracts.rules.proxying import Proxy, locate
from contracts.rules.refusals import refusal
from contracts.rules.states import OperationState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor, StaleOwner

AT_ONCE = (
    2  # writes of one process under way together: a slow target must not take every thread from the pages
)
PATIENCE_SECONDS = 5  # for the write lock
INTERRUPTED = "The proxy that was sending it did not come back."
LOCK_LOST = "The write lock was lost before anything was sent."
_slots = threading.BoundedSemaphore(AT_ONCE)


def send_by_proxy(
    *, contract_id: int, actor: Actor, generation: int, operation_key: str, proxy: Proxy | None = None
) -> Verdict:
    """Write once to the target of a pending operation, as its owner asks. The outcome is the operation.

    Allowed means that it was sent: the operation is then confirmed, rejected or unknown. Refused, nothing has
    left, with the codes of `dispatch` and not_proxied, target_not_configured, address_not_allowed,
    target_unreachable, proxy_busy. One found being sent though the lock is free was left by a process that died:
    it becomes unknown. `proxy` is what the settings say if not given.
    """
    call = _Call(contract_id, actor, generation, operation_key, proxy or settings.WORKBENCH_PROXY)
    if not _slots.acquire(blocking=False):
        return call.refused("proxy_busy")
    try:
        with _write_lock(contract_id) as lock:
            return call.refused("proxy_busy") if lock is None else call.send(lock)
    finally:
        _slots.release()


class _Call:
    """One write the proxy is asked for."""

    def __init__(self, contract_id: int, actor: Actor, generation: int, key: str, proxy: Proxy) -> None:
        self.contract_id, self.actor, self.generation, self.key = contract_id, actor, generation, key
        self.proxy = proxy

    def send(self, lock: psycopg.Connection) -> Verdict:
        """Write, while `lock` holds the write lock of the contract."""
        operation = Operation.objects.joined().filter(contract=self.contract_id, key=self.key).first()
        if operation is None:
            return self.refused("no_such_operation")
        if operation.tool.stale_owner != StaleOwner.SINGLE_WRITE_PROXY:
            return self.refused("not_proxied")
        if operation.state == OperationState.SENDING:
            return self._report(Carried(Reported.UNKNOWN, detail=INTERRUPTED))
        if operation.state != OperationState.PENDING or operation.contract.generation != self.generation:
            return self._dispatch()  # which says why not
        return self._open_and_send(operation, lock)

    def _open_and_send(self, operation: Operation, lock: psycopg.Connection) -> Verdict:
        place = locate(self.proxy, operation.target)
        if place is None:
            return self.refused("target_not_configured")
        try:
            with way_to(place, self.proxy) as way:
                verdict = self._dispatch()
                if not verdict.allowed:
                    return verdict
                held = _still_held(lock)
                return self._report(
                    self._carry(operation, way) if held else Carried(Reported.UNKNOWN, detail=LOCK_LOST)
                )
        except NotCarried as reason:
            return self.refused(reason.code)

    def _carry(self, operation: Operation, way: Way) -> Carried:
        headers = {
            "Idempotency-Key": operation.key,
            "Workbench-Task": operation.contract.task_id,
            "Workbench-Generation": str(self.generation),
        }
        return way.carry(canonical(operation.parameters), headers)

    def _dispatch(self) -> Verdict:
        return dispatch(
            contract_id=self.contract_id,
            actor=self.actor,
            operation_key=self.key,
            generation=self.generation,
            by_proxy=True,
        )

    def _report(self, carried: Carried) -> Verdict:
        return report(
            contract_id=self.contract_id,
            actor=self.actor,
            generation=self.generation,
            operation_key=self.key,
            result=carried.result.value,
            reference=carried.reference,
            response_sha256=carried.response_sha256,
            detail=carried.detail,
            by_proxy=True,
        )

    def refused(self, code: str) -> Verdict:
        """Refuse before anything left, recorded like every refusal."""

        def body(turn: Turn) -> Verdict:
            return refusal(code, outcome=load_operation(turn, self.key))

        return take_turn(
            contract_id=self.contract_id, actor=self.actor, act="send", part="operation", body=body
        )


@contextmanager
def _write_lock(contract_id: int) -> Iterator[psycopg.Connection | None]:
    """Hold the write lock of a contract in a transaction of its own; None where somebody else keeps it.

    Outside the pool, whose connections the pages need.
    """
    with psycopg.connect(**connection.get_connection_params()) as own:
        try:
            own.execute(f"SET LOCAL lock_timeout = '{PATIENCE_SECONDS}s'")
            own.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            own.execute("SELECT pg_advisory_xact_lock(%s, %s)", [WRITE_LOCK, contract_id])
        except errors.LockNotAvailable:
            yield None
        else:
            yield own


def _still_held(lock: psycopg.Connection) -> bool:
    """Tell whether the lock's connection lives: with it the lock would be gone, and a new owner may be there."""
    try:
        lock.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True

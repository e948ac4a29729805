"""One external write, from the intention to the receipt, in the only order in which none is made twice."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.client.exceptions import Refused, Rejected, Stale, TargetRefused, Unknown, WaitingForApproval
from contracts.client.lease import Hold
from contracts.client.line import LONGEST_POLL
from contracts.client.reconciling import Reconciler
from contracts.client.shapes import Call, Item, Operation, Receipt, Send, Sent, Tool
from contracts.rules.states import ApprovalState, OperationState

SLOT_TAKEN = frozenset({"one_operation_per_slot", "new_round_needed"})
# Why an approval that seemed to be there cannot be used: somebody has to be asked anew.
ASK_ANEW = frozenset({"not_approved", "item_stale", "item_expired", "approval_expired", "approval_used"})
ROUND_MAY_OPEN = frozenset({OperationState.PENDING, OperationState.REJECTED, OperationState.ABANDONED})
LOOK_AGAIN = 2.0
PROXY_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What the worker wants done. `again`: open the next round if the former call was sent back or replaced.

    `draft`: id of the artefact that the call publishes. `wait`: seconds to wait for a person; `hours`: how long
    the request may wait, by the policy's default if None. `settle`: longest time to wait for a target to settle.
    """

    tool: str
    parameters: Any
    step: str
    target: str
    expected: str
    work_object: str = ""
    draft: str = ""
    preview: str = ""
    reason: str = ""
    hours: int | None = None
    wait: float = 30.0
    settle: float = 900.0
    again: bool = False
    on_wait: Callable[[Item], object] | None = None


class Ledger:
    """The operations of one attempt."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._reconciler = Reconciler(hold)
        self._outcomes: dict[str, Mapping[str, Any]] = {}  # operation key → report that may not have arrived

    def carry_out(self, wish: Wish, tool: Tool) -> Receipt:
        """Return the receipt of the write: sent now, or found done. See `Run.operation` for what is raised."""
        return self._carry_out(self._intend(wish), wish, tool)

    def _carry_out(self, operation: Operation, wish: Wish, tool: Tool) -> Receipt:
        sent = False
        if tool.send is None and not operation.by_proxy:
            raise ValueError(f"nobody said how {tool.name} is sent: give `send`, or the tool when resuming")
        while operation.state is not OperationState.CONFIRMED:
            match operation.state:
                case OperationState.PENDING:
                    operation, sent = self._send(operation, wish, tool), True
                case OperationState.SENDING if operation.by_proxy:
                    operation = self._post(operation.key, "send", {})  # which finds out what became of it
                case OperationState.SENDING:
                    operation = self._report_again(operation)
                case OperationState.UNKNOWN:
                    operation = self._reconciler.settle(operation, tool, patience=wish.settle)
                case _:
                    raise Rejected(operation, operation.approval)
        return Receipt(operation, operation.target_reference, sent)

    def consent(self, wish: Wish) -> Operation:
        """Return the operation, intended and agreed to where a person must agree. Nothing is sent."""
        operation = self._intend(wish)
        if operation.state in (OperationState.REJECTED, OperationState.ABANDONED):
            raise Rejected(operation, operation.approval)
        if operation.needs_approval and operation.state is OperationState.PENDING:
            self._let_decide(operation, wish)
        return operation

    def abandon(self, key: str, reason: str) -> Operation:
        """Give up a pending operation for good."""
        return self._post(key, "abandon", {"reason": reason})

    def compensate(self, written: Operation, wish: Wish, tool: Tool) -> Receipt:
        """Intend the write that takes back a confirmed one, and carry it out like any other."""
        body = {
            "tool": wish.tool,
            "parameters": wish.parameters,
            "target": wish.target,
            "expected": wish.expected,
        }
        return self._carry_out(self._post(written.key, "compensate", body), wish, tool)

    def settle(self, key: str, tool: Tool, *, patience: float) -> Operation:
        """Ask the target about an operation of unknown result, whoever sent it."""
        operation = self._read(self._hold.get(f"operations/{key}").content)
        if operation.state is not OperationState.UNKNOWN:
            return operation
        return self._reconciler.settle(operation, tool, patience=patience)

    def _read(self, told: Mapping[str, Any]) -> Operation:
        operation = Operation.read(told)
        self._hold.lease.clock.seen(operation.sent_at)
        return operation

    def _post(self, key: str, act: str, body: Mapping[str, Any]) -> Operation:
        return self._read(self._hold.post(f"operations/{key}/{act}", body))

    def _intend(self, wish: Wish) -> Operation:
        body: dict[str, Any] = {
            "tool": wish.tool,
            "step": wish.step,
            "parameters": wish.parameters,
            "target": wish.target,
            "expected": wish.expected,
        }
        if wish.work_object:
            body["object"] = wish.work_object
        try:
            return self._read(self._hold.post("operations", body))
        except Refused as refused:
            told = refused.problem.get("operation")
            if refused.code not in SLOT_TAKEN or not isinstance(told, Mapping) or not wish.again:
                raise
            former = Operation.read(told)
            if former.state not in ROUND_MAY_OPEN:
                raise
        told = self._hold.post(
            f"operations/{former.key}/round", {"parameters": wish.parameters}, fenced=False
        )
        return self._read(told)

    def _send(self, operation: Operation, wish: Wish, tool: Tool) -> Operation:
        """Store that it is being sent, then let it leave; whatever is not a clear answer stays unknown."""
        if operation.needs_approval:
            self._let_decide(operation, wish)
        act = self._proxy if operation.by_proxy else self._dispatch
        try:
            operation = act(operation.key)
        except Refused as refused:
            if refused.code not in ASK_ANEW:
                raise
            self._await(operation, self._ask(operation, wish), wish)
            operation = act(operation.key)
        if operation.by_proxy:
            return operation
        # The answer may have been long in coming, or be the stored one of a call repeated after an outage.
        self._hold.lease.require()
        assert tool.send is not None  # noqa: S101  # looked at before
        return self._report(operation, _outcome(operation, tool.send, self._hold.attempt.generation))

    def _dispatch(self, key: str) -> Operation:
        return self._post(key, "dispatch", {})

    def _proxy(self, key: str) -> Operation:
        """Let the workbench send it. While it is busy with others nothing has left, so that asking again is safe."""
        end = time.monotonic() + PROXY_PATIENCE
        while True:
            try:
                return self._post(key, "send", {})
            except Refused as refused:
                if refused.code != "proxy_busy" or time.monotonic() >= end:
                    raise
            self._hold.lease.lost.wait(LOOK_AGAIN / 2)

    def _report(self, operation: Operation, outcome: Mapping[str, Any]) -> Operation:
        self._outcomes[operation.key] = outcome
        reported = self._post(operation.key, "report", outcome)
        del self._outcomes[operation.key]
        return reported

    def _report_again(self, operation: Operation) -> Operation:
        """Report what this process knows already; what somebody else is just sending is left alone."""
        outcome = self._outcomes.get(operation.key)
        if outcome is None:
            raise Unknown(operation, None)
        return self._report(operation, outcome)

    def _let_decide(self, operation: Operation, wish: Wish) -> None:
        """Return once a person has approved this very call."""
        item = operation.approval
        if item is None or item.state not in (ApprovalState.PENDING, ApprovalState.APPROVED):
            item = self._ask(operation, wish)
        self._await(operation, item, wish)

    def _ask(self, operation: Operation, wish: Wish) -> Item:
        body: dict[str, Any] = {"reason": wish.reason}
        stated = {"draft_id": wish.draft, "preview": wish.preview, "hours": wish.hours}
        body |= {name: value for name, value in stated.items() if value not in ("", None)}
        return Item.read(self._hold.post(f"operations/{operation.key}/ask", body))

    def _await(self, operation: Operation, item: Item, wish: Wish) -> None:
        """Wait for a decision while the lease is kept up, for as long as the worker wants to."""
        end = time.monotonic() + wish.wait
        if item.state is ApprovalState.PENDING and wish.on_wait is not None:
            wish.on_wait(item)
        while item.state is ApprovalState.PENDING:
            left = min(end - time.monotonic(), LONGEST_POLL)
            if left <= 0 or self._hold.lease.pause_requested.is_set():
                raise WaitingForApproval(item)
            asked, wait = time.monotonic(), max(1, int(left))
            path = f"approvals/{item.item_id}"
            item = Item.read(self._hold.get(path, params={"wait": wait}, wait=wait).content)
            if time.monotonic() - asked < wait / 2:  # too many wait there: it answered at once
                self._hold.lease.lost.wait(min(left, LOOK_AGAIN))
        if item.state is ApprovalState.APPROVED:
            return
        if item.state is ApprovalState.STALE:
            raise Stale(item)
        if item.state is ApprovalState.REJECTED:
            raise Rejected(operation, item)
        raise WaitingForApproval(item)  # expired or withdrawn: nobody's no; the next call asks anew


def _outcome(operation: Operation, send: Send, generation: int) -> Mapping[str, Any]:
    """Let the write leave and return what is to be reported of it."""
    call = Call(operation.key, generation, operation.tool, operation.parameters, operation.target)
    try:
        answer = send(call)
    except TargetRefused as no:
        return _told("rejected", Sent(no.reference, no.response), no.detail)
    except Exception as error:
        # Only its kind: a message may hold an address with a password in it.
        return _told("unknown", Sent(), type(error).__name__)
    return _told("confirmed", answer if isinstance(answer, Sent) else Sent(answer or ""), "")


def _told(result: str, answer: Sent, detail: str) -> Mapping[str, Any]:
    digest = hashlib.sha256(answer.response).hexdigest() if answer.response else ""
    told = {"reference": answer.reference, "response_sha256": digest, "detail": detail}
    return {"result": result} | {name: value for name, value in told.items() if value}

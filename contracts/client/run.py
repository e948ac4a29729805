"""One attempt at a task: what is stored is not done again, what is left is handed out, and the lease is kept."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from contracts.client.exceptions import Refused
from contracts.client.lease import Hold
from contracts.client.ledger import Ledger, Wish
from contracts.client.looking import Looking
from contracts.client.parting import leave
from contracts.client.shapes import (
    Announce,
    Attempt,
    Decision,
    Draft,
    Item,
    Job,
    Operation,
    Query,
    Receipt,
    Send,
    Tool,
)
from contracts.rules.fingerprint import digest_bytes
from contracts.rules.ledger import COMPENSATING
from contracts.rules.states import OperationState
from contracts.rules.text import clean_text
from contracts.rules.vocabulary import Measure, StepKind

Usage = Mapping[str, int | str | Decimal]


class Run(Looking, AbstractContextManager["Run"]):
    """The grant of one attempt; use it as a context. Leaving it lets the task go, and says why.

    `lost` is set as soon as the task is held no longer, `pause_requested` as soon as a person asks for a pause:
    functions that take long look at them. Any number of threads may use one run.
    """

    def __init__(self, hold: Hold, decision: Decision, tools: Mapping[str, Tool], schema_version: int | None):
        self.decision = decision
        self.state = ""  # of the contract, once the task was let go
        super().__init__(hold)
        self._tools = dict(tools)
        self._ledger = Ledger(hold)
        self._schema_version = schema_version
        self._versions = itertools.count(1)
        self._sequence: int | None = None  # of the newest checkpoint, once one was committed here
        self._committing = threading.Lock()  # the server takes one checkpoint after the other too

    @property
    def attempt(self) -> Attempt:
        """What was granted."""
        return self._hold.attempt

    @property
    def generation(self) -> int:
        """The fence: it rises with every grant, and targets that check it keep former owners out."""
        return self._hold.attempt.generation

    def __enter__(self) -> Self:
        """Begin to renew the lease, and find out first what became of writes of unknown result."""
        self._hold.lease.start()
        try:
            self.settle_unknown()
        except BaseException as error:
            self.state = leave(self._hold, error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the task go: finished, if nothing is left; waiting for a person; else given up."""
        self.state = leave(self._hold, error)

    def step[Result](
        self,
        key: str,
        call: Callable[[], Result],
        *,
        kind: StepKind | str = StepKind.MODEL_TURN,
        next_step: str = "",
        usage: Usage | Callable[[Result], Usage] | None = None,
        state: Any = None,
        job: Job | None = None,
        draft: str = "",
    ) -> Result:
        """Return the stored result of the step `key`, or run `call` and store what it returns (plain JSON).

        A step that is done is never run again, by whichever attempt. One that was begun is run again only where
        that is harmless, else Refused (`step_undecided`). `usage` counts against the limits; without it a model
        turn counts as one. `state` (≤ 64 KiB of JSON) is what the next attempt may go on from. `draft`: id of an
        artefact of which the result, a text, becomes the next version, bound to `job`, in the same commit.
        """
        begun = self._hold.post("steps/begin", {"key": key, "kind": StepKind(kind).value})
        if begun["state"] == "done":
            stored: Result = begun["result"]
            return stored
        result = call()
        self._hold.lease.require()
        used: Usage | None = usage(result) if callable(usage) else usage
        if used is None:
            used = {Measure.MODEL_TURNS: 1} if kind == StepKind.MODEL_TURN else {}
        entry = {"key": key, "kind": StepKind(kind).value, "result": result}
        if not draft:
            self.commit(next_step=next_step or key, state=state, usage=used, step=entry)
            return result
        while True:
            more = self._drawn(draft, str(result), job)
            try:
                self.commit(next_step=next_step or key, state=state, usage=used, step=entry, **more)
                return result
            except Refused as refused:  # a person gave a corrected version this very label
                if refused.code != "artefact_version_once":
                    raise

    def commit(
        self,
        *,
        next_step: str,
        state: Any = None,
        usage: Usage | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> tuple[int, str]:
        """Commit a checkpoint, with `step`, `objects`, `artefacts` beside it, and return its sequence and id.

        All of it is stored, or nothing. `checkpoint` holds further values of it, such as `location`, `sha256`
        and `size_bytes` of a state kept elsewhere, `durability` or `event_cursor`.
        """
        point: dict[str, Any] = {
            "checkpoint_id": f"{self.attempt.attempt_id}.{time.monotonic_ns():x}",
            "next_step": next_step,
            "schema_version": self._schema(),
            "durability": "sync",
        }
        point |= checkpoint or {}
        if "location" not in point:
            point["inline_state"] = {"next": next_step} if state is None else state
        body: dict[str, Any] = {"checkpoint": point, **more}
        if usage:
            body["usage"] = {str(measure): str(amount) for measure, amount in usage.items()}
        with self._committing:
            told = self._commit(body)
            self._sequence = told["sequence"]
        return told["sequence"], told["checkpoint_id"]

    def _commit(self, body: dict[str, Any]) -> Mapping[str, Any]:
        """Commit with the number that comes next, which is quicker for the server; without it where it is another."""
        point = body["checkpoint"]
        if self._sequence is None or "sequence" in point:
            return self._hold.post("steps/commit", body)
        try:
            return self._hold.post(
                "steps/commit", body | {"checkpoint": point | {"sequence": self._sequence + 1}}
            )
        except Refused as refused:
            if refused.code != "sequence_not_next":
                raise
        return self._hold.post("steps/commit", body)

    def objects(self, *, batch: int = 1) -> Iterator[Job]:
        """Hand out what is left, one after the other: never what is accepted, never what another attempt holds.

        Ends when nothing is left, or when a pause was requested. Of a batch, what was not come to is given back.
        """
        while not self.pause_requested.is_set():
            jobs = self._take(batch)
            if not jobs:
                return
            try:
                while jobs and not self.pause_requested.is_set():
                    yield jobs.pop(0)
            finally:
                if jobs and not self.lost.is_set():
                    self._give_back(jobs)

    def give_back(self, *jobs: Job, note: str = "") -> None:
        """Give objects back unfinished."""
        self._give_back(list(jobs), note)

    def accept(self, job: Job, *, draft: Draft | None = None, evidence: str = "", note: str = "") -> None:
        """Say that the work on an object is finished.

        That is its acceptance only where the contract lets the worker accept; else it waits for a person.
        """
        self._say(job, True, draft, evidence, note)

    def propose(self, job: Job, *, draft: Draft | None = None, evidence: str = "", note: str = "") -> None:
        """Leave an object to a person, who accepts it or sends it back."""
        self._say(job, False, draft, evidence, note)

    def operation(
        self,
        tool: str | Tool,
        parameters: Any,
        *,
        step: str,
        target: str,
        expected: str,
        object: str = "",  # noqa: A002  # the contract's own word
        draft: str = "",
        preview: str = "",
        reason: str = "",
        hours: int | None = None,
        again: bool = False,
        send: Send | None = None,
        query: Query | None = None,
        announce: Announce | None = None,
        wait: float = 30.0,
        settle: float = 900.0,
        on_wait: Callable[[Item], object] | None = None,
    ) -> Receipt:
        """Make one write happen once, and return the receipt; done already, it is found, not made.

        The intention is stored; where needed a person is asked, and waited for `wait` seconds at most; that it is
        being sent is stored before `send` is called with key and generation; what `send` returns (the target's
        reference) is reported. Whatever `send` raises leaves the result unknown, except TargetRefused. Then
        `query` asks the target's own record, after `announce` told it the generation, until it is found or
        certainly absent, for `settle` seconds at most; only then it may be sent again.

        `draft`: id of the artefact that the call publishes, shown to the person. `again`: if the former call of
        this object, step and tool was sent back or replaced, open the next round. `on_wait` is called with the
        item before waiting.

        Raises WaitingForApproval, Stale (look at the draft again), Rejected, Unknown, Refused, LeaseLost,
        Unreachable; after each of them calling it again is safe.
        """
        reached = self._tool(tool, send, query, announce)
        wish = Wish(
            tool=reached.name,
            parameters=parameters,
            step=step,
            target=target,
            expected=expected,
            work_object=object,
            draft=draft,
            preview=preview,
            reason=reason,
            hours=hours,
            wait=wait,
            settle=settle,
            again=again,
            on_wait=on_wait,
        )
        return self._ledger.carry_out(wish, reached)

    def abandon(self, operation: Operation | str, reason: str) -> Operation:
        """Give up a pending write, given as it was told or by its key, for good; it was certainly never sent.

        Only another call, in a further round (`again=True`), takes its place. Raises Refused once it was sent.
        """
        return self._ledger.abandon(operation if isinstance(operation, str) else operation.key, reason)

    def compensate(
        self,
        written: Receipt | Operation,
        tool: str | Tool,
        parameters: Any,
        *,
        target: str,
        expected: str,
        send: Send | None = None,
        query: Query | None = None,
        announce: Announce | None = None,
        **more: Any,
    ) -> Receipt:
        """Take a confirmed write back by another one, where its tool names a compensation; return that receipt.

        It is a write like any other: asked for, stored, sent once, found if its receipt is lost. `more` (such as
        `reason`, `preview`, `wait`, `settle`) and what is raised as for `operation`.
        """
        former = written.operation if isinstance(written, Receipt) else written
        reached = self._tool(tool, send, query, announce)
        step = f"{COMPENSATING}{former.step}"
        wish = Wish(reached.name, parameters, step, target, expected, former.object, **more)
        return self._ledger.compensate(former, wish, reached)

    def consent(
        self,
        tool: str,
        parameters: Any,
        *,
        step: str,
        target: str,
        expected: str,
        object: str = "",  # noqa: A002  # the contract's own word
        **more: Any,
    ) -> Operation:
        """Store the intention of a write, and return once a person has agreed where one must; nothing is sent.

        For frameworks that ask first and call later: `operation` with the same values then sends it. `more` as
        there. Raises what it raises.
        """
        wish = Wish(tool, parameters, step, target, expected, object, **more)
        return self._ledger.consent(wish)

    def know(self, *tools: Tool) -> None:
        """Take note of how further tools are reached."""
        self._tools |= {tool.name: tool for tool in tools}

    def settle_unknown(self, *, patience: float = 900.0) -> list[Operation]:
        """Ask the targets of the tools known here about every operation of unknown result; return what came out."""
        if self.decision.verdict != "reconcile":
            return []
        rows = self._hold.get("").content.get("operations", [])
        unknown = [
            row for row in rows if row["state"] == OperationState.UNKNOWN and row["tool"] in self._tools
        ]
        return [
            self._ledger.settle(row["key"], self._tools[row["tool"]], patience=patience) for row in unknown
        ]

    def _take(self, count: int) -> list[Job]:
        try:
            told = self._hold.post("objects/take", {"count": count})
        except Refused as refused:
            if refused.code != "pause_requested":
                raise
            self.pause_requested.set()
            return []
        return [Job.read(row) for row in told["objects"]]

    def _tool(
        self, tool: str | Tool, send: Send | None, query: Query | None, announce: Announce | None
    ) -> Tool:
        known = tool if isinstance(tool, Tool) else self._tools.get(tool)
        if send is not None and not isinstance(tool, Tool):
            known = Tool(tool, send, query, announce)
        return known or Tool(str(tool), None, query, announce)

    def _drawn(self, artefact_id: str, text: str, job: Job | None) -> dict[str, Any]:
        """Return the new version of an artefact, and the object it belongs to, as parts of a step."""
        label = f"{self.attempt.number}.{next(self._versions)}"
        digest = digest_bytes(clean_text(text).encode())
        version = {"artefact_id": artefact_id, "version_label": label, "sha256": digest}
        made: dict[str, Any] = {**version, "inline_text": text}
        if job is None:
            return {"artefacts": [made]}
        if job.source is not None:
            made |= {"source": job.source.source_id, "source_version": job.source.version_label}
        row = {"object_id": job.object_id, "accept": False, "artefact": version}
        return {"artefacts": [made], "objects": [row]}

    def _say(self, job: Job, accept: bool, draft: Draft | None, evidence: str, note: str) -> None:
        row: dict[str, Any] = {"object_id": job.object_id, "accept": accept}
        if draft is not None:
            row["artefact"] = {
                "artefact_id": draft.artefact_id,
                "version_label": draft.version_label,
                "sha256": draft.sha256,
            }
        row |= {name: text for name, text in (("evidence", evidence), ("note", note)) if text}
        self.commit(next_step=job.step or "next", objects=[row])

    def _give_back(self, jobs: list[Job], note: str = "") -> None:
        body = {"object_ids": [job.object_id for job in jobs], "note": note}
        self._hold.post("objects/return", body)

    def _schema(self) -> int:
        if self._schema_version is None:
            self._schema_version = int(self._hold.get("").content["identity"]["state_schema_version"])
        return self._schema_version

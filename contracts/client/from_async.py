"""The same client for programs built on asyncio: each call waits in a thread, so that the loop goes on.

A call that is cancelled while it waits is carried to its end in its thread, and what came of it is stored: an
interrupted wait must not leave a write that nobody knows of.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self, Unpack

from contracts.client.line import Reply
from contracts.client.run import Run
from contracts.client.shapes import Attempt, Decision, Draft, Item, Job, Offer, Operation, Receipt, Tool
from contracts.client.workbench import Workbench

OWN = ("send", "query", "announce", "on_wait")


class AsyncRun(AbstractAsyncContextManager["AsyncRun"]):
    """A `Run` whose methods are awaited. The functions it is given may be coroutine functions or plain ones."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._loop = asyncio.get_running_loop()

    @property
    def decision(self) -> Decision:
        """The decision that the grant rests on."""
        return self.run.decision

    @property
    def attempt(self) -> Attempt:
        """What was granted."""
        return self.run.attempt

    @property
    def generation(self) -> int:
        """The generation of the attempt."""
        return self.run.generation

    @property
    def state(self) -> str:
        """The contract's state, once the task was let go."""
        return self.run.state

    @property
    def lost(self) -> threading.Event:
        """Set once the task is held no longer; look at it, a loop must not wait for it."""
        return self.run.lost

    @property
    def pause_requested(self) -> threading.Event:
        """Set once a person asked for a pause; look at it, a loop must not wait for it."""
        return self.run.pause_requested

    async def __aenter__(self) -> Self:
        """Begin to hold the task."""
        await asyncio.to_thread(self.run.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the task go."""
        await asyncio.to_thread(self.run.__exit__, kind, error, trace)

    async def step[Result](
        self, key: str, call: Callable[[], Awaitable[Result] | Result], **more: Any
    ) -> Result:
        """See `Run.step`."""
        step: Callable[..., Result] = self.run.step
        return await asyncio.to_thread(step, key, self._awaited(call), **more)

    async def commit(self, **more: Any) -> tuple[int, str]:
        """See `Run.commit`."""
        return await asyncio.to_thread(self.run.commit, **more)

    async def objects(self, *, batch: int = 1) -> AsyncIterator[Job]:
        """See `Run.objects`."""
        jobs = self.run.objects(batch=batch)
        try:
            while (job := await asyncio.to_thread(next, jobs, None)) is not None:
                yield job
        finally:
            await asyncio.to_thread(jobs.close)  # type: ignore[attr-defined]

    async def accept(self, job: Job, **more: Any) -> None:
        """See `Run.accept`."""
        await asyncio.to_thread(self.run.accept, job, **more)

    async def propose(self, job: Job, **more: Any) -> None:
        """See `Run.propose`."""
        await asyncio.to_thread(self.run.propose, job, **more)

    async def give_back(self, *jobs: Job, note: str = "") -> None:
        """See `Run.give_back`."""
        await asyncio.to_thread(self.run.give_back, *jobs, note=note)

    async def wait_for_people(self, *object_ids: str, wait: float) -> bool:
        """See `Run.wait_for_people`."""
        return await asyncio.to_thread(self.run.wait_for_people, *object_ids, wait=wait)

    async def contract(self) -> Mapping[str, Any]:
        """See `Run.contract`."""
        return await asyncio.to_thread(self.run.contract)

    async def approval(self, item_id: str) -> Item:
        """See `Run.approval`."""
        return await asyncio.to_thread(self.run.approval, item_id)

    async def current(self, artefact_id: str) -> Draft:
        """See `Run.current`."""
        return await asyncio.to_thread(self.run.current, artefact_id)

    async def up_to_date(self, job: Job) -> Job:
        """See `Run.up_to_date`."""
        return await asyncio.to_thread(self.run.up_to_date, job)

    async def operation(self, tool: str | Tool, parameters: Any, **more: Any) -> Receipt:
        """See `Run.operation`."""
        return await asyncio.to_thread(self.run.operation, self._tool(tool), parameters, **self._own(more))

    async def consent(self, tool: str, parameters: Any, **more: Any) -> Operation:
        """See `Run.consent`."""
        return await asyncio.to_thread(self.run.consent, tool, parameters, **self._own(more))

    async def abandon(self, operation: Operation | str, reason: str) -> Operation:
        """See `Run.abandon`."""
        return await asyncio.to_thread(self.run.abandon, operation, reason)

    async def compensate(
        self, written: Receipt | Operation, tool: str | Tool, parameters: Any, **more: Any
    ) -> Receipt:
        """See `Run.compensate`."""
        own = self._own(more)
        return await asyncio.to_thread(self.run.compensate, written, self._tool(tool), parameters, **own)

    async def settle_unknown(self, *, patience: float = 900.0) -> list[Operation]:
        """See `Run.settle_unknown`."""
        return await asyncio.to_thread(self.run.settle_unknown, patience=patience)

    def know(self, *tools: Tool) -> None:
        """See `Run.know`; nothing is awaited."""
        self.run.know(*(tool for tool in map(self._tool, tools) if isinstance(tool, Tool)))

    def _own(self, more: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments, with the functions among them made for a thread."""
        return {
            name: self._awaited(value) if name in OWN and value is not None else value
            for name, value in more.items()
        }

    def _tool(self, tool: str | Tool) -> str | Tool:
        if isinstance(tool, str):
            return tool
        query = self._awaited(tool.query) if tool.query else None
        announce = self._awaited(tool.announce) if tool.announce else None
        send = self._awaited(tool.send) if tool.send else None
        return Tool(tool.name, send, query, announce)

    def _awaited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function for a thread that runs what is awaitable in the loop, and waits for it."""

        def called(*given: Any) -> Any:
            result = function(*given)
            if not inspect.isawaitable(result):
                return result
            return asyncio.run_coroutine_threadsafe(_whole(result), self._loop).result()

        return called


class AsyncWorkbench:
    """A `Workbench` whose methods are awaited."""

    def __init__(self, url: str, token: str, **more: Any) -> None:
        self.workbench = Workbench(url, token, **more)

    async def resume(
        self, task_id: str, *, tools: Iterable[Tool] = (), wait: float = 0.0, **offer: Unpack[Offer]
    ) -> AsyncRun:
        """See `Workbench.resume`; `async with await workbench.resume(…) as run:`."""
        run = await asyncio.to_thread(self.workbench.resume, task_id, tools=(), wait=wait, **offer)
        asynchronous = AsyncRun(run)
        asynchronous.know(*tools)
        return asynchronous

    async def contracts(self) -> list[Mapping[str, Any]]:
        """See `Workbench.contracts`."""
        return await asyncio.to_thread(self.workbench.contracts)

    async def contract(self, task_id: str, *, etag: str = "") -> Reply:
        """See `Workbench.contract`."""
        return await asyncio.to_thread(self.workbench.contract, task_id, etag=etag)

    async def decision(self, task_id: str, **offer: Unpack[Offer]) -> Decision:
        """See `Workbench.decision`."""
        return await asyncio.to_thread(self.workbench.decision, task_id, **offer)

    async def approval(self, task_id: str, item_id: str, *, wait: float = 0.0) -> Item:
        """See `Workbench.approval`."""
        return await asyncio.to_thread(self.workbench.approval, task_id, item_id, wait=wait)

    async def change_source(
        self, task_id: str, source_id: str, version_label: str, sha256: str, location: str, **more: Any
    ) -> None:
        """See `Workbench.change_source`."""
        known = (task_id, source_id, version_label, sha256, location)
        await asyncio.to_thread(self.workbench.change_source, *known, **more)

    async def request_pause(self, task_id: str, reason: str) -> None:
        """See `Workbench.request_pause`."""
        await asyncio.to_thread(self.workbench.request_pause, task_id, reason)

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.to_thread(self.workbench.close)


async def _whole[Result](awaitable: Awaitable[Result]) -> Result:
    return await awaitable

"""OpenAI Agents SDK: single calls are approved here; the RunState is kept by location and checksum.

A tool that writes needs approval in the SDK; each interruption becomes one item here, bound to exactly those
arguments. `always_approve` is never given, and a decision made anywhere else counts for nothing.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agents import Agent, FunctionTool, Runner, RunState, UserError

from contracts.client.bridges.keeping import check, keep, newest
from contracts.client.exceptions import Rejected, WaitingForApproval, WorkStopped
from contracts.client.run import Run
from contracts.client.shapes import Tool
from contracts.rules.fingerprint import digest_bytes

PREFIX = "runstate:"  # begins the location of every RunState


class Shelf(Protocol):
    """Where serialised RunStates lie: on a server, never with the client of a person."""

    def put(self, name: str, content: bytes) -> None:
        """Store `content` under `name`, durably, before returning."""

    def get(self, name: str) -> bytes:
        """Return what was stored under `name`."""


@dataclass(frozen=True, slots=True)
class Writes:
    """What a call of one of the agent's tools writes: `told` turns its arguments into those of `Run.operation`.

    It gives at least `parameters`, `step`, `target` and `expected`.
    """

    name: str
    description: str
    schema: Mapping[str, Any]  # of the arguments, as JSON Schema
    tool: Tool
    told: Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Conversation:
    """One conversation of an agent within a run. `name` tells it from others of the same task."""

    def __init__(self, run: Run, shelf: Shelf, writes: tuple[Writes, ...], *, name: str = "main") -> None:
        self.run, self.shelf, self.name = run, shelf, name
        self._writes = {each.name: each for each in writes}

    def tools(self) -> list[FunctionTool]:
        """Return the agent's tools that write. Each call is asked about, and each goes through the ledger."""
        return [
            FunctionTool(
                name=each.name,
                description=each.description,
                params_json_schema=dict(each.schema),
                on_invoke_tool=self._invoke(each),
                needs_approval=True,
            )
            for each in self._writes.values()
        ]

    async def go(self, agent: Agent[Any], begin: Any) -> Any:
        """Begin with the input `begin`, or go on from the RunState that counts; return the SDK's result.

        Raises WaitingForApproval while nobody has decided; the state lies on the shelf by then.
        """
        state: Any = await self._stored(agent)
        while True:
            if state is not None:
                await asyncio.to_thread(self._decide, state)
            result = await self._run(agent, begin if state is None else state)
            if not result.interruptions:
                return result
            state = result.to_state()
            await asyncio.to_thread(self._keep, state)

    async def _run(self, agent: Agent[Any], given: Any) -> Any:
        try:
            return await Runner.run(agent, given)
        except UserError as error:  # the SDK's wrapping of whatever a tool raises
            if isinstance(error.__cause__, WorkStopped):
                raise error.__cause__ from error
            raise

    def _decide(self, state: RunState[Any, Any]) -> None:
        """Bring each call the state waits for the decision made here, asking where nobody was asked."""
        for item in state.get_interruptions():
            each = self._writes.get(str(item.tool_name))
            if each is None:
                state.reject(item, rejection_message="This tool writes past the ledger.")
                continue
            try:
                self.run.consent(each.tool.name, **_told(each, item.arguments), wait=0)
            except Rejected as no:
                state.reject(item, rejection_message=str(no))
            else:
                state.approve(item, always_approve=False)

    def _invoke(self, each: Writes) -> Callable[[Any, str], Any]:
        async def invoke(_context: Any, arguments: str) -> str:
            # What is raised ends the SDK's run: what stops the work is no text for the model.
            told = _told(each, arguments)
            receipt = await asyncio.to_thread(self.run.operation, each.tool, **told, wait=0)
            return receipt.reference

        return invoke

    async def _stored(self, agent: Agent[Any]) -> RunState[Any, Any] | None:
        row = await asyncio.to_thread(newest, self.run, self._place(""))
        if row is None:
            return None
        content = await asyncio.to_thread(self.shelf.get, row["event_cursor"])
        check(row, content)
        return await RunState.from_string(agent, content.decode())

    def _keep(self, state: RunState[Any, Any]) -> None:
        """Store the state there, then commit here that it counts. Secrets of tracing stay out of it."""
        content = state.to_string(include_tracing_api_key=False).encode()
        name = f"{self.name}-{digest_bytes(content)}"  # never written over by a displaced owner
        self.shelf.put(name, content)
        keep(self.run, self._place(name), content, next_step="approve", cursor=name)

    def _place(self, name: str) -> str:
        return f"{PREFIX}{self.name}/{name}"


def _told(each: Writes, arguments: str | None) -> dict[str, Any]:
    return dict(each.told(json.loads(arguments or "{}")))


__all__ = ["Conversation", "Shelf", "WaitingForApproval", "Writes"]

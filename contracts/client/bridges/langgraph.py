"""LangGraph: the state of a graph stays in LangGraph's own saver; cursor, generation and approvals are here.

`WorkbenchSaver` stands between a graph and its saver. `write_once` makes one write out of a node; where a person has
to decide first, it interrupts the graph. Compile with both, and go on with `go`.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import interrupt

from contracts.client.bridges.keeping import check, keep, newest
from contracts.client.exceptions import LeaseLost, WaitingForApproval
from contracts.client.run import Run
from contracts.client.shapes import Receipt, Tool
from contracts.rules.fingerprint import canonical
from contracts.rules.vocabulary import Durability

NODE = "branch:to:"  # begins LangGraph's name of the channel that starts a node
Config = Mapping[str, Any]


class WorkbenchSaver(BaseCheckpointSaver[Any]):
    """A checkpointer that counts a checkpoint only once the workbench has committed it for the live generation.

    Checkpoint and state are stored by `saver` first. A graph then goes on from the newest one that was committed
    here and not rolled back: never from what a displaced owner stored afterwards. `durability` is what the graph
    is invoked with. The checksum covers the checkpoint's id and the versions of its channels; their values are
    LangGraph's own to keep. Raises LeaseLost as soon as the task is held no longer.
    """

    def __init__(
        self, run: Run, saver: BaseCheckpointSaver[Any], *, durability: Durability | str = Durability.SYNC
    ) -> None:
        super().__init__(serde=saver.serde)
        self.run, self.saver, self.durability = run, saver, Durability(durability)
        self._cursors: dict[str, str] = {}  # thread → id of the checkpoint it goes on from

    def cursor(self, thread_id: str) -> str:
        """Return the id of the checkpoint that a thread goes on from; empty before the first."""
        if thread_id not in self._cursors:
            row = newest(self.run, _location(thread_id, ""))
            if row is not None:
                self._verify(thread_id, row)
            self._cursors[thread_id] = row["event_cursor"] if row else ""
        return self._cursors[thread_id]

    def get_tuple(self, config: Config) -> Any:
        """Return the checkpoint asked for; of the graph itself the one that counts, not the latest one stored."""
        pointed = self._pointed(config)
        return None if pointed is None else self.saver.get_tuple(pointed)

    async def aget_tuple(self, config: Config) -> Any:
        """See `get_tuple`."""
        pointed = self._pointed(config)
        return None if pointed is None else await self.saver.aget_tuple(pointed)

    def put(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store the checkpoint there, then commit here that it counts."""
        self._require()
        stored = self.saver.put(config, checkpoint, metadata, new_versions)
        self._count(config, checkpoint)
        return stored

    async def aput(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """See `put`; the loop waits for the commit, which takes milliseconds."""
        self._require()
        stored = await self.saver.aput(config, checkpoint, metadata, new_versions)
        self._count(config, checkpoint)
        return stored

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task of an unfinished step wrote. It belongs to a checkpoint, and counts with it."""
        self._require()
        self.saver.put_writes(config, writes, task_id, task_path)

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See `put_writes`."""
        self._require()
        await self.saver.aput_writes(config, writes, task_id, task_path)

    def list(self, config: Config | None, **more: Any) -> Iterator[Any]:
        """Return what LangGraph's saver holds, whether it counts or not."""
        yield from self.saver.list(config, **more)

    async def alist(self, config: Config | None, **more: Any) -> AsyncIterator[Any]:
        """See `list`."""
        async for found in self.saver.alist(config, **more):
            yield found

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread there; what is committed here stays."""
        self.saver.delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `delete_thread`."""
        await self.saver.adelete_thread(thread_id)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next version of a channel, as that saver counts."""
        return self.saver.get_next_version(current, channel)

    def get_delta_channel_history(self, **given: Any) -> Any:
        """Return what that saver keeps of channels stored as differences."""
        return self.saver.get_delta_channel_history(**given)

    async def aget_delta_channel_history(self, **given: Any) -> Any:
        """See `get_delta_channel_history`."""
        return await self.saver.aget_delta_channel_history(**given)

    def _pointed(self, config: Config) -> Any:
        """Return `config` with the checkpoint that counts, or None where there is none yet."""
        thread_id, space, asked = _of(config)
        if space or asked:
            return config
        cursor = self.cursor(thread_id)
        return (
            {**config, "configurable": {**config["configurable"], "checkpoint_id": cursor}}
            if cursor
            else None
        )

    def _count(self, config: Config, checkpoint: Any) -> None:
        thread_id, space, _ = _of(config)
        if space:  # of a graph within the graph: it counts with the one around it
            return
        location = _location(thread_id, checkpoint["id"])
        following = {
            name.removeprefix(NODE) for name in checkpoint.get("updated_channels") or () if NODE in name
        }
        keep(
            self.run,
            location,
            _content(checkpoint),
            next_step=", ".join(sorted(following)) or "langgraph",
            cursor=checkpoint["id"],
            durability=self.durability,
        )
        self._cursors[thread_id] = checkpoint["id"]

    def _verify(self, thread_id: str, row: Mapping[str, Any]) -> None:
        place = {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": row["event_cursor"]}
        found = self.saver.get_tuple({"configurable": place})
        check(row, _content(found.checkpoint) if found else b"")

    def _require(self) -> None:
        if self.run.lost.is_set():
            raise LeaseLost("lease_lapsed", "The task is held no longer; nothing is stored for it.")


def write_once(run: Run, tool: str | Tool, parameters: Any, **more: Any) -> Receipt:
    """Make one write happen once, out of a node; `more` as in `Run.operation`.

    Where a person has to decide first, the graph is interrupted with the item. What the graph is then resumed
    with decides nothing: the decision is read from the workbench each time the node is run.
    """
    try:
        return run.operation(tool, parameters, **{"wait": 0, **more})
    except WaitingForApproval as waiting:
        interrupt({"item_id": waiting.item.item_id, "state": waiting.item.state.value})
        raise  # resumed by hand, though nobody has decided


def go(saver: WorkbenchSaver, graph: Any, begin: Any, thread_id: str, **more: Any) -> Any:
    """Begin the thread with the input `begin`, or go on where it counts; return the graph's values.

    Raises WaitingForApproval where the graph waits for a decision, so that the run lets the task go meanwhile.
    """
    config = {"configurable": {"thread_id": thread_id}}
    values = graph.invoke(
        None if saver.cursor(thread_id) else begin, config, durability=saver.durability.value, **more
    )
    for waits in values.get("__interrupt__", ()):
        if isinstance(waits.value, Mapping) and "item_id" in waits.value:
            raise WaitingForApproval(saver.run.approval(waits.value["item_id"]))
    return values


def _of(config: Config) -> tuple[str, str, str]:
    """Return thread, name space and checkpoint id of a configuration."""
    given = config["configurable"]
    return str(given["thread_id"]), given.get("checkpoint_ns") or "", given.get("checkpoint_id") or ""


def _location(thread_id: str, checkpoint_id: str) -> str:
    return f"langgraph://{thread_id}/{checkpoint_id}"


def _content(checkpoint: Any) -> bytes:
    versions = {name: str(version) for name, version in checkpoint["channel_versions"].items()}
    return canonical([checkpoint["id"], versions])

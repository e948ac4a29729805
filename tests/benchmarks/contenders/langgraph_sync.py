"""LangGraph with its PostgresSaver, `durability="sync"`: the checkpoint is stored before the next node runs."""

import contextlib
import importlib.util
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from tests.benchmarks.contenders import CHUNK, STATE, Place

NAMES = ("langgraph_sync",)


def missing() -> str:
    found = importlib.util.find_spec("langgraph") and importlib.util.find_spec(
        "langgraph.checkpoint.postgres"
    )
    return "" if found else "langgraph is not installed: uv run --group peers"


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[dict[str, Any]]:
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(place.database) as saver:
        saver.setup()
    yield {}


def writer(name: str, place: Place, made: dict[str, Any], number: int) -> Callable[[float], int]:
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import END, START, StateGraph

    def step(state: dict[str, Any]) -> dict[str, Any]:
        return {"count": state["count"] + 1, "kept": STATE}

    def onward(state: dict[str, Any]) -> str:
        return END if state["count"] >= CHUNK else "step"

    graph: Any = StateGraph(_state())
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", onward, ["step", END])
    keep = contextlib.ExitStack()
    saver = keep.enter_context(PostgresSaver.from_conn_string(place.database))
    run = graph.compile(checkpointer=saver)

    def write(until: float, keep: contextlib.ExitStack = keep) -> int:
        count = 0
        while time.monotonic() < until:
            config = {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": 10 * CHUNK}
            count += run.invoke({"count": 0}, config, durability="sync")["count"]
        return count

    return write


def _state() -> Any:
    from typing_extensions import TypedDict

    return TypedDict("Kept", {"count": int, "kept": dict})

"""LangGraph: one graph that drafts and publishes each object, resumed by its thread as its documentation says.

The worker resumes with `invoke(None, config)` under the same `thread_id`, and with `Command(resume=…)` where the
graph waits for a person. Savers: memory (gone with the process), SQLite, PostgreSQL with each durability.
Run: python -m contracts.drills.adapters.langgraph memory|sqlite|sync|async|exit
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, module_command
from contracts.drills.marks import AGAIN_LATER, COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks
from contracts.rules.drilling import Target

DURABILITIES = ("sync", "async", "exit")


class Labels(TypedDict):
    """What the graph keeps between two steps: the objects left, and the draft of the first of them."""

    left: list[str]
    text: str
    source: str
    pages: list[str]


def build(marks: Marks, saver: Any) -> Any:
    """Return the graph: draft, publish, and again while objects are left."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    def draft(state: Labels) -> dict[str, Any]:
        name = state["left"][0]
        source = marks.source(name)
        text = marks.model(name, source)
        marks.reach(DRAFTED, name)
        return {"text": text, "source": source}

    def publish(state: Labels) -> dict[str, Any]:
        name, text = state["left"][0], state["text"]
        marks.committed(name)  # the step before this one is over, as far as a program can know
        marks.reach(COMMITTED, name)
        if name == marks.approval:
            interrupt({"object": name, "text": text})
        key = hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()
        marks.reach(LEAVING, name)
        page = marks.publish(name, text, state["source"], key)
        marks.sent(name)
        marks.reach(SENT, name)
        return {"left": state["left"][1:], "pages": [*state["pages"], page]}

    graph: Any = StateGraph(Labels)
    graph.add_node("draft", draft)
    graph.add_node("publish", publish)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "publish")
    graph.add_conditional_edges("publish", lambda state: "draft" if state["left"] else END)
    return graph.compile(checkpointer=saver)


@contextmanager
def saver_of(variant: str, marks: Marks) -> Iterator[Any]:
    """Open the saver of a variant."""
    if variant == "memory":
        from langgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()
    elif variant == "sqlite":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(marks.folder / "langgraph.sqlite")) as saver:
            yield saver
    else:
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(marks.database) as saver:
            saver.setup()
            yield saver


def work(marks: Marks, saver: Any, durability: str) -> int:
    """Begin or go on until nothing is left, or a person has to say yes first."""
    from langgraph.types import Command

    graph, config = build(marks, saver), {"configurable": {"thread_id": marks.task}}
    marks.reach(READY)
    state = graph.get_state(config)
    waits = bool(state.interrupts)
    given = None if state.values else Labels(left=list(marks.objects), text="", source="", pages=[])
    while True:
        if waits and not marks.approved(marks.approval):
            marks.waiting(marks.approval)
            return AGAIN_LATER
        result = graph.invoke(Command(resume="yes") if waits else given, config, durability=durability)
        waits = "__interrupt__" in result
        if not waits:
            marks.done()
            return 0


def main(variant: str) -> int:
    """Work as the environment says, with the saver and the durability of this variant."""
    marks = Marks.from_environment()
    with saver_of(variant, marks) as saver:
        return work(marks, saver, variant if variant in DURABILITIES else "sync")


def declare(variant: str, title: str, saver: str = "langgraph-checkpoint") -> Adapter:
    """Return the declaration of one variant; `saver`: the distribution that its saver comes in."""
    return Adapter(
        name=f"langgraph-{variant}",
        title=f"LangGraph, {title}",
        command=module_command("langgraph", variant),
        needs=("langgraph", saver),
        packages=("langgraph", saver),
        install="uv sync --group langgraph",
        cannot={Target.PROXY: PROXY_IS_OURS},
        database=variant in DURABILITIES,
    )


ADAPTERS = (
    declare("memory", "InMemorySaver"),
    declare("sqlite", "SqliteSaver", "langgraph-checkpoint-sqlite"),
    *(declare(each, f"PostgresSaver, {each}", "langgraph-checkpoint-postgres") for each in DURABILITIES),
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

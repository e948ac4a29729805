"""OpenAI Agents SDK: one run of an agent for each object; its RunState is a file, its writes are approved calls.

Publishing needs approval, so each run is interrupted with the drafted call in its state. The state is stored then
and read again with `RunState.from_json`; the call is approved, and the run goes on.
Run: python -m contracts.drills.adapters.openai_agents
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, module_command
from contracts.drills.marks import AGAIN_LATER, COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks
from contracts.rules.drilling import Target


def agent_of(marks: Marks, name: str) -> Any:
    """Return the agent that words the page of one object and publishes it."""
    from agents import Agent, Model, ModelResponse, Usage, function_tool
    from agents.tool_context import ToolContext
    from openai.types.responses import ResponseFunctionToolCall

    class Wording(Model):
        """A made-up model: it answers with the call that publishes what it words. Put yours here."""

        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            source = marks.source(name)
            text = marks.model(name, source)
            marks.reach(DRAFTED, name)
            call = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call_{os.urandom(12).hex()}",  # the service makes a new id for every call
                name="publish",
                arguments=json.dumps({"text": text, "source": source}),
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError("this made-up model answers whole, never bit by bit")

    # Without `failure_error_function=None` a lost receipt would become a text for the model.
    @function_tool(needs_approval=True, failure_error_function=None)
    def publish(context: ToolContext[Any], text: str, source: str) -> str:
        """Publish the page."""
        marks.reach(LEAVING, name)
        page = marks.publish(name, text, source, context.tool_call_id)
        marks.sent(name)
        marks.reach(SENT, name)
        return page

    return Agent(name="writer", model=Wording(), tools=[publish], tool_use_behavior="stop_on_first_tool")


def store(file: Path, content: Any) -> None:
    """Replace the file: it is whole, or it is the former one."""
    new = file.with_suffix(f".{os.getpid()}")
    with new.open("w", encoding="utf-8") as out:
        json.dump(content, out)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)


async def finish(marks: Marks, name: str) -> bool:
    """Begin or go on with the run of one object; False while a person has to say yes first."""
    from agents import Runner, RunState

    agent, file = agent_of(marks, name), marks.folder / f"{name}.json"
    if not file.exists():
        result = await Runner.run(agent, f"Word and publish the page of {name}.")
        store(file, {"state": result.to_state().to_json()})
        marks.committed(name)
        marks.reach(COMMITTED, name)
    kept = json.loads(file.read_text("utf-8"))
    if "page" in kept:
        return True
    if name == marks.approval and not marks.approved(name):
        marks.waiting(name)
        return False
    state = await RunState.from_json(agent, kept["state"])
    for call in state.get_interruptions():
        state.approve(call)
    result = await Runner.run(agent, state)
    store(file, {"page": result.final_output})
    return True


def main() -> int:
    """Work as the environment says."""
    from agents import set_tracing_disabled

    set_tracing_disabled(True)  # nothing of the work leaves for anybody's dashboard
    marks = Marks.from_environment()
    marks.reach(READY)
    for name in marks.objects:
        if not asyncio.run(finish(marks, name)):
            return AGAIN_LATER
    marks.done()
    return 0


ADAPTERS = (
    Adapter(
        name="openai-agents",
        title="OpenAI Agents SDK, RunState",
        command=module_command("openai_agents"),
        needs=("openai-agents",),
        packages=("openai-agents", "openai"),
        install="uv sync --group openai-agents",
        cannot={Target.PROXY: PROXY_IS_OURS},
    ),
)

if __name__ == "__main__":
    sys.exit(main())

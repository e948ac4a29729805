"""An agent of the OpenAI Agents SDK that drafts a label, waits for a curator and publishes it, once.

Its model is a fake one, so that it runs without an account; give `Agent` the model you use instead.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from contracts.client import Job, Run, Tool, Workbench, WorkStopped
from contracts.client.bridges.openai_agents import Conversation, Writes
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel

AGAIN_LATER = 75
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class Wording(Model):
    """Words a label and asks for its publication; told of the publication, it says so."""

    async def get_response(self, *, input: Any, **_: Any) -> ModelResponse:  # noqa: A002  # the SDK's word
        text = await asyncio.to_thread(FakeModel(os.environ["MODEL_RECORD"]).write, "a water jar, about 1120")
        published = isinstance(input, list) and any(
            item.get("type") == "function_call_output" for item in input
        )
        return ModelResponse(
            output=[_said("done") if published else _call(text)], usage=Usage(), response_id=None
        )

    def stream_response(self, **_: Any) -> Any:
        raise NotImplementedError("this made-up model answers whole, never bit by bit")


def _call(text: str) -> ResponseFunctionToolCall:
    arguments = json.dumps({"text": text})
    return ResponseFunctionToolCall(
        type="function_call", call_id=f"call-{abs(hash(text))}", name="publish", arguments=arguments
    )


def _said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="said", type="message", role="assistant", status="completed", content=[content]
    )


class Folder:
    """A shelf in a folder: each state is whole or not there."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._path.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, content: bytes) -> None:
        with (self._path / f"{name}.new").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        (self._path / f"{name}.new").rename(self._path / name)

    def get(self, name: str) -> bytes:
        return (self._path / name).read_bytes()


def publication(job: Job, tool: Tool) -> Writes:
    def told(arguments: Any) -> dict[str, Any]:
        return {
            "parameters": {"page": "case-7/label", "text": arguments["text"]},
            "step": "publish",
            "object": job.object_id,
            "target": "cms://collection-site/case-7/label",
            "expected": "One page shows this text.",
            "reason": "The label is ready.",
        }

    return Writes("publish", "Publishes the label.", SCHEMA, tool, told)


def work(run: Run, job: Job, tool: Tool) -> str:
    conversation = Conversation(run, Folder(os.environ["SHELF"]), (publication(job, tool),))
    agent: Agent[Any] = Agent(name="writer", model=Wording(), tools=list(conversation.tools()))
    result = asyncio.run(conversation.go(agent, "Write the label of case 7."))
    return str(result.final_output)


def main() -> int:
    set_tracing_disabled(True)  # nothing of the work leaves for anybody's dashboard
    workbench = Workbench(os.environ["WORKBENCH_URL"], os.environ["WORKBENCH_TOKEN"])
    pages = Pages(os.environ["CONTENT_SYSTEM"])
    tool = Tool("cms.publish_label", pages.publish, pages.find, pages.announce)
    try:
        # The tool is known when resuming: a write of unknown result is asked about before anything else.
        with workbench.resume(os.environ["TASK"], tools=[tool], wait=60, framework="openai-agents") as run:
            for job in run.objects():
                say(f"attempt {run.attempt.number}")
                say(f"the agent says: {work(run, job, tool)}")
                run.accept(job)
    except WorkStopped as stop:
        say(f"stops: {stop}")
        return AGAIN_LATER
    return 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())

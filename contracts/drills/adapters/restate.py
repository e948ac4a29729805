"""Restate: one workflow whose runs draft and publish each object; its key is the task's id.

The worker is the service that Restate's server calls. A worker that starts again serves a new address; it puts it in
the place of the former one's, as a load balancer would, and the server replays its journal there. The server takes
an invocation away from a service that makes no headway for longer than its two time-outs. A person's yes is a
promise of the workflow. Each write has a key drawn from the workflow's own deterministic source.
Run: python -m contracts.drills.adapters.restate
"""

import asyncio
import fcntl
import functools
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from contracts.drills.adapter import PROXY_IS_OURS, Adapter, Environment, module_command
from contracts.drills.marks import COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks
from contracts.drills.servers import await_port, free_ports, npm_program, program_version, server
from contracts.rules.drilling import Target

PACKAGE = "@restatedev/restate-server@1.7.12"
PROGRAM = npm_program("restate-server", PACKAGE, "RESTATE_SERVER")
# Without headway the server asks for the invocation after IDLE seconds and takes it after ABORT more. Together they
# are above the 5 seconds that a request may take, else a slow one would be doubled.
IDLE, ABORT = 2, 4
NOT_READY = 470  # Restate's own status: the workflow has not ended
Draft = dict[str, str]


def make_workflow(marks: Marks) -> Any:
    """Return the workflow; it bears the task's name, as one server serves many drills."""
    import restate

    flow = restate.Workflow(
        marks.task.replace("-", "_"),
        inactivity_timeout=timedelta(seconds=IDLE),
        abort_timeout=timedelta(seconds=ABORT),
        invocation_retry_policy=restate.InvocationRetryPolicy(max_interval=timedelta(seconds=1)),
    )

    def draft(name: str) -> Draft:
        source = marks.source(name)
        text = marks.model(name, source)
        marks.reach(DRAFTED, name)
        return {"text": text, "source": source}

    def publish(name: str, drafted: Draft, key: str) -> str:
        marks.reach(LEAVING, name)
        page = marks.publish(name, drafted["text"], drafted["source"], key)
        marks.sent(name)
        marks.reach(SENT, name)
        return page

    @flow.main()
    async def run(ctx: restate.WorkflowContext) -> int:
        for name in marks.objects:
            drafted = await ctx.run_typed(f"draft {name}", functools.partial(draft, name))
            marks.committed(name)
            marks.reach(COMMITTED, name)
            if name == marks.approval:
                await ctx.run_typed(f"ask {name}", functools.partial(marks.waiting, name))
                await ctx.promise(name, type_hint=str)
            key = str(ctx.uuid())
            await ctx.run_typed(f"publish {name}", functools.partial(publish, name, drafted, key))
        return len(marks.objects)

    @flow.handler()
    async def approve(ctx: restate.WorkflowSharedContext, name: str) -> None:
        await ctx.promise(name, type_hint=str).resolve("yes")

    return flow


def route_to(address: str, marks: Marks) -> None:
    """Have the server call this worker, unless a newer one is there already."""
    admin = os.environ["RESTATE_ADMIN"]
    with marks.folder.joinpath("restate.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # two that start at once must not both register
        file.seek(0)
        known = json.loads(file.read() or "{}")
        if not known:
            answer = httpx.post(f"{admin}/deployments", json={"uri": address, "force": True}, timeout=30)
        elif known["start"] < marks.start:
            answer = httpx.patch(f"{admin}/deployments/{known['id']}", json={"uri": address}, timeout=30)
        else:
            return
        deployment = answer.raise_for_status().json()["id"]
        file.truncate(0)
        file.write(json.dumps({"start": marks.start, "id": deployment}))


def finish(marks: Marks, port: int) -> None:
    """Begin the workflow, which exists once; pass a person's yes on; wait for its end."""
    await_port(port)
    marks.reach(READY)
    route_to(f"http://127.0.0.1:{port}", marks)
    name, key = marks.task.replace("-", "_"), marks.task
    with httpx.Client(base_url=os.environ["RESTATE_INGRESS"], timeout=30) as ingress:
        ingress.post(f"/{name}/{key}/run/send").raise_for_status()
        untold = bool(marks.approval)
        while (answer := ingress.get(f"/restate/workflow/{name}/{key}/output")).status_code == NOT_READY:
            if untold and marks.approved(marks.approval):
                ingress.post(f"/{name}/{key}/approve", json=marks.approval).raise_for_status()
                untold = False
            time.sleep(0.1)
        answer.raise_for_status()


async def work(marks: Marks) -> None:
    """Serve until the workflow has ended."""
    import restate
    from granian.constants import HTTPModes, Interfaces
    from granian.server.embed import Server

    (port,) = free_ports(1)
    known: dict[str, Any] = {"interface": Interfaces.ASGINL, "http": HTTPModes.http2, "log_enabled": False}
    # Embedded, so that the program which is killed is the one that works.
    serving: Any = Server(restate.app([make_workflow(marks)]), port=port, **known)
    served = asyncio.create_task(serving.serve())
    await asyncio.to_thread(finish, marks, port)
    serving.stop()
    await served


def main() -> int:
    """Work as the environment says."""
    marks = Marks.from_environment()
    asyncio.run(work(marks))
    marks.done()
    return 0


@contextmanager
def run_server(folder: Path) -> Iterator[Environment]:
    """Run one node of Restate; gives the addresses of its ingress and of its administration."""
    ingress, admin, node = (f"127.0.0.1:{port}" for port in free_ports(3))
    places = {"BIND_ADDRESS": node, "INGRESS__BIND_ADDRESS": ingress, "ADMIN__BIND_ADDRESS": admin}
    known = {"BASE_DIR": str(folder / "restate"), "LISTEN_MODE": "tcp", "LOG_FILTER": "error", **places}
    settings = {"DO_NOT_TRACK": "1", **{f"RESTATE_{name}": value for name, value in known.items()}}
    with server(PROGRAM, folder / "restate.log", int(ingress.rpartition(":")[2]), settings):
        yield {"RESTATE_INGRESS": f"http://{ingress}", "RESTATE_ADMIN": f"http://{admin}"}


ADAPTERS = (
    Adapter(
        name="restate",
        title="Restate",
        command=module_command("restate"),
        needs=("restate-sdk", "granian"),
        lacks=lambda: () if PROGRAM else ("restate-server",),
        packages=("restate-sdk",),
        more_versions=lambda: {"restate-server": program_version(PROGRAM)},
        install=f"uv sync --group peers && npm install --global {PACKAGE}",
        cannot={Target.PROXY: PROXY_IS_OURS},
        lease=IDLE + ABORT,
        services=run_server,
    ),
)

if __name__ == "__main__":
    sys.exit(main())

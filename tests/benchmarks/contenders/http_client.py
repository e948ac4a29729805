"""Step commits over HTTP by the worker's library, one keep-alive connection a writer, on the workbench as served."""

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.benchmarks.contenders import STATE, Place
from tests.benchmarks.contenders.tasks import make_tasks, migrate

NAMES = ("http_client",)


def missing() -> str:
    found = importlib.util.find_spec("contracts.client") and importlib.util.find_spec("contracts.api")
    return "" if found else "the API or its client is not here yet"


@contextlib.contextmanager
def prepared(place: Place) -> Iterator[dict[str, Any]]:
    migrate()
    tasks = make_tasks("http-client", granted=False)
    from contracts.gates.tokens import issue_token
    from contracts.models import Team
    from contracts.rules.vocabulary import Actor
    from tests import builders
    from tests.serving import served

    for task in tasks:
        given = {"worker": task["worker"], "contract_ids": [task["contract"]], "days": 1}
        verdict = issue_token(actor=Actor("olga"), team=Team.objects.get(slug="labels"), **given)
        task["token"] = builders.done(verdict).token
    folder = place.folder / "served"
    folder.mkdir()
    with served(folder) as url:
        yield {"url": url, "tasks": tasks}


def writer(name: str, place: Place, made: dict[str, Any], number: int) -> Callable[[float], int]:
    from contracts.client import Workbench

    task = made["tasks"][number]
    run = Workbench(made["url"], task["token"]).resume(task["task_id"])
    run.__enter__()  # for as long as this process lives

    def write(until: float) -> int:
        count = 0
        while time.monotonic() < until:
            run.commit(next_step="draft", state=STATE)
            count += 1
        return count

    return write

"""A web process is killed again and again while workers commit and publish through their client.

That the process which carries out the drills may be killed as well stands in `tests/drills/test_queue.py`, and a
workbench that dies at each seam of a gate in `tests/drills/test_seams.py`.
"""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from contracts.client import Tool, Unreachable, Workbench
from contracts.client.examples.content_system import Pages
from contracts.models import Checkpoint, Event, Limit, Operation
from tests.client.targets import a_task, a_token
from tests.serving import served, web_processes
from tests.storms.counting import Counters
from tests.storms.targets import targets

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 6
# A process that dies again within 5.5 seconds of its start is taken for one that can never live, and ends the server.
APART = 7.0
PATIENCE = 60.0


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with targets(tmp_path_factory.mktemp("targets")) as address:
        yield address


class Line(httpx.HTTPTransport):
    """The way to the workbench, which remembers the keys of requests that were not answered, and that were.

    Without `repeats` whatever breaks is final, as for a client that knows of no keys.
    """

    def __init__(self, *, repeats):
        super().__init__()
        self.repeats = repeats
        self.broken, self.answered = set(), set()

    def handle_request(self, request):
        key = request.headers.get("Idempotency-Key", "")
        try:
            response = super().handle_request(request)
        except httpx.TransportError as error:
            self.broken.add(key)
            if self.repeats:
                raise
            raise Unreachable(str(error)) from error
        (self.broken if response.is_server_error else self.answered).add(key)
        return response


class Worker:
    """One worker with a task of its own: it commits and publishes until it is told to stop."""

    def __init__(self, url, address, *, repeats):
        self.contract = a_task(tool={"stale_owner": "none", "concurrency": "free"})
        Limit.objects.filter(contract=self.contract).update(cap=None)
        self.line = Line(repeats=repeats)
        token = a_token(self.contract)
        self.workbench = Workbench(url, token, timeout=PATIENCE, patience=PATIENCE, transport=self.line)
        self.pages = Pages(f"{address}/{self.contract.pk}")
        self.points, self.receipts, self.tried = [], [], 0

    def work(self, enough):
        """Return once told to; raises what the client raises."""
        with closing(self.pages), self.workbench, self.workbench.resume(self.contract.task_id) as run:
            tool = Tool("cms.publish", self.pages.publish, self.pages.find)
            while not enough.is_set():
                self.tried += 1
                self.points.append(run.commit(next_step="draft"))
                if self.tried % 3 == 0:
                    self.publish(run, tool)

    def publish(self, run, tool):
        call = {"step": f"publish-{self.tried}", "target": "cms://pages", "expected": "One page."}
        parameters = {"page": f"label-{self.tried}"}
        self.receipts.append(run.operation(tool, parameters, **call).operation.key)

    def counted(self):
        """Compare what it was told with what is stored here and in the target."""
        points = list(Checkpoint.objects.of(self.contract.pk).values_list("sequence", "checkpoint_id"))
        confirmed = Operation.objects.filter(contract=self.contract, state="confirmed")
        keys = set(confirmed.values_list("key", flat=True))
        pages = Counter(row["key"] for row in self.pages_there())
        assert Event.objects.first_break(self._fresh()) is None
        extra = set(points) - set(self.points)
        return Counters(
            attempted=self.tried + self.tried // 3,
            acknowledged=len(self.points) + len(self.receipts),
            unknown=len(self.line.broken),
            lost=len(set(self.points) - set(points)) + len(set(self.receipts) - (keys & pages.keys())),
            duplicated=sum(count - 1 for count in pages.values()) + len(extra),
            unexpected=[number for number, _ in points] != list(range(1, len(points) + 1)),
            recovered=len(self.line.broken & self.line.answered),
        )

    def pages_there(self):
        with closing(Pages(self.pages.address)) as pages:
            return pages.record()["pages"]

    def _fresh(self):
        self.contract.refresh_from_db()
        return self.contract


def storm(url, address, kills, *, repeats=True):
    """Let the workers work while web processes are killed; return them and what ended their work."""
    workers, enough = [Worker(url, address, repeats=repeats) for _ in range(WORKERS)], threading.Event()
    with ThreadPoolExecutor(WORKERS) as threads:
        working = [threads.submit(worker.work, enough) for worker in workers]
        try:
            for _ in range(kills):
                await_writes(workers, working)
                kill_one(url)
            await_writes(workers, working)
        finally:
            enough.set()
        return workers, [each.exception(timeout=PATIENCE) for each in working]


def await_writes(workers, working, each=5):
    """Return once every worker that still works was acknowledged some more."""
    before, end = [len(worker.points) for worker in workers], time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if all(
            future.done() or len(worker.points) >= then + each
            for worker, then, future in zip(workers, before, working, strict=True)
        ):
            return
        time.sleep(0.02)
    raise AssertionError([len(worker.points) for worker in workers])


def kill_one(url):
    """kill -9 of the web process that has lived longest, and wait until another has taken its place."""
    oldest = web_processes(url)
    while time.time() - oldest[0].create_time() < APART:
        time.sleep(0.1)
    oldest[0].kill()
    end = time.monotonic() + PATIENCE
    while len(now := web_processes(url)) < len(oldest) or oldest[0] in now:
        assert time.monotonic() < end
        time.sleep(0.05)


def total(workers):
    found = [worker.counted() for worker in workers]
    return Counters(**{name: sum(getattr(each, name) for each in found) for name in Counters.__slots__})


def test_killed_web_processes_are_replaced_and_workers_go_on_as_if_nothing_was(tmp_path, address, whole):
    kills = 10 if whole else 2
    with served(tmp_path) as url:
        workers, ends = storm(url, address, kills)
    assert ends == [None] * WORKERS
    counters = total(workers)
    counters.tell(f"web process killed × {kills} under {WORKERS} workers")
    assert counters.whole, counters
    assert counters.unknown > 0  # else nobody was in the middle of a request
    assert counters.acknowledged == counters.attempted


def test_control_workers_that_do_not_repeat_are_stopped_by_the_first_kill(tmp_path, address):
    with served(tmp_path) as url:
        workers, ends = storm(url, address, 2, repeats=False)
    counters = total(workers)
    counters.tell(f"control, no repeating, {WORKERS} workers")
    assert any(isinstance(end, Unreachable) for end in ends)
    assert counters.recovered < counters.unknown

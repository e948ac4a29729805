"""Each bridge with its real library, and a worker that is really killed while the target has written already.

Skipped where the library is not installed; `uv run --group peers pytest tests/bridges` has them all.
"""

import importlib.util
import time
from contextlib import closing, contextmanager

import pytest

from contracts.client.examples.content_system import Pages
from contracts.management.example_processes import Processes
from contracts.models import Approval, Artefact, Checkpoint, Operation
from tests.client.relay import relayed_to
from tests.storms.working import Case, Worker

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = "contracts.client.bridges.examples"
LIBRARIES = {
    "langgraph_label": "langgraph",
    "openai_agents_label": "agents",
    "temporal_label": "temporalio",
    "dbos_label": "dbos",
}
# These wait for a decision within the process; the others let the task go and end.
STAYING = ("temporal_label", "dbos_label")
AGAIN_LATER = 75


def example(name):
    library = LIBRARIES[name]
    absent = importlib.util.find_spec(library) is None
    reason = f"{library} is not installed; uv run --group peers pytest tests/bridges"
    return pytest.param(name, marks=pytest.mark.skipif(absent, reason=reason))


@pytest.fixture
def case(url, tmp_path, database, request):
    made = Case("museum-label", url, tmp_path)
    made.environment |= {
        "LANGGRAPH_DATABASE": database,
        "DBOS_DATABASE": database,
        "SHELF": str(tmp_path / "shelf"),
        "ACTIVITY_SECONDS": "15",
    }
    if request.node.callspec.params["name"] == "temporal_label":
        made.environment["TEMPORAL_ADDRESS"] = request.getfixturevalue("temporal")
    return made


@contextmanager
def content_system(folder):
    processes = Processes(folder / "cms", lambda _: None)
    with (
        processes.content_system(loses=False) as place,
        relayed_to(place) as line,
        closing(Pages(place)) as pages,
    ):
        line.only = "/pages"
        yield line, pages


def until(condition, worker, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, said(worker)
        assert worker.process.poll() in (None, 0, AGAIN_LATER), said(worker)
        time.sleep(0.05)


def lets_go(module, case):
    """Let one worker work until it waits for a person and lets the task go."""
    worker = Worker(module, case.environment)
    assert worker.end() == AGAIN_LATER, said(worker)


def said(worker):
    return "\n".join(worker.lines)


def asked_for(case):
    return Approval.objects.filter(contract=case.contract, state="pending").exists()


@pytest.mark.parametrize("name", [example(name) for name in LIBRARIES])
def test_a_label_is_published_once_whenever_its_worker_is_killed(name, case, tmp_path):
    module = f"{EXAMPLES}.{name}"
    with content_system(tmp_path) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        worker = Worker(module, case.environment)
        until(lambda: asked_for(case), worker)
        if name in STAYING:
            worker.kill()
            if case.state() != "paused":
                case.displace()
        else:
            assert worker.end() == AGAIN_LATER, said(worker)
        assert (case.state(), pages.all()) == ("paused", [])
        case.approve()

        line.faults, line.delay = ["late"], 60
        worker = Worker(module, case.environment)
        until(pages.all, worker)  # it is written, and the receipt is still on its way
        worker.kill()
        case.displace()
        assert case.operations() == ["unknown"]

        worker = Worker(module, case.environment)
        until(lambda: worker.process.poll() == 0, worker)
        assert (pages.all(), case.state()) == (["page-1"], "completed"), said(worker)
        assert case.operations() == ["confirmed"]
        assert len(case.calls) == 1  # nobody drafts the label twice


@pytest.mark.parametrize("name", [example("langgraph_label")])
def test_a_graph_goes_on_from_what_the_workbench_committed(name, case, tmp_path):
    import psycopg

    module = f"{EXAMPLES}.{name}"
    with content_system(tmp_path) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        lets_go(module, case)
        points = Checkpoint.objects.filter(contract=case.contract, location__startswith="langgraph://")
        newest = points.order_by("-sequence").first()
        assert newest.next_step == "publish"
        # What a displaced owner stores afterwards in LangGraph's own tables is newer there, and counts nowhere.
        with psycopg.connect(case.environment["LANGGRAPH_DATABASE"], autocommit=True) as store:
            store.execute(
                "INSERT INTO checkpoints SELECT thread_id, checkpoint_ns, 'ffffffff-late', checkpoint_id, type, "
                "jsonb_set(checkpoint, '{id}', '\"ffffffff-late\"'), metadata FROM checkpoints "
                "WHERE checkpoint_id = %s",
                [newest.event_cursor],
            )
        case.approve()
        worker = Worker(module, case.environment)
        assert worker.end() == 0, said(worker)
        assert any(newest.event_cursor in line for line in worker.lines), said(worker)
        assert pages.all() == ["page-1"]


@pytest.mark.parametrize("name", [example("openai_agents_label")])
def test_a_run_state_that_was_changed_is_not_gone_on_from(name, case, tmp_path):
    module = f"{EXAMPLES}.{name}"
    with content_system(tmp_path) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        lets_go(module, case)
        point = Checkpoint.objects.get(contract=case.contract, location__startswith="runstate:")
        assert point.inline_state is None
        (state,) = (tmp_path / "shelf").iterdir()
        state.write_bytes(state.read_bytes().replace(b"water jar", b"wine jar"))
        case.approve()
        worker = Worker(module, case.environment)
        assert worker.end() == 1
        assert any("StateChanged" in line for line in worker.lines), said(worker)
        assert pages.all() == []


@pytest.mark.parametrize("name", [example("openai_agents_label")])
def test_a_call_that_a_person_sends_back_is_never_made(name, case, tmp_path):
    from contracts.gates.approving import decide
    from tests import builders, people

    module = f"{EXAMPLES}.{name}"
    with content_system(tmp_path) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        lets_go(module, case)
        item = Approval.objects.joined().get(contract=case.contract)
        # Bound to exactly what the model asked for.
        assert item.fingerprint == Operation.objects.get(contract=case.contract).fingerprint
        assert "water jar" in item.operation.parameters["text"]
        word = builders.word(item, people.curator(case.contract.team), "rejected", reason="Not like this.")
        builders.done(decide(contract_id=case.contract.pk, **word))
        Worker(module, case.environment).end()
        assert (pages.all(), case.operations()) == ([], ["abandoned"])
        assert not Artefact.objects.filter(contract=case.contract).exists()

"""The two cases whole, with `kill -9` of the real worker in the middle: pages and calls of the model are counted."""

import time
from contextlib import closing, contextmanager

import pytest

from contracts.client import WaitingForApproval, Workbench
from contracts.client.examples.content_system import Pages
from contracts.gates.tokens import issue_token
from contracts.management.example_processes import Processes
from contracts.management.example_tasks import correct_date
from contracts.models import Approval, Artefact
from tests import builders, people
from tests.client.relay import relayed_to
from tests.serving import served
from tests.storms.working import Case, Worker, approve

pytestmark = pytest.mark.django_db(transaction=True)
LABEL = "contracts.client.examples.museum_label"
PHOTOGRAPHS = "contracts.client.examples.archive_photographs"
NAIVE = "tests.storms.naive_label"


@pytest.fixture(scope="module")
def url(tmp_path_factory, django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), served(tmp_path_factory.mktemp("served"), workers=1) as url:
        yield url


@contextmanager
def content_system(folder, *, loses=True):
    """Run the content system behind a line that a test may break; gives the line and the system itself."""
    processes = Processes(folder / "cms", lambda _: None)
    with processes.content_system(loses=loses) as place, relayed_to(place) as line:
        line.only = "/pages"
        with closing(Pages(place)) as pages:
            yield line, pages


@pytest.fixture
def case(url, tmp_path):
    return Case("museum-label", url, tmp_path)


def works(module, case):
    """Let one worker work to its end; return what it said."""
    worker = Worker(module, case.environment)
    worker.end()
    return "\n".join(worker.lines)


def current_label(case):
    row = Artefact.objects.get(contract=case.contract, artefact_id="label-case-7", current=True)
    return row.facts()


def test_the_museum_label_waits_overnight_is_corrected_and_published_once(case, tmp_path):
    with content_system(tmp_path) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        assert "waits for a curator" in works(LABEL, case)
        assert case.state() == "paused"
        former = case.approve()
        correct_date(case.contract, current_label(case), "1120", "1160")
        former.refresh_from_db()
        assert former.state == "stale"
        assert "waits for a curator" in works(LABEL, case)
        assert pages.all() == []
        case.approve()
        said = works(LABEL, case)
        assert "was published before: page-1" in said or "published: page-1" in said
        assert (pages.all(), case.state()) == (["page-1"], "completed")
        assert "resume_refuse" in works(LABEL, case)  # clicking again
        assert pages.all() == ["page-1"]
        assert case.operations() == ["abandoned", "confirmed"]
        assert len(case.calls) == 1


def until_killed(point, case, line):
    """Start a worker and kill it at one of the moments that matter."""
    line.faults = {"while it sends": ["late"], "before it arrives": ["lost"]}.get(point, [])
    line.delay = 60
    worker = Worker(LABEL, case.environment)
    if point == "while the model writes":
        while not case.calls:
            time.sleep(0.02)
    elif point in ("while it sends", "before it arrives"):
        while not any(asked.method == "POST" for asked in line.asked):
            time.sleep(0.02)
        time.sleep(0.2)
    else:
        worker.wait_for(point)
    worker.kill()
    case.displace()


@pytest.mark.parametrize("point", ["attempt 1", "while the model writes", "label in version"])
def test_a_label_worker_killed_before_the_curator_was_heard_publishes_one_page(point, case, tmp_path):
    with content_system(tmp_path, loses=False) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        until_killed(point, case, line)
        works(LABEL, case)
        case.approve()
        assert "published: page-1" in works(LABEL, case)
        assert (pages.all(), case.state()) == (["page-1"], "completed")
        assert len(case.calls) == (2 if point == "while the model writes" else 1)


@pytest.mark.parametrize("point", ["while it sends", "before it arrives"])
def test_a_label_worker_killed_while_it_sends_leaves_one_page(point, case, tmp_path):
    with content_system(tmp_path, loses=False) as (line, pages):
        case.environment["CONTENT_SYSTEM"] = line.url
        works(LABEL, case)
        case.approve()
        until_killed(point, case, line)
        assert case.operations() == ["unknown"]
        assert case.objects() == {"case-7-label": "unknown"}
        assert "reconcile" in works(LABEL, case)
        assert (pages.all(), case.state()) == (["page-1"], "completed")
        assert (case.operations(), len(case.calls)) == (["confirmed"], 1)
        assert Approval.objects.filter(contract=case.contract).count() == 1


def test_control_a_worker_without_the_workbench_publishes_twice_and_asks_the_model_anew(tmp_path):
    record = tmp_path / "model-calls.jsonl"
    with content_system(tmp_path) as (line, pages):
        environment = {
            "MODEL_RECORD": str(record),
            "MODEL_SECONDS": "0.2",
            "CONTENT_SYSTEM": line.url,
            "OBJECTS": "3",
        }
        worker = Worker(NAIVE, environment)
        worker.wait_for("takes 2")
        worker.kill()
        assert Worker(NAIVE, environment).end() == 0
        assert len(pages.all()) == 2
        assert len(record.read_text().splitlines()) in (5, 6)


def test_the_photographs_go_on_where_the_power_failed(url, tmp_path):
    case = Case("archive-photographs", url, tmp_path)
    first, second, third, fourth, fifth = case.objects()
    worker = Worker(PHOTOGRAPHS, case.environment)
    worker.wait_for(f"takes {third}")
    while len(case.calls) < 3:
        time.sleep(0.02)
    worker.kill()
    case.accept(first, second)
    with Workbench(url, case.environment["WORKBENCH_TOKEN"]) as workbench:
        workbench.change_source(case.contract.task_id, first, "scan-2", "a" * 64, "archive://again.tif")
    assert case.objects() == {
        first: "recheck",
        second: "confirmed",
        third: "in_progress",
        fourth: "pending",
        fifth: "pending",
    }
    began = time.monotonic()
    worker = Worker(PHOTOGRAPHS, case.environment)  # it waits until the lease of the dead one has lapsed
    worker.wait_for("drafts that wait")
    assert time.monotonic() - began < 60
    assert "accepted: 1, to do: 3, to recheck: 1" in "\n".join(worker.lines)
    case.accept(first, third, fourth, fifth)
    assert worker.end() == 0
    assert (case.state(), set(case.objects().values())) == ("completed", {"confirmed"})
    counted = [
        sum(name in subject for subject in case.calls) for name in (first, second, third, fourth, fifth)
    ]
    assert counted == [2, 1, 2, 1, 1]  # scanned anew; accepted; half a draft is no draft


def thirteen_objects(team):
    """Return a contract of which the last object is a write that a curator approves; the worker accepts."""
    keys = builders.keys_of_a_call({})
    identity = {**builders.complete_keys()["identity"], "acceptance": "worker"}
    objects = [{"object_id": f"O-{number:02}", "source": "P-1"} for number in range(1, 14)]
    return builders.a_paused(team, **keys, identity=identity, objects=objects)


def test_t61_approving_goes_on_with_what_is_left_and_costs_no_call_for_what_is_done(url):
    team = builders.a_team()
    contract, calls = thirteen_objects(team), []
    token = builders.done(
        issue_token(
            actor=people.acting(people.owner(team)),
            team=team,
            worker="describer",
            contract_ids=[contract.pk],
            days=1,
        )
    ).token

    def work(run):
        for job in run.objects():
            run.step(f"describe:{job.object_id}", lambda job=job: calls.append(job.object_id))
            if job.object_id == "O-13":
                publish(run)
            run.accept(job)

    with Workbench(url, token) as workbench:
        with pytest.raises(WaitingForApproval), workbench.resume(contract.task_id) as run:
            work(run)
        assert (run.attempt.number, len(calls)) == (1, 13)
        approve(contract)
        with workbench.resume(contract.task_id) as run:
            assert (run.decision.work["to_skip"], run.decision.work["to_do"]) == (12, 1)
            work(run)
    contract.refresh_from_db()
    assert (run.attempt.number, contract.state, len(calls)) == (2, "completed", 13)


def publish(run):
    return run.operation(
        "cms.publish",
        {"page": "label-1"},
        step="publish",
        object="O-13",
        target="cms://pages/label-1",
        expected="One page.",
        reason="It is ready.",
        preview="The label.",
        wait=0,
        send=lambda call: f"cms://pages/{call.key[:8]}",
    )

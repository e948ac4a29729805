"""Figures: who may read them, what is counted once it is committed, and that several processes count as one."""

import contextlib
import http.client
import os
import signal
import time
from urllib.parse import urlsplit

import psutil
import pytest
from django.db import DatabaseError, connection
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.parser import text_string_to_metric_families

from contracts.gates import witnesses
from contracts.gates.workers.owning import renew
from contracts.gates.workers.stepping import commit_step
from contracts.models import Approval, Operation
from tests import builders, scenes
from tests.api.bearing import Worker
from tests.gates.workers import owners, steps
from tests.gates.workers.owners import WORKER
from tests.serving import serving
from workbench.observing import adding_up, counting
from workbench.observing.counts_folder import FOLDER, share_counts

TOKEN = "a-token-of-the-machine-that-asks-" + "0123456789" * 2
BEARS = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE = 60.0


@pytest.fixture
def counted(settings, monkeypatch):
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(witnesses, "witnesses", [counting.Counts()])


def figures(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def asked(client):
    answer = client.get("/metrics", headers=BEARS)
    assert answer.status_code == 200
    return figures(answer.content.decode())


def rise(before, after, name, **labels):
    key = (name, *sorted(labels.items()))
    return after.get(key, 0) - before.get(key, 0)


@pytest.mark.django_db
def test_without_a_token_in_the_settings_there_are_no_figures(client):
    assert client.get("/metrics", headers=BEARS).status_code == 404
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN, "Bearer ä"]
)
def test_nobody_without_the_token_is_told_a_figure(client, counted, header):
    answer = client.get("/metrics", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="metrics"'
    assert b"workbench_" not in answer.content


@pytest.mark.django_db
def test_requests_are_counted_by_route_and_status_and_never_by_path(client, counted):
    before = asked(client)
    contract = builders.a_draft()
    for path in ("/livez", "/livez", f"/contracts/{contract.task_id}/", "/nothing/hunter22/"):
        client.get(path)
    client.generic("HUNTER22", "/livez")
    after = asked(client)
    told = {"method": "GET", "route": "livez", "status": "200"}
    assert rise(before, after, "workbench_request_seconds_count", **told) == 2
    told = {"method": "GET", "route": "contracts/<task:task_id>/", "status": "302"}
    assert rise(before, after, "workbench_request_seconds_count", **told) == 1
    told = {"method": "OTHER", "route": "livez", "status": "405"}
    assert rise(before, after, "workbench_request_seconds_count", **told) == 1
    assert not [key for key in after if "hunter22" in str(key).lower() or contract.task_id in str(key)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("sequence", [1, None])
def test_a_checkpoint_is_counted_once_however_it_was_written(client, counted, sequence):
    """With its sequence it is one statement, without it is written under the lock."""
    contract = steps.at_work()
    before = asked(client)
    step = steps.a_step(1, sequence=sequence)
    assert commit_step(contract_id=contract.pk, **steps.told(contract, step)).code == "done"
    assert commit_step(contract_id=contract.pk, **steps.told(contract, step)).code == "exists"
    after = asked(client)
    assert rise(before, after, "workbench_checkpoint_write_seconds_count") == 1
    assert rise(before, after, "workbench_checkpoint_bytes_sum") == step.point.size_bytes > 0


@pytest.mark.django_db(transaction=True)
def test_a_refusal_is_counted_by_its_code(client, counted):
    contract = steps.at_work()
    before = asked(client)
    assert not renew(contract_id=contract.pk, actor=WORKER, generation=99).allowed
    worker = Worker(contract)
    worker.token = "rsw_nonsense"
    assert worker.get().status_code == 401
    after = asked(client)
    assert rise(before, after, "workbench_refusals_total", code="stale_generation") == 1
    assert rise(before, after, "workbench_refusals_total", code="token_unknown") == 1


@pytest.mark.django_db(transaction=True)
def test_a_lapsed_lease_stands_as_a_gauge_and_is_counted_when_it_is_settled(client, counted):
    contract = owners.a_held()
    owners.lapse(contract)
    before = asked(client)
    assert before["workbench_leases_lapsed",] == 1
    owners.granted(contract)
    after = asked(client)
    assert rise(before, after, "workbench_lease_lapses_total") == 1
    assert (after["workbench_leases_lapsed",], after["workbench_attempts_live",]) == (0, 1)


@pytest.mark.parametrize("amounts", [[0.001], [0.002, 0.0021, 5, 31, 1e9], [0.25] * 7, [0.0, 30, 30.0001]])
def test_what_is_written_down_together_is_what_one_by_one_would_be(amounts):
    together, one_by_one = (
        Histogram("seconds", "s", buckets=counting.SECONDS, registry=CollectorRegistry()) for _ in range(2)
    )
    counting._observe_all(together, amounts)
    for amount in amounts:
        one_by_one.observe(amount)

    def told(histogram):
        (family,) = histogram.collect()
        return [(s.name, s.labels, s.value) for s in family.samples if not s.name.endswith("_created")]

    assert told(together) == told(one_by_one)


@pytest.mark.django_db
def test_the_gauges_say_how_things_stand_by_one_statement(client, counted, django_assert_num_queries):
    team = builders.a_team()
    item = scenes.ask(scenes.a_label_call(team), scenes.WHY)
    late = scenes.ask(scenes.a_label_call(team, "late"), scenes.WHY)
    Approval.objects.filter(pk=late.pk).update(expires_at=late.asked_at)
    Operation.objects.filter(contract=item.contract, key=item.operation_key).update(
        state="unknown", generation=1
    )
    with django_assert_num_queries(1):
        found = asked(client)
    names = ("database_answers", "operations_unknown", "approvals_waiting", "waits_overdue")
    assert [found[f"workbench_{name}",] for name in names] == [1, 1, 2, 1]


@pytest.mark.django_db
def test_what_was_counted_is_told_while_the_database_is_away(client, counted, monkeypatch):
    def refuse():
        raise DatabaseError

    monkeypatch.setattr(connection, "cursor", refuse)
    found = asked(client)
    assert found["workbench_database_answers",] == 0
    assert ("workbench_attempts_live",) not in found
    assert ("workbench_lease_lapses_total",) in found


def test_the_folder_of_counts_is_emptied_once_and_only_where_figures_are_asked_for(
    settings, tmp_path, monkeypatch
):
    monkeypatch.setenv(FOLDER, "")
    settings.WORKBENCH_DATA, settings.METRICS_TOKEN = tmp_path, ""
    share_counts()
    assert not (tmp_path / "metrics").exists()
    settings.METRICS_TOKEN = TOKEN
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "counter_1.db").touch()
    share_counts()
    assert os.environ[FOLDER] == str(tmp_path / "metrics")
    assert list((tmp_path / "metrics").iterdir()) == []
    (tmp_path / "metrics" / "counter_1.db").touch()
    share_counts()  # the processes that count already are not robbed of their files
    assert len(list((tmp_path / "metrics").iterdir())) == 1


class Served:
    """A workbench of two processes, whose figures are asked for."""

    def __init__(self, address, process, folder):
        self.place, self.process, self.folder = urlsplit(address).netloc, process, folder / "metrics"

    def get(self, path):
        with contextlib.closing(http.client.HTTPConnection(self.place, timeout=PATIENCE)) as line:
            line.request("GET", path, headers=BEARS)
            answer = line.getresponse()
            return answer.status, answer.read().decode()

    def count(self):
        found = figures(self.get("/metrics")[1])
        return found.get(
            ("workbench_request_seconds_count", ("method", "GET"), ("route", "livez"), ("status", "200")), 0
        )

    def counting_processes(self):
        """Those that have written down that they were asked."""
        files = self.folder.glob("histogram_*.db")
        return {path.stem.rpartition("_")[2] for path in files if b"livez" in path.read_bytes()}

    def wait_for(self, count):
        """Each process writes down what it counted within a second or so."""
        deadline = time.monotonic() + PATIENCE
        while self.count() != count:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [self.count() for _ in range(5)] == [count] * 5

    def workers(self):
        children = psutil.Process(self.process.pid).children()
        return {child.pid for child in children if "spawn_main" in " ".join(child.cmdline())}

    def ask_until_both_counted(self):
        asked, deadline = 0, time.monotonic() + PATIENCE
        while len(self.counting_processes() - {adding_up.GONE}) < 2:
            assert time.monotonic() < deadline
            assert self.get("/livez")[0] == 200
            asked += 1
        return asked


@pytest.mark.django_db(transaction=True)
def test_several_processes_count_as_one_and_a_killed_one_takes_nothing_along(tmp_path):
    with serving(tmp_path, workers=2, WORKBENCH_METRICS_TOKEN=TOKEN) as (address, process):
        served = Served(address, process, tmp_path)
        asked = served.ask_until_both_counted()
        served.wait_for(asked)
        killed = int(min(served.counting_processes()))
        os.kill(killed, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while psutil.pid_exists(killed) or len(served.workers()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [served.count() for _ in range(5)] == [asked] * 5
        assert adding_up.GONE in served.counting_processes()
        assert str(killed) not in served.counting_processes()

        # The control: to clean up without taking together loses what was counted.
        (served.folder / f"histogram_{adding_up.GONE}.db").unlink()
        assert served.count() < asked

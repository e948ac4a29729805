"""Stopping: what is being answered is answered, nothing new is let in, and proxies hear of it before."""

import contextlib
import http.client
import signal
import subprocess
import threading
import time
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction

from contracts.api import reads
from tests import builders, scenes
from tests.api.bearing import Worker, a_key
from tests.gates.workers.owners import a_held
from tests.serving import serving
from workbench.stopping import announce_stop, forget_stop, is_announced, is_stopping

MOMENT = 1.0  # second, in which a workbench that stops has begun to
PATIENCE = 60.0  # seconds until a test gives up; none is measured


class Asking:
    """One request over a connection of its own, in a thread of its own."""

    def __init__(self, address, method, path, token):
        self.line = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
        self.request = (method, path)
        self.headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": a_key()}
        self.status, self.body, self.lost = None, b"", None
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self):
        method, path = self.request
        body = '{"generation":1}' if method == "POST" else None
        try:
            self.line.request(method, path, body, self.headers | {"Content-Type": "application/json"})
            answer = self.line.getresponse()
            self.status, self.body = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.lost = error
        finally:
            self.line.close()

    def end(self):
        self.thread.join(PATIENCE)
        return self.status


def wait_until(said):
    deadline = time.monotonic() + PATIENCE
    while not said():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def somebody_waits_for_a_lock():
    with connection.cursor() as cursor:
        # What is seen here once stands still until the end of the transaction.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return cursor.fetchone()[0] > 0


def is_refused(address):
    with contextlib.closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)) as line:
        try:
            line.connect()
        except ConnectionRefusedError:
            return True
    return False


@contextlib.contextmanager
def a_request_in_flight(address, contract, token):
    """A renewal that the server cannot answer before the end of the block: its contract is locked here."""
    with transaction.atomic():
        type(contract).objects.select_for_update().get(pk=contract.pk)
        asking = Asking(address, "POST", f"/api/v1/contracts/{contract.task_id}/renew", token)
        wait_until(somebody_waits_for_a_lock)
        yield asking


@pytest.mark.django_db(transaction=True)
def test_a_stop_lets_the_request_in_flight_be_answered_and_nobody_new_in(tmp_path):
    contract = a_held()
    worker = Worker(contract)
    with serving(tmp_path) as (address, process):
        with a_request_in_flight(address, contract, worker.token) as asking:
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: is_refused(address))
            assert process.poll() is None
        assert asking.end() == 200, asking.lost
        assert process.wait(PATIENCE) == 0
    assert not (tmp_path / "stopping").exists()


@pytest.mark.django_db(transaction=True)
def test_the_control_that_is_killed_loses_the_answer(tmp_path):
    contract = a_held()
    worker = Worker(contract)
    with serving(tmp_path) as (address, process):
        with a_request_in_flight(address, contract, worker.token) as asking:
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
            wait_until(lambda: is_refused(address))
        assert asking.end() is None
        assert asking.lost is not None
        assert process.returncode == -signal.SIGKILL


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_waits_for_a_decision_is_answered_as_things_stand(tmp_path):
    item = scenes.ask(scenes.a_label_call(builders.a_team()), scenes.WHY)
    worker = Worker(item.contract)
    with serving(tmp_path, workers=1) as (address, process):
        path = f"{worker.place}/approvals/{item.item_id}?wait=30"
        asking = Asking(address, "GET", path, worker.token)
        wait_until(lambda: worker_was_seen(worker))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert asking.end() == 200, asking.lost
        assert b'"state":"pending"' in asking.body


def worker_was_seen(worker):
    from contracts.models.workers import WorkerToken

    return WorkerToken.objects.filter(last_used_at__isnull=False).exists()


@pytest.mark.django_db(transaction=True)
def test_proxies_hear_of_the_stop_before_the_port_is_closed(tmp_path):
    with serving(tmp_path, WORKBENCH_DRAIN_SECONDS="300") as (address, process):
        assert asked(address, "/readyz") == 200
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: asked(address, "/readyz") == 503)
        assert asked(address, "/livez") == 200
        assert asked(address, "/glossary/") == 200  # still served: this is what the time is for
        process.send_signal(signal.SIGTERM)  # whoever asks twice means now
        assert process.wait(PATIENCE) == 0


# Whoever serves is asked to stop a second time in the very moment in which the first signal is passed on.
MEETING = """
import os, signal, threading
from workbench import serving
class Meeting(threading.Event):
    def __init__(self):
        super().__init__()
        self.passing = threading.Lock()
    def set(self):
        with self.passing:
            os.kill(os.getpid(), signal.SIGTERM)
            super().set()
granian = serving.Granian
def made(*words, **named):
    server = granian(*words, **named)
    server.main_loop_interrupt = Meeting()
    return server
serving.Granian = made
"""
CONTROL = "serving._stop = lambda server: server.signal_handler_interrupt()"


@pytest.mark.django_db(transaction=True)
def test_a_second_signal_in_the_middle_of_the_first_is_no_obstacle(tmp_path):
    with serving(tmp_path, workers=1, before=MEETING) as (_, process):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


@pytest.mark.django_db(transaction=True)
def test_control_a_signal_passed_on_where_it_is_heard_stops_nothing(tmp_path):
    with serving(tmp_path, workers=1, before=MEETING + CONTROL) as (address, process):
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3 * MOMENT)
        assert asked(address, "/livez") == 200
        process.kill()
        process.wait(PATIENCE)


@pytest.mark.django_db(transaction=True)
def test_a_slow_start_is_told_and_waited_for(tmp_path):
    hurried = "from workbench import serving; serving._PATIENCE = 0.0"
    with serving(tmp_path, workers=1, before=hurried) as (address, process):
        wait_until(lambda: f"Workbench ready: {address}" in (tmp_path / "served.log").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert (tmp_path / "served.log").read_text().count("No answer for 0 seconds; still waiting.") == 1


def asked(address, path):
    with contextlib.closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)) as line:
        line.request("GET", path)
        return line.getresponse().status


@pytest.mark.django_db
def test_a_wait_is_cut_short_where_a_stop_was_asked_for(monkeypatch, settings):
    item = scenes.ask(scenes.a_label_call(builders.a_team()), scenes.WHY)
    looks = []
    monkeypatch.setattr(reads.time, "sleep", lambda _: looks.append(1))
    monkeypatch.setattr(reads.connection, "close", lambda: None)  # the test's own transaction
    settings.STOPPING = lambda: len(looks) == 3
    assert reads._decided(item.contract_id, item.item_id, 3600).state == "pending"
    assert len(looks) == 3


def test_what_another_process_said_before_it_died_says_nothing(settings, tmp_path, monkeypatch):
    settings.WORKBENCH_DATA = tmp_path
    assert not is_announced()
    announce_stop()
    assert is_announced()
    assert not is_stopping()  # our parent was not asked
    (tmp_path / "stopping").write_bytes(b"\xff")
    assert not is_announced()
    forget_stop()
    forget_stop()
    assert not is_announced()

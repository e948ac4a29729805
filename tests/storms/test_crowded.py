"""More wants than there is: no connection left in the pool, and clients that never finish what they say."""

import contextlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest
from django.db import connection, transaction

from contracts.client import Workbench
from contracts.models import Contract
from tests import people
from tests.client.targets import a_task, a_token
from tests.races.test_approval_http import TOKEN, cookies_of
from tests.serving import served
from tests.storms.counting import Counters

pytestmark = pytest.mark.django_db(transaction=True)
THREADS, POOL = 4, 2
PATIENCE = 60.0


@contextlib.contextmanager
def small(folder, pool=POOL, spare=0):
    """Serve with few threads and fewer connections; `spare`: threads that only hold what is slow."""
    few = {"WORKBENCH_THREADS": str(THREADS), "WORKBENCH_STREAMS": str(spare), "WORKBENCH_POOL": str(pool)}
    with served(folder, workers=1, **few) as url:
        yield url
    _await_sessions(0, "pid <> pg_backend_pid()")  # of web processes that were told to end


@contextlib.contextmanager
def held(url, contract, count):
    """Let so many requests wait for a lock, each with a connection of its own; they are answered afterwards."""
    token = a_token(contract)
    with ThreadPoolExecutor(count) as threads:
        with transaction.atomic():
            Contract.objects.select_for_update().get(pk=contract.pk)
            asked = [threads.submit(_resume, url, contract, token, number) for number in range(count)]
            _await_sessions(count, "wait_event_type = 'Lock'")
            yield token
        assert [future.result(timeout=PATIENCE) for future in asked] == ["resume_wait"] * count


def _resume(url, contract, token, number):
    answer = httpx.post(
        f"{url}/api/v1/contracts/{contract.task_id}/resume",
        json={},
        headers={"Authorization": f"Bearer {token}", "Idempotency-Key": f"held-{number}"},
        timeout=PATIENCE,
    )
    return answer.json()["code"]


def _await_sessions(count, condition):
    """Return once so many sessions in the database of the test are as `condition` says."""
    asked = f"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {condition}"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with connection.cursor() as cursor:
            cursor.execute(asked)
            if cursor.fetchone()[0] == count:
                return
        time.sleep(0.05)
    raise AssertionError(condition)


def a_page(url, cookies):
    """Return the list of contracts, as somebody sees it who has logged in."""
    return httpx.get(url, headers={"Cookie": cookies}, timeout=PATIENCE)


def a_decision(url, contract, token):
    place = f"{url}/api/v1/contracts/{contract.task_id}/decision"
    return httpx.get(place, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)


def test_without_a_free_connection_pages_and_workers_are_told_to_come_again(tmp_path):
    with small(tmp_path) as url:
        contract = a_running_task(url)
        cookies = cookies_of(people.owner(contract.team))
        with held(url, contract, POOL) as token, ThreadPoolExecutor(2) as threads:
            asked = [threads.submit(a_page, url, cookies), threads.submit(a_decision, url, contract, token)]
            page, problem = (future.result(timeout=PATIENCE) for future in asked)
        assert (page.status_code, problem.status_code) == (503, 503)
        assert 'data-code="database_busy"' in page.text
        assert page.headers["Content-Type"].startswith("text/html")
        assert problem.headers["Content-Type"] == "application/problem+json"
        assert problem.json()["code"] == "database_busy"
        assert int(page.headers["Retry-After"]) == int(problem.headers["Retry-After"]) > 0
        # The lock is gone, and nobody had to help.
        assert (a_page(url, cookies).status_code, a_decision(url, contract, token).status_code) == (200, 200)
    Counters(attempted=POOL + 4, acknowledged=POOL + 2, unknown=2, recovered=2).tell("pool exhausted")


def test_control_with_connections_to_spare_the_same_requests_are_answered(tmp_path):
    with small(tmp_path, pool=THREADS) as url:
        contract = a_running_task(url)
        cookies = cookies_of(people.owner(contract.team))
        with held(url, contract, POOL) as token:
            assert (a_page(url, cookies).status_code, a_decision(url, contract, token).status_code) == (
                200,
                200,
            )


def a_running_task(url):
    """Return a task that a worker holds."""
    contract = a_task()
    with Workbench(url, a_token(contract, "owner")) as workbench:
        workbench.resume(contract.task_id)
    return contract


@contextlib.contextmanager
def lines(url, count, said):
    """Hold so many connections on which only `said` was ever said."""
    place = urlsplit(url)
    with contextlib.ExitStack() as held:
        for _ in range(count):
            line = held.enter_context(
                socket.create_connection((place.hostname, place.port), timeout=PATIENCE)
            )
            line.sendall(said)
        yield


HALF_A_HEADER = b"GET /healthz HTTP/1.1\r\nHost: 127.0"
HALF_A_BODY = (
    b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Cookie: workbench_csrf=" + TOKEN.encode() + b"\r\nContent-Length: 1000\r\n\r\nlogin=olga&pass"
)


def test_clients_that_stop_in_the_middle_of_the_head_keep_nobody_else_from_being_answered(tmp_path):
    count = 3 * THREADS
    with small(tmp_path, pool=THREADS) as url:
        with lines(url, count, HALF_A_HEADER):
            answers = [_status(url) for _ in range(10)]
        answers += [_status(url) for _ in range(10)]
    Counters(attempted=20, acknowledged=answers.count(200)).tell(f"{count} requests stopped in their head")
    assert answers == [200] * 20


def test_half_a_body_holds_one_thread_until_its_client_goes(tmp_path):
    with small(tmp_path, pool=THREADS) as url:
        with lines(url, THREADS - 1, HALF_A_BODY):
            answers = [_status(url) for _ in range(10)]
        # The control: with all threads held nobody is answered, so that the others were really held before.
        with lines(url, THREADS, HALF_A_BODY):
            _await_silence(url)
        answers += [_status(url) for _ in range(10)]
    counters = Counters(attempted=21, acknowledged=answers.count(200), unknown=1, recovered=1)
    counters.tell(f"{THREADS - 1} and {THREADS} half-sent bodies on {THREADS} threads")
    assert answers == [200] * 20


def test_as_many_half_sent_bodies_as_are_worked_on_at_once_hold_up_nobody(tmp_path):
    with small(tmp_path, pool=THREADS, spare=THREADS) as url:
        with lines(url, THREADS, HALF_A_BODY):
            answers = [_status(url) for _ in range(10)]
        # The control: no thread is left that a request could arrive on.
        with lines(url, 2 * THREADS, HALF_A_BODY):
            _await_silence(url)
        answers += [_status(url) for _ in range(10)]
    assert answers == [200] * 20


def _await_silence(url):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            httpx.get(f"{url}/healthz", timeout=5)
        except httpx.ReadTimeout:
            return
    raise AssertionError("everybody is still answered")


def _status(url):
    return httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code

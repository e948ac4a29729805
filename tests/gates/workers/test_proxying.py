import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network

import psycopg
import pytest
from django.db import connection

from contracts.gates.beats import WRITE_LOCK
from contracts.gates.sending import dispatch
from contracts.gates.workers import carrying, proxying
from contracts.gates.workers.carrying import way_to
from contracts.gates.workers.ledger import intend, report
from contracts.gates.workers.owning import renew, resume
from contracts.gates.workers.pausing import take_over
from contracts.gates.workers.proxying import send_by_proxy
from contracts.gates.workers.reconciling import reconcile
from contracts.gates.workers.stepping import commit_step
from contracts.models import Event, Operation
from contracts.rules.granting import Offer
from contracts.rules.proxying import Allowed, Place, Proxy
from contracts.rules.proxying import Target as Configured
from tests import builders
from tests.gates.watching import assert_refused
from tests.gates.workers.ledgering import asked
from tests.gates.workers.owners import OPERATOR, OTHER, WHY, WORKER, a_held, lapse
from tests.gates.workers.steps import a_step, told
from tests.gates.workers.target import target

pytestmark = pytest.mark.django_db(transaction=True)
LOOPBACK = ip_network("127.0.0.0/8")


@pytest.fixture(scope="module")
def server():
    with target() as running:
        yield running


@pytest.fixture
def proxy(server):
    return to(server.port)


def to(port, *, seconds=10.0, allowed=LOOPBACK, tls=False, host="127.0.0.1", authorization="Bearer made-up"):
    cms = Configured("cms", tls, host, port, "", authorization)
    return Proxy({"cms": cms}, (Allowed(allowed, port),), seconds)


def a_call(path="pages/label-1", contract=None, **tool):
    """Return a contract at work and a pending operation whose tool leaves it to the proxy."""
    known = {**builders.EXAMPLES["tool"], "stale_owner": "single_write_proxy", "settle_seconds": 0, **tool}
    contract = contract or a_held(tools=[known])
    call = {"tool": "cms.publish", "step": "publish", "object_id": "O-1", "parameters": {"page": "标签"}}
    given = {
        "actor": WORKER,
        "generation": contract.generation,
        "target": f"cms://{path}",
        "expected": "one page",
    }
    return contract, builders.done(intend(contract_id=contract.pk, **call, **given))


def asking(contract, operation, proxy, **given):
    known = {
        "actor": WORKER,
        "generation": contract.generation,
        "operation_key": operation.key,
        "proxy": proxy,
    }
    return known | given


def send(contract, operation, proxy, **given):
    return send_by_proxy(contract_id=contract.pk, **asking(contract, operation, proxy, **given))


def in_thread(call, *given):
    """Start `call` in a thread of its own; gives the future."""
    threads = ThreadPoolExecutor(1)

    def run():
        try:
            return call(*given)
        finally:
            connection.close()

    future = threads.submit(run)
    threads.shutdown(wait=False)
    return future


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def written(server, operation):
    return [row for row in server.written() if row["Idempotency-Key"] == operation.key]


def test_it_writes_once_and_stores_the_receipt(server, proxy):
    contract, operation = a_call("pages/one")
    verdict = send(contract, operation, proxy)
    operation.refresh_from_db()
    assert (verdict.code, operation.state, operation.tries) == ("done", "confirmed", 1)
    assert operation.target_reference == "cms://pages/one"
    body = json.dumps({"reference": "cms://pages/one"}).encode()
    assert operation.response_sha256 == hashlib.sha256(body).hexdigest()
    (row,) = written(server, operation)
    assert row["parameters"] == {"page": "标签"}
    assert (row["path"], row["Workbench-Task"]) == ("/pages/one", contract.task_id)
    assert (row["Workbench-Generation"], row["Authorization"]) == (str(contract.generation), "Bearer made-up")
    acts = list(Event.objects.of(contract.pk).values_list("act", flat=True))
    assert acts[-2:] == ["dispatch", "report"]
    assert "made-up" not in json.dumps(list(Event.objects.of(contract.pk).values()), default=str)


def test_what_was_sent_is_not_sent_again(server, proxy):
    contract, operation = a_call("pages/twice")
    assert send(contract, operation, proxy).allowed
    assert_refused(contract, "operation_not_pending", send_by_proxy, **asking(contract, operation, proxy))
    assert len(written(server, operation)) == 1


@pytest.mark.parametrize(
    ("path", "state", "reference"),
    [
        ("no/1", "rejected", ""),
        ("broken/1", "unknown", ""),
        ("elsewhere/1", "unknown", ""),
        ("cut/1", "unknown", ""),
        ("short/1", "unknown", ""),
        ("long/1", "unknown", ""),
        ("drip/1", "unknown", ""),
        ("odd/1", "confirmed", ""),
        ("text/1", "confirmed", ""),
        ("located/1", "confirmed", "/kept/1"),
    ],
)
def test_only_a_whole_and_clear_answer_counts(server, path, state, reference):
    contract, operation = a_call(path)
    begun = time.monotonic()
    verdict = send(contract, operation, to(server.port, seconds=1.5))
    operation.refresh_from_db()
    assert (verdict.code, operation.state) == ("done", state)
    assert time.monotonic() - begun < 15
    if state == "confirmed":
        assert operation.target_reference == reference
    # A redirect is never followed: nothing arrived at the other place.
    assert not [row for row in server.written() if row["path"] == "/pages/elsewhere"]


def test_a_frozen_target_leaves_it_unknown_until_it_was_asked(server):
    contract, operation = a_call("pages/frozen")
    server.freeze()
    try:
        assert send(contract, operation, to(server.port, seconds=1.0)).allowed
    finally:
        server.thaw()
    operation.refresh_from_db()
    assert operation.state == "unknown"
    until(lambda: written(server, operation))  # what was travelling arrives when it wakes up
    known = {"actor": WORKER, "generation": contract.generation, "operation_key": operation.key}
    verdict = reconcile(contract_id=contract.pk, **known, asked=asked())
    assert (verdict.code, verdict.outcome.operation.state) == ("done", "confirmed")


def test_a_take_over_waits_for_the_write_and_finds_it_in_the_ledger(server, proxy):
    contract, operation = a_call("slow/take-over")
    sending = in_thread(send, contract, operation, proxy)
    until(lambda: written(server, operation))
    verdict = take_over(contract_id=contract.pk, actor=OPERATOR, reason=WHY)
    ended = time.time()
    operation.refresh_from_db()
    assert (verdict.code, operation.state) == ("done", "confirmed")
    assert sending.result(20).code == "done"
    assert ended - written(server, operation)[0]["at"] > 1.5
    acts = list(Event.objects.of(contract.pk).values_list("act", flat=True))
    assert acts.index("report") < acts.index("taken_over")


def test_without_the_lock_a_write_of_a_displaced_owner_arrives_after_the_take_over(
    server, proxy, monkeypatch
):
    """The control: the same calls, the lock alone left out."""
    contract, operation = a_call("pages/unlocked")
    here, onward = threading.Event(), threading.Event()
    real = proxying._Call._carry

    def frozen(call, *given):
        here.set()
        assert onward.wait(20)
        return real(call, *given)

    monkeypatch.setattr(proxying._Call, "_carry", frozen)
    monkeypatch.setattr(proxying, "WRITE_LOCK", WRITE_LOCK + 1)
    sending = in_thread(send, contract, operation, proxy)
    assert here.wait(20)
    assert take_over(contract_id=contract.pk, actor=OPERATOR, reason=WHY).allowed
    ended = time.time()
    onward.set()
    assert sending.result(20).code == "late_report"
    assert written(server, operation)[0]["at"] > ended


def test_with_the_lock_a_frozen_proxy_holds_up_the_take_over(server, proxy, monkeypatch):
    contract, operation = a_call("pages/locked")
    here, onward = threading.Event(), threading.Event()
    real = proxying._Call._carry

    def frozen(call, *given):
        here.set()
        assert onward.wait(20)
        return real(call, *given)

    monkeypatch.setattr(proxying._Call, "_carry", frozen)
    sending = in_thread(send, contract, operation, proxy)
    assert here.wait(20)
    taking = in_thread(lambda: take_over(contract_id=contract.pk, actor=OPERATOR, reason=WHY))
    time.sleep(0.5)
    assert not taking.done()
    onward.set()
    assert sending.result(20).code == "done"
    assert taking.result(20).code == "done"
    assert len(written(server, operation)) == 1


def test_steps_renewals_and_pages_are_not_held_up(server, proxy):
    contract, operation = a_call("slow/steps")
    sending = in_thread(send, contract, operation, proxy)
    until(lambda: written(server, operation))
    begun = time.monotonic()
    assert commit_step(contract_id=contract.pk, **told(contract, a_step())).code == "done"
    assert renew(contract_id=contract.pk, actor=WORKER, generation=contract.generation).code == "done"
    assert Operation.objects.get(pk=operation.pk).state == "sending"
    assert time.monotonic() - begun < 1.5
    assert not sending.done()
    assert sending.result(20).code == "done"


def test_a_displaced_owner_sends_nothing(server, proxy):
    contract, operation = a_call("pages/displaced")
    lapse(contract)
    assert_refused(contract, "lease_lapsed", send_by_proxy, **asking(contract, operation, proxy))
    assert resume(contract_id=contract.pk, actor=OTHER, offer=Offer()).allowed
    stale = asking(contract, operation, proxy)
    assert_refused(contract, "stale_generation", send_by_proxy, **stale)
    assert written(server, operation) == []
    contract.refresh_from_db()
    assert send(contract, operation, proxy, actor=OTHER).code == "done"
    assert written(server, operation)[0]["Workbench-Generation"] == str(contract.generation)


def test_a_lease_that_lapses_on_the_way_takes_no_receipt_back(server, proxy):
    contract, operation = a_call("slow/lapsing")
    sending = in_thread(send, contract, operation, proxy)
    until(lambda: written(server, operation))
    lapse(contract)
    assert sending.result(20).code == "done"
    operation.refresh_from_db()
    assert operation.state == "confirmed"


def test_one_left_behind_by_a_proxy_that_died_is_unknown(server, proxy):
    contract, operation = a_call("pages/died")
    known = {"actor": WORKER, "generation": contract.generation, "operation_key": operation.key}
    assert dispatch(contract_id=contract.pk, **known, by_proxy=True).allowed
    assert send(contract, operation, proxy).code == "done"
    operation.refresh_from_db()
    assert (operation.state, written(server, operation)) == ("unknown", [])
    # The same sender asks, the target has nothing: it may leave once more.
    verdict = reconcile(contract_id=contract.pk, **known, asked=asked("absent"))
    assert verdict.outcome.operation.state == "pending"
    assert send(contract, operation, proxy).code == "done"
    assert len(written(server, operation)) == 1


def test_a_lock_lost_before_sending_lets_nothing_leave(server, proxy, monkeypatch):
    contract, operation = a_call("pages/lost")
    real = proxying._Call._dispatch

    def lose(call):
        verdict = real(call)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s "
                "AND objid = %s AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
                [WRITE_LOCK, contract.pk],
            )
        return verdict

    monkeypatch.setattr(proxying._Call, "_dispatch", lose)
    assert send(contract, operation, proxy).code == "done"
    operation.refresh_from_db()
    assert (operation.state, written(server, operation)) == ("unknown", [])


@pytest.mark.parametrize("act", ["dispatch", "report"])
def test_a_worker_neither_sends_nor_reports_what_the_proxy_sends(act):
    contract, operation = a_call()
    known = {"actor": WORKER, "generation": contract.generation, "operation_key": operation.key}
    if act == "dispatch":
        assert_refused(contract, "sent_by_proxy", dispatch, **known)
    else:
        assert_refused(contract, "sent_by_proxy", report, **known, result="confirmed")


def test_the_proxy_sends_for_no_other_tool(proxy):
    contract, operation = a_call(stale_owner="target_deduplicates")
    assert_refused(contract, "not_proxied", send_by_proxy, **asking(contract, operation, proxy))


def test_an_operation_that_is_not_there_is_not_sent(proxy):
    contract, operation = a_call()
    given = asking(contract, operation, proxy, operation_key="0" * 64)
    assert_refused(contract, "no_such_operation", send_by_proxy, **given)


@pytest.mark.parametrize("path", ["../secrets", "a?b=c", "a//b"])
def test_only_paths_of_configured_targets_are_reached(proxy, path):
    contract, operation = a_call(path)
    assert_refused(contract, "target_not_configured", send_by_proxy, **asking(contract, operation, proxy))


def test_nothing_is_configured_by_default():
    contract, operation = a_call()
    given = asking(contract, operation, None)
    assert_refused(contract, "target_not_configured", send_by_proxy, **given)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_that_is_not_on_the_list_is_not_reached(server, host):
    contract, operation = a_call()
    elsewhere = to(server.port, allowed=ip_network("10.0.3.0/24"), host=host)
    assert_refused(contract, "address_not_allowed", send_by_proxy, **asking(contract, operation, elsewhere))
    assert written(server, operation) == []


@pytest.mark.parametrize(
    "unreachable", [{"port": 9}, {"host": "no-such-host.invalid"}, {"tls": True}], ids=["port", "name", "tls"]
)
def test_a_target_that_cannot_be_reached_was_sent_nothing(server, unreachable):
    contract, operation = a_call()
    nowhere = to(**{"port": server.port, **unreachable})
    assert_refused(contract, "target_unreachable", send_by_proxy, **asking(contract, operation, nowhere))
    operation.refresh_from_db()
    assert (operation.state, operation.tries) == ("pending", 0)


def test_more_than_a_few_at_once_are_told_to_come_again(proxy, monkeypatch):
    contract, operation = a_call()
    monkeypatch.setattr(proxying, "_slots", threading.BoundedSemaphore(1))
    with proxying._slots:
        assert_refused(contract, "proxy_busy", send_by_proxy, **asking(contract, operation, proxy))
    assert send(contract, operation, proxy).code == "done"


def test_it_does_not_wait_for_ever_for_the_lock(proxy, monkeypatch):
    contract, operation = a_call()
    monkeypatch.setattr(proxying, "PATIENCE_SECONDS", 1)
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s, %s)", [WRITE_LOCK, contract.pk])
        assert_refused(contract, "proxy_busy", send_by_proxy, **asking(contract, operation, proxy))


def test_a_line_that_has_ended_is_an_unknown_result(server):
    plain = to(server.port, authorization="")
    with way_to(Place(plain.targets["cms"], "/pages/ended"), plain) as way:
        way.line.close()
        carrying._cut(way.line)
        assert way.carry(b"{}", {}).result.value == "unknown"

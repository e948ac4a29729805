import socket
import threading
import time
from contextlib import closing

import httpx
import pytest

from contracts.client import LeaseLost, NotResumable, Refused, Unreachable, Workbench
from contracts.client.line import Line
from tests.client.relay import Miniature, relayed

FAULTS = ("before", "after", "half", "late", "503", "html", "running")


@pytest.fixture
def workbench():
    return Miniature()


@pytest.fixture
def relay(workbench):
    with relayed(workbench) as relay:
        yield relay


@pytest.fixture
def impatient(relay):
    with closing(Line(relay.url, "a-token", timeout=0.2, patience=0.5)) as line:
        yield line


@pytest.fixture
def line(relay):
    with closing(Line(relay.url, "a-token", timeout=0.4, patience=30)) as line:
        yield line


@pytest.mark.parametrize("fault", FAULTS)
def test_a_call_is_repeated_under_its_key_and_carried_out_once(line, relay, workbench, fault):
    relay.faults = [fault, fault]
    reply = line.post("contracts/t/renew", {"generation": 1})
    assert reply.content["number"] == 1
    assert workbench.done == ["/api/v1/contracts/t/renew"]
    assert len(relay.asked) == 3
    assert len({asked.key for asked in relay.asked}) == 1


def test_control_a_client_with_a_new_key_for_each_try_does_it_twice(relay, workbench):
    relay.faults = ["after"]
    for key in ("first-try", "second-try"):
        try:
            httpx.post(f"{relay.url}/api/v1/contracts/t/renew", json={}, headers={"Idempotency-Key": key})
            break
        except httpx.TransportError:
            continue
    assert len(workbench.done) == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_what_never_answers_properly_is_unreachable_and_never_a_success(impatient, relay, workbench, fault):
    relay.faults = [fault] * 50
    with pytest.raises(Unreachable):
        impatient.post("contracts/t/renew", {"generation": 1})
    assert len(workbench.done) <= 1


def test_nobody_at_the_address_is_unreachable():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
        with closing(Line(address, "a-token", patience=0.3)) as line, pytest.raises(Unreachable):
            line.get("contracts")


def test_two_calls_have_two_keys(line, relay):
    line.post("contracts/t/renew", {"generation": 1})
    line.post("contracts/t/renew", {"generation": 1})
    assert len({asked.key for asked in relay.asked}) == 2
    assert all(20 <= len(asked.key) <= 200 and asked.key.isascii() for asked in relay.asked)


def test_reading_is_repeated_and_has_no_key(line, relay):
    relay.faults = ["before", "half"]
    reply = line.get("contracts/t", etag='"7"')
    assert (reply.content["state"], reply.etag) == ("running", '"7"')
    assert {asked.key for asked in relay.asked} == {""}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("cap_reached", Refused),
        ("stale_generation", LeaseLost),
        ("not_owner", LeaseLost),
        ("resume_wait", NotResumable),
    ],
)
def test_a_refusal_is_an_answer_and_not_repeated(line, relay, workbench, code, kind):
    workbench.refusal = code
    with pytest.raises(kind) as refused:
        line.post("contracts/t/resume", {})
    assert (refused.value.code, refused.value.sentence, refused.value.status) == (code, "No.", 409)
    assert len(relay.asked) == 1


def test_repeating_ends_when_the_worker_is_told_to_stop(line, relay):
    relay.faults = ["before"] * 500
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Unreachable):
        line.post("contracts/t/renew", {"generation": 1}, unless=stop)
    assert time.monotonic() - began < 20


def test_what_is_no_json_never_leaves(line, relay):
    with pytest.raises(ValueError, match="not JSON compliant"):
        line.post("contracts/t/renew", {"amount": float("nan")})
    assert relay.asked == []


def test_the_token_is_sent_as_bearer_and_shown_nowhere(relay):
    with Workbench(relay.url, "a-secret-token") as workbench:
        workbench.contract("t")
    assert relay.asked[0].headers["Authorization"] == "Bearer a-secret-token"
    assert "a-secret-token" not in repr(workbench)


def test_an_address_without_http_is_refused_at_once():
    with pytest.raises(ValueError, match="http://"):
        Workbench("workbench.example.org", "a-token")

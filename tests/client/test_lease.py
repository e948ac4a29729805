import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from contracts.client import Attempt, LeaseLost, Unreachable
from contracts.client import lease as module
from contracts.client.lease import Hold, Lease, ServerClock
from contracts.client.line import Line
from tests.client.relay import Answer, Miniature, relayed

T0 = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "SHORTEST_PATIENCE", 0.3)


@pytest.fixture
def workbench():
    return Miniature()


@pytest.fixture
def relay(workbench):
    with relayed(workbench) as relay:
        yield relay


def attempt(seconds=60, renew=20):
    return Attempt(1, "A-1", 4, "writer", T0 + timedelta(seconds=seconds), seconds, renew)


@pytest.fixture
def line(relay):
    with closing(Line(relay.url, "a-token", timeout=0.3, patience=1)) as line:
        yield line


@pytest.fixture
def hold(line):
    return Hold(line, "contracts/t", attempt(), time.monotonic())


def held(line, *, seconds=60.0, renew=20.0, ago=0.0):
    return Lease(line, "contracts/t", attempt(seconds, renew), time.monotonic() - ago)


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_is_renewed_in_the_background_each_time_under_a_new_key(line, relay, workbench):
    lease = held(line, renew=0.02)
    lease.start()
    until(lambda: len(workbench.done) >= 3)
    lease.require()
    lease.stop()
    assert len({asked.key for asked in relay.asked}) >= 3
    count = len(relay.asked)
    time.sleep(0.1)
    assert len(relay.asked) == count


def test_a_refused_renewal_loses_it_at_once_and_for_good(line, relay, workbench):
    workbench.refusal = "stale_generation"
    lease = held(line, renew=0.02)
    lease.start()
    assert lease.lost.wait(10)
    workbench.refusal = ""
    with pytest.raises(LeaseLost) as lost:
        lease.require()
    assert lost.value.code == "stale_generation"
    lease.stop()


def test_it_is_lost_when_nobody_answers_until_its_end(line, relay):
    relay.faults = ["before"] * 10_000
    lease = held(line, seconds=0.5, renew=0.1)
    lease.start()
    assert lease.lost.wait(10)
    with pytest.raises(LeaseLost) as lost:
        lease.require()
    assert lost.value.code == "lease_lapsed"
    lease.stop()


def test_an_outage_shorter_than_the_lease_does_no_harm(line, relay, workbench):
    relay.faults = ["before", "after", "503"]
    lease = held(line, renew=0.02)
    lease.start()
    until(lambda: len(workbench.done) >= 2)
    lease.require()
    assert not lease.lost.is_set()
    lease.stop()


def test_a_stopped_holder_asks_first_and_goes_on_if_nobody_took_over(line, relay, workbench):
    lease = held(line, seconds=5, ago=30)
    lease.require()
    assert len(workbench.done) == 1
    lease.require()
    assert len(workbench.done) == 1


def test_a_stopped_holder_who_was_displaced_does_not_go_on(line, relay, workbench):
    workbench.refusal = "stale_generation"
    lease = held(line, seconds=5, ago=30)
    with pytest.raises(LeaseLost):
        lease.require()


def test_a_requested_pause_is_noticed(line, relay, workbench):
    relay.upstream = lambda _: Answer(200, b'{"state":"pause_requested"}')
    lease = held(line, renew=0.02)
    lease.start()
    assert lease.pause_requested.wait(10)
    lease.stop()


def test_every_call_bears_the_generation_and_a_lost_lease_stops_it(hold, relay, workbench):
    hold.post("steps/begin", {"key": "k"})
    assert relay.asked[0].body == b'{"generation":4,"key":"k"}'
    workbench.refusal = "stale_generation"
    for _ in range(2):
        with pytest.raises(LeaseLost):
            hold.post("steps/begin", {"key": "k"})
    assert len(relay.asked) == 2


def test_a_call_refused_for_a_lapsed_lease_is_made_anew_after_a_renewal(hold, relay, workbench):
    class Lapsed(Miniature):
        def __call__(self, asked):
            self.refusal = "lease_lapsed" if "begin" in asked.path and len(self.done) == 0 else ""
            return super().__call__(asked)

    relay.upstream = Lapsed()
    hold.post("steps/begin", {"key": "k"})
    assert [asked.path.rpartition("/")[2] for asked in relay.asked] == ["begin", "renew", "begin"]
    assert len({asked.key for asked in relay.asked}) == 3


def test_an_unreachable_workbench_stays_unreachable(hold, relay):
    relay.faults = ["before"] * 1000
    with pytest.raises(Unreachable):
        hold.post("steps/begin", {"key": "k"})


def test_the_clock_never_runs_ahead_of_the_workbench():
    clock = ServerClock(T0)
    clock.seen(T0 - timedelta(days=1))
    clock.seen(None)
    now = time.monotonic()
    assert T0 <= clock.at(now) <= T0 + timedelta(seconds=1)
    clock.seen(T0 + timedelta(seconds=100))
    assert T0 + timedelta(seconds=99) <= clock.at(time.monotonic()) <= T0 + timedelta(seconds=101)
    assert 8 < clock.until(T0 + timedelta(seconds=110)) <= 10

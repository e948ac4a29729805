"""Figures to read, not to assert: run with `-n0 -s`."""

import time
from contextlib import contextmanager

import pytest

from contracts.gates.objects import add_lines
from contracts.models import Event
from contracts.rules.parts import PARTS
from tests import builders, people

pytestmark = pytest.mark.django_db


@contextmanager
def timed(what):
    """Print how long something took, and how much of it this process itself worked."""
    wall, own = time.perf_counter(), time.process_time()
    yield
    print(f"\n{what}: {time.perf_counter() - wall:.2f} s, of which own {time.process_time() - own:.2f} s")


def paste(contract, start, count):
    lines = [
        {"object_id": f"O-{number}", "source": "P-1", "note": "of the spring show"}
        for number in range(start, start + count)
    ]
    actor = people.acting(people.owner(contract.team))
    return add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines)


@pytest.fixture
def contract():
    contract = builders.a_draft()
    builders.a_row(contract, "source")
    return contract


def test_a_paste_of_ten_thousand_lines(contract):
    with timed("10,000 lines pasted"):
        verdict = paste(contract, 1, 10_000)
    assert verdict.outcome == 10_000


def test_a_chain_of_many_events(contract, whole):
    for start in range(1, 100_000 if whole else 20_000, 20_000):
        paste(contract, start, 20_000)
    contract.refresh_from_db()
    with timed(f"{contract.event_count:,} events verified"):
        found = Event.objects.first_break(contract)
    assert found is None

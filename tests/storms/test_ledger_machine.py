"""Hundreds of histories of a task, drawn at random, on the real gates and a real target; and bugs that they find."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from contracts.gates import sending
from contracts.gates.workers import reconciling
from contracts.rules import repeating
from tests.storms.counting import Counters
from tests.storms.ledger_machine import LedgerMachine
from tests.storms.targets import targets

pytestmark = pytest.mark.django_db(transaction=True)
STEPS = 30
TWICE = "written twice"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the process of targets listens."""
    with targets(tmp_path_factory.mktemp("targets")) as address:
        yield address


def walk(machine, address, histories, **how):
    """Walk so many histories of `machine`, and return what was counted; raises what the first bad one raised."""
    machine.address, machine.counters, machine.histories = address, Counters(), 0
    known = {
        "max_examples": histories,
        "stateful_step_count": STEPS,
        "deadline": None,
        "database": None,
        "phases": [Phase.generate],
        "suppress_health_check": list(HealthCheck),
        "print_blob": False,
    }
    run_state_machine_as_test(machine, settings=settings(**known | how))
    return machine.counters


def test_ledger_and_target_agree_with_the_model_in_every_history(address, whole):
    counters = walk(LedgerMachine, address, 500 if whole else 30)
    counters.tell(f"{LedgerMachine.histories} histories of frozen, late, lost and displaced senders")
    assert LedgerMachine.histories >= (500 if whole else 30)
    assert min(counters.attempted, counters.acknowledged, counters.unknown, counters.recovered) > 0
    assert counters.duplicated == counters.unexpected == 0


class SendsAgain(LedgerMachine):
    """The seeded bug: a worker that gets no answer sends once more, as many a client library does."""

    kinds = ("nothing", "generation")

    def give_up(self, worker, number):
        worker.waiting[number] = self.leave(worker, number)


class BelievesAbsence(LedgerMachine):
    """The seeded bug is in the gates (see the test); here the model only follows, and watches the target."""

    def settle(self, write, stored):
        write.state, write.handed_over = stored.state, False


@pytest.mark.parametrize("machine", [SendsAgain, BelievesAbsence])
def test_control_a_seeded_bug_is_found_as_a_second_page(address, machine, monkeypatch):
    if machine is BelievesAbsence:
        machine.kinds = ("nothing", "generation")
        monkeypatch.setattr(reconciling, "outlook_of", _absent_is_never)
        monkeypatch.setattr(sending, "may_leave_again", lambda *_, **__: True)
    with pytest.raises(AssertionError, match=TWICE):
        walk(machine, address, 500, derandomize=True, stateful_step_count=2 * STEPS)
    machine.counters.tell(f"control, {machine.__name__}, found in history {machine.histories}")
    assert machine.counters.duplicated


def _absent_is_never(operation, *, now):
    """What a gate without settle time and fence would say: not found is never, send it again."""
    asked = operation.reconciliation["answer"]
    return repeating.FOUND if asked == "found" else repeating.GONE

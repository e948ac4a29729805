"""Fifty workers resume one task at the same moment, fifty times: one is granted it, all others are told which."""

import threading
import time
from collections import Counter
from functools import partial

import pytest

from contracts.gates.workers.owning import Grant, resume
from contracts.gates.workers.pausing import take_over
from contracts.models import Attempt, Contract, Event
from contracts.rules.granting import Offer, Waiting
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders
from tests.gates.workers.owners import OPERATOR, WHY, lapse
from tests.races.racing import race, say

pytestmark = pytest.mark.django_db(transaction=True)


def workers(number):
    return [Actor(f"worker-{one}", ActorKind.WORKER) for one in range(number)]


def resumed_at_once(contract, number):
    """Let `number` workers resume `contract` at once; return their verdicts and the seconds it took."""
    calls = [
        partial(resume, contract_id=contract.pk, actor=worker, offer=Offer()) for worker in workers(number)
    ]
    start = time.monotonic()
    verdicts = race(*calls)
    return verdicts, time.monotonic() - start


def assert_one_attempt(contract, verdicts, attempt_number=1):
    (grant,) = (verdict.outcome for verdict in verdicts if verdict.allowed)
    assert isinstance(grant, Grant)
    told = [verdict for verdict in verdicts if not verdict.allowed]
    assert {verdict.code for verdict in told} == {"resume_wait"}
    held = {(verdict.outcome.attempt_number, verdict.outcome.worker) for verdict in told}
    assert all(isinstance(verdict.outcome, Waiting) for verdict in told)
    assert held == {(grant.attempt.number, grant.attempt.worker)} == {(attempt_number, grant.attempt.worker)}
    assert Attempt.objects.filter(contract=contract, ended_at__isnull=True).count() == 1
    assert Attempt.objects.filter(contract=contract).count() == attempt_number
    contract.refresh_from_db()
    assert contract.generation == grant.attempt.generation
    assert Event.objects.first_break(contract) is None


def test_t26_of_many_who_resume_at_once_one_is_granted_the_task_and_all_others_are_told_which(whole):
    many, tasks = (50, 50) if whole else (16, 6)
    longest = 0.0
    for _ in range(tasks):
        contract = builders.a_paused()
        verdicts, seconds = resumed_at_once(contract, many)
        assert_one_attempt(contract, verdicts)
        longest = max(longest, seconds)
    say(f"{many} resumes × {tasks} tasks: one attempt each; the slowest task took {longest:.2f} s")


def test_of_many_who_find_a_lapsed_owner_one_settles_it_and_is_granted_the_task(whole):
    for _ in range(20 if whole else 3):
        contract = builders.a_paused()
        builders.done(resume(contract_id=contract.pk, actor=builders.WORKER, offer=Offer()))
        lapse(contract)
        verdicts, _ = resumed_at_once(contract, 8)
        assert_one_attempt(contract, verdicts, attempt_number=2)
        assert Event.objects.filter(contract=contract, act="lease_lapsed").count() == 1


def test_an_operator_who_takes_over_while_workers_resume_fences_whoever_was_first(whole):
    for _ in range(20 if whole else 3):
        contract = builders.a_paused()
        builders.done(resume(contract_id=contract.pk, actor=builders.WORKER, offer=Offer()))
        over = partial(take_over, contract_id=contract.pk, actor=OPERATOR, reason=WHY)
        calls = [
            partial(resume, contract_id=contract.pk, actor=worker, offer=Offer()) for worker in workers(6)
        ]
        first, *verdicts = race(over, *calls)
        assert first.code == "done"
        granted = [verdict.outcome.attempt.number for verdict in verdicts if verdict.allowed]
        assert granted in ([], [2])
        assert set(Counter(verdict.code for verdict in verdicts)) <= {"done", "resume_wait"}
        assert Attempt.objects.filter(contract=contract, number=1, end_reason="taken_over").count() == 1


def naive_resume(contract, read):
    """Read, judge, then write, as a program does whose author trusts what was read."""
    stored = Contract.objects.get(pk=contract.pk)
    read.wait(timeout=60)
    if stored.state != ContractState.PAUSED:
        return None
    stored.state, stored.generation = ContractState.RESUMING.value, stored.generation + 1
    stored.save()
    return stored.generation


def test_control_read_then_write_lets_many_believe_that_the_task_is_theirs():
    contract = builders.a_paused()
    read = threading.Barrier(8)
    owners = race(*[partial(naive_resume, contract, read) for _ in range(8)])
    assert owners == [1] * 8
    say(f"unlocked: {len(owners)} owners of one task in one generation")

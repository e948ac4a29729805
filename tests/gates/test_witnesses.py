"""Whoever is told what the gates did is told after the commit, and can spoil nothing."""

import pytest
from django.db import connection

from contracts.gates import witnesses
from contracts.gates.workers.owning import renew
from contracts.gates.workers.stepping import commit_step
from tests.gates.workers import steps
from tests.gates.workers.owners import WORKER

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_witness_that_fails_changes_nothing_of_what_was_committed(monkeypatch, caplog):
    class Broken:
        def answered(self, *_):
            raise RuntimeError

        def checkpoint_written(self, *_):
            raise RuntimeError

    contract = steps.at_work()
    monkeypatch.setattr(witnesses, "witnesses", [Broken()])
    assert commit_step(contract_id=contract.pk, **steps.told(contract, steps.a_step(1))).code == "done"
    assert caplog.text.count("a witness failed") >= 1


def test_witnesses_hear_of_it_outside_of_any_transaction(monkeypatch):
    heard = []

    class Listening:
        def answered(self, act, *_):
            heard.append((act, connection.in_atomic_block))

        def checkpoint_written(self, *_):
            heard.append(("checkpoint", connection.in_atomic_block))

    contract = steps.at_work()
    monkeypatch.setattr(witnesses, "witnesses", [Listening()])
    commit_step(contract_id=contract.pk, **steps.told(contract, steps.a_step(1)))
    renew(contract_id=contract.pk, actor=WORKER, generation=contract.generation)
    assert heard
    assert not [act for act, inside in heard if inside]
    assert {act for act, _ in heard} >= {"checkpoint", "renew"}

import threading

import pytest
from django.db import connection

from contracts.gates import answers
from contracts.gates.answers import Answer, Asked, KeyAnswered, KeyRunning, answering, settle_answer
from contracts.gates.beats import take_turn
from contracts.gates.turning_away import turn_away
from contracts.models import StoredAnswer
from contracts.rules.refusals import refusal
from contracts.rules.verdict import allow
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders

pytestmark = pytest.mark.django_db
WORKER = Actor("label-writer", ActorKind.WORKER)


def asked(contract, key="k", **given):
    def render(verdict):
        return Answer(200 if verdict.allowed else 409, "application/json", verdict.code.encode())

    return Asked(contract.pk, "label-writer", key, "a" * 64, render, **given)


def gate(contract, verdict=None, act="probe"):
    return take_turn(
        contract_id=contract.pk, actor=WORKER, act=act, body=lambda _: verdict or allow(code="done")
    )


def test_a_gate_called_by_nobody_over_http_keeps_no_answer():
    assert answers.asked() is None
    assert gate(builders.a_draft()).allowed
    assert not StoredAnswer.objects.exists()


def test_the_answer_is_stored_with_what_was_done():
    contract = builders.a_draft()
    with answering(asked(contract)) as request:
        assert answers.asked() is request
        verdict = gate(contract)
        assert request.kept == Answer(200, "application/json", b"done")
        assert settle_answer(request, verdict) is request.kept
    assert bytes(StoredAnswer.objects.get().body) == b"done"
    with answering(asked(contract)), pytest.raises(KeyAnswered) as known:
        gate(contract)
    assert known.value.stored.key == "k"


def test_a_refusal_is_stored_as_well():
    contract = builders.a_draft()
    with answering(asked(contract)):
        turn_away(contract_id=contract.pk, actor=WORKER, asked_for="x", verdict=refusal("bad_values"))
    assert (StoredAnswer.objects.get().status, bytes(StoredAnswer.objects.get().body)) == (409, b"bad_values")


def test_a_gate_of_several_turns_keeps_the_first_answer():
    contract = builders.a_draft()
    with answering(asked(contract)) as request:
        gate(contract, allow(code="first"))
        last = gate(contract, allow(code="second"))
        assert settle_answer(request, last).body == b"first"
    assert StoredAnswer.objects.count() == 1


def test_a_held_request_is_answered_at_its_end():
    contract = builders.a_draft()
    with answering(asked(contract, held=True)) as request:
        gate(contract, allow(code="first"))
        assert not StoredAnswer.objects.exists()
        last = gate(contract, allow(code="second"))
        assert settle_answer(request, last).body == b"second"
    with pytest.raises(KeyAnswered), answering(asked(contract, held=True)):
        raise AssertionError("the gate is not asked again")


def test_what_no_turn_stored_is_stored_at_the_end():
    contract = builders.a_draft()
    with answering(asked(contract)) as request:
        assert settle_answer(request, allow(code="quick")).body == b"quick"
    assert StoredAnswer.objects.count() == 1


def test_a_statement_that_stored_its_answer_says_so():
    contract = builders.a_draft()
    with answering(asked(contract)) as request:
        request.kept = Answer(201, "application/json", b"{}")
        assert settle_answer(request, allow()) is request.kept
    assert not StoredAnswer.objects.exists()


def test_nothing_is_kept_of_a_contract_that_is_gone():
    contract = builders.a_draft()
    with answering(asked(contract)) as request:
        assert settle_answer(request, refusal("contract_gone")).status == 409
    assert not StoredAnswer.objects.exists()


def test_a_twin_that_was_quicker_is_what_both_are_told(monkeypatch):
    contract = builders.a_draft()
    with answering(asked(contract)) as request:
        settle_answer(request, allow(code="twin"))
    monkeypatch.setattr(answers, "claim", lambda: None)
    with answering(asked(contract)) as request, pytest.raises(KeyAnswered):
        settle_answer(request, allow(code="late"))


def test_another_broken_constraint_is_a_fault(monkeypatch):
    contract = builders.a_draft()
    request = asked(contract)
    request.request_sha256 = "x"
    with answering(request), pytest.raises(Exception, match="answered_request_digest"):
        settle_answer(request, allow())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("held", [False, True])
def test_a_twin_meanwhile_is_told_that_the_key_is_running(held):
    contract = builders.a_draft()
    inside, finish, told = threading.Event(), threading.Event(), []

    def slow(_turn):
        inside.set()
        assert finish.wait(30)
        return allow()

    def run():
        try:
            with answering(asked(contract, held=held)) as request:
                verdict = take_turn(contract_id=contract.pk, actor=WORKER, act="probe", body=slow)
                told.append(settle_answer(request, verdict).body)
        finally:
            connection.close()

    first = threading.Thread(target=run)
    first.start()
    assert inside.wait(30)
    with pytest.raises(KeyRunning), answering(asked(contract, held=held)):
        gate(contract)
    finish.set()
    first.join(30)
    assert told == [b"done"]
    assert StoredAnswer.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_held_key_is_locked_by_a_transaction_and_never_by_the_session_of_a_page():
    """A pooler gives sessions away between transactions: a lock of the session would be lost, or stay for ever."""

    def locks(own):
        which = "=" if own else "<>"
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid {which} pg_backend_pid() "
                "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            return cursor.fetchone()[0]

    contract = builders.a_draft()
    with answering(asked(contract, held=True)):
        assert (locks(own=True), locks(own=False)) == (0, 1)
    assert (locks(own=True), locks(own=False)) == (0, 0)

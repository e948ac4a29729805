"""After a restore nothing that the lost time may have done is done again blindly."""

import io
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command

from contracts.gates.restoring import AHEAD, fence_restored, revoke_everything
from contracts.models import Attempt, Contract, Event, Operation, WorkerToken
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders, people
from tests.api.bearing import Worker
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db
BY = Actor("manage.py", ActorKind.SYSTEM)
GIVEN = {"actor": BY, "restored_to": datetime(2030, 1, 1, tzinfo=UTC), "reason": "The disk was lost."}


def a_worker_with_a_write():
    """Return a worker that holds a task and has intended a write, its ledger written first."""
    contract = builders.a_paused(tools=[builders.EXAMPLES["tool"]])
    worker = Worker(contract)
    worker.generation = worker.resume()
    body = {
        "generation": worker.generation,
        "tool": "cms.publish",
        "step": "publish",
        "parameters": {"page": "label-1"},
        "target": "cms://pages/label-1",
        "expected": "One page.",
    }
    answer = worker.post("/operations", body)
    assert answer.status_code == 201, answer.content
    return worker


def state_of(contract):
    return Operation.objects.get(contract=contract).state


def test_an_owner_is_fenced_by_a_generation_that_nobody_can_have():
    worker = a_worker_with_a_write()
    contract = worker.contract
    assert_allowed(contract, fence_restored, **GIVEN)
    contract.refresh_from_db()
    assert (contract.state, contract.generation) == ("paused", worker.generation + AHEAD)
    assert not Attempt.objects.filter(contract=contract, ended_at__isnull=True).exists()
    late = worker.post("/renew", {"generation": worker.generation})
    assert late.json()["code"] == "stale_generation"
    lost = worker.post("/renew", {"generation": worker.generation + 1})
    assert lost.json()["code"] == "stale_generation"


def test_a_write_that_was_surely_unsent_is_unknown_for_the_ledger_that_said_so_is_lost():
    contract = a_worker_with_a_write().contract
    assert state_of(contract) == "pending"
    assert_allowed(contract, fence_restored, **GIVEN)
    assert state_of(contract) == "unknown"


def test_a_takeover_alone_would_leave_that_write_to_be_sent_again():
    """The control: what is right where the ledger is whole is not enough where it was set back."""
    from contracts.gates.workers.pausing import take_over

    contract = a_worker_with_a_write().contract
    operator = people.acting(people.operator(contract.team), ActorKind.OPERATOR)
    assert_allowed(contract, take_over, actor=operator, reason="It hangs.")
    assert state_of(contract) == "pending"


def test_what_waits_without_an_owner_is_unknown_too():
    call = builders.a_call()
    assert_allowed(call.contract, fence_restored, **GIVEN)
    call.refresh_from_db()
    assert (call.state, call.generation) == ("unknown", AHEAD - 1)


def test_a_draft_stays_a_draft_and_its_generation_rises():
    contract = builders.a_draft()
    assert_allowed(contract, fence_restored, **GIVEN)
    contract.refresh_from_db()
    assert (contract.state, contract.generation) == ("draft", AHEAD)


def test_once_more_for_the_same_restore_changes_nothing_and_for_another_one_it_does():
    contract = builders.a_paused()
    assert_allowed(contract, fence_restored, **GIVEN)
    assert_unchanged(contract, fence_restored, **GIVEN)
    assert_allowed(contract, fence_restored, **{**GIVEN, "restored_to": datetime(2030, 2, 1, tzinfo=UTC)})


def test_it_needs_a_reason_and_a_contract_that_goes_on():
    assert_refused(builders.a_paused(), "reason_missing", fence_restored, **{**GIVEN, "reason": " "})
    assert_refused(builders.a_completed(), "not_open", fence_restored, **GIVEN)


def test_tokens_and_sessions_end():
    worker = a_worker_with_a_write()
    browser = visitor(people.viewer(worker.contract.team))
    assert browser.get("/").status_code == 200
    assert revoke_everything(actor=BY) == (1, 1)
    assert browser.get("/").status_code == 302
    assert worker.get().json()["code"] == "token_revoked"
    assert revoke_everything(actor=BY) == (0, 0)


# The command


def run(*words):
    out = io.StringIO()
    call_command("after_restore", *words, stdout=out)
    return out.getvalue().splitlines()


WORDS = ("--restored-to", "2030-01-01T00:00:00Z", "--reason", "The disk was lost.")


def test_the_command_does_all_of_it_and_says_what_to_ask_after():
    contract, ended = a_worker_with_a_write().contract, builders.a_completed()
    lines = run(*WORDS)
    assert lines[0] == f"{contract.task_id}: generation {1 + AHEAD}, operations to ask after: 1"
    assert lines[-1] == "1 tokens and 0 sessions ended; issue new tokens."
    assert Contract.objects.get(pk=ended.pk).generation == 0
    assert run(*WORDS)[-1].startswith("0 tokens")
    assert Event.objects.of(contract.pk).filter(act="fence_restored").count() == 1


def test_nothing_is_changed_while_a_chain_does_not_hold():
    contract = builders.a_paused()
    Contract.objects.filter(pk=contract.pk).update(event_head="f" * 64)
    worker = a_worker_with_a_write()
    with pytest.raises(CommandError, match=rf"do not hold of {contract.task_id}\."):
        run(*WORDS)
    assert state_of(worker.contract) == "pending"
    assert WorkerToken.objects.filter(revoked_at__isnull=True).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--restored-to", "yesterday", "--reason", "x"), "with its zone"),
        (("--restored-to", "2030-01-01T00:00:00", "--reason", "x"), "with its zone"),
        ((*WORDS, "--ahead", "0"), "at least 1"),
        ((*WORDS[:3], " "), "reason"),
    ],
)
def test_what_cannot_be_read_is_refused(words, said):
    builders.a_paused()
    with pytest.raises(CommandError, match=said):
        run(*words)

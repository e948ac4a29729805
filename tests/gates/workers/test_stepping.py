from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, OperationalError, transaction
from psycopg import errors

from contracts.gates import answers
from contracts.gates.workers import step_telling, stepping
from contracts.gates.workers.stepping import commit_step
from contracts.models import (
    Artefact,
    Attempt,
    Checkpoint,
    Contract,
    Event,
    JournalStep,
    StoredAnswer,
    UsageEntry,
    UsageTotal,
    WorkObject,
)
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Actor, ActorKind, Measure
from contracts.rules.windows import Seam
from tests.gates.test_beats import listening
from tests.gates.watching import assert_allowed, assert_refused, events_of, force, own
from tests.gates.workers.steps import WORKER, a_step, at_work, cap, holding, live, told, use

pytestmark = pytest.mark.django_db
# Outside a transaction of the test: only there the one statement commits by itself.
at_once = pytest.mark.django_db(transaction=True)
LABEL = {"artefact_id": "L-1", "version_label": "1", "inline_text": "Fired clay.", "source": "P-1"}


@pytest.fixture
def slow(monkeypatch):
    """Count the steps that the statement alone did not commit."""
    taken = []
    real = stepping.take_turn

    def take(**given):
        taken.append(given["subject"])
        return real(**given)

    monkeypatch.setattr(stepping, "take_turn", take)
    return taken


@at_once
def test_a_whole_step_is_one_statement(slow, django_assert_num_queries):
    contract = holding(at_work(acceptance="worker"), "O-1")
    step = a_step(
        step={"key": "draft-1", "kind": "model_turn", "result": {"text": "“Clay”"}},
        objects=[
            {"object_id": "O-1", "accept": True, "artefact": "L-1", "evidence": "logs://1", "note": "ok"}
        ],
        artefacts=[LABEL],
        usage={"tokens": "12.5", "model_turns": 1},
    )
    verdict, events = assert_allowed(contract, commit_step, **told(contract, step))
    assert slow == []
    point = Checkpoint.objects.get(contract=contract)
    assert (verdict.outcome.sequence, verdict.outcome.checkpoint_id) == (point.sequence, point.checkpoint_id)
    assert (point.sequence, point.attempt, point.generation) == (1, live(contract), contract.generation)
    assert (point.inline_state, point.committed_at) == ({"photo": 1}, contract_of(contract).revised_at)
    entry = JournalStep.objects.get(contract=contract)
    assert (entry.sequence, entry.key, entry.state, entry.result) == (
        1,
        "draft-1",
        "done",
        {"text": "“Clay”"},
    )
    assert entry.usage == {"tokens": "12.5", "model_turns": "1"}
    made = Artefact.objects.get(contract=contract)
    assert (made.author, made.source.source_id, made.current) == (WORKER.name, "P-1", True)
    row = WorkObject.objects.get(contract=contract, object_id="O-1")
    assert (row.state, row.settled_by, row.settled_at) == ("confirmed", WORKER.name, point.committed_at)
    assert (row.artefact, row.evidence, row.note) == (made, "logs://1", "ok")
    assert UsageTotal.objects.get(contract=contract).tokens == Decimal("12.5")
    assert live(contract).progressed_at == point.committed_at
    assert [(event.act, event.part, event.subject) for event in events] == [
        ("commit_step", "checkpoint", "1 · C-1"),
        ("add", "artefact", "L-1 · 1"),
        ("commit_step", "object", "O-1"),
    ]
    assert events[-1].after["state"] == "confirmed"
    with django_assert_num_queries(0):  # as Django counts; the statement goes past its cursors
        assert commit_step(contract_id=contract.pk, **told(contract, a_step(2, sequence=2))).allowed


@at_once
def test_progress_is_told_by_the_second_and_what_is_remembered_of_it_is_bounded(slow):
    contract = at_work()

    def progress_told_by(sequence):
        assert_allowed(contract, commit_step, **told(contract, a_step(sequence, sequence=sequence)))
        return live(contract).progressed_at

    long_ago = progress_told_by(1) - timedelta(minutes=1)
    Attempt.objects.filter(pk=live(contract).pk).update(progressed_at=long_ago)
    assert progress_told_by(2) == long_ago
    for generation in range(step_telling.REMEMBERED):
        step_telling.progressed(-1, generation)
    assert len(step_telling._progress) <= step_telling.REMEMBERED
    assert progress_told_by(3) > long_ago
    assert slow == []


def contract_of(contract):
    return Contract.objects.get(pk=contract.pk)


@at_once
def test_the_first_step_lets_the_task_run(slow):
    contract = force(at_work(), ContractState.RESUMING)
    _, (event,) = assert_allowed(contract, commit_step, **told(contract, a_step()))
    assert (contract_of(contract).state, event.before, event.after["state"]) == (
        "running",
        {"state": "resuming"},
        "running",
    )
    assert slow == []


def test_a_pause_that_was_requested_stays_so():
    contract = force(at_work(), ContractState.PAUSE_REQUESTED)
    assert_allowed(contract, commit_step, **told(contract, a_step()))
    assert contract_of(contract).state == "pause_requested"


@at_once
def test_what_a_person_must_accept_stays_in_progress_with_its_artefact():
    contract = holding(at_work(), "O-1")
    step = a_step(objects=[{"object_id": "O-1", "accept": True, "artefact": "L-1"}], artefacts=[LABEL])
    _, events = assert_allowed(contract, commit_step, **told(contract, step))
    row = WorkObject.objects.get(contract=contract, object_id="O-1")
    assert (row.state, row.settled_by, row.artefact.artefact_id) == ("in_progress", "", "L-1")
    assert events[-1].after["state"] == "in_progress"


@at_once
def test_a_step_found_begun_is_done_in_its_place():
    contract = at_work()
    for number, key in ((1, "other"), (2, "draft-1")):
        JournalStep(
            contract=contract, sequence=number, kind="model_turn", key=key, attempt=live(contract)
        ).save()
    step = a_step(step={"key": "draft-1", "kind": "model_turn", "result": "x"})
    assert_allowed(contract, commit_step, **told(contract, step))
    entry = JournalStep.objects.get(contract=contract, key="draft-1")
    assert (entry.sequence, entry.state, entry.result, entry.version) == (2, "done", "x", 2)
    result = {"key": "draft-1", "kind": "model_turn"}
    assert_refused(contract, "step_done", commit_step, **told(contract, a_step(2, step=result)))


def test_the_very_same_step_once_more_changes_nothing():
    contract = at_work()
    step = a_step(sequence=1)
    assert_allowed(contract, commit_step, **told(contract, step))
    known = len(events_of(contract))
    verdict = commit_step(contract_id=contract.pk, **told(contract, step))
    assert (verdict.allowed, verdict.code, verdict.outcome.sequence) == (True, "exists", 1)
    assert len(events_of(contract)) == known
    other = a_step(checkpoint={"inline_state": {"photo": 2}})
    assert_refused(contract, "checkpoint_id_once", commit_step, **told(contract, other))


def test_a_checkpoint_is_the_next_one_or_none():
    contract = at_work()
    refused = assert_refused(contract, "sequence_not_next", commit_step, **told(contract, a_step(sequence=2)))
    assert refused.values == {"sequence": 1}
    assert_allowed(contract, commit_step, **told(contract, a_step(sequence=1)))
    assert_refused(contract, "sequence_not_next", commit_step, **told(contract, a_step(2, sequence=1)))


def test_t01_a_checkpoint_without_the_objects_it_claims_is_not_stored():
    contract = holding(at_work(acceptance="worker"), "O-1")
    objects = [{"object_id": "O-1", "accept": True}, {"object_id": "O-2", "accept": True}]
    refused = assert_refused(
        contract, "object_not_held", commit_step, **told(contract, a_step(objects=objects))
    )
    assert refused.outcome == ("O-2",)
    assert not Checkpoint.objects.filter(contract=contract).exists()
    assert WorkObject.objects.get(contract=contract, object_id="O-1").state == "in_progress"


@at_once
def test_t04_a_frozen_worker_that_thaws_is_refused_and_forks_nothing():
    contract = at_work()
    assert_allowed(contract, commit_step, **told(contract, a_step()))
    late = told(contract, a_step(2))
    own(contract)
    assert_refused(contract, "stale_generation", commit_step, **late)
    assert_allowed(contract, commit_step, **told(contract, a_step(3)))
    kept = Checkpoint.objects.of(contract.pk).values_list("sequence", "checkpoint_id")
    assert list(kept) == [(1, "C-1"), (2, "C-3")]


def test_t11_what_was_used_is_added_up_over_all_attempts():
    contract = at_work()
    cap(contract, Measure.TOKENS, 100)
    assert_allowed(contract, commit_step, **told(contract, a_step(usage={"tokens": "60"})))
    own(contract)
    refused = assert_refused(
        contract, "cap_reached", commit_step, **told(contract, a_step(2, usage={"tokens": "41"}))
    )
    assert refused.values == {"measure": Measure.TOKENS}
    assert_allowed(contract, commit_step, **told(contract, a_step(2, usage={"tokens": "40"})))
    assert_allowed(contract, commit_step, **told(contract, a_step(3, usage={"model_turns": 1})))
    assert UsageTotal.objects.get(contract=contract).tokens == 100
    assert UsageEntry.objects.filter(contract=contract, measure="tokens").count() == 2


def test_the_time_of_the_running_attempt_counts_against_its_cap():
    contract = at_work()
    cap(contract, Measure.ACTIVE_SECONDS, 50)
    use(contract, Measure.ACTIVE_SECONDS, 49)
    earlier = live(contract).started_at.replace(year=2020)
    Attempt.objects.filter(pk=live(contract).pk).update(started_at=earlier)
    assert_refused(contract, "cap_reached", commit_step, **told(contract, a_step()))
    Attempt.objects.filter(pk=live(contract).pk).update(by_hand=True)  # people count such time themselves
    assert_allowed(contract, commit_step, **told(contract, a_step()))


def refusing(contract):
    now = live(contract).started_at
    yield "not_open", lambda: force(contract, ContractState.PAUSED), {}
    yield "deadline_passed", lambda: Contract.objects.filter(pk=contract.pk).update(deadline=now), {}
    yield "not_owner", lambda: None, {"actor": Actor("other", ActorKind.WORKER)}
    yield "lease_lapsed", lambda: Attempt.objects.filter(contract=contract).update(lease_end=now), {}
    yield "stale_generation", lambda: None, {"generation": contract.generation - 1}


@pytest.mark.parametrize("number", range(5))
def test_who_is_not_the_live_owner_commits_nothing(number):
    contract = at_work()
    code, change, given = list(refusing(contract))[number]
    change()
    assert_refused(contract, code, commit_step, **told(contract, a_step(), **given))


def test_names_that_lead_nowhere_are_refused():
    contract = holding(at_work(), "O-1")
    step = a_step(objects=[{"object_id": "O-1", "artefact": "L-9"}])
    assert_refused(contract, "unknown_reference", commit_step, **told(contract, step))
    for source in ({"source": "P-9"}, {"source": "P-1", "source_version": "9"}):
        step = a_step(artefacts=[LABEL, {**LABEL, "artefact_id": "L-2", **source}])
        assert_refused(contract, "unknown_reference", commit_step, **told(contract, step))
    assert_allowed(contract, commit_step, **told(contract, a_step(artefacts=[LABEL])))
    for version in ({"artefact_version": "2"}, {"artefact_sha256": "a" * 64}):
        step = a_step(2, objects=[{"object_id": "O-1", "artefact": "L-1", **version}])
        assert_refused(contract, "unknown_reference", commit_step, **told(contract, step))


@at_once
def test_a_further_version_becomes_current_and_lets_the_older_give_way(slow):
    contract = holding(at_work(), "O-1")
    assert_allowed(contract, commit_step, **told(contract, a_step(artefacts=[LABEL])))
    second = {**LABEL, "version_label": "2", "inline_text": "Fired clay, 1931."}
    step = a_step(2, artefacts=[second], objects=[{"object_id": "O-1", "artefact": "L-1"}])
    _, events = assert_allowed(contract, commit_step, **told(contract, step))
    assert slow == ["C-2"]
    rows = Artefact.objects.of(contract.pk).values_list("version_label", "current")
    assert list(rows) == [("1", False), ("2", True)]
    assert WorkObject.objects.get(contract=contract, object_id="O-1").artefact.version_label == "2"
    assert ("add", "artefact") in [(event.act, event.part) for event in events]
    # The same version once more is there already; an older one does not come back under its old name.
    assert_allowed(contract, commit_step, **told(contract, a_step(3, artefacts=[second])))
    assert_refused(
        contract, "artefact_version_once", commit_step, **told(contract, a_step(4, artefacts=[LABEL]))
    )


@at_once
def test_the_chain_holds_whatever_a_text_holds(slow):
    contract = holding(at_work(acceptance="worker"), "O-1")
    note = 'A “quote”, a "plain" one, a \\ and a 夏\nnext line\ttab \u00e9'
    step = a_step(
        checkpoint={
            "checkpoint_id": "夏天 7",
            "event_cursor": 'c"\\1',
            "inline_state": {"f": 1.5, "e": 1e-7},
        },
        step={"key": "draft-夏", "kind": "decision", "result_location": "s3://x", "result_sha256": "b" * 64},
        objects=[{"object_id": "O-1", "accept": True, "note": note, "artefact": "L-夏"}],
        artefacts=[{**LABEL, "artefact_id": "L-夏", "note": note, "inline_text": note}],
        usage={"cost": "0.000001"},
    )
    assert_allowed(contract, commit_step, **told(contract, step))
    assert slow == []
    assert Event.objects.of(contract.pk).last().after["note"] == note


def test_inside_a_transaction_no_step_is_durable():
    contract = at_work()
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        commit_step(contract_id=contract.pk, **told(contract, a_step()))


def request_of(contract, key="key-1"):
    def render(verdict):
        return answers.Answer(201 if verdict.allowed else 409, "application/json", verdict.code.encode())

    return answers.Asked(contract.pk, WORKER.name, key, "a" * 64, render)


@at_once
def test_the_answer_to_a_request_is_stored_by_the_same_statement(slow):
    contract = at_work()
    with answers.answering(request_of(contract)) as request:
        assert_allowed(contract, commit_step, **told(contract, a_step(sequence=1)))
    assert slow == []
    stored = StoredAnswer.objects.get(contract=contract)
    assert (stored.worker, stored.key, stored.request_sha256) == (WORKER.name, "key-1", "a" * 64)
    assert (stored.status, stored.content_type, bytes(stored.body)) == (201, "application/json", b"done")
    assert request.kept == answers.Answer(201, "application/json", b"done")


@at_once
def test_a_request_whose_sequence_is_not_told_is_answered_the_slow_way(slow):
    contract = at_work()
    with answers.answering(request_of(contract)):
        assert_allowed(contract, commit_step, **told(contract, a_step()))
    assert slow == ["C-1"]
    assert bytes(StoredAnswer.objects.get(contract=contract).body) == b"done"


@at_once
def test_a_key_that_was_answered_gets_its_answer_whatever_step_comes_with_it():
    contract = at_work()
    with answers.answering(request_of(contract)):
        assert_allowed(contract, commit_step, **told(contract, a_step(sequence=1)))
    for number in (1, 2):
        with answers.answering(request_of(contract)), pytest.raises(answers.KeyAnswered) as told_before:
            commit_step(contract_id=contract.pk, **told(contract, a_step(number, sequence=number)))
        assert bytes(told_before.value.stored.body) == b"done"
    assert Checkpoint.objects.filter(contract=contract).count() == 1


def failing(monkeypatch, *outcomes):
    """Let the statement come out as `outcomes` say, one after another, and then as it does."""
    left, real = list(outcomes), stepping.execute

    def run(*given):
        if not left:
            return real(*given)
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(stepping, "execute", run)
    return left


def conflict(cause):
    error = OperationalError()
    error.__cause__ = cause
    return error


@at_once
@pytest.mark.parametrize(
    "fault", [IntegrityError(), conflict(errors.DeadlockDetected()), conflict(errors.SerializationFailure())]
)
def test_after_a_conflict_the_step_goes_the_slow_way(monkeypatch, slow, fault):
    contract = at_work()
    failing(monkeypatch, fault)
    assert_allowed(contract, commit_step, **told(contract, a_step()))
    assert slow == ["C-1"]


@at_once
def test_any_other_fault_of_the_database_is_raised(monkeypatch):
    contract = at_work()
    failing(monkeypatch, conflict(errors.AdminShutdown()))
    with pytest.raises(OperationalError):
        commit_step(contract_id=contract.pk, **told(contract, a_step()))


@at_once
def test_where_the_clock_ran_on_between_rule_and_statement_the_rule_is_asked_again(monkeypatch):
    contract = at_work()
    failing(monkeypatch, None, None)  # at once, and then under the lock
    assert_allowed(contract, commit_step, **told(contract, a_step(artefacts=[LABEL])))
    assert Artefact.objects.filter(contract=contract).count() == 1


@at_once
def test_a_statement_that_refuses_what_the_rule_allows_is_a_fault_of_the_program(monkeypatch):
    contract = at_work()
    failing(monkeypatch, *[None] * 4)
    with pytest.raises(AssertionError, match="rule allows"):
        commit_step(contract_id=contract.pk, **told(contract, a_step()))
    assert not Checkpoint.objects.filter(contract=contract).exists()


@at_once
def test_a_step_passes_a_seam_before_and_one_behind_its_statement():
    contract, passed = at_work(), []
    with listening(lambda seam, gate: passed.append((seam, gate))):
        commit_step(contract_id=contract.pk, **told(contract, a_step()))
    assert passed == [(Seam.BEGUN, "commit_step"), (Seam.COMMITTED, "commit_step")]


def test_under_the_lock_a_step_may_refer_to_a_version_that_stands_already():
    contract = holding(at_work(), "O-1")
    assert_allowed(contract, commit_step, **told(contract, a_step(artefacts=[LABEL])))
    step = a_step(2, objects=[{"object_id": "O-1", "artefact": "L-1", "artefact_version": "1"}])
    assert_allowed(contract, commit_step, **told(contract, step))
    row = WorkObject.objects.joined().get(contract=contract, object_id="O-1")
    assert (row.state, row.artefact.version_label) == ("in_progress", "1")

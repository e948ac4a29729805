"""What ended long ago loses what need not be kept, and keeps what proves it and what forbids a repeat."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command

from contracts.exports.json_form import stream_json
from contracts.exports.snapshot import open_snapshot
from contracts.gates.beats import database_now
from contracts.gates.retention import foresee, retire
from contracts.models import Artefact, Checkpoint, Contract, Event, JournalStep, PlaneRow, StoredAnswer
from contracts.rules.document import check_document
from contracts.rules.fingerprint import canonical, digest_bytes
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders, people
from tests.api.bearing import Worker, a_step
from tests.gates.watching import assert_allowed, assert_refused, assert_unchanged, events_of, snapshot

pytestmark = pytest.mark.django_db
BY = Actor("manage.py", ActorKind.SYSTEM)
RESULT = {"text": "Fired clay, about 1931."}
BOTH = ("conversation", "checkpoint")


def a_worked_task(retention_days=30):
    """Return a worker of a completed contract, with a state, a result, a draft and answers."""
    contract = builders.a_paused(identity={**builders.complete_keys()["identity"], "acceptance": "worker"})
    PlaneRow.objects.filter(contract=contract, plane__in=BOTH).update(retention_days=retention_days)
    worker = Worker(contract)
    generation = worker.resume()
    assert (
        worker.post(
            "/steps/begin", {"generation": generation, "key": "draft", "kind": "model_turn"}
        ).status_code
        == 200
    )
    worker.post("/objects/take", {"generation": generation, "count": 1})
    entry = {"key": "draft", "kind": "model_turn", "result": RESULT}
    made = {"artefact_id": "L-1", "version_label": "1", "inline_text": "Fired clay."}
    accepted = {"object_id": "O-1", "accept": True, "artefact": {"artefact_id": "L-1"}, "evidence": "read"}
    step = a_step(1, generation, step=entry, artefacts=[made], objects=[accepted])
    answer = worker.post("/steps/commit", step, key="once")
    assert answer.status_code == 201, answer.content
    assert worker.post("/complete", {"generation": generation}).status_code == 200
    worker.step = step
    return worker


def ended(worker, days=40):
    """Let the contract have ended so many days ago; time alone is moved by hand."""
    moment = database_now() - timedelta(days=days)
    Contract.objects.filter(pk=worker.contract.pk).update(completed_at=moment)
    worker.contract.refresh_from_db()
    return worker.contract


def soon():
    return database_now() + timedelta(days=1)


def exported(contract):
    with open_snapshot(contract.pk) as taken:
        return json.loads(b"".join(stream_json(taken)))


def test_states_results_and_answers_go_and_everything_else_stays():
    contract = ended(a_worked_task())
    before = snapshot(contract)
    verdict, events = assert_allowed(contract, retire, actor=BY, ended_before=soon())
    assert (verdict.outcome.states, verdict.outcome.results, verdict.outcome.answers) == (1, 1, 5)
    assert verdict.outcome.octets > 0
    (event,) = events
    assert (event.act, event.actor, event.after["removed_results"]) == ("retire", "manage.py", 1)
    after = snapshot(contract)
    same = set(before) - {"contract", "Checkpoint", "JournalStep"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert Artefact.objects.get(contract=contract).inline_text == "Fired clay."


def test_what_went_is_known_by_its_checksum():
    contract = ended(a_worked_task())
    sealed = Checkpoint.objects.get(contract=contract).sha256
    retire(contract_id=contract.pk, actor=BY, ended_before=soon())
    point, step = Checkpoint.objects.get(contract=contract), JournalStep.objects.get(contract=contract)
    assert (point.inline_state, point.sha256, point.location) == (None, sealed, f"retired:sha256:{sealed}")
    digest = digest_bytes(canonical(RESULT))
    assert (step.result, step.result_sha256) == (None, digest)
    assert step.result_location == f"retired:sha256:{digest}"
    assert not JournalStep.objects.filter(contract=contract, result__isnull=False).exists()


def test_a_second_time_changes_nothing():
    contract = ended(a_worked_task())
    retire(contract_id=contract.pk, actor=BY, ended_before=soon())
    assert_unchanged(contract, retire, actor=BY, ended_before=soon())
    assert Event.objects.of(contract.pk).filter(act="retire").count() == 1


def test_the_key_of_a_request_is_still_recognised_and_nothing_is_done_again():
    worker = a_worked_task()
    contract = ended(worker)
    retire(contract_id=contract.pk, actor=BY, ended_before=soon())
    chain = len(events_of(contract))
    again = worker.post("/steps/commit", worker.step, key="once")
    assert (again.status_code, again.json()["code"]) == (410, "answer_retired")
    assert again["Idempotency-Replayed"] == "true"
    other = worker.post("/steps/commit", {**worker.step, "generation": 9}, key="once")
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert len(events_of(contract)) == chain
    assert Checkpoint.objects.filter(contract=contract).count() == 1


def test_without_its_row_the_same_key_is_taken_for_a_new_request():
    """The control: had the whole answer been deleted, the replay would be carried out, and refused by luck alone."""
    worker = a_worked_task()
    contract = ended(worker)
    chain = len(events_of(contract))
    StoredAnswer.objects.filter(contract=contract, key="once").delete()
    assert worker.post("/steps/commit", worker.step, key="once").json()["code"] != "answer_retired"
    assert len(events_of(contract)) == chain + 1


def test_a_retired_contract_is_exported_and_read_back():
    contract = ended(a_worked_task())
    retire(contract_id=contract.pk, actor=BY, ended_before=soon())
    document = exported(contract)
    (step,) = document["journal"]
    assert step["result"] is None
    assert list(check_document(document).problems) == []


def test_a_contract_that_goes_on_keeps_everything():
    assert_refused(builders.a_paused(), "not_open", retire, actor=BY, ended_before=soon())


def test_a_contract_that_ended_later_keeps_everything():
    contract = ended(a_worked_task(), days=40)
    day = database_now() - timedelta(days=41)
    assert_refused(contract, "not_ended_by_then", retire, actor=BY, ended_before=day)


@pytest.mark.parametrize(("retention_days", "days"), [(None, 6), (30, 29), (365, 364)])
def test_what_the_planes_say_is_kept_until_then(retention_days, days):
    worker = a_worked_task(retention_days)
    assert_refused(ended(worker, days), "kept_longer", retire, actor=BY, ended_before=soon())
    assert_allowed(ended(worker, days + 2), retire, actor=BY, ended_before=soon())


def test_a_cancelled_contract_may_go_too_and_one_without_content_has_nothing_to_lose():
    contract = builders.a_cancelled()
    PlaneRow.objects.filter(contract=contract).update(retention_days=None)
    Contract.objects.filter(pk=contract.pk).update(cancelled_at=database_now() - timedelta(days=8))
    assert_unchanged(contract, retire, actor=BY, ended_before=soon())


def test_foreseeing_says_the_same_and_writes_nothing():
    contract = ended(a_worked_task())
    before, chain = snapshot(contract), len(events_of(contract))
    foreseen = foresee(contract_id=contract.pk, ended_before=soon())
    assert (snapshot(contract), len(events_of(contract))) == (before, chain)
    done = retire(contract_id=contract.pk, actor=BY, ended_before=soon())
    assert (foreseen.code, foreseen.outcome) == (done.code, done.outcome)
    assert foresee(contract_id=contract.pk, ended_before=soon()).code == "unchanged"
    assert foresee(contract_id=builders.a_paused().pk, ended_before=soon()).code == "not_open"
    assert foresee(contract_id=0, ended_before=soon()).code == "contract_gone"


def test_more_results_than_one_batch_go_all(monkeypatch):
    from contracts.gates import retention

    contract = ended(a_worked_task())
    for number in range(2, 6):
        row = JournalStep.objects.get(contract=contract, sequence=1)
        row.pk, row.sequence, row.key = None, number, f"draft-{number}"
        row.save()
    monkeypatch.setattr(retention, "BATCH", 2)
    assert retire(contract_id=contract.pk, actor=BY, ended_before=soon()).outcome.results == 5
    assert not JournalStep.objects.filter(contract=contract, result__isnull=False).exists()


# The command


def run(day, **options):
    out = io.StringIO()
    call_command("retire", "--ended-before", day, stdout=out, **options)
    return out.getvalue().splitlines()


def test_the_command_takes_what_ended_before_a_day_and_says_what_is_kept():
    old, kept = ended(a_worked_task()), ended(a_worked_task(retention_days=365), days=50)
    young = ended(a_worked_task(), days=1)
    day = f"{database_now() - timedelta(days=20):%Y-%m-%d}"
    foreseen = run(day, dry_run=True)
    assert JournalStep.objects.filter(result__isnull=False).count() == 3
    lines = run(day)
    assert [line.partition(":")[0] for line in lines[:-1]] == [kept.task_id, old.task_id]
    assert "is kept until" in lines[0]
    assert lines[1].startswith(f"{old.task_id}: 1 states, 1 results, 5 answers, ")
    assert lines[-1].startswith("Removed 1 states")
    assert foreseen[:-1] == lines[:-1]
    left = JournalStep.objects.filter(result__isnull=False).values_list("contract", flat=True)
    assert set(left) == {kept.pk, young.pk}
    assert run(day)[-1].startswith("Removed 0 states")


def test_a_day_is_read_from_words():
    from contracts.management.commands.retire import day

    assert day("2030-12-31") == datetime(2030, 12, 31, tzinfo=UTC)
    with pytest.raises(CommandError, match="a day is written like"):
        call_command("retire", "--ended-before", "yesterday")


def test_people_are_shown_what_was_removed(client):
    contract = ended(a_worked_task())
    retire(contract_id=contract.pk, actor=BY, ended_before=soon())
    client.force_login(people.owner(contract.team))
    page = client.get(f"/contracts/{contract.task_id}/events/").content.decode()
    assert "What need not be kept was removed" in page
    assert "removed_states" not in page

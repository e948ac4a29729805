"""Back to a moment from a base backup and the archived log, and what is to be done before anybody works on."""

import io
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import connection

from contracts.gates.beats import database_now
from contracts.models import Contract, Event, Operation
from tests.api.bearing import Worker, a_step
from tests.gates.test_restoring import a_worker_with_a_write
from tests.operations.restoring import servers, working_on


@pytest.fixture
def lost_and_restored(django_db_blocker):
    """A server set back to a moment at which a worker had intended a write, and what was done after it."""
    with django_db_blocker.unblock(), servers() as both:
        with working_on(both.start()):
            call_command("migrate", interactive=False, verbosity=0)
            call_command("createcachetable", verbosity=0)
            before = a_task_before(both)
            lost = work_that_will_be_lost(before)
        both.lose()
        with working_on(both.restore(before.moment)):
            yield before, lost


def a_task_before(both):
    """Take the backup first, so that what follows comes out of the archive."""
    both.back_up()
    worker = a_worker_with_a_write()
    moment = database_now().isoformat()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.01)")  # what follows is later by the clock of the log, too
    return SimpleNamespace(worker=worker, moment=moment, generation=worker.generation)


def work_that_will_be_lost(before):
    """Send the write, report it, and let the worker end; another owner then does a step."""
    worker, generation = before.worker, before.generation
    key = Operation.objects.get(contract=worker.contract).key
    told = {"generation": generation, "result": "confirmed", "reference": "page-1"}
    assert worker.post(f"/operations/{key}/dispatch", {"generation": generation}).status_code == 200
    assert worker.post(f"/operations/{key}/report", told).status_code == 200
    assert worker.post("/release", {"generation": generation, "reason": "given_up"}).status_code == 200
    later = worker.resume()
    assert worker.post("/steps/commit", a_step(1, later)).status_code == 201
    chain = Event.objects.of(worker.contract.pk).count()
    return SimpleNamespace(generation=later, events=chain, key=key)


def test_a_database_set_back_to_a_moment_holds_its_chain_and_is_fenced_against_the_time_it_lost(
    lost_and_restored,
):
    before, lost = lost_and_restored
    contract = Contract.objects.get()
    assert Event.objects.first_break(contract) is None
    assert contract.event_count < lost.events
    assert (contract.generation, Operation.objects.get().state) == (before.generation, "pending")
    # The control: at this point the page that stands in the target would be written a second time.
    assert contract.generation + 1 == lost.generation
    said = set_right(before.moment)
    contract.refresh_from_db()
    assert "operations to ask after: 1" in said
    assert contract.generation > lost.generation
    assert (contract.state, Operation.objects.get().state) == ("paused", "unknown")
    assert Event.objects.first_break(contract) is None
    check_that_nobody_goes_on(contract, before, lost)


def set_right(moment):
    out = io.StringIO()
    call_command("after_restore", "--restored-to", moment, "--reason", "The disk was lost.", stdout=out)
    return out.getvalue()


def check_that_nobody_goes_on(contract, before, lost):
    """Neither with the old token nor, with a new one, under a generation that was granted in the lost time."""
    assert before.worker.get().json()["code"] == "token_revoked"
    worker = Worker(contract)
    for generation in (before.generation, lost.generation):
        late = worker.post("/steps/commit", a_step(2, generation))
        assert late.json()["code"] == "stale_generation"
    generation = worker.resume()
    assert generation > contract.generation > lost.generation
    again = worker.post(f"/operations/{lost.key}/dispatch", {"generation": generation})
    assert again.status_code == 409
    assert Operation.objects.get().state == "unknown"

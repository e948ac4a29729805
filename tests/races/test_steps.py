"""Many committers and takers at once, with connections of their own; what is unfenced must lose."""

import time
from decimal import Decimal
from functools import partial

import pytest
from django.db import connection

from contracts.gates.beats import database_now
from contracts.gates.workers.handing_out import hand_out
from contracts.gates.workers.stepping import commit_step
from contracts.models import Checkpoint, Event, Limit, UsageEntry, UsageTotal, WorkObject
from contracts.rules.vocabulary import Measure
from tests.gates.watching import events_of, own
from tests.gates.workers.steps import WORKER, a_step, at_work, cap, holding, live, told
from tests.races.racing import codes, race, say

pytestmark = pytest.mark.django_db(transaction=True)
COMMITTERS, TAKERS, OBJECTS, BATCH = 8, 32, 4_000, 25


def committing(contract, number, **parts):
    return partial(commit_step, contract_id=contract.pk, **told(contract, a_step(number, **parts)))


def test_t03_two_branches_that_patch_different_objects_at_once_both_survive():
    for _ in range(5):
        contract = holding(at_work(COMMITTERS, acceptance="worker"))
        calls = [
            committing(contract, n, objects=[{"object_id": f"O-{n}", "accept": True, "note": f"By {n}."}])
            for n in range(1, COMMITTERS + 1)
        ]
        assert codes(race(*calls)) == ["done"] * COMMITTERS
        rows = WorkObject.objects.of(contract.pk).values_list("object_id", "state", "note")
        assert list(rows) == [(f"O-{n}", "confirmed", f"By {n}.") for n in range(1, COMMITTERS + 1)]
        sequences = Checkpoint.objects.of(contract.pk).values_list("sequence", flat=True)
        assert list(sequences) == list(range(1, COMMITTERS + 1))
        events_of(contract)


def test_of_committers_of_one_and_the_same_next_checkpoint_one_wins():
    for _ in range(5):
        contract = at_work()
        found = codes(race(*(committing(contract, n, sequence=1) for n in range(COMMITTERS))))
        assert found == ["done"] + ["sequence_not_next"] * (COMMITTERS - 1)
        events_of(contract)


def test_the_very_same_step_sent_at_once_is_committed_once():
    contract = at_work()
    found = codes(race(*(committing(contract, 1, sequence=1) for _ in range(COMMITTERS))))
    assert found == ["done"] + ["exists"] * (COMMITTERS - 1)
    assert Checkpoint.objects.filter(contract=contract).count() == 1


def test_t04_a_thawing_owner_and_its_successor_never_fork_the_chain():
    for _ in range(10):
        contract = at_work()
        late = [committing(contract, n) for n in range(4)]

        def succeed(contract=contract):
            from django.db import transaction

            from contracts.gates.beats import lock_contract

            with transaction.atomic():
                lock_contract(contract.pk)
                own(contract)
            return commit_step(contract_id=contract.pk, **told(contract, a_step(99)))

        verdicts = race(*late, succeed)
        assert verdicts[-1].code == "done"
        assert set(codes(verdicts[:-1])) <= {"done", "stale_generation"}
        rows = list(Checkpoint.objects.of(contract.pk).values_list("sequence", "generation"))
        assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
        assert [row[1] for row in rows] == sorted(row[1] for row in rows)
        events_of(contract)


def using(contract, number):
    return committing(contract, number, usage={"tokens": "10"})


def test_r10_no_step_goes_beyond_a_cap_however_many_commit_at_once():
    contract = at_work()
    cap(contract, Measure.TOKENS, 100)
    for start in range(0, 20, COMMITTERS):
        race(*(using(contract, start + n) for n in range(COMMITTERS)))
    assert UsageTotal.objects.get(contract=contract).tokens == 100
    assert Checkpoint.objects.filter(contract=contract).count() == 10
    assert Event.objects.filter(contract=contract, refused="cap_reached").count() == 3 * COMMITTERS - 10


def look_then_use(contract):
    """Add up and compare first, and store afterwards: the shape that must lose."""

    def act():
        limit = Limit.objects.get(contract=contract, measure="tokens").cap
        used = UsageEntry.objects.filter(contract=contract).totals().get("tokens", Decimal(0))
        if used + 10 > limit:
            return
        time.sleep(0.01)  # as long as a model takes to say nothing
        entry = UsageEntry(contract=contract, measure="tokens", amount=Decimal(10), used_at=database_now())
        entry.entry_id = f"x-{time.perf_counter_ns()}"
        entry.save()

    return act


def test_r10_control_looking_first_and_storing_afterwards_oversteps():
    contract = at_work()
    cap(contract, Measure.TOKENS, 50)
    for _ in range(5):
        race(*(look_then_use(contract) for _ in range(COMMITTERS)))
    assert UsageTotal.objects.get(contract=contract).tokens > 50


def taking(contract, taken):
    """Take objects until none are left, as one of an owner's threads does."""

    def act():
        while batch := hand_out(
            contract_id=contract.pk, actor=WORKER, generation=contract.generation, count=BATCH
        ).outcome:
            taken.extend(row.object_id for row in batch)

    return act


def test_r9_of_4000_objects_none_is_handed_out_twice_to_32_takers():
    contract, taken = at_work(OBJECTS), []
    start = time.perf_counter()
    race(*(taking(contract, taken) for _ in range(TAKERS)))
    seconds = time.perf_counter() - start
    say(f"{OBJECTS} objects to {TAKERS} takers by {BATCH}: {OBJECTS / seconds:,.0f} per second")
    assert len(taken) == OBJECTS
    assert set(taken) == {f"O-{n}" for n in range(1, OBJECTS + 1)}
    assert set(WorkObject.objects.filter(contract=contract).values_list("state", "attempt")) == {
        ("in_progress", live(contract).pk)
    }
    events_of(contract)


def look_then_take(contract, taken):
    """Read what is left and mark it afterwards, without a lock or a condition: the shape that must lose."""

    def act():
        for _ in range(10):
            rows = WorkObject.objects.of(contract.pk).filter(state="pending")
            batch = list(rows.values_list("pk", flat=True)[:BATCH])
            WorkObject.objects.filter(pk__in=batch).update(state="in_progress", attempt=live(contract))
            taken.extend(batch)

    return act


def test_r9_control_looking_first_and_marking_afterwards_hands_out_twice():
    contract, taken = at_work(500), []
    race(*(look_then_take(contract, taken) for _ in range(8)))
    assert len(taken) > len(set(taken))


def test_r9_at_the_level_of_sql_the_statement_hands_out_enough(capsys):
    """Not asserted: what a machine gives is read, not judged."""
    contract = at_work(OBJECTS)
    start, count = time.perf_counter(), 0
    while batch := hand_out(
        contract_id=contract.pk, actor=WORKER, generation=contract.generation, count=BATCH
    ).outcome:
        count += len(batch)
    with capsys.disabled():
        say(
            f"\n{count} objects to one taker by {BATCH}: {count / (time.perf_counter() - start):,.0f} per second"
        )
    assert (count, connection.in_atomic_block) == (OBJECTS, False)

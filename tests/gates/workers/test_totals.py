"""Over twenty restarts of every kind no total falls, and no new owner begins at zero."""

import random
from decimal import Decimal

import pytest

from contracts.gates.beats import database_now
from contracts.gates.workers.owning import release, resume
from contracts.gates.workers.pausing import take_over
from contracts.models import UsageEntry, UsageTotal
from contracts.rules.granting import Offer, Released
from contracts.rules.limiting import PER_STEP
from contracts.rules.vocabulary import Measure
from tests import builders
from tests.gates.watching import events_of
from tests.gates.workers.owners import OPERATOR, OTHER, WHY, WORKER, a_task, began, cap, granted, lapse

pytestmark = pytest.mark.django_db
RESTARTS = 20
COUNTED = [Measure.MODEL_TURNS, Measure.TOOL_ATTEMPTS, Measure.TOKENS, Measure.COST]


def used_by(contract, attempt, chance, number):
    """Let the attempt have used random amounts."""
    for measure in COUNTED:
        UsageEntry.objects.create(
            contract=contract,
            entry_id=f"{measure.value}-{number}",
            measure=measure.value,
            amount=Decimal(chance.randrange(10**6)) / 1000,
            attempt=attempt,
            used_at=database_now(),
        )


def end(contract, attempt, chance):
    """End the attempt in one of four ways."""
    began(contract, seconds=chance.randrange(1, 90))
    mine = {"contract_id": contract.pk, "actor": WORKER, "generation": attempt.generation}
    way = chance.randrange(4)
    if way == 0:
        lapse(contract, seconds=chance.randrange(1, 90), active=chance.randrange(1, 90))
    elif way == 1:
        builders.done(take_over(contract_id=contract.pk, actor=OPERATOR, reason=WHY))
    else:
        builders.done(release(**mine, reason=list(Released)[way - 1]))


def summed(contract):
    sums = UsageEntry.objects.filter(contract=contract).totals()
    return {measure.value: sums.get(measure.value, Decimal(0)) for measure in Measure}


def kept(contract):
    """Return the totals kept by the server for what is counted over the whole task."""
    row = UsageTotal.objects.get(contract=contract)
    return {m.value: getattr(row, m.value) for m in Measure if m not in PER_STEP}


def test_t11_totals_never_fall_over_twenty_restarts():
    chance = random.Random(20)  # the same restarts each time
    contract = a_task()
    for measure in Measure:
        cap(contract, measure.value, None)
    before, generation = summed(contract), 0
    for number in range(RESTARTS):
        grant = granted(contract)
        assert grant.attempt.generation > generation
        generation = grant.attempt.generation
        left = {
            one.measure.value: one.total for one in grant.decision.work.left if one.measure not in PER_STEP
        }
        assert left == {name: total for name, total in summed(contract).items() if name in left}
        used_by(contract, grant.attempt, chance, number)
        end(contract, grant.attempt, chance)
        after = summed(contract)
        assert all(after[name] >= before[name] for name in before)
        assert {name: after[name] for name in kept(contract)} == kept(contract)
        before = after
    granted(contract)  # settles the last one, should it have lapsed
    assert summed(contract)["active_seconds"] > 0
    assert UsageEntry.objects.filter(contract=contract, measure="active_seconds").count() == RESTARTS
    assert events_of(contract)


def test_t66_an_owner_that_takes_over_at_95_percent_starts_at_95_percent():
    contract = a_task()
    cap(contract, "tokens", "1000")
    first = granted(contract)
    UsageEntry.objects.create(
        contract=contract,
        entry_id="much",
        measure="tokens",
        amount=950,
        attempt=first.attempt,
        used_at=database_now(),
    )
    builders.done(take_over(contract_id=contract.pk, actor=OPERATOR, reason=WHY))
    second = granted(contract, OTHER)
    tokens = next(one for one in second.decision.work.left if one.measure is Measure.TOKENS)
    assert (tokens.total, tokens.left, tokens.level.value) == (950, 50, "close")
    UsageEntry.objects.create(
        contract=contract, entry_id="rest", measure="tokens", amount=50, used_at=database_now()
    )
    lapse(contract)
    verdict = resume(contract_id=contract.pk, actor=WORKER, offer=Offer())
    assert verdict.code == "resume_escalate"
    assert verdict.outcome.deciding.values["measure"] == "Tokens"

"""Whoever holds nothing but the exported document comes to the same verdict as the server."""

import json
from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.gates.beats import database_now
from contracts.models import Attempt
from contracts.models.standing import gather_facts
from contracts.rules.resume_facts import Caller
from contracts.rules.resume_findings import CheckName
from contracts.rules.resume_reading import facts_of
from contracts.rules.resuming import decide
from contracts.rules.vocabulary import ActorKind
from tests.exports.telling import as_json
from tests.random_contracts import WORKERS, a_random_contract

pytestmark = pytest.mark.django_db
UNKNOWN_TO_A_DOCUMENT = {"chain_whole", "chain_from"}


def a_caller(chance, contract):
    holder = Attempt.objects.filter(contract=contract, ended_at__isnull=True).first()
    claimed = {}
    if holder and chance.random() < 0.5:
        claimed = {"attempt_id": holder.attempt_id, "generation": holder.generation}
    return Caller(
        holder.worker if claimed else chance.choice(WORKERS),
        ActorKind.WORKER,
        may_see=chance.random() < 0.97,
        may_continue=chance.random() < 0.95,
        workflow_version=chance.choice(("", "", "4", "4", "4", "5")),
        schema_version=chance.choice((None, None, 2, 2, 2, 3)),
        policy_number=chance.choice((None,) * 5 + (1, 2)),
        **claimed,
    )


def told(facts):
    """Return the facts as they compare: nothing used is as good as no entry."""
    names = set(facts.__dataclass_fields__) - UNKNOWN_TO_A_DOCUMENT
    plain = {name: getattr(facts, name) for name in names}
    for name in ("totals", "step_totals"):
        plain[name] = {measure: total for measure, total in plain[name].items() if total}
    return plain


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32))
def test_an_export_leads_to_the_verdict_of_the_rows(seed):
    chance = Random(seed)
    contract = a_random_contract(chance)
    mine, theirs = gather_facts(contract), facts_of(json.loads(as_json(contract)))
    assert told(mine) == told(theirs)
    caller = a_caller(chance, contract)
    for now in (database_now(), database_now() + timedelta(days=chance.choice((0, 800, 1_200, 2_000)))):
        one, other = decide(mine, caller, now), decide(theirs, caller, now)
        assert one.verdict is other.verdict
        assert one.ways == other.ways
        for check, again in zip(one.checks, other.checks, strict=True):
            same = check.name is not CheckName.INTEGRITY or check.leads_to is not None
            assert not same or check.standing is again.standing, check.name

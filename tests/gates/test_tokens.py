from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.gates.tokens import issue_token, note_use, revoke_token, rotate_token
from contracts.models import Event, TokenScope, WorkerToken
from contracts.rules.tokens import is_token, token_digest
from contracts.rules.vocabulary import Actor
from tests import builders, people
from tests.api.bearing import issued

pytestmark = pytest.mark.django_db
OLGA = Actor("olga")


def ask(*contracts, **given):
    known = {
        "actor": OLGA,
        "team": contracts[0].team if contracts else builders.a_team(),
        "worker": "label-writer",
        "contract_ids": [contract.pk for contract in contracts],
        "days": 3,
    }
    return issue_token(**known | given)


def test_a_token_is_shown_once_and_only_its_digest_is_kept():
    contract = builders.a_paused()
    found = ask(contract).outcome
    row = WorkerToken.objects.get()
    assert is_token(found.token)
    assert row.digest == token_digest(found.token)
    assert timedelta(days=2.9) < row.expires_at - row.made_at <= timedelta(days=3, seconds=1)
    assert (row.made_by, row.worker) == ("olga", "label-writer")
    stored = str(list(WorkerToken.objects.values())) + str(list(Event.objects.values()))
    assert found.token not in stored


def test_it_is_recorded_in_every_contract_it_reaches():
    team = builders.a_team()
    contracts = [builders.a_paused(team), builders.a_draft(team)]
    row = ask(*contracts).outcome.row
    assert set(TokenScope.objects.values_list("contract_id", flat=True)) == {c.pk for c in contracts}
    for contract in contracts:
        event = Event.objects.of(contract.pk).last()
        assert (event.act, event.part, event.subject, event.actor) == (
            "issue_token",
            "token",
            row.token_id,
            "olga",
        )
        assert event.after["worker"] == "label-writer"
        contract.refresh_from_db()
        assert Event.objects.first_break(contract) is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"worker": ""}, "worker"),
        ({"worker": "x" * 201}, "worker"),
        ({"worker": "a\u202eb"}, "worker"),
        ({"days": 0}, "days"),
        ({"days": 8}, "days"),
        ({"days": "soon"}, "days"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(given, field):
    verdict = ask(builders.a_paused(), **given)
    assert (verdict.code, verdict.problems[0].field) == ("bad_values", field)
    assert not WorkerToken.objects.exists()


def test_a_token_reaches_contracts_of_one_team_only():
    mine, other = builders.a_paused(), builders.a_paused(builders.a_team("archive"), people.neighbour())
    assert ask(mine, other).code == "no_contract_chosen"
    assert ask().code == "no_contract_chosen"
    assert ask(mine, contract_ids=[mine.pk, 10**9]).code == "no_contract_chosen"
    assert not WorkerToken.objects.exists()


def test_no_worker_is_called_like_a_person():
    contract = builders.a_paused()
    assert ask(contract, worker="Olga").code == "worker_is_person"
    assert Event.objects.of(contract.pk).last().refused == "worker_is_person"


def test_two_tokens_of_a_worker_overlap_and_no_third():
    contract = builders.a_paused()
    first = ask(contract).outcome.row
    assert rotate_token(actor=OLGA, token_id=first.token_id, days=7).allowed
    assert rotate_token(actor=OLGA, token_id=first.token_id, days=7).code == "tokens_overlap"
    assert ask(contract).code == "tokens_overlap"
    assert ask(contract, worker="another").allowed
    revoke_token(actor=OLGA, token_id=first.token_id)
    assert ask(contract).allowed


def test_rotating_gives_another_token_of_the_same_reach():
    contract = builders.a_paused()
    first = issued(contract)
    other = rotate_token(actor=OLGA, token_id=first.row.token_id, days=7).outcome
    assert other.token != first.token
    assert list(other.row.scopes.values_list("contract_id", flat=True)) == [contract.pk]
    assert Event.objects.of(contract.pk).last().after["instead_of"] == first.row.token_id
    assert rotate_token(actor=OLGA, token_id=first.row.token_id, days=9).code == "bad_values"
    assert rotate_token(actor=OLGA, token_id="T-none", days=1).code == "no_such_token"


def test_what_has_ended_is_not_rotated():
    contract = builders.a_paused()
    first = issued(contract).row
    revoke_token(actor=OLGA, token_id=first.token_id)
    assert rotate_token(actor=OLGA, token_id=first.token_id, days=1).code == "token_ended"
    late = issued(contract).row
    now = database_now()
    WorkerToken.objects.filter(pk=late.pk).update(made_at=now - timedelta(days=1), expires_at=now)
    assert rotate_token(actor=OLGA, token_id=late.token_id, days=1).code == "token_ended"


def test_revoking_is_at_once_and_once():
    contract = builders.a_paused()
    row = issued(contract).row
    assert revoke_token(actor=OLGA, token_id=row.token_id).code == "done"
    count = Event.objects.of(contract.pk).count()
    assert revoke_token(actor=OLGA, token_id=row.token_id).code == "unchanged"
    assert Event.objects.of(contract.pk).count() == count
    row.refresh_from_db()
    assert row.revoked_by == "olga"
    assert revoke_token(actor=OLGA, token_id="T-none").code == "no_such_token"


def test_the_last_use_is_kept_to_the_minute():
    row = issued(builders.a_paused()).row
    note_use(row.pk)
    row.refresh_from_db()
    first = row.last_used_at
    note_use(row.pk)
    row.refresh_from_db()
    assert row.last_used_at == first
    WorkerToken.objects.filter(pk=row.pk).update(last_used_at=first - timedelta(minutes=2))
    note_use(row.pk)
    row.refresh_from_db()
    assert row.last_used_at >= first

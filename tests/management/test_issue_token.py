import io

import pytest
from django.core.management import CommandError, call_command

from contracts.models import Event, WorkerToken
from contracts.rules.tokens import is_token, token_digest
from tests import builders, people

pytestmark = pytest.mark.django_db


def run(*words, **options):
    out = io.StringIO()
    call_command("issue_token", *words, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue().strip()


def test_it_prints_the_token_once_and_records_it():
    contract = builders.a_paused()
    token = run("label-writer", team=contract.team.slug, contract=[contract.task_id], days=2)
    assert is_token(token)
    row = WorkerToken.objects.get(digest=token_digest(token))
    assert (row.worker, row.made_by) == ("label-writer", "manage.py")
    event = Event.objects.of(contract.pk).last()
    assert (event.act, event.actor_kind) == ("issue_token", "system")


def test_it_prints_nothing_else_when_asked_to_be_quiet():
    contract = builders.a_paused()
    errors = io.StringIO()
    call_command(
        "issue_token",
        "w",
        team=contract.team.slug,
        contract=[contract.task_id],
        quiet=True,
        stdout=io.StringIO(),
        stderr=errors,
    )
    assert errors.getvalue() == ""


@pytest.mark.parametrize(
    ("worker", "options", "said"),
    [
        ("w", {"team": "no-team"}, "no team"),
        ("w", {"contract": ["no-such-task"]}, "no-such-task"),
        ("w", {"days": 8}, "days"),
        ("", {}, "worker"),
        ("olga", {}, "person"),
    ],
)
def test_it_says_what_is_wrong_and_issues_nothing(worker, options, said):
    contract = builders.a_paused()
    assert people.owner(contract.team).username == "olga"
    given = {"team": contract.team.slug, "contract": [contract.task_id], **options}
    with pytest.raises(CommandError, match=said):
        run(worker, **given)
    assert not WorkerToken.objects.exists()

"""Separation of duties holds in the database too, whoever writes and by whatever way."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from contracts.gates.beats import database_now
from contracts.models import Approval, ApprovalPolicy, ApprovalVote
from tests import builders

pytestmark = pytest.mark.django_db
AUTHOR, EDITOR, REQUESTER = "adam", "eva", "label-writer"
BARRED = [(AUTHOR, "author_cannot_decide"), (EDITOR, "author_cannot_decide")]
ASKED = [(REQUESTER, "requester_cannot_decide")]


@pytest.fixture
def item():
    """A waiting item whose draft one person wrote and another edited."""
    waiting = builders.a_waiting_item()
    Approval.objects.filter(pk=waiting.pk).update(author=AUTHOR, last_editor=EDITOR)
    waiting.refresh_from_db()
    return waiting


def decision(item, name):
    """Store a decision as nothing but a program past every gate would."""
    now = database_now()
    Approval.objects.filter(pk=item.pk).update(state="approved", decided_by=name, decided_at=now)


def saved(item, name):
    item.state, item.decided_by, item.decided_at = "approved", name, database_now()
    item.save()


def by_sql(item, name):
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contracts_approval SET state = 'approved', decided_by = %s, decided_at = now() "
            "WHERE id = %s",
            [name, item.pk],
        )


def another_item(item, name):
    item.pk, item._state.adding, item.item_id = None, True, "item-copied"
    saved(item, name)


def vote(item, name):
    ApprovalVote.objects.create(
        contract=item.contract, approval=item, decider=name, decision="approved", at=database_now()
    )


def vote_handed_over(item, name):
    vote(item, "carla")
    ApprovalVote.objects.filter(approval=item).update(decider=name)


WRITES = [decision, saved, by_sql, another_item, vote, vote_handed_over]


def breaks(code, write, *given):
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        write(*given)
    assert caught.value.__cause__.diag.constraint_name == code


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(("name", "code"), BARRED + ASKED)
def test_who_asked_wrote_or_edited_decides_by_no_write(item, write, name, code):
    breaks(code, write, item, name)


@pytest.mark.parametrize("write", WRITES)
def test_somebody_else_decides(item, write):
    write(item, "carla")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", [AUTHOR, EDITOR])
def test_where_the_bound_policy_says_so_the_author_decides(item, write, name):
    ApprovalPolicy.objects.filter(contract=item.contract).update(author_may_decide=True)
    write(item, name)


@pytest.mark.parametrize("write", WRITES)
def test_no_policy_lets_who_asked_decide(item, write):
    ApprovalPolicy.objects.filter(contract=item.contract).update(author_may_decide=True)
    breaks("requester_cannot_decide", write, item, REQUESTER)


def test_only_the_version_the_item_is_bound_to_counts(item):
    policy = ApprovalPolicy.objects.get(contract=item.contract)
    policy.pk, policy._state.adding, policy.number, policy.author_may_decide = None, True, 2, True
    policy.save()
    breaks("author_cannot_decide", decision, item, AUTHOR)
    Approval.objects.filter(pk=item.pk).update(policy_number=2)
    decision(item, AUTHOR)


def test_an_item_without_a_draft_bars_nobody_for_an_empty_name(item):
    Approval.objects.filter(pk=item.pk).update(author="", last_editor="")
    decision(item, "carla")


@pytest.mark.parametrize("column", ["author", "last_editor"])
def test_who_decided_is_not_made_the_author_afterwards(item, column):
    decision(item, "carla")
    breaks("author_cannot_decide", lambda: Approval.objects.filter(pk=item.pk).update(**{column: "carla"}))


@pytest.mark.django_db(transaction=True)
def test_the_bar_is_taken_down_and_put_up_again_by_the_migrations():
    def bars():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (SELECT count(*) FROM pg_trigger WHERE tgname IN "
                "('decider_is_apart', 'voter_is_apart')), (SELECT count(*) FROM pg_proc WHERE proname IN "
                "('contracts_decider_is_apart', 'contracts_voter_is_apart', 'contracts_bar_author'))"
            )
            return cursor.fetchone()

    assert bars() == (2, 3)
    try:
        call_command("migrate", "contracts", "0003", verbosity=0)
        assert bars() == (0, 0)
    finally:
        call_command("migrate", "contracts", verbosity=0)
    assert bars() == (2, 3)

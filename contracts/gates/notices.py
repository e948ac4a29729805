"""Telling people: the rows are written with what they tell, and read, mailed and forgotten apart from it."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q, QuerySet

from contracts.gates.beats import Turn
from contracts.models import Approval, Notice, Operation, people_with
from contracts.models.hearing import CHANNEL
from contracts.rules.approving import Policy, same_name
from contracts.rules.notices import MailState, Told
from contracts.rules.vocabulary import ActorKind, Right


def tell(turn: Turn, kind: Told, about: Approval | Operation, people: Iterable[Any], **words: Any) -> None:
    """Store one notice about an item, or an operation, for each of `people` (users), but for who acts now.

    A notice about an operation names no item; the key of the operation stands among its words.
    """
    acts = turn.actor.kind in (ActorKind.PERSON, ActorKind.OPERATOR)
    oneself = turn.actor.name if acts else ""  # the clock or a worker may be called as somebody is
    item_id, tool = "", about.tool
    if isinstance(about, Operation):
        tool, words = about.tool.tool, {"operation": about.key, **words}
    else:
        item_id = about.item_id
    call = f"{tool} → {about.target}"
    told = {"call": call, "title": turn.contract.title, "person": turn.actor.name, **words}
    stored = Notice.objects.bulk_create(
        Notice(
            contract=turn.contract,
            person=person,
            kind=kind.value,
            item_id=item_id,
            words=told,
            mail=(MailState.PENDING if person.email else MailState.NONE).value,
        )
        for person in {person.pk: person for person in people}.values()
        if person.get_username() != oneself
    )
    call_out(notice.person_id for notice in stored)


def call_out(people: Iterable[int]) -> None:
    """Let every process know, once this transaction is committed, that these people (ids) have news."""
    ids = sorted(set(people))
    if ids:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, id::text) FROM unnest(%s::bigint[]) AS id", [CHANNEL, ids])


def who_may_decide(item: Approval, policy: Policy | None) -> list[Any]:
    """Return the people this item waits for: with the right, not barred, and not past whom it was passed."""
    barred = [item.requester]
    if policy is None or not policy.author_may_decide:
        barred += [item.author, item.last_editor]
    people = people_with(Right.DECIDE, item.contract_id)
    if item.passed_to:
        people = _passed_to(item, people)
    return [person for person in people if not any(_is_called(person, name) for name in barred)]


def who_is_concerned(item: Approval) -> QuerySet[Any]:
    """Return the people behind the request: who asked, wrote or edited, and who decided."""
    called = Q(pk__in=())
    for name in {item.requester, item.author, item.last_editor, item.decided_by} - {""}:
        called |= Q(username__iexact=name) | Q(first_name__iexact=name)  # the full name is kept there
    return get_user_model().objects.filter(called, is_active=True)


def _is_called(person: Any, name: str) -> bool:
    return same_name(person.get_username(), name) or same_name(person.get_full_name(), name)


def _passed_to(item: Approval, people: QuerySet[Any]) -> QuerySet[Any]:
    named = people.filter(username=item.passed_to)
    if named.exists():
        return named
    return people.filter(
        groups__team_role__team=item.contract.team_id, groups__team_role__role=item.passed_to
    )

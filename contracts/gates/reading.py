"""What people settle for themselves: what they have read, their language, and where mails reach them."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.functions import Now

from contracts.gates.notices import call_out
from contracts.models import Notice, Reader
from contracts.models.notices import NoticeQuerySet
from contracts.rules.notices import MailState


def mark_read(person: Any, ids: Iterable[int]) -> int:
    """Mark these notices of `person` as read; return how many were not before."""
    return _read(person, Notice.objects.filter(pk__in=[*ids]))


def mark_all_read(person: Any, *, up_to: int) -> int:
    """Mark every notice of `person` as read but those newer than `up_to`, which nobody has seen yet."""
    return _read(person, Notice.objects.filter(pk__lte=up_to))


def mark_read_about(person: Any, *, contract_id: int, item_id: str) -> int:
    """Mark what `person` was told about one approval item as read: its page was opened, which says it all."""
    return _read(person, Notice.objects.filter(contract=contract_id, item_id=item_id))


def _read(person: Any, notices: NoticeQuerySet) -> int:
    number = notices.filter(person=person).unread().update(read_at=Now())
    call_out([person.pk] if number else [])  # the count in this person's other tabs
    return number


def choose_language(person: Any, language: str) -> bool:
    """Store the language `person` reads; False if there is no such language."""
    if language not in dict(settings.LANGUAGES):
        return False
    Reader.objects.update_or_create(person=person, defaults={"language": language})
    return True


def set_mail_address(person: Any, email: str, *, language: str) -> None:
    """Store where notices of `person` are mailed to; an empty address stops them, also those not sent yet.

    `language` is what the mails are written in as long as the person has chosen none.
    """
    with transaction.atomic():
        get_user_model().objects.filter(pk=person.pk).update(email=email)
        if email:
            Reader.objects.get_or_create(person=person, defaults={"language": language})
        else:
            waiting = Notice.objects.filter(person=person, mail=MailState.PENDING.value)
            waiting.update(mail=MailState.NONE.value)

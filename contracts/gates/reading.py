"""What people settle for themselves: what they have read, their language, and where mails reach them."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.functions import Now

from contracts.models import Notice, Reader
from contracts.rules.notices import MailState


def mark_read(person: Any, ids: Iterable[int]) -> int:
    """Mark these notices of `person` as read; return how many were not before."""
    return Notice.objects.filter(person=person, pk__in=[*ids]).unread().update(read_at=Now())


def mark_all_read(person: Any, *, up_to: int) -> int:
    """Mark every notice of `person` as read but those newer than `up_to`, which nobody has seen yet."""
    return Notice.objects.filter(person=person, pk__lte=up_to).unread().update(read_at=Now())


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

"""The mail of a notice, sent at most once: claimed, then sent, then settled.

A process that dies between claim and settling leaves `sending`. Nobody knows then whether the mail left, and it is
not sent again: the notice stands in the page whatever became of its mail. Each step is one conditional UPDATE, and
its row count is the verdict. What a person does not want by mail is let go when it would be claimed, so that the
choice holds for what already waits too.
"""

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from contracts.models import Muted, Notice
from contracts.rules.notices import MailState, Told


def choose_mail(person: Any, wanted: Collection[Told]) -> None:
    """Store which kinds of notice `person` wants by mail; every other kind stays in the page alone."""
    unwanted = [kind for kind in Told if kind not in wanted]
    with transaction.atomic():
        Muted.objects.filter(person=person).exclude(kind__in=unwanted).delete()
        # Two forms sent at once may mute the same kind; one row is enough.
        Muted.objects.bulk_create(
            (Muted(person=person, kind=kind.value) for kind in unwanted), ignore_conflicts=True
        )


def claim_mail(notice_id: int) -> bool:
    """Claim one mail for sending, before anything of it leaves; False if it is not there to be sent, or not wanted.

    Of any number of processes at once exactly one is told True.
    """
    # Durable: a claim that another transaction could still undo would let the mail be sent a second time.
    with transaction.atomic(durable=True):
        waiting = Notice.objects.filter(pk=notice_id, mail=MailState.PENDING.value)
        waiting.muted().update(mail=MailState.NONE.value)
        return _move(notice_id, MailState.PENDING, MailState.SENDING, mailed_at=Now())


def settle_mail(notice_id: int, *, sent: bool) -> bool:
    """Store what became of a claimed mail; False if it was not claimed, or is settled."""
    return _move(notice_id, MailState.SENDING, MailState.SENT if sent else MailState.FAILED)


def withhold_mail(notice_id: int) -> bool:
    """Let a mail that nobody claimed never be sent, because its reader has no address or may not see it."""
    return _move(notice_id, MailState.PENDING, MailState.NONE)


def _move(notice_id: int, before: MailState, after: MailState, **more: Now) -> bool:
    rows = Notice.objects.filter(pk=notice_id, mail=before.value)
    return rows.update(mail=after.value, **more) == 1

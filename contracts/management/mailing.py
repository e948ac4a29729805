"""Mails what is waiting: the connection first, then the claim, then the mail, so that nothing leaves twice."""

import logging
from collections.abc import Callable
from smtplib import SMTPException, SMTPNotSupportedError, SMTPRecipientsRefused, SMTPResponseException
from typing import Any

from django.core.mail import EmailMessage, mailers
from django.db import Error as DatabaseFault

from contracts.forms.notices import compose
from contracts.gates.mailing import claim_mail, settle_mail, withhold_mail
from contracts.models import Contract, Notice

log = logging.getLogger(__name__)
BATCH = 100  # mails of one round; the next round goes on
# The server said no, or there was nothing it could have been asked: the mail certainly did not leave.
REFUSED = (SMTPResponseException, SMTPRecipientsRefused, SMTPNotSupportedError, ValueError)


class Unreachable(Exception):
    """The mail server does not answer: everything not claimed yet keeps waiting."""


def mail_waiting(stopped: Callable[[], bool] = lambda: False) -> int:
    """Mail the notices that wait, oldest first, at most BATCH; return how many left.

    `stopped` is asked between two mails. Raises Unreachable when the server cannot be reached, and whatever the
    database raises.
    """
    mailer, left = mailers.default, 0
    try:
        for notice in Notice.objects.to_mail()[:BATCH]:
            if stopped():
                break
            if message := _prepare(notice):
                left += _send(mailer, notice, message)
    finally:
        _close(mailer)
    return left


def _prepare(notice: Notice) -> EmailMessage | None:
    """Return the mail of a notice, or None if none shall be sent."""
    person = notice.person
    if not person.email or not Contract.objects.visible_to(person).filter(pk=notice.contract_id).exists():
        withhold_mail(notice.pk)
        return None
    try:
        mail = compose(notice)
        # So that no machine answers it (RFC 3834).
        headers = {"Auto-Submitted": "auto-generated"}
        message = EmailMessage(mail.subject, mail.text, to=[person.email], headers=headers)
        message.message()  # refuses what no header can hold, before anything is claimed
    except DatabaseFault:
        raise
    except Exception:
        # One that cannot be written must neither stop the others nor be tried for ever.
        log.exception("notice %d cannot be written as a mail", notice.pk)
        if claim_mail(notice.pk):
            settle_mail(notice.pk, sent=False)
        return None
    return message


def _send(mailer: Any, notice: Notice, message: EmailMessage) -> bool:
    try:
        mailer.open()  # does nothing where it is open
    except (SMTPException, OSError) as error:
        raise Unreachable(type(error).__name__) from error
    if not claim_mail(notice.pk):
        return False
    try:
        mailer.send_messages([message])
    except REFUSED as error:
        log.warning("the mail of notice %d was refused (%s)", notice.pk, type(error).__name__)
        settle_mail(notice.pk, sent=False)
        _close(mailer)
        return False
    except Exception as error:
        # Lost in the middle: it may have arrived. It stays as it is and is not sent again.
        log.warning(
            "it is not known whether the mail of notice %d left (%s)", notice.pk, type(error).__name__
        )
        _close(mailer)
        return False
    settle_mail(notice.pk, sent=True)
    return True


def _close(mailer: Any) -> None:
    try:
        mailer.close()
    except (SMTPException, OSError):
        log.debug("the connection to the mail server was gone before it was closed")

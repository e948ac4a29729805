"""What people are told, who looks at what just now, and the language each of them reads."""

from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from contracts.models.content import choices, one_of
from contracts.rules.notices import MailState, Told
from contracts.rules.vocabulary import LINE_MAX


class NoticeQuerySet(models.QuerySet["Notice"]):
    """Reads of notices."""

    def of(self, person: Any) -> "NoticeQuerySet":
        """Return what `person` was told, newest first."""
        return self.filter(person=person).order_by("-made_at", "-id")

    def muted(self) -> "NoticeQuerySet":
        """Return what is of a kind that its reader does not want by mail."""
        return self.filter(Exists(Muted.objects.filter(person=OuterRef("person"), kind=OuterRef("kind"))))

    def unread(self) -> "NoticeQuerySet":
        """Return what nobody has marked as read."""
        return self.filter(read_at__isnull=True)

    def count_unread(self, person: Any, most: int) -> int:
        """Return how many notices `person` has not read; more than `most` are not counted.

        Every page shows the number. Written out, because putting it together costs more than asking.
        """
        table = self.model._meta.db_table
        few = f"SELECT 1 FROM {table} WHERE person_id = %s AND read_at IS NULL LIMIT %s"  # noqa: S608  # own name
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM ({few}) AS few", [person.pk, most])  # noqa: S608  # own name
            return int(cursor.fetchone()[0])

    def to_mail(self) -> "NoticeQuerySet":
        """Return what is still to be mailed, oldest first, with all that a mail is made of."""
        waiting = self.filter(mail=MailState.PENDING.value).order_by("id")
        return waiting.select_related("contract", "person", "person__reader")


class Notice(models.Model):
    """One thing told to one person: shown in the page, and mailed afterwards to who has an address.

    It is stored in the transaction of what it tells. `words` holds the values its sentence is filled with, so
    that it is read in the reader's language, whenever that is.
    """

    contract = models.ForeignKey("contracts.Contract", on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=choices(Told))
    item_id = models.CharField(max_length=40)
    words = models.JSONField(default=dict, blank=True)
    made_at = models.DateTimeField(db_default=Now(), editable=False)
    read_at = models.DateTimeField(null=True, blank=True)
    mail = models.CharField(max_length=20, choices=choices(MailState), default=MailState.NONE.value)
    mailed_at = models.DateTimeField(null=True, blank=True)  # when it was claimed for sending

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=one_of("kind", Told), name="notice_kind_is_known"),
            models.CheckConstraint(condition=one_of("mail", MailState), name="mail_state_is_known"),
        ]
        indexes = [
            models.Index(fields=["person", "-made_at", "-id"], name="notices_of_person"),
            models.Index(fields=["person"], condition=Q(read_at__isnull=True), name="unread_notices"),
            models.Index(fields=["id"], condition=Q(mail=MailState.PENDING.value), name="notices_to_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.item_id}"


class Presence(models.Model):
    """Who has a place of a contract open: the item's page, a section. Old rows mean nothing."""

    contract = models.ForeignKey(
        "contracts.Contract", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    place = models.CharField(max_length=80)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "place", "person"], name="one_presence_per_place")
        ]

    def __str__(self) -> str:
        return self.place


class Muted(models.Model):
    """One kind of notice that a person does not want by mail. Without a row it is mailed; the page has it anyway."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=choices(Told))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["person", "kind"], name="one_muting_per_kind"),
            models.CheckConstraint(condition=one_of("kind", Told), name="muted_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.kind


class Reader(models.Model):
    """The language a person chose, for what reaches them outside a page."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reader")
    language = models.CharField(max_length=LINE_MAX)

    def __str__(self) -> str:
        return self.language

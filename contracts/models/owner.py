"""The owner gate: its settings, and the attempts that held it."""

from django.db import models
from django.db.models import F, Q

from contracts.models.content import ContentRow, choices, one_of
from contracts.rules.vocabulary import LEASE_MAX_SECONDS, LEASE_MIN_SECONDS, LINE_MAX, AttemptEnd


class OwnerGate(ContentRow):
    """How one owner at a time is granted the task (one row per contract)."""

    FACTS = {
        "lease_seconds": "lease_seconds",
        "renew_seconds": "renew_seconds",
        "named_person": "named_person",
        "note": "note",
    }
    NATURAL = ()

    lease_seconds = models.PositiveIntegerField(default=120)
    renew_seconds = models.PositiveIntegerField(default=30)
    named_person = models.CharField(max_length=LINE_MAX, blank=True)  # whom an undecidable case goes to
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract"], name="one_owner_gate"),
            models.CheckConstraint(
                condition=Q(lease_seconds__range=(LEASE_MIN_SECONDS, LEASE_MAX_SECONDS)),
                name="lease_length_in_range",
            ),
            models.CheckConstraint(
                condition=Q(renew_seconds__gt=0) & Q(renew_seconds__lt=F("lease_seconds")),
                name="renewal_before_lease_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.lease_seconds} s"


class Attempt(ContentRow):
    """One execution of the task under one generation."""

    FACTS = {
        "number": "number",
        "attempt_id": "attempt_id",
        "generation": "generation",
        "worker": "worker",
        "framework": "framework",
        "framework_handle": "framework_handle",
        "started_at": "started_at",
        "lease_end": "lease_end",
        "by_hand": "by_hand",
        "renewed_at": "renewed_at",
        "progressed_at": "progressed_at",
        "ended_at": "ended_at",
        "end_reason": "end_reason",
        "evidence": "evidence",
        "note": "note",
    }
    NATURAL = ("number", "attempt_id")
    ORDER = ("number", "id")

    number = models.PositiveIntegerField()
    attempt_id = models.CharField(max_length=LINE_MAX)
    generation = models.PositiveBigIntegerField()
    worker = models.CharField(max_length=LINE_MAX)
    framework = models.CharField(max_length=LINE_MAX, blank=True)
    framework_handle = models.CharField(max_length=LINE_MAX, blank=True)  # thread, run or workflow id
    started_at = models.DateTimeField()
    lease_end = models.DateTimeField(null=True, blank=True)
    by_hand = models.BooleanField(default=True)  # a worker's own attempt is never edited by people
    # Whether each write is in the ledger before it can leave: only then is a pending one certainly unsent.
    synchronous = models.BooleanField(default=False)
    renewed_at = models.DateTimeField(null=True, blank=True)
    progressed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=20, choices=choices(AttemptEnd), blank=True)
    evidence = models.CharField(max_length=2_000, blank=True)  # where the proof of a hand-kept record lies
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "number"], name="attempt_number_once"),
            models.UniqueConstraint(fields=["contract", "attempt_id"], name="attempt_id_once"),
            models.UniqueConstraint(fields=["contract", "generation"], name="generation_once"),
            models.UniqueConstraint(
                fields=["contract"], condition=Q(ended_at__isnull=True), name="one_open_attempt"
            ),
            models.CheckConstraint(condition=Q(number__gt=0), name="attempt_number_from_one"),
            models.CheckConstraint(condition=Q(generation__gt=0), name="generation_from_one"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end_reason="")
                | Q(ended_at__isnull=False) & ~Q(end_reason=""),
                name="attempt_end_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")),
                name="attempt_ends_after_start",
            ),
            models.CheckConstraint(
                condition=one_of("end_reason", AttemptEnd, optional=True), name="attempt_end_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} · {self.attempt_id}"

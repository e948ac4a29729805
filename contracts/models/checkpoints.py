"""Checkpoints and the journal of steps."""

from django.db import models
from django.db.models import Q

from contracts.models.content import ContentRow, choices, guarded_contract, reference
from contracts.models.domains import Number, SmallNumber, Word, digest
from contracts.rules.states import StepState
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX, CheckpointKind, Durability, StepKind


class Checkpoint(ContentRow):
    """A committed point from which the framework can go on. What was not committed has no row."""

    FACTS = {
        "sequence": "sequence",
        "checkpoint_id": "checkpoint_id",
        "kind": "kind",
        "attempt": "attempt__number",
        "generation": "generation",
        "event_cursor": "event_cursor",
        "durability": "durability",
        "next_step": "next_step",
        "schema_version": "schema_version",
        "location": "location",
        "inline_state": "inline_state",
        "sha256": "sha256",
        "size_bytes": "size_bytes",
        "write_ms": "write_ms",
        "committed_at": "committed_at",
        "rolled_back_at": "rolled_back_at",
        "evidence": "evidence",
        "note": "note",
    }
    NATURAL = ("sequence", "checkpoint_id")
    ORDER = ("sequence", "id")

    contract = guarded_contract()
    sequence = Number()
    checkpoint_id = models.CharField(max_length=LINE_MAX)
    kind = Word(
        domain="contracts_checkpoint_kind",
        max_length=20,
        choices=choices(CheckpointKind),
        default=CheckpointKind.STATE.value,
    )
    attempt = reference("contracts.Attempt", null=False, blank=False, db_index=False)
    generation = Number()
    event_cursor = models.CharField(max_length=LINE_MAX, blank=True)
    durability = Word(domain="contracts_durability", max_length=20, choices=choices(Durability))
    next_step = models.CharField(max_length=LINE_MAX)
    schema_version = SmallNumber()
    location = models.CharField(max_length=LOCATION_MAX, blank=True)
    inline_state = models.JSONField(null=True, blank=True)
    sha256 = digest()
    size_bytes = Number()
    write_ms = SmallNumber(null=True, blank=True)
    committed_at = models.DateTimeField()
    rolled_back_at = models.DateTimeField(null=True, blank=True)
    evidence = models.CharField(max_length=LOCATION_MAX, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "sequence"], name="checkpoint_sequence_once"),
            models.UniqueConstraint(fields=["contract", "checkpoint_id"], name="checkpoint_id_once"),
            models.CheckConstraint(
                condition=(Q(location="") & Q(inline_state__isnull=False))
                | (~Q(location="") & Q(inline_state__isnull=True)),
                name="state_is_located_or_inline",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} · {self.checkpoint_id}"


class JournalStep(ContentRow):
    """One step of the agent: recorded before it runs, given back instead of run again once done."""

    FACTS = {
        "sequence": "sequence",
        "kind": "kind",
        "key": "key",
        "attempt": "attempt__number",
        "state": "state",
        "result": "result",
        "result_location": "result_location",
        "result_sha256": "result_sha256",
        "usage": "usage",
    }
    NATURAL = ("sequence", "key")
    ORDER = ("sequence", "id")

    contract = guarded_contract()
    sequence = Number()
    kind = Word(domain="contracts_step_kind", max_length=20, choices=choices(StepKind))
    key = models.CharField(max_length=LINE_MAX)
    attempt = reference("contracts.Attempt", null=False, blank=False, db_index=False)
    state = Word(
        domain="contracts_step_state",
        max_length=20,
        choices=choices(StepState),
        default=StepState.STARTED.value,
    )
    result = models.JSONField(null=True, blank=True)
    result_location = models.CharField(max_length=LOCATION_MAX, blank=True)
    result_sha256 = models.CharField(max_length=64, blank=True)
    usage = models.JSONField(default=dict, blank=True)  # measure → amount as text

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "sequence"], name="step_sequence_once"),
            models.UniqueConstraint(fields=["contract", "key"], name="step_key_once"),
            models.CheckConstraint(
                condition=Q(result_location="", result_sha256="")
                | (~Q(result_location="") & Q(result_sha256__regex="^[0-9a-f]{64}$")),
                name="located_result_has_checksum",
            ),
        ]
        indexes = [
            models.Index(
                fields=["contract", "sequence"],
                condition=Q(state=StepState.STARTED.value),
                name="steps_found_begun",
            )
        ]

    def __str__(self) -> str:
        return f"{self.sequence} · {self.key}"

"""Sources the work starts from and artefacts it makes, each in versions."""

from django.db import models
from django.db.models import Q

from contracts.models.content import OrderedRow, reference
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX


class Source(OrderedRow):
    """One version of one source. The same version label with another checksum is another version."""

    FACTS = {
        "source_id": "source_id",
        "version_label": "version_label",
        "sha256": "sha256",
        "location": "location",
        "size_bytes": "size_bytes",
        "current": "current",
        "note": "note",
    }
    NATURAL = ("source_id", "version_label")

    source_id = models.CharField(max_length=LINE_MAX)
    version_label = models.CharField(max_length=LINE_MAX)
    sha256 = models.CharField(max_length=64)
    location = models.CharField(max_length=LOCATION_MAX)
    size_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    current = models.BooleanField(default=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["contract", "source_id", "version_label", "sha256"], name="source_version_once"
            ),
            models.UniqueConstraint(
                fields=["contract", "source_id"], condition=Q(current=True), name="one_current_source_version"
            ),
            models.CheckConstraint(condition=Q(sha256__regex="^[0-9a-f]{64}$"), name="source_checksum"),
        ]
        indexes = [
            models.Index(fields=["contract", "position", "id"], name="sources_in_order"),
            models.Index(fields=["contract"], condition=Q(current=False), name="former_sources"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} · {self.version_label}"


class Artefact(OrderedRow):
    """One version of one thing the work made; a short text may be kept whole."""

    FACTS = {
        "artefact_id": "artefact_id",
        "version_label": "version_label",
        "sha256": "sha256",
        "location": "location",
        "inline_text": "inline_text",
        "size_bytes": "size_bytes",
        "source": "source__source_id",
        "source_version": "source__version_label",
        "source_sha256": "source__sha256",
        "author": "author",
        "accepted_by": "accepted_by",
        "accepted_at": "accepted_at",
        "current": "current",
        "note": "note",
    }
    NATURAL = ("artefact_id", "version_label")

    artefact_id = models.CharField(max_length=LINE_MAX)
    version_label = models.CharField(max_length=LINE_MAX)
    sha256 = models.CharField(max_length=64)
    location = models.CharField(max_length=LOCATION_MAX, blank=True)
    inline_text = models.TextField(blank=True)
    size_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    source = reference("contracts.Source")
    author = models.CharField(max_length=LINE_MAX, blank=True)
    accepted_by = models.CharField(max_length=LINE_MAX, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    current = models.BooleanField(default=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["contract", "artefact_id", "version_label", "sha256"], name="artefact_version_once"
            ),
            models.UniqueConstraint(
                fields=["contract", "artefact_id"],
                condition=Q(current=True),
                name="one_current_artefact_version",
            ),
            models.CheckConstraint(condition=Q(sha256__regex="^[0-9a-f]{64}$"), name="artefact_checksum"),
            models.CheckConstraint(
                condition=~Q(location="") | ~Q(inline_text=""), name="artefact_is_located_or_inline"
            ),
            models.CheckConstraint(
                condition=Q(accepted_by="", accepted_at__isnull=True)
                | (~Q(accepted_by="") & Q(accepted_at__isnull=False)),
                name="acceptance_names_who_and_when",
            ),
        ]
        indexes = [
            models.Index(fields=["contract", "position", "id"], name="artefacts_in_order"),
            models.Index(fields=["contract"], condition=Q(current=False), name="former_artefacts"),
        ]

    def __str__(self) -> str:
        return f"{self.artefact_id} · {self.version_label}"

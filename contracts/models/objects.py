"""Progress, object by object."""

from django.db import models
from django.db.models import Q

from contracts.models.content import OrderedRow, choices, one_of, reference
from contracts.rules.states import ObjectState
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX


class WorkObject(OrderedRow):
    """One business object: what it is made from, what was made, how far it is."""

    FACTS = {
        "object_id": "object_id",
        "source": "source__source_id",
        "source_version": "source__version_label",
        "source_sha256": "source__sha256",
        "artefact": "artefact__artefact_id",
        "artefact_version": "artefact__version_label",
        "artefact_sha256": "artefact__sha256",
        "step": "step",
        "state": "state",
        "attempt": "attempt__number",
        "evidence": "evidence",
        "note": "note",
        "settled_by": "settled_by",
        "settled_at": "settled_at",
    }
    NATURAL = ("object_id",)

    object_id = models.CharField(max_length=LINE_MAX)
    source = reference("contracts.Source")
    artefact = reference("contracts.Artefact")
    step = models.CharField(max_length=LINE_MAX, blank=True)
    state = models.CharField(max_length=20, choices=choices(ObjectState), default=ObjectState.PENDING.value)
    attempt = reference("contracts.Attempt", db_index=False)  # the attempt that works on it
    evidence = models.CharField(max_length=LOCATION_MAX, blank=True)
    note = models.TextField(blank=True)
    settled_by = models.CharField(max_length=LINE_MAX, blank=True)  # who confirmed or skipped it
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "object_id"], name="object_id_once"),
            models.CheckConstraint(condition=one_of("state", ObjectState), name="object_state_is_known"),
            models.CheckConstraint(
                condition=~Q(state__in=[ObjectState.CONFIRMED.value, ObjectState.SKIPPED.value])
                | (~Q(settled_by="") & Q(settled_at__isnull=False)),
                name="settled_object_names_who_and_when",
            ),
            models.CheckConstraint(
                condition=~Q(state=ObjectState.SKIPPED.value) | ~Q(note=""), name="skipping_has_a_reason"
            ),
        ]
        indexes = [
            models.Index(fields=["contract", "position", "id"], name="objects_in_order"),
            models.Index(fields=["contract", "state", "position"], name="objects_by_state"),
        ]

    def __str__(self) -> str:
        return self.object_id

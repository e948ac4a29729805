"""Cumulative limits and the usage they are compared with."""

from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import Q, Sum

from contracts.models.content import ContentQuerySet, ContentRow, choices, one_of, reference
from contracts.models.domains import Word
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX, Measure


class Limit(ContentRow):
    """The cap of one measure over all attempts. Without a cap the measure is only counted."""

    FACTS = {"measure": "measure", "cap": "cap", "currency": "currency", "note": "note"}
    NATURAL = ("measure",)

    measure = models.CharField(max_length=40, choices=choices(Measure))
    cap = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)  # ISO 4217, for cost alone
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "measure"], name="one_limit_per_measure"),
            models.CheckConstraint(condition=one_of("measure", Measure), name="measure_is_known"),
            models.CheckConstraint(condition=Q(cap__isnull=True) | Q(cap__gt=0), name="cap_above_zero"),
            models.CheckConstraint(
                condition=~Q(measure=Measure.COST.value) & Q(currency="")
                | Q(measure=Measure.COST.value) & (Q(cap__isnull=True) | Q(currency__regex="^[A-Z]{3}$")),
                name="cost_and_only_cost_has_a_currency",
            ),
        ]

    def __str__(self) -> str:
        return self.measure


class UsageQuerySet(ContentQuerySet["UsageEntry"]):
    """Sums over all attempts."""

    def totals(self) -> dict[str, Decimal]:
        """Return measure → total over every entry in the set."""
        rows = self.order_by().values_list("measure").annotate(total=Sum("amount"))
        return dict(rows)


class UsageTotal(models.Model):
    """The sums of all usage of one contract, kept by a trigger with every entry that comes or goes.

    One row, so that a statement that writes can lock it and compare it with the caps, however many entries there
    are. Usage counted per step has no total here.
    """

    contract = models.OneToOneField(
        "contracts.Contract", on_delete=models.CASCADE, primary_key=True, related_name="usage_total"
    )
    active_seconds = models.DecimalField(max_digits=26, decimal_places=6, default=Decimal(0))
    model_turns = models.DecimalField(max_digits=26, decimal_places=6, default=Decimal(0))
    tool_attempts = models.DecimalField(max_digits=26, decimal_places=6, default=Decimal(0))
    tokens = models.DecimalField(max_digits=26, decimal_places=6, default=Decimal(0))
    cost = models.DecimalField(max_digits=26, decimal_places=6, default=Decimal(0))

    def __str__(self) -> str:
        return str(self.contract_id)


class UsageEntry(ContentRow):
    """One amount used; entries are added and never changed, and totals are their sums."""

    FACTS = {
        "entry_id": "entry_id",
        "measure": "measure",
        "amount": "amount",
        "attempt": "attempt__number",
        "step": "step",
        "used_at": "used_at",
        "evidence": "evidence",
        "note": "note",
    }
    NATURAL = ("entry_id",)
    ORDER = ("used_at", "id")

    entry_id = models.CharField(max_length=40)
    measure = Word(domain="contracts_measure", max_length=40, choices=choices(Measure))
    amount = models.DecimalField(max_digits=20, decimal_places=6)
    attempt = reference("contracts.Attempt", db_index=False)
    step = models.CharField(max_length=LINE_MAX, blank=True)
    used_at = models.DateTimeField()
    evidence = models.CharField(max_length=LOCATION_MAX, blank=True)
    note = models.TextField(blank=True)

    objects: ClassVar[UsageQuerySet] = UsageQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "entry_id"], name="usage_entry_once"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="usage_never_falls"),
        ]
        indexes = [
            models.Index(fields=["contract", "measure"], include=["amount"], name="usage_by_measure"),
            models.Index(fields=["contract", "used_at", "id"], name="usage_in_order"),
            models.Index(
                fields=["contract", "step"],
                condition=Q(measure__in=[Measure.TRIES_PER_STEP.value, Measure.FAILED_RECOVERIES.value]),
                include=["measure", "amount"],
                name="usage_by_step",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.measure} {self.amount}"

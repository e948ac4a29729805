"""Tool contracts and the ledger of external writes."""

from django.db import models
from django.db.models import Q

from contracts.models.content import ContentRow, OrderedRow, choices, one_of, reference
from contracts.models.domains import Number, SmallNumber, Word, digest
from contracts.rules.states import OperationState
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX, Concurrency, Effect, SameKey, StaleOwner


class ToolContract(OrderedRow):
    """What calling one tool does, how a repeat is recognised, and who decides when nobody can know."""

    FACTS = {
        "tool": "tool",
        "effect": "effect",
        "needs_approval": "needs_approval",
        "key_supported": "key_supported",
        "key_memory_hours": "key_memory_hours",
        "same_key": "same_key",
        "concurrency": "concurrency",
        "query_path": "query_path",
        "settle_seconds": "settle_seconds",
        "compensation": "compensation",
        "named_person": "named_person",
        "stale_owner": "stale_owner",
        "note": "note",
    }
    NATURAL = ("tool",)

    tool = models.CharField(max_length=LINE_MAX)
    effect = models.CharField(max_length=30, choices=choices(Effect))
    needs_approval = models.BooleanField(default=False)
    key_supported = models.BooleanField(default=False)
    key_memory_hours = models.PositiveIntegerField(null=True, blank=True)  # how long the target remembers
    same_key = models.CharField(max_length=20, choices=choices(SameKey), default=SameKey.NOT_KNOWN.value)
    concurrency = models.CharField(
        max_length=20, choices=choices(Concurrency), default=Concurrency.ONE_AT_A_TIME.value
    )
    query_path = models.CharField(max_length=LOCATION_MAX, blank=True)  # the target's authoritative answer
    settle_seconds = models.PositiveIntegerField(null=True, blank=True)  # a write may appear this much later
    compensation = models.TextField(blank=True)
    named_person = models.CharField(max_length=LINE_MAX, blank=True)
    stale_owner = models.CharField(max_length=30, choices=choices(StaleOwner), default=StaleOwner.NONE.value)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "tool"], name="tool_once"),
            models.CheckConstraint(condition=one_of("effect", Effect), name="effect_is_known"),
            models.CheckConstraint(condition=one_of("same_key", SameKey), name="same_key_rule_is_known"),
            models.CheckConstraint(condition=one_of("concurrency", Concurrency), name="concurrency_is_known"),
            models.CheckConstraint(
                condition=one_of("stale_owner", StaleOwner), name="stale_owner_rule_is_known"
            ),
            models.CheckConstraint(
                condition=Q(key_supported=True) | Q(key_memory_hours__isnull=True),
                name="key_memory_needs_key_support",
            ),
        ]

    def __str__(self) -> str:
        return self.tool


class Operation(ContentRow):
    """One intended external write. One slot (object, step, round, tool) holds one operation."""

    FACTS = {
        "key": "key",
        "object": "work_object__object_id",
        "tool": "tool__tool",
        "step": "step",
        "round": "round",
        "parameters": "parameters",
        "fingerprint": "fingerprint",
        "target": "target",
        "expected": "expected",
        "state": "state",
        "generation": "generation",
        "tries": "tries",
        "response_sha256": "response_sha256",
        "target_reference": "target_reference",
        "reconciliation": "reconciliation",
        "intended_at": "intended_at",
        "sent_at": "sent_at",
        "settled_at": "settled_at",
    }
    NATURAL = ("tool", "object", "step", "round")
    ORDER = ("intended_at", "id")

    key = digest()
    work_object = reference("contracts.WorkObject", db_index=False)
    tool = reference("contracts.ToolContract", null=False, blank=False, db_index=False)
    step = models.CharField(max_length=LINE_MAX)
    round = SmallNumber(domain="contracts_round", default=1)
    parameters = models.JSONField(default=dict, blank=True)
    fingerprint = digest()
    target = models.CharField(max_length=LOCATION_MAX)
    expected = models.TextField()
    state = Word(
        domain="contracts_operation_state",
        max_length=20,
        choices=choices(OperationState),
        default=OperationState.PENDING.value,
    )
    generation = Number(null=True, blank=True)  # that sent it
    tries = SmallNumber(default=0)
    response_sha256 = models.CharField(max_length=64, blank=True)
    target_reference = models.CharField(max_length=LOCATION_MAX, blank=True)
    reconciliation = models.JSONField(null=True, blank=True)  # path, reference, time, who
    intended_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "key"], name="operation_key_once"),
            models.UniqueConstraint(
                fields=["contract", "work_object", "step", "round", "tool"],
                nulls_distinct=False,
                name="one_operation_per_slot",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[OperationState.PENDING.value, OperationState.ABANDONED.value])
                | Q(generation__isnull=False),
                name="sent_operation_names_its_generation",
            ),
        ]
        indexes = [
            models.Index(fields=["contract", "state", "intended_at", "id"], name="operations_by_state"),
            models.Index(fields=["contract", "step"], name="operations_by_step"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} · {self.step} · {self.round}"

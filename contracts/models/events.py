"""The append-only chain of everything that changed and everything that was refused."""

import json
from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Cast

from contracts.models.content import ContentQuerySet, ContentRow, choices, plain
from contracts.models.domains import Number
from contracts.models.identity import Contract
from contracts.rules.fingerprint import chain_hash
from contracts.rules.vocabulary import LINE_MAX, ActorKind

# What the hash covers beside `before` and `after`.
TOLD = ("sequence", "at", "actor", "actor_kind", "act", "part", "subject", "refused")


class EventQuerySet(ContentQuerySet["Event"]):
    """Reads of the chain."""

    def first_break(self, contract: Contract, *, after: int = 0) -> int | None:
        """Return the sequence at which the chain of `contract` first fails, or None if it holds.

        Every hash is computed anew; gaps, strange links and a head that is not the contract's are found.
        Rows are streamed: 100,000 of them need less than two seconds and constant memory. Of those up to the
        sequence `after` none is looked at, and the next one's link to them is taken on trust.
        """
        sequence, head, read_json = after, "", json.JSONDecoder().raw_decode
        chain = self._told(contract).filter(sequence__gt=after)
        for *values, before, following, previous, stored in chain.iterator(chunk_size=2_000):
            if sequence == after and after > 0:
                head = previous
            sequence += 1
            body = dict(zip(TOLD, values, strict=True))
            body["task_id"] = contract.task_id
            body["before"] = read_json(before)[0] if before else None
            body["after"] = read_json(following)[0] if following else None
            if body["sequence"] != sequence or previous != head or chain_hash(previous, body) != stored:
                return sequence
            head = stored
        return None if (sequence, head) == (contract.event_count, contract.event_head) else sequence + 1

    def _told(self, contract: Contract) -> models.QuerySet["Event", tuple[Any, ...]]:
        """Return the chain as the hash covers it; the database writes the times, and JSON is left as text."""
        columns = [_as_plain("at") if name == "at" else name for name in TOLD]
        texts = [Cast(name, models.TextField()) for name in ("before", "after")]
        chain = self.filter(contract_id=contract.pk).order_by("sequence")
        return chain.values_list(*columns, *texts, "previous", "hash")


def _as_plain(column: str) -> models.Func:
    """Return the moment in `column` as `plain` writes it."""
    return models.Func(
        column,
        template="to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
        output_field=models.CharField(),
    )


class Event(ContentRow):
    """One change or refusal. A trigger lets no row be changed or deleted."""

    FACTS = {
        "sequence": "sequence",
        "at": "at",
        "actor": "actor",
        "actor_kind": "actor_kind",
        "act": "act",
        "part": "part",
        "subject": "subject",
        "before": "before",
        "after": "after",
        "refused": "refused",
        "previous": "previous",
        "hash": "hash",
    }
    NATURAL = ("sequence",)
    ORDER = ("sequence",)

    SEALED = ("sequence", "at", "actor", "actor_kind", "act", "part", "subject", "before", "after", "refused")

    version = None  # an event has no second version
    stored_at = None  # type: ignore[assignment]  # `at` is part of the hash

    sequence = Number()
    at = models.DateTimeField()
    actor = models.CharField(max_length=LINE_MAX)
    actor_kind = models.CharField(max_length=20, choices=choices(ActorKind))
    act = models.CharField(max_length=60)  # stable code of what was done or tried
    part = models.CharField(max_length=40)  # which part of the contract: a table's kind
    subject = models.CharField(max_length=2 * LINE_MAX, blank=True)  # natural key of the row
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    refused = models.CharField(max_length=60, blank=True)  # the refusal's code; empty when it was done
    previous = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    objects: ClassVar[EventQuerySet] = EventQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "sequence"], name="event_sequence_once"),
        ]
        indexes = [
            models.Index(fields=["contract", "part", "-sequence"], name="events_by_part"),
            models.Index(fields=["contract", "actor", "-sequence"], name="events_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.act}"

    def sealed(self) -> dict[str, Any]:
        """Return the part of the event that its hash covers."""
        return {name: plain(getattr(self, name)) for name in self.SEALED}

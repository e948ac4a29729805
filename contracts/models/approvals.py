"""Who allowed which exact call: the policy, the items, and the votes on them."""

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from contracts.models.content import ContentQuerySet, ContentRow, choices, one_of, reference
from contracts.rules.approving import Bound, Item
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import EXPIRY_MAX_HOURS, LINE_MAX, LOCATION_MAX, OnTimeout

DECIDED = [ApprovalState.APPROVED.value, ApprovalState.REJECTED.value]


class ApprovalPolicy(ContentRow):
    """One version of the rules of deciding; the highest number is in force."""

    FACTS = {
        "number": "number",
        "quorum": "quorum",
        "author_may_decide": "author_may_decide",
        "default_expiry_hours": "default_expiry_hours",
        "longest_expiry_hours": "longest_expiry_hours",
        "login_fresh_seconds": "login_fresh_seconds",
        "second_factor": "second_factor",
        "on_timeout": "on_timeout",
        "pass_on_to": "pass_on_to",
        "pass_on_hours": "pass_on_hours",
        "note": "note",
    }
    NATURAL = ("number",)
    ORDER = ("number", "id")

    number = models.PositiveIntegerField(default=1)
    quorum = models.PositiveSmallIntegerField(default=1)
    author_may_decide = models.BooleanField(default=False)
    default_expiry_hours = models.PositiveIntegerField(default=24)
    longest_expiry_hours = models.PositiveIntegerField(default=72)
    login_fresh_seconds = models.PositiveIntegerField(default=300)
    second_factor = models.BooleanField(default=False)
    on_timeout = models.CharField(max_length=20, choices=choices(OnTimeout), default=OnTimeout.REFUSE.value)
    pass_on_to = models.CharField(max_length=LINE_MAX, blank=True)
    pass_on_hours = models.PositiveIntegerField(null=True, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "number"], name="policy_version_once"),
            models.CheckConstraint(condition=Q(quorum__range=(1, 20)), name="quorum_in_range"),
            models.CheckConstraint(
                condition=Q(default_expiry_hours__gt=0)
                & Q(default_expiry_hours__lte=F("longest_expiry_hours"))
                & Q(longest_expiry_hours__lte=EXPIRY_MAX_HOURS),
                name="expiry_in_range",
            ),
            models.CheckConstraint(
                condition=Q(login_fresh_seconds__range=(30, 3_600)), name="login_freshness_in_range"
            ),
            models.CheckConstraint(condition=one_of("on_timeout", OnTimeout), name="timeout_rule_is_known"),
            models.CheckConstraint(
                condition=~Q(on_timeout=OnTimeout.PASS_ON.value)
                | (~Q(pass_on_to="") & Q(pass_on_hours__gt=0)),
                name="passing_on_names_whom_and_how_long",
            ),
        ]

    def __str__(self) -> str:
        return str(self.number)


class ApprovalQuerySet(ContentQuerySet["Approval"]):
    """Reads of the items."""

    def open(self) -> "ApprovalQuerySet":
        """Return the items that wait, and those approved that nobody used yet."""
        waiting, approved = ApprovalState.PENDING.value, ApprovalState.APPROVED.value
        return self.filter(Q(state=waiting) | Q(state=approved, consumed_at__isnull=True))

    def whole(self) -> "ApprovalQuerySet":
        """Return the items together with their operations, and with the moment `read_at` of the reading."""
        with_calls = self.select_related("operation__tool", "operation__work_object", "draft")
        return with_calls.annotate(read_at=Now())

    def voted_by(self, name: str) -> "ApprovalQuerySet":
        """Return the items with whether somebody gave their vote on each, as `voted`."""
        given = ApprovalVote.objects.filter(approval=OuterRef("pk"), decider=name)
        return self.annotate(voted=Exists(given))

    def to_tend(self, now: datetime, *, near: timedelta, unused: timedelta) -> "ApprovalQuerySet":
        """Return the open items about which the clock has something to say.

        Those whose time has run out; those waiting of which at most `near` is left and nobody was told; those
        decided longer than `unused` ago that nobody used and nobody was told.
        """
        out = Q(expires_at__lte=now)
        warn = Q(state=ApprovalState.PENDING.value, expires_at__lte=now + near, warned_at__isnull=True)
        alarm = Q(state=ApprovalState.APPROVED.value, decided_at__lte=now - unused, alarmed_at__isnull=True)
        return self.open().filter(out | warn | alarm)


class Approval(ContentRow):
    """One item = one call. Every member of the tuple is copied here when the item is made."""

    FACTS = {
        "item_id": "item_id",
        "operation_key": "operation_key",
        "tool": "tool",
        "parameters": "parameters",
        "fingerprint": "fingerprint",
        "draft": "draft__artefact_id",
        "draft_version": "draft_version",
        "draft_sha256": "draft_sha256",
        "target": "target",
        "requester": "requester",
        "author": "author",
        "last_editor": "last_editor",
        "policy_number": "policy_number",
        "scope": "scope",
        "expires_at": "expires_at",
        "task_deadline": "task_deadline",
        "reason": "reason",
        "preview": "preview",
        "asked_at": "asked_at",
        "state": "state",
        "decided_by": "decided_by",
        "decided_at": "decided_at",
        "decision_reason": "decision_reason",
        "stale_member": "stale_member",
        "stale_was": "stale_was",
        "stale_now": "stale_now",
        "consumed_at": "consumed_at",
        "consumed_generation": "consumed_generation",
        "passed_from": "passed_from",
        "passed_to": "passed_to",
    }
    NATURAL = ("item_id",)
    ORDER = ("asked_at", "id")

    item_id = models.CharField(max_length=40)
    operation = reference("contracts.Operation", null=False, blank=False)
    operation_key = models.CharField(max_length=64)
    tool = models.CharField(max_length=LINE_MAX)
    parameters = models.JSONField()
    fingerprint = models.CharField(max_length=64)
    draft = reference("contracts.Artefact")
    draft_version = models.CharField(max_length=LINE_MAX, blank=True)
    draft_sha256 = models.CharField(max_length=64, blank=True)
    target = models.CharField(max_length=LOCATION_MAX)
    requester = models.CharField(max_length=LINE_MAX)
    author = models.CharField(max_length=LINE_MAX, blank=True)
    last_editor = models.CharField(max_length=LINE_MAX, blank=True)
    policy_number = models.PositiveIntegerField()
    scope = models.CharField(max_length=20, default="this_call")
    expires_at = models.DateTimeField()
    task_deadline = models.DateTimeField()
    reason = models.TextField()
    preview = models.TextField(blank=True)
    asked_at = models.DateTimeField()
    state = models.CharField(
        max_length=20, choices=choices(ApprovalState), default=ApprovalState.PENDING.value
    )
    decided_by = models.CharField(max_length=LINE_MAX, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_reason = models.TextField(blank=True)
    stale_member = models.CharField(max_length=40, blank=True)
    stale_was = models.TextField(blank=True)
    stale_now = models.TextField(blank=True)
    consumed_at = models.DateTimeField(null=True, blank=True)
    consumed_generation = models.PositiveBigIntegerField(null=True, blank=True)
    passed_from = models.CharField(max_length=40, blank=True)  # the item whose time had run out
    passed_to = models.CharField(max_length=LINE_MAX, blank=True)  # a login name, or a role of the team
    ended_at = models.DateTimeField(
        null=True, blank=True
    )  # when it left the state it waited in, and why ever
    warned_at = models.DateTimeField(null=True, blank=True)  # when it was told that little time is left
    alarmed_at = models.DateTimeField(null=True, blank=True)  # when it was told that nobody uses it

    objects: ClassVar[ApprovalQuerySet] = ApprovalQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "item_id"], name="approval_item_once"),
            models.UniqueConstraint(
                fields=["contract", "operation"],
                condition=Q(state=ApprovalState.PENDING.value),
                name="one_waiting_item_per_operation",
            ),
            models.CheckConstraint(condition=one_of("state", ApprovalState), name="approval_state_is_known"),
            models.CheckConstraint(condition=Q(scope="this_call"), name="no_blanket_scope"),
            models.CheckConstraint(
                condition=~Q(requester="") & ~Q(reason="") & Q(fingerprint__regex="^[0-9a-f]{64}$"),
                name="approval_names_requester_reason_fingerprint",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=DECIDED) | (~Q(decided_by="") & Q(decided_at__isnull=False)),
                name="decision_names_who_and_when",
            ),
            models.CheckConstraint(
                condition=~Q(state=ApprovalState.REJECTED.value) | ~Q(decision_reason=""),
                name="rejection_has_a_reason",
            ),
            models.CheckConstraint(
                condition=~Q(state=ApprovalState.EXPIRED.value)
                | Q(decided_by="")
                | Q(decided_at__lte=F("expires_at")),
                name="expiry_is_nobodys_no",
            ),
            models.CheckConstraint(
                condition=Q(decided_by="") | ~Q(decided_by=F("requester")), name="requester_cannot_decide"
            ),
            models.CheckConstraint(
                condition=Q(consumed_at__isnull=True)
                | (Q(consumed_generation__isnull=False) & ~Q(decided_by="")),
                name="only_decided_items_are_consumed",
            ),
            models.CheckConstraint(
                condition=~Q(state=ApprovalState.STALE.value) | ~Q(stale_member=""),
                name="stale_item_names_the_member",
            ),
            # That author and last editor cannot decide depends on the policy; a trigger looks at both.
        ]
        indexes = [models.Index(fields=["state", "expires_at"], name="approvals_by_urgency")]

    def __str__(self) -> str:
        return self.item_id

    def bound(self) -> Bound:
        """Return the tuple this item was made for."""
        return Bound(
            operation_key=self.operation_key,
            tool=self.tool,
            fingerprint=self.fingerprint,
            draft=self.draft.artefact_id if self.draft else "",
            draft_version=self.draft_version,
            draft_sha256=self.draft_sha256,
            target=self.target,
            requester=self.requester,
            policy_number=self.policy_number,
            scope=self.scope,
            task_deadline=self.task_deadline,
        )

    def item(self) -> Item:
        """Return what the rules of deciding and using look at."""
        return Item(
            state=self.state,
            bound=self.bound(),
            author=self.author,
            last_editor=self.last_editor,
            expires_at=self.expires_at,
            consumed=self.consumed_at is not None,
            decided_by=self.decided_by,
            passed_to=self.passed_to,
        )


class ApprovalVote(ContentRow):
    """One curator's word on one item, where a quorum is asked for."""

    FACTS = {
        "item": "approval__item_id",
        "decider": "decider",
        "decision": "decision",
        "reason": "reason",
        "at": "at",
    }
    NATURAL = ("item", "decider")
    ORDER = ("at", "id")

    approval = reference("contracts.Approval", null=False, blank=False)
    decider = models.CharField(max_length=LINE_MAX)
    decision = models.CharField(max_length=20, choices={s: ApprovalState(s).label for s in DECIDED})
    reason = models.TextField(blank=True)
    at = models.DateTimeField()
    form_key = models.CharField(max_length=64, blank=True)  # SHA-256 of the key of the form it came by

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "approval", "decider"], name="one_vote_per_curator"),
            models.UniqueConstraint(
                fields=["contract", "form_key"], condition=~Q(form_key=""), name="form_key_once"
            ),
            models.CheckConstraint(condition=Q(decision__in=DECIDED), name="vote_is_yes_or_no"),
        ]

    def __str__(self) -> str:
        return f"{self.decider}: {self.decision}"

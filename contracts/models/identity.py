"""The contract itself: identity, versions, state; its five planes and its section marks."""

from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Now, TruncDate

from contracts.models.content import ContentRow, choices, one_of, plain
from contracts.models.domains import Number, SmallNumber, Word
from contracts.models.teams import ContractGroupPermission, ContractUserPermission, Team
from contracts.models.workers import Bearing, TokenScope
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import LINE_MAX, TASK_ID_MAX, Acceptance, Plane, Right, Section


class ReservedTaskId(models.Model):
    """A task id once given away. It outlives its contract, so that no id is ever used twice."""

    task_id = models.CharField(max_length=TASK_ID_MAX, primary_key=True)
    plan_digest = models.CharField(max_length=64)  # of the definition it was first created with
    reserved_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.task_id


@cache
def _granting() -> tuple[str, str]:
    """Return the keys of contracts on which a right (first value) is held by a person (second): own, and by a group.

    Written out, because most pages ask several times, and putting it together costs more than asking.
    """
    own, by_group = ContractUserPermission._meta.db_table, ContractGroupPermission._meta.db_table
    membership = get_user_model().groups.through._meta.db_table
    permissions = f"{Permission._meta.db_table} p ON p.id = g.permission_id AND p.codename = %s"
    by_person = f"SELECT g.content_object_id FROM {own} g JOIN {permissions} WHERE g.user_id = %s"  # noqa: S608  # own names
    by_role = f"""SELECT g.content_object_id FROM {by_group} g JOIN {membership} m ON m.group_id = g.group_id
        JOIN {permissions} WHERE m.user_id = %s"""  # noqa: S608  # own names
    return by_person, by_role


class ContractQuerySet(models.QuerySet["Contract"]):
    """Reads of contracts. Visibility is the loader: what a person may not see is not in the set."""

    def granted(self, user: Any, right: Right) -> "ContractQuerySet":
        """Return the contracts on which `user` holds `right`, by own grant or by a role group."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        own, by_group = _granting()
        held = [right.value, user.pk]
        return self.filter(models.Q(pk__in=RawSQL(own, held)) | models.Q(pk__in=RawSQL(by_group, held)))  # noqa: S611  # own text

    def ended_before(self, moment: datetime) -> "ContractQuerySet":
        """Return the contracts that were completed or cancelled before `moment`, the oldest first."""
        ended = Coalesce("completed_at", "cancelled_at")
        states = [ContractState.COMPLETED.value, ContractState.CANCELLED.value]
        return (
            self.filter(state__in=states).alias(ended=ended).filter(ended__lt=moment).order_by("ended", "pk")
        )

    def visible_to(self, user: Any) -> "ContractQuerySet":
        """Return the contracts `user` may see."""
        return self.granted(user, Right.VIEW)

    def reached_by(self, bearer: Bearing) -> "ContractQuerySet":
        """Return the contracts that the bearer of a token may see."""
        return self.filter(pk__in=TokenScope.objects.filter(token=bearer.pk).values("contract_id"))


class StoredColumn(models.GeneratedField):
    """A generated column. Whether PostgreSQL can do so is not asked of a server that may not be there."""

    def check(self, **options: Any) -> list[Any]:
        """Return what is wrong with the declaration, found without a database."""
        return super().check(**options | {"databases": []})

    def deconstruct(self) -> Any:
        """Return the field for a migration, as the plain one that it is there."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.GeneratedField", arguments, options


class Contract(models.Model):
    """One resume-state contract for one business task."""

    task_id = Word(domain="contracts_task_id", max_length=TASK_ID_MAX, unique=True)
    title = models.CharField(max_length=LINE_MAX)
    purpose = models.TextField(blank=True)
    accountable_owner = models.CharField(max_length=LINE_MAX, blank=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="contracts")
    workflow_name = models.CharField(max_length=LINE_MAX, blank=True)
    workflow_version = models.CharField(max_length=LINE_MAX, blank=True)
    state_schema_version = SmallNumber(null=True, blank=True)
    readable_schema_versions = ArrayField(models.PositiveIntegerField(), default=list, blank=True)
    agent_version = models.CharField(max_length=LINE_MAX, blank=True)
    acceptance = Word(
        domain="contracts_acceptance",
        max_length=20,
        choices=choices(Acceptance),
        default=Acceptance.PERSON.value,
    )
    deadline = models.DateTimeField(null=True, blank=True)

    state = Word(
        domain="contracts_contract_state",
        max_length=20,
        choices=choices(ContractState),
        default=ContractState.DRAFT.value,
    )
    plan_digest = models.CharField(max_length=64, blank=True)  # of the definition when it left draft
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.CharField(max_length=LINE_MAX, blank=True)
    cancel_reason = models.TextField(blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    generation = Number(default=0)  # rises with every grant, never falls
    revision = Number(default=1)  # rises with every change of content
    revised_at = models.DateTimeField(db_default=Now())
    # The day of the last revision, in UTC, and only the day, has an index: a step is committed without touching any.
    revised_on = StoredColumn(
        expression=TruncDate("revised_at", tzinfo=ZoneInfo("UTC")),
        output_field=models.DateField(),
        db_persist=True,
    )
    version = Number(default=1)  # optimistic lock of the identity section
    event_count = Number(default=0)
    event_head = models.CharField(max_length=64, blank=True)  # hash of the newest event
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.CharField(max_length=LINE_MAX)

    objects = ContractQuerySet.as_manager()

    # What the identity section holds; the same names in events, JSON and forms.
    FACTS = {
        "title": "title",
        "purpose": "purpose",
        "accountable_owner": "accountable_owner",
        "workflow_name": "workflow_name",
        "workflow_version": "workflow_version",
        "state_schema_version": "state_schema_version",
        "readable_schema_versions": "readable_schema_versions",
        "agent_version": "agent_version",
        "acceptance": "acceptance",
        "deadline": "deadline",
    }
    LIFE = {
        "state": "state",
        "generation": "generation",
        "plan_digest": "plan_digest",
        "cancelled_at": "cancelled_at",
        "cancelled_by": "cancelled_by",
        "cancel_reason": "cancel_reason",
        "completed_at": "completed_at",
        "archived_at": "archived_at",
    }

    class Meta:
        default_permissions = ()
        permissions = [(right.value, right.label) for right in Right]
        indexes = [
            models.Index(fields=["team", "state"], name="contracts_by_team_and_state"),
            models.Index(fields=["-revised_on"], name="contracts_by_last_revision"),
            models.Index(fields=["deadline"], name="contracts_by_deadline"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state=ContractState.DRAFT.value)
                | models.Q(state=ContractState.CANCELLED.value)
                | models.Q(deadline__isnull=False),
                name="deadline_needed_outside_draft",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=ContractState.CANCELLED.value)
                | models.Q(cancelled_at__isnull=False)
                & ~models.Q(cancelled_by="")
                & ~models.Q(cancel_reason=""),
                name="cancellation_names_when_who_why",
            ),
        ]

    def __str__(self) -> str:
        return str(self.task_id)

    @property
    def brought_in(self) -> bool:
        """Tell whether nothing was changed here yet: the revision is the one that a document brought along."""
        return self.revised_at < self.created_at

    @property
    def settled_at(self) -> datetime:
        """Return since when the contract stands here as it does: its last revision, or its creation from a document."""
        return max(self.revised_at, self.created_at)

    def facts(self) -> dict[str, Any]:
        """Return the identity section as it appears in events and exports."""
        return {name: plain(getattr(self, path)) for name, path in self.FACTS.items()}

    def life(self) -> dict[str, Any]:
        """Return state and fate of the contract as exports tell them."""
        return {name: plain(getattr(self, path)) for name, path in self.LIFE.items()}


class PlaneRow(ContentRow):
    """Where the authority of one plane lives, who may read it, how long it is kept."""

    FACTS = {
        "plane": "plane",
        "authority": "authority",
        "readers": "readers",
        "retention_days": "retention_days",
        "note": "note",
    }
    NATURAL = ("plane",)

    plane = models.CharField(max_length=20, choices=choices(Plane))
    authority = models.CharField(max_length=2_000, blank=True)
    readers = models.CharField(max_length=LINE_MAX, blank=True)
    retention_days = models.PositiveIntegerField(null=True, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "plane"], name="one_row_per_plane"),
            models.CheckConstraint(condition=one_of("plane", Plane), name="plane_is_known"),
        ]

    def __str__(self) -> str:
        return self.plane


class SectionMark(ContentRow):
    """A person's word that one section is complete."""

    FACTS = {"section": "section", "complete": "complete"}
    NATURAL = ("section",)

    section = models.CharField(max_length=20, choices=choices(Section))
    complete = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "section"], name="one_mark_per_section"),
            models.CheckConstraint(condition=one_of("section", Section), name="section_is_known"),
        ]

    def __str__(self) -> str:
        return self.section

"""Runs of drills: what was asked for, how far it is, and what each window came to."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from contracts.models.content import choices, one_of
from contracts.models.identity import Contract
from contracts.rules.drill_runs import ADAPTER_MAX, OPEN, REPEAT_MAX, RunEnd, RunState, is_outdated
from contracts.rules.drilling import Target
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX
from contracts.rules.windows import Window, WindowVerdict

OPEN_STATES = [state.value for state in RunState if state in OPEN]


class DrillRunQuerySet(models.QuerySet["DrillRun"]):
    """Reads of runs."""

    def visible_to(self, user: Any) -> "DrillRunQuerySet":
        """Return the runs of contracts that `user` may see, and those of no contract."""
        seen = Contract.objects.visible_to(user)
        return self.filter(Q(contract__isnull=True) | Q(contract__in=seen.values("pk")))

    def of(self, contract_id: int) -> "DrillRunQuerySet":
        """Return the runs of one contract, newest first."""
        return self.filter(contract_id=contract_id).order_by("-id")

    def open(self) -> "DrillRunQuerySet":
        """Return the runs that have not ended."""
        return self.filter(state__in=OPEN_STATES)


class DrillRun(models.Model):
    """One run: one adapter at one target, in some windows, each repeated. It never changes once it has ended.

    `workflow_version` is the contract's at the time. `versions` are those of everything that was run.
    """

    run_id = models.CharField(max_length=40, unique=True)
    contract = models.ForeignKey(Contract, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    adapter = models.CharField(max_length=ADAPTER_MAX)
    target = models.CharField(max_length=20, choices=choices(Target))
    windows = models.JSONField()  # names, in the order of the grid
    repeat = models.PositiveIntegerField()
    workflow_version = models.CharField(max_length=LINE_MAX, blank=True)
    language = models.CharField(max_length=20, blank=True)  # in which sentences go into the contract
    asked_by = models.CharField(max_length=LINE_MAX)
    asked_at = models.DateTimeField(db_default=Now(), editable=False)

    state = models.CharField(max_length=20, choices=choices(RunState), default=RunState.QUEUED.value)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=20, choices=choices(RunEnd), blank=True)
    fault = models.TextField(blank=True)  # what the runner itself failed of
    stopped_by = models.CharField(max_length=LINE_MAX, blank=True)

    versions = models.JSONField(default=dict, blank=True)
    folder = models.CharField(
        max_length=LOCATION_MAX, blank=True
    )  # log and evidence, on the runner's machine
    host = models.CharField(max_length=LINE_MAX, blank=True)
    pid = models.PositiveIntegerField(null=True, blank=True)
    pid_began = models.FloatField(
        null=True, blank=True
    )  # seconds since 1970; a pid alone may be anybody's later
    at_window = models.CharField(max_length=20, choices=choices(Window), blank=True)
    repetitions_done = models.PositiveIntegerField(default=0)  # of all windows together
    seen_at = models.DateTimeField(null=True, blank=True)  # when the runner last told how far it is

    objects = DrillRunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=one_of("state", RunState), name="run_state_is_known"),
            models.CheckConstraint(condition=one_of("target", Target), name="run_target_is_known"),
            models.CheckConstraint(condition=Q(repeat__range=(1, REPEAT_MAX)), name="run_repeats_in_range"),
            models.CheckConstraint(
                condition=one_of("end_reason", RunEnd, optional=True), name="run_end_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=OPEN_STATES, ended_at__isnull=True, end_reason="")
                | ~Q(state__in=OPEN_STATES) & Q(ended_at__isnull=False) & ~Q(end_reason=""),
                name="run_end_has_reason",
            ),
            models.UniqueConstraint(
                fields=["contract"],
                condition=Q(state__in=OPEN_STATES),
                name="one_open_run_per_contract",
            ),
        ]
        indexes = [
            models.Index(fields=["adapter", "target", "-id"], name="runs_by_adapter_and_target"),
            models.Index(fields=["id"], condition=Q(ended_at__isnull=True), name="open_runs"),
        ]

    def __str__(self) -> str:
        return self.run_id

    @property
    def repetitions(self) -> int:
        """Return how many repetitions the run has in all."""
        return int(self.repeat * len(self.windows))

    @property
    def is_open(self) -> bool:
        """Tell whether the run has not ended."""
        return self.state in OPEN

    @property
    def outdated(self) -> bool:
        """Tell whether it drilled another version of the workflow than its contract is about now."""
        return self.contract is not None and is_outdated(
            self.workflow_version, self.contract.workflow_version
        )

    def facts(self) -> dict[str, Any]:
        """Return what an event tells of the run."""
        return {
            "adapter": self.adapter,
            "target": self.target,
            "windows": self.windows,
            "repeat": self.repeat,
        }


class DrillResult(models.Model):
    """What one window of a run came to; stored once, when its last repetition was counted.

    `counters` are those of `rules.drilling.Counters`, decimals as text. `sentence` is a message id that `values` fill.
    """

    run = models.ForeignKey(DrillRun, on_delete=models.CASCADE, related_name="results", db_index=False)
    window = models.CharField(max_length=20, choices=choices(Window))
    # Blank: the window could not be provoked, so that nothing was found out.
    verdict = models.CharField(max_length=20, choices=choices(WindowVerdict), blank=True)
    counters = models.JSONField()
    sentence = models.TextField()
    values = models.JSONField(default=dict, blank=True)
    evidence = models.CharField(max_length=LOCATION_MAX, blank=True)  # a folder on the runner's machine
    stored_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "window"], name="one_result_per_window"),
            models.CheckConstraint(condition=one_of("window", Window), name="result_window_is_known"),
            models.CheckConstraint(
                condition=one_of("verdict", WindowVerdict, optional=True), name="result_verdict_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.window}"

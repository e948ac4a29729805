"""The failure-window grid: what is to be provoked, and what was really seen."""

from django.db import models
from django.db.models import Q

from contracts.models.content import OrderedRow, choices, one_of
from contracts.rules.vocabulary import LINE_MAX, LOCATION_MAX
from contracts.rules.windows import WindowVerdict


class WindowRow(OrderedRow):
    """One row of the grid. The result half is blank until somebody really ran it."""

    FACTS = {
        "window": "window",
        "title": "title",
        "setting": "setting",
        "provoked": "provoked",
        "expected": "expected",
        "counted": "counted",
        "on_resuming": "on_resuming",
        "repeated": "repeated",
        "verdict": "verdict",
        "run_at": "run_at",
        "run_by": "run_by",
        "evidence": "evidence",
    }
    NATURAL = ("window",)
    RESULTS = ("counted", "on_resuming", "repeated", "verdict", "run_at", "run_by", "evidence")

    window = models.CharField(max_length=LINE_MAX)  # one of the six, or a name of one's own
    title = models.CharField(max_length=LINE_MAX, blank=True)  # of a row of one's own
    setting = models.TextField(blank=True)
    provoked = models.TextField(blank=True)
    expected = models.TextField(blank=True)
    counted = models.PositiveIntegerField(null=True, blank=True)  # objects found in the target
    on_resuming = models.TextField(blank=True)
    repeated = models.BooleanField(null=True, blank=True)  # did a confirmed step run again
    verdict = models.CharField(max_length=20, choices=choices(WindowVerdict), blank=True)
    run_at = models.DateTimeField(null=True, blank=True)
    run_by = models.CharField(max_length=LINE_MAX, blank=True)
    evidence = models.CharField(max_length=LOCATION_MAX, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "window"], name="one_row_per_window"),
            models.CheckConstraint(
                condition=one_of("verdict", WindowVerdict, optional=True), name="window_verdict_is_known"
            ),
            models.CheckConstraint(
                condition=(
                    Q(counted__isnull=True, on_resuming="", repeated__isnull=True, verdict="")
                    & Q(run_at__isnull=True, run_by="", evidence="")
                )
                | (~Q(verdict="") & Q(run_at__isnull=False) & ~Q(run_by="") & ~Q(evidence="")),
                name="result_is_blank_or_names_who_when_evidence",
            ),
        ]

    def __str__(self) -> str:
        return self.window

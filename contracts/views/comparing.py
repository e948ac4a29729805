from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from contracts.models import DrillResult, DrillRun
from contracts.rules.drilling import Target
from contracts.rules.windows import Window
from contracts.views.drilled import ShownResult, lacking, shown_result, titles
from contracts.views.loading import Asked


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """One window of one worker: its newest result, if there is one. `open`: whether the reader may see the run."""

    window: str
    shown: ShownResult | None
    open: bool


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One worker with its six windows."""

    name: str
    title: str
    missing: bool
    cells: list[ComparedCell]

    @property
    def is_blank(self) -> bool:
        return not any(cell.shown for cell in self.cells)


@dataclass(frozen=True, slots=True)
class TargetTab:
    """One kind of target, and how many cells of it were drilled."""

    name: str
    label: str
    count: int
    current: bool


@require_safe
def compare_drills(request: Asked) -> HttpResponse:
    newest = _newest()
    chosen = request.GET.get("target", "")
    counts = {target: sum(key[1] == target.value for key in newest) for target in Target}
    if chosen not in set(Target):
        chosen = max(Target, key=lambda target: counts[target]).value  # of equals the first
    context = {
        "tabs": [
            TargetTab(target.value, gettext(target.label), counts[target], target == chosen)
            for target in Target
        ],
        "target": Target(chosen),
        "windows": list(Window),
        "lines": _lines(request, newest, chosen),
        "drilled": counts[Target(chosen)],
        "nav_here": "drills",
    }
    return render(request, "drills/compare.html", context)


def _newest() -> dict[tuple[str, str, str], DrillResult]:
    """Return the newest result of each worker, kind of target and window."""
    keys = ("run__adapter", "run__target", "window")
    rows = DrillResult.objects.select_related("run").order_by(*keys, "-id").distinct(*keys)
    return {(row.run.adapter, row.run.target, row.window): row for row in rows}


def _lines(
    request: Asked, newest: dict[tuple[str, str, str], DrillResult], target: str
) -> list[ComparedLine]:
    absent, named = lacking(), titles()
    strangers = sorted({adapter for adapter, at, _ in newest if at == target} - set(named))
    mine = set(DrillRun.objects.visible_to(request.user).values_list("pk", flat=True)) if newest else set()
    lines = []
    for name in (*named, *strangers):
        cells = []
        for window in Window:
            result: Any = newest.get((name, target, window.value))
            shown = shown_result(result) if result else None
            cells.append(ComparedCell(gettext(window.label), shown, bool(result) and result.run_id in mine))
        lines.append(ComparedLine(name, named.get(name, name), name in absent, cells))
    return lines

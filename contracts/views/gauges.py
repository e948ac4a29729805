"""How much of each limit is used, over all attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.utils.translation import gettext

from contracts.models import Contract, Limit, UsageEntry
from contracts.rules.limiting import PER_STEP
from contracts.rules.vocabulary import Measure

HUNDREDTH = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Gauge:
    """One measure: what was used over all attempts, and the cap if there is one."""

    measure: str
    label: str
    used: str
    cap: str
    share: int  # per cent of the cap, at most 100
    unit: str
    over: bool


def gauges(contract: Contract) -> list[Gauge]:
    """Return every measure in its order; of those counted per step the busiest step."""
    used = UsageEntry.objects.filter(contract=contract)
    totals = used.totals() | _busiest_steps(used)
    limits = {limit.measure: limit for limit in Limit.objects.of(contract.pk)}
    return [_gauge(measure, limits.get(measure.value), totals) for measure in Measure]


def _busiest_steps(used: Any) -> dict[str, Decimal]:
    """Return, for measures capped per step, the total of the step that used most: a sum would cry wolf."""
    by_step = used.order_by().values("step").annotate(total=Sum("amount")).order_by("-total")
    found = {measure.value: by_step.filter(measure=measure.value).first() for measure in PER_STEP}
    return {measure: step["total"] for measure, step in found.items() if step}


def _gauge(measure: Measure, limit: Limit | None, totals: Mapping[str, Decimal]) -> Gauge:
    used = totals.get(measure.value, Decimal(0))
    cap = limit.cap if limit else None
    return Gauge(
        measure=measure.value,
        label=gettext(measure.label),
        used=show_number(used),
        cap=show_number(cap) if cap is not None else "",
        share=min(100, int(100 * used / cap)) if cap else 0,
        unit=limit.currency if limit else "",
        over=cap is not None and used >= cap,
    )


def show_number(amount: Decimal) -> str:
    """Return an amount as text, to a hundredth and without zeros at its end."""
    short = round(amount, 2) if amount >= HUNDREDTH else amount
    return format(short.normalize(), ",f")

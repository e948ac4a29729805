"""Asking the caps before something is begun: sums the server keeps, read in constant time."""

import secrets
from decimal import Decimal

from django.db.models import Sum

from contracts.models import Contract, JournalStep, Limit, Operation, UsageEntry, UsageTotal
from contracts.rules.limiting import PER_STEP
from contracts.rules.refusals import refusal
from contracts.rules.states import StepState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Measure

NOTHING = Decimal(0)


def entry_id() -> str:
    """Return the id of the entry that counts one try of a call."""
    return f"send-{secrets.token_hex(8)}"


def refuse_reached(contract: Contract) -> Verdict | None:
    """Return the refusal that names the first cap over the whole task that is reached, or None."""
    caps = _caps(contract)
    total = UsageTotal.objects.filter(contract=contract).first()
    for measure in Measure:
        if measure not in PER_STEP and measure in caps and _used(total, measure) >= caps[measure]:
            return _refused(measure)
    return None


def refuse_time(contract: Contract, running: Decimal) -> Verdict | None:
    """Refuse an owner whose `running` seconds, with those of all before it, exceed the cap on active time."""
    measure = Measure.ACTIVE_SECONDS
    cap = _caps(contract).get(measure)
    total = UsageTotal.objects.filter(contract=contract).first()
    return _refused(measure) if cap is not None and _used(total, measure) + running > cap else None


def refuse_send(operation: Operation) -> Verdict | None:
    """Return why this operation cannot be sent once more within the caps on tool attempts and tries, or None.

    A try that its journal step began, or that a new round opened, is counted already; each further sending of
    one slot is a try of its own.
    """
    contract, caps = operation.contract, _caps(operation.contract)
    attempts, tries = caps.get(Measure.TOOL_ATTEMPTS), caps.get(Measure.TRIES_PER_STEP)
    total = UsageTotal.objects.filter(contract=contract).first()
    if attempts is not None and _used(total, Measure.TOOL_ATTEMPTS) + 1 > attempts:
        return _refused(Measure.TOOL_ATTEMPTS)
    if tries is not None and _tries_with_this(operation) > tries:
        return _refused(Measure.TRIES_PER_STEP)
    return None


def _tries_with_this(operation: Operation) -> Decimal:
    slot = Operation.objects.filter(
        contract=operation.contract,
        work_object=operation.work_object,
        step=operation.step,
        tool=operation.tool,
    )
    sent = slot.aggregate(sent=Sum("tries"))["sent"] or 0
    counted = UsageEntry.objects.filter(contract=operation.contract, step=operation.step).totals()
    begun = JournalStep.objects.filter(
        contract=operation.contract, key=operation.step, state=StepState.STARTED.value
    )
    own = 0 if begun.exists() else 1
    return max(Decimal(sent + 1), counted.get(Measure.TRIES_PER_STEP.value, NOTHING) + own)


def _caps(contract: Contract) -> dict[str, Decimal]:
    rows = Limit.objects.filter(contract=contract, cap__isnull=False)
    return {measure: cap for measure, cap in rows.values_list("measure", "cap") if cap is not None}


def _used(total: UsageTotal | None, measure: Measure) -> Decimal:
    return getattr(total, measure.value) if total is not None else NOTHING


def _refused(measure: Measure) -> Verdict:
    return refusal("cap_reached", measure=measure)

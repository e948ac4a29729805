"""What changes while the task is under way: a source has another version, a cap is raised."""

from decimal import Decimal
from typing import Any

from contracts.gates.beats import Turn, take_turn
from contracts.gates.filling import fill_in, follow_sources, retire
from contracts.gates.rows import Change, check_reason, closed, not_open, store
from contracts.models import Limit, Source
from contracts.rules.fields import Refused, check_field
from contracts.rules.parts.part import ALIVE
from contracts.rules.parts.plan import LIMIT
from contracts.rules.parts.records import SOURCE
from contracts.rules.refusals import refusal
from contracts.rules.rows import check_row
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor, ActorKind

UNDER_WAY = ALIVE - {ContractState.COMPLETED}


def change_source(
    *,
    contract_id: int,
    actor: Actor,
    source_id: str,
    version_label: str,
    sha256: str,
    location: str,
    size_bytes: int | None = None,
) -> Verdict:
    """Make another version of a source the current one, as a worker or a person found it. The outcome is the row.

    The same label with another checksum is another version. Only the objects confirmed from an older version are
    to be rechecked; what is current already changes nothing (code `exists`), and one that was current before is
    again.
    """
    raw = {
        "source_id": source_id,
        "version_label": version_label,
        "sha256": sha256,
        "location": location,
        "size_bytes": size_bytes,
    }

    def body(turn: Turn) -> Verdict:
        shut = closed(turn, UNDER_WAY)
        if shut is not None:
            return shut
        checked = check_row(SOURCE, raw)
        if checked.problems:
            return refusal("bad_values", problems=checked.problems)
        values = checked.values
        versions = Source.objects.of(turn.contract.pk).filter(source_id=values["source_id"])
        if not versions.exists():
            return refusal("no_such_source")
        same = versions.filter(version_label=values["version_label"], sha256=values["sha256"]).first()
        if same is not None:
            return allow(same, code="exists") if same.current else _bring_back(turn, same)
        row = Source(contract=turn.contract, **values)
        fill_in(turn, row, new=True)
        return store(turn, Change(SOURCE, row, None, row.facts()))

    return take_turn(contract_id=contract_id, actor=actor, act="change_source", part="source", body=body)


def raise_cap(*, contract_id: int, actor: Actor, measure: str, cap: Any, reason: str) -> Verdict:
    """Let an operator raise the cap of one measure; it never falls here. The outcome is the limit.

    `cap`: a decimal number in the unit of the measure, as text or whole number.
    """

    def body(turn: Turn) -> Verdict:
        if turn.actor.kind is not ActorKind.OPERATOR:
            return refusal("operator_only")
        if turn.contract.state not in UNDER_WAY:
            return not_open(turn.contract)
        try:
            wanted = check_field(LIMIT.field("cap"), cap if not isinstance(cap, Decimal) else str(cap))
        except Refused as refused:
            return refusal("bad_values", problems=(refused.problem,))
        row = Limit.objects.filter(contract=turn.contract, measure=measure).first()
        if row is None or row.cap is None:
            return refusal("no_such_limit")
        turn.subject = row.natural_key()
        if wanted is None or wanted <= row.cap:
            return refusal("cap_only_rises", outcome=row, cap=row.cap)
        return check_reason(reason) or _raise(turn, row, wanted, reason.strip())

    return take_turn(contract_id=contract_id, actor=actor, act="raise_cap", part="limit", body=body)


def _bring_back(turn: Turn, row: Source) -> Verdict:
    """Make a version current that was so before; nothing of it is new but that."""
    turn.answer()
    row.contract = turn.contract
    retire(turn, Source.objects.of(turn.contract.pk).filter(source_id=row.source_id, current=True))
    before = row.facts()
    row.current = True
    row.version += 1
    row.save()
    turn.note("promoted", "source", row.natural_key(), before, row.facts())
    follow_sources(turn, [row.source_id])
    return allow(row)


def _raise(turn: Turn, row: Limit, cap: Decimal, reason: str) -> Verdict:
    turn.answer()
    before = row.facts()
    row.cap = cap
    row.version += 1
    row.save()
    turn.note("raise_cap", "limit", row.natural_key(), before, {**row.facts(), "reason": reason})
    return allow(row)

"""A curator corrects the draft of a waiting item: a new version, which somebody else decides on."""

from datetime import datetime
from typing import Any

from contracts.gates.approving import judge, read_decider
from contracts.gates.beats import Turn, take_turn
from contracts.gates.binding import Present, drop_operation, go_stale, stale_items
from contracts.gates.filling import fill_in, make_way
from contracts.gates.notices import tell, who_is_concerned
from contracts.gates.requesting import load_item
from contracts.gates.rows import check_reason
from contracts.models import Approval, Artefact, Operation
from contracts.rules.approving import next_label
from contracts.rules.fields import Refused, check_field
from contracts.rules.notices import Told
from contracts.rules.parts.records import ARTEFACT
from contracts.rules.refusals import refusal
from contracts.rules.text import clean_text
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import Actor


def correct_draft(
    *,
    contract_id: int,
    actor: Actor,
    user: Any,
    item_id: str,
    seen: str,
    text: str,
    reason: str,
    confirmed_at: datetime | None = None,
    second_factor_at: datetime | None = None,
) -> Verdict:
    """Store `text` as the next version of the item's draft, with the corrector as its author.

    Whoever may decide may correct. The item goes stale and its operation is abandoned: the call with the former
    text is never sent, and the corrected one is another call, in another round. The outcome is the new version.
    """

    def body(turn: Turn) -> Verdict:
        item = load_item(turn, item_id)
        if item is None:
            return refusal("no_such_item")
        decider = read_decider(turn.contract, turn.actor, user, confirmed_at, second_factor_at)
        return (
            judge(turn, item, decider, seen)
            or _check(item, text, reason)
            or _correct(turn, item, text, reason.strip())
        )

    return take_turn(
        contract_id=contract_id, actor=actor, act="correct", part="approval", subject=item_id[:40], body=body
    )


def _check(item: Approval, text: str, reason: str) -> Verdict | None:
    if item.draft is None or not item.draft.inline_text:
        return refusal("no_text_to_correct")
    try:
        cleaned = check_field(ARTEFACT.field("inline_text"), text)
    except Refused as refused:
        return refusal("bad_values", problems=(refused.problem,))
    if not cleaned or clean_text(cleaned) == clean_text(item.draft.inline_text):
        return refusal("nothing_corrected")
    return check_reason(reason)


def _correct(turn: Turn, item: Approval, text: str, reason: str) -> Verdict:
    former = item.draft
    assert former is not None  # noqa: S101  # checked before
    versions = Artefact.objects.of(turn.contract.pk).filter(artefact_id=former.artefact_id)
    row = Artefact(
        contract=turn.contract,
        artefact_id=former.artefact_id,
        version_label=next_label(former.version_label, set(versions.values_list("version_label", flat=True))),
        inline_text=check_field(ARTEFACT.field("inline_text"), text),
        source=former.source,
        author=turn.actor.name,
        note="",
    )
    fill_in(turn, row, new=True)
    turn.answer()
    make_way(turn, row, new=True)
    row.save()
    turn.note("correct", "artefact", row.natural_key(), None, {**row.facts(), "reason": reason})
    difference = Present(turn.contract, [item]).difference(item)
    assert difference is not None  # noqa: S101  # the draft has just changed
    go_stale(turn, item, difference)
    drop_operation(turn, Operation.objects.joined().get(pk=item.operation_id, contract=turn.contract))
    tell(turn, Told.CORRECTED, item, who_is_concerned(item), version=row.version_label, reason=reason)
    stale_items(turn)
    return allow(row)

"""What people are told, stored as the gates store it."""

from types import SimpleNamespace
from typing import Any

from contracts.gates.beats import take_turn
from contracts.gates.notices import tell
from contracts.models import Contract, Notice
from contracts.rules.notices import Told
from contracts.rules.verdict import allow
from contracts.rules.vocabulary import Actor, ActorKind

WORKER = Actor("label-writer", ActorKind.WORKER)


def a_notice(contract: Contract, reader: Any, kind: Told = Told.WAITING, /, **words: Any) -> Notice:
    """Tell `reader` one thing about an item of `contract` and return the notice."""
    item: Any = SimpleNamespace(tool="cms.publish", target="cms://pages/label-1", item_id="A-1")

    def body(turn: Any) -> Any:
        tell(turn, kind, item, [reader], **words)
        return allow(Notice.objects.of(reader).order_by("-id").first())

    notice: Notice = take_turn(contract_id=contract.pk, actor=WORKER, act="ask", body=body).outcome
    return notice

"""Requests that reach no other gate, because what they hold makes no sense: recorded, and nothing else."""

from contracts.gates.beats import take_turn
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor


def turn_away(*, contract_id: int, actor: Actor, asked_for: str, verdict: Verdict) -> Verdict:
    """Record that a request for `asked_for` was refused before it was carried out; returns `verdict`."""
    return take_turn(
        contract_id=contract_id,
        actor=actor,
        act="turn_away",
        part="request",
        subject=asked_for,
        body=lambda _: verdict,
    )

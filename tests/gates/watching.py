"""What every gate owes, checked around one call: one revision, its events, and nothing else."""

from datetime import timedelta
from typing import Any

from contracts.gates.beats import database_now
from contracts.models import CONTENT, Attempt, Contract, ContractUserPermission, Event
from contracts.rules.states import ContractState
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import Actor

ACTOR = Actor("olga")


def snapshot(contract: Contract) -> dict[str, Any]:
    """Return everything stored of a contract but its events and the head of their chain."""
    row = Contract.objects.filter(pk=contract.pk).values().get()
    tables = {
        model.__name__: list(model.objects.filter(contract_id=contract.pk).order_by("pk").values())
        for model in CONTENT
        if model is not Event
    }
    rights = sorted(
        ContractUserPermission.objects.filter(content_object=contract).values_list("user", "permission")
    )
    return {
        "contract": {name: value for name, value in row.items() if not name.startswith("event_")},
        "rights": rights,
        **tables,
    }


def events_of(contract: Contract) -> list[Event]:
    """Return the chain of a contract, which must be whole."""
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None
    return list(Event.objects.of(contract.pk))


def assert_allowed(contract: Contract, gate: Any, **given: Any) -> tuple[Verdict, list[Event]]:
    """Call `gate`, which must change something; return its verdict and the events it recorded."""
    before, known = snapshot(contract), len(events_of(contract))
    verdict = gate(contract_id=contract.pk, actor=given.pop("actor", ACTOR), **given)
    assert (verdict.allowed, verdict.code) == (True, "done"), (verdict.code, verdict.problems)
    after, events = snapshot(contract), events_of(contract)[known:]
    assert after["contract"]["revision"] == before["contract"]["revision"] + 1
    assert events
    assert {(event.refused, event.at) for event in events} == {("", after["contract"]["revised_at"])}
    assert after["contract"]["revised_at"] != before["contract"]["revised_at"]
    return verdict, events


def assert_refused(contract: Contract, code: str, gate: Any, **given: Any) -> Verdict:
    """Call `gate`, which must refuse with `code` and leave nothing but that event; return its verdict."""
    before, known = snapshot(contract), len(events_of(contract))
    verdict = gate(contract_id=contract.pk, actor=given.pop("actor", ACTOR), **given)
    assert (verdict.allowed, verdict.code) == (False, code), verdict
    assert verdict.sentence % verdict.values
    assert snapshot(contract) == before
    (event,) = events_of(contract)[known:]
    assert (event.refused, event.before, event.after) == (code, None, None)
    return verdict


def assert_unchanged(contract: Contract, gate: Any, **given: Any) -> Verdict:
    """Call `gate` with what stands already: it is allowed, and nothing is written."""
    before, known = snapshot(contract), len(events_of(contract))
    verdict = gate(contract_id=contract.pk, actor=given.pop("actor", ACTOR), **given)
    assert (verdict.allowed, verdict.code) == (True, "unchanged"), verdict
    assert snapshot(contract) == before
    assert len(events_of(contract)) == known
    return verdict


def own(contract: Contract, *, minutes: int = 60) -> Contract:
    """Let the worker own a contract at work; the gate that grants ownership is still to come."""
    now = database_now()
    Attempt.objects.filter(contract=contract, ended_at__isnull=True).update(
        ended_at=now, end_reason="released"
    )
    contract.refresh_from_db()
    generation = contract.generation + 1
    Attempt.objects.create(
        contract=contract,
        number=generation + 98,
        attempt_id=f"attempt-{generation + 98}",
        generation=generation,
        worker="label-writer",
        started_at=now,
        lease_end=now + timedelta(minutes=minutes),
        by_hand=False,
    )
    return force(contract, ContractState.RUNNING, generation=generation)


def force(contract: Contract, state: ContractState, **columns: Any) -> Contract:
    """Put a contract into a state that no gate leads to yet."""
    if state is ContractState.CANCELLED:
        columns = {"cancelled_at": contract.created_at, "cancelled_by": "x", "cancel_reason": "x", **columns}
    Contract.objects.filter(pk=contract.pk).update(state=state.value, **columns)
    contract.refresh_from_db()
    return contract

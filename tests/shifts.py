"""Contracts with a worker on shift, in every state of ownership that looks different; time alone is moved by hand."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from contracts.gates.beats import database_now
from contracts.gates.sending import dispatch
from contracts.gates.workers.changing import change_source
from contracts.gates.workers.ledger import intend, report
from contracts.gates.workers.owning import release, resume
from contracts.gates.workers.pausing import request_pause
from contracts.gates.workers.stepping import commit_step
from contracts.models import Attempt, Contract, Operation, WorkObject
from contracts.rules.granting import Offer, Released
from contracts.rules.stepping import Point, Step, sealed
from contracts.rules.vocabulary import Actor, ActorKind, Measure
from tests import builders, people

WORKER = Actor("label-writer", ActorKind.WORKER)
TITLE = "Labels of the spring show, second room"
TOOL = {
    **builders.EXAMPLES["tool"],
    "tool": "cms.publish_label",
    "query_path": "cms://collection-site/pages?key=",
    "settle_seconds": 60,
    "compensation": "Take the page down.",
    "named_person": "Otto",
}
STATES = (
    "ready",
    "working",
    "lapsed",
    "unknown",
    "undecidable",
    "used-up",
    "changed",
    "asking",
    "pausing",
)


def task(state: str) -> str:
    return f"shift-{state}"


def a_shift(team: Any, state: str, **tool: Any) -> Contract:
    """Return a paused contract with three objects and a tool that writes."""
    objects = [{"object_id": f"case-{n}", "source": "P-1"} for n in (5, 6, 7)]
    keys = {"objects": objects, "tools": [{**TOOL, **tool}]}
    identity = {**builders.complete_keys()["identity"], "title": TITLE}
    return builders.a_paused(team, people.owner(team), task_id=task(state), identity=identity, **keys)


def take_up(contract: Contract) -> int:
    """Let the worker take the contract up; return the generation."""
    verdict = resume(contract_id=contract.pk, actor=WORKER, offer=Offer())
    generation: int = builders.done(verdict).attempt.generation
    return generation


def step(contract: Contract, generation: int, number: int, following: str, **usage: Any) -> None:
    """Let the worker commit one step."""
    point = Point(f"cp-{number:04}", following, 2, sequence=number, inline_state={"label": number})
    counted = {Measure(name): Decimal(amount) for name, amount in usage.items()}
    whole = Step(sealed(point), usage=counted)
    builders.done(commit_step(contract_id=contract.pk, actor=WORKER, generation=generation, step=whole))


def write(contract: Contract, generation: int, object_id: str = "case-7") -> Operation:
    """Let the worker intend the publication of one label."""
    place = f"cms://collection-site/{object_id}/label"
    verdict = intend(
        contract_id=contract.pk,
        actor=WORKER,
        generation=generation,
        tool=TOOL["tool"],
        step="publish_label",
        parameters={"page": f"{object_id}/label", "lang": "en", "text": "River crossing in winter, 1931."},
        target=place,
        expected="One page with the label, and one only.",
        object_id=object_id,
    )
    operation: Operation = builders.done(verdict)
    return operation


def send(contract: Contract, generation: int, operation: Operation) -> None:
    """Let the worker store that it sends the write."""
    given = {"operation_key": operation.key, "generation": generation}
    builders.done(dispatch(contract_id=contract.pk, actor=WORKER, **given))


def lose(contract: Contract, generation: int, operation: Operation) -> None:
    """Let the receipt of a write get lost: nobody knows the result."""
    given = {"operation_key": operation.key, "generation": generation, "result": "unknown"}
    builders.done(
        report(contract_id=contract.pk, actor=WORKER, detail="No answer within 30 seconds.", **given)
    )


def let_go(contract: Contract, generation: int) -> None:
    builders.done(
        release(contract_id=contract.pk, actor=WORKER, generation=generation, reason=Released.GIVEN_UP)
    )


def begin(contract: Contract, *object_ids: str) -> None:
    """Let the owner have objects in its hands."""
    attempt = Attempt.objects.get(contract=contract, ended_at__isnull=True)
    held = WorkObject.objects.filter(contract=contract, object_id__in=object_ids)
    held.update(state="in_progress", attempt=attempt)


def let_lapse(contract: Contract, minutes: int = 9) -> None:
    """Let the lease of the owner have run out some minutes ago."""
    now = database_now()
    Attempt.objects.filter(contract=contract, ended_at__isnull=True).update(
        started_at=now - timedelta(minutes=minutes + 30),
        renewed_at=now - timedelta(minutes=minutes + 2),
        progressed_at=now - timedelta(minutes=minutes + 7),
        lease_end=now - timedelta(minutes=minutes),
    )


def lost_write(team: Any, state: str = "unknown", **tool: Any) -> tuple[Contract, Operation]:
    """Return a paused contract with one write whose receipt was lost, and that write."""
    contract = a_shift(team, state, **tool)
    generation = take_up(contract)
    step(contract, generation, 1, "publish_label")
    operation = write(contract, generation)
    send(contract, generation, operation)
    lose(contract, generation, operation)
    let_go(contract, generation)
    contract.refresh_from_db()
    return contract, operation


def lapsed(team: Any, state: str = "lapsed") -> Contract:
    """Return a contract whose owner has gone silent with a write on its way and an object in its hands."""
    contract = a_shift(team, state)
    generation = take_up(contract)
    for number in (1, 2, 3):
        step(contract, generation, number, "publish_label")
    begin(contract, "case-5", "case-7")
    send(contract, generation, write(contract, generation))
    let_lapse(contract)
    contract.refresh_from_db()
    return contract


def working(team: Any, state: str = "working") -> Contract:
    """Return a contract at which the worker works just now."""
    contract = a_shift(team, state)
    generation = take_up(contract)
    step(contract, generation, 1, "draft_label")
    step(contract, generation, 2, "publish_label", model_turns=12, tokens=60)
    begin(contract, "case-5")
    write(contract, generation, "case-6")
    contract.refresh_from_db()
    return contract


def used_up(team: Any) -> Contract:
    contract = a_shift(team, "used-up")
    generation = take_up(contract)
    step(contract, generation, 1, "draft_label", model_turns=100, tokens=85)
    let_go(contract, generation)
    return contract


def changed(team: Any) -> Contract:
    contract = a_shift(team, "changed")
    generation = take_up(contract)
    step(contract, generation, 1, "draft_label")
    let_go(contract, generation)
    kept = WorkObject.objects.filter(contract=contract, object_id="case-5")
    kept.update(state="confirmed", settled_by="carla", settled_at=database_now())
    verdict = change_source(
        contract_id=contract.pk,
        actor=WORKER,
        source_id="P-1",
        version_label="2",
        sha256="b" * 64,
        location="archive://p/1",
    )
    builders.done(verdict)
    return contract


def fill_the_shifts(team: Any) -> None:
    """Make one contract for each of `STATES`."""
    ready = a_shift(team, "ready")
    generation = take_up(ready)
    step(ready, generation, 1, "draft_label", model_turns=4)
    let_go(ready, generation)
    working(team)
    lapsed(team)
    lost_write(team)
    lost_write(team, "undecidable", query_path="", settle_seconds=None)
    used_up(team)
    changed(team)
    asking = a_shift(team, "asking", needs_approval=True)
    generation = take_up(asking)
    step(asking, generation, 1, "publish_label")
    write(asking, generation)
    let_go(asking, generation)
    pausing = working(team, "pausing")
    builders.done(
        request_pause(
            contract_id=pausing.pk, actor=people.acting(people.operator(team)), reason="The show is moved."
        )
    )

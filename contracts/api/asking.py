"""One request that changes something: reach its contract, take its key, ask the gate, answer once for ever."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from contracts.api.problems import JSON_TYPE, Turned, as_json, problem_answer, respond
from contracts.api.telling import told_outcome
from contracts.gates.answers import Answer, Asked, KeyAnswered, KeyRunning, answering, settle_answer
from contracts.gates.turning_away import turn_away
from contracts.models import Contract
from contracts.models.workers import Bearing
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import LINE_MAX, Actor, ActorKind

REPLAYED = {"Idempotency-Replayed": "true"}
Told = Callable[[Verdict], tuple[int, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Reached:
    """A contract within reach of a token, by its key, and the worker who bears it."""

    contract_id: int
    actor: Actor

    @property
    def of(self) -> dict[str, Any]:
        """Return what every gate is told first."""
        return {"contract_id": self.contract_id, "actor": self.actor}

    def read(self) -> Contract:
        """Return the contract's row; raises Turned (404) if it is gone by now."""
        contract = Contract.objects.filter(pk=self.contract_id).first()
        if contract is None:
            raise Turned("no_such_contract")
        return contract


def reach(request: HttpRequest, task_id: str) -> Reached:
    """Return the contract if the request's token reaches it, as `closing` has found out; raises Turned (404)."""
    bearer: Bearing = request.auth  # type: ignore[attr-defined]
    if bearer.reached is None or bearer.sought != task_id:
        raise Turned("no_such_contract")
    return Reached(bearer.reached, Actor(bearer.worker, ActorKind.WORKER))


def change(
    request: HttpRequest,
    task_id: str,
    gate: Callable[[Reached], Verdict],
    told: Told,
    *,
    good: frozenset[str] = frozenset(),
    held: bool = False,
) -> HttpResponse:
    """Carry out one request and answer it; the same request with the same key is given the same bytes.

    `gate` asks a gate; `told` gives status and document of an allowed verdict, inside the gate's transaction.
    `good`: codes of refusals that are told like a success, because what they name is what was asked for.
    `held`: the gate takes several turns (see `gates.answers`). Raises Turned.
    """
    reached, key = reach(request, task_id), request_key(request)
    asked = Asked(
        contract_id=reached.contract_id,
        worker=reached.actor.name,
        key=key,
        request_sha256=_digest(request),
        render=lambda verdict: _rendered(verdict, told, good),
        held=held,
    )
    try:
        with answering(asked):
            return respond(settle_answer(asked, gate(reached)))
    except KeyRunning:
        raise Turned("key_running", headers={"Retry-After": "1"}) from None
    except KeyAnswered as answered:
        stored = answered.stored
        if stored.request_sha256 != asked.request_sha256:
            raise Turned("key_reused") from None
        if stored.retired:
            raise Turned("answer_retired", headers=REPLAYED) from None
        answer = Answer(stored.status, stored.content_type, bytes(stored.body))
        return respond(answer, REPLAYED)


def request_key(request: HttpRequest) -> str:
    """Return the request's key: 1 to 200 visible ASCII characters; raises Turned (400)."""
    key = request.headers.get("Idempotency-Key", "")
    if not 0 < len(key) <= LINE_MAX or not all("!" <= character <= "~" for character in key):
        raise Turned("key_missing")
    return key


def _digest(request: HttpRequest) -> str:
    whole = b"\n".join([(request.method or "").encode(), request.path.encode(), request.body])
    return hashlib.sha256(whole).hexdigest()


def refuse_unread(request: HttpRequest, task_id: str, asked_for: str, verdict: Verdict) -> HttpResponse:
    """Refuse a request whose body cannot be taken, and record it in the contract it was about. Raises Turned."""
    return change(
        request,
        task_id,
        lambda reached: turn_away(**reached.of, asked_for=asked_for, verdict=verdict),
        lambda _: (200, {}),
    )


def _rendered(verdict: Verdict, told: Told, good: frozenset[str]) -> Answer:
    if not verdict.allowed and verdict.code not in good:
        return problem_answer(verdict, told_outcome(verdict))
    status, document = told(verdict)
    return Answer(status, JSON_TYPE, as_json(document))

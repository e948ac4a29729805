"""A worker as the API sees it: a token, a key for each request, JSON in and out."""

import itertools
import json
from typing import Any

from django.test import Client

from contracts.gates.tokens import Issued, issue_token
from contracts.models import Contract
from contracts.rules.vocabulary import Actor
from tests import builders

ISSUER = Actor("olga")
_keys = itertools.count(1)


def issued(*contracts: Contract, worker: str = "label-writer", days: int = 7) -> Issued:
    """Issue a token that reaches `contracts`."""
    verdict = issue_token(
        actor=ISSUER,
        team=contracts[0].team,
        worker=worker,
        contract_ids=[contract.pk for contract in contracts],
        days=days,
    )
    issued: Issued = builders.done(verdict)
    return issued


class Worker:
    """A worker that asks over HTTP, in this process."""

    def __init__(self, contract: Contract, token: str = "", worker: str = "label-writer") -> None:
        self.contract = contract
        self.token = token or issued(contract, worker=worker).token
        self.client = Client(raise_request_exception=False)

    @property
    def place(self) -> str:
        """The address of the contract."""
        return f"/api/v1/contracts/{self.contract.task_id}"

    def get(self, path: str = "", **headers: str) -> Any:
        """Ask for what stands at `path` below the contract."""
        answer = self.client.get(
            self.place + path, headers={"Authorization": f"Bearer {self.token}", **headers}
        )
        if answer.streaming:
            answer.whole = b"".join(answer.streaming_content)  # read to its end, so that it is closed
        return answer

    def post(self, path: str, body: Any = None, key: str | None = None, **headers: str) -> Any:
        """Post `body` below the contract; bytes are sent as they are."""
        raw = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        given = {"Authorization": f"Bearer {self.token}", **headers}
        given["Idempotency-Key"] = a_key() if key is None else key
        if not given["Idempotency-Key"]:
            del given["Idempotency-Key"]
        kind = given.pop("Content-Type", "application/json")
        return self.client.post(self.place + path, raw, content_type=kind, headers=given)

    def resume(self, **offer: Any) -> int:
        """Take the task and return the generation."""
        answer = self.post("/resume", offer)
        assert answer.status_code == 201, answer.content
        generation: int = answer.json()["attempt"]["generation"]
        return generation


def a_key() -> str:
    """Return a request key no test has used before."""
    return f"key-{next(_keys)}"


def a_step(sequence: int, generation: int, **more: Any) -> dict[str, Any]:
    """Return the body of a step commit."""
    checkpoint = {
        "checkpoint_id": f"C-{sequence}",
        "sequence": sequence,
        "next_step": "draft",
        "schema_version": 2,
        "durability": "sync",
        "inline_state": {"at": sequence},
    }
    return {"generation": generation, "checkpoint": checkpoint, **more}

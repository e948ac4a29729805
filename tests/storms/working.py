"""Worker processes of the two cases, killed where a test says so, and the people beside them."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from contracts.client.examples.fake_model import calls
from contracts.gates.approving import decide
from contracts.gates.objects import change_objects
from contracts.gates.people import create_team
from contracts.gates.workers.pausing import take_over
from contracts.management.example_tasks import find_or_create, fresh_token
from contracts.models import Approval, Attempt, Contract, Operation, WorkObject
from contracts.rules.states import Act
from contracts.rules.vocabulary import ActorKind, Role
from tests import builders, people

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120


class Case:
    """One of the two example tasks, with a token for its worker."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self.team = create_team(slug="collection", name="Collection")
        self.reviewer = people.person("reviewer", self.team, Role.REVIEWER)
        self.contract = find_or_create(name)
        self.record = folder / "model-calls.jsonl"
        self.environment = {
            "WORKBENCH_URL": url,
            "WORKBENCH_TOKEN": fresh_token(self.contract, name),
            "TASK": self.contract.task_id,
            "MODEL_RECORD": str(self.record),
            "MODEL_SECONDS": "0.3",
        }

    @property
    def calls(self) -> list[str]:
        """The subject of every call of the model."""
        return calls(str(self.record))

    def state(self) -> str:
        self.contract.refresh_from_db()
        return self.contract.state

    def attempts(self) -> int:
        return Attempt.objects.filter(contract=self.contract).count()

    def approve(self) -> Approval:
        return approve(self.contract)

    def accept(self, *object_ids: str) -> None:
        """Let the cataloguer accept drafts."""
        verdict = change_objects(
            contract_id=self.contract.pk,
            actor=people.acting(self.reviewer),
            act=Act.ACCEPT,
            object_ids=object_ids,
        )
        builders.done(verdict)

    def displace(self) -> None:
        """Let the operator, who knows that the process is dead, take the task over before the lease lapses."""
        actor = people.acting(people.operator(self.team), ActorKind.OPERATOR)
        builders.done(take_over(contract_id=self.contract.pk, actor=actor, reason="The process was killed."))

    def objects(self) -> dict[str, str]:
        return dict(WorkObject.objects.filter(contract=self.contract).values_list("object_id", "state"))

    def operations(self) -> list[str]:
        rows = Operation.objects.filter(contract=self.contract).order_by("round")
        return list(rows.values_list("state", flat=True))


def approve(contract: Contract) -> Approval:
    """Let the curator approve what waits."""
    item = Approval.objects.joined().get(contract=contract, state="pending")
    known = builders.word(item, people.curator(contract.team))
    builders.done(decide(contract_id=contract.pk, **known))
    return item


class Worker:
    """A worker process; `lines` grows while it speaks."""

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._said = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with self.process.stdout as lines:  # type: ignore[union-attr]
            for line in lines:
                with self._said:
                    self.lines.append(line.rstrip())
                    self._said.notify_all()

    def wait_for(self, words: str) -> None:
        """Return once the worker has said `words`."""
        with self._said:
            assert self._said.wait_for(lambda: any(words in line for line in self.lines), PATIENCE), (
                self.lines
            )

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        assert self.process.wait(PATIENCE) == -signal.SIGKILL, self.lines

    def end(self) -> int:
        """Return the exit code."""
        return self.process.wait(PATIENCE)

"""Tasks for the writers, made through the gates: each owned by a worker of its own, without caps to run into."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.contenders import MOST

ROOT = Path(__file__).resolve().parents[3]
TOOL = {
    "tool": "cms.publish",
    "effect": "idempotent_write",
    "key_supported": True,
    "key_memory_hours": 24,
    "query_path": "cms://pages",
    "concurrency": "free",
}

GATE = {"lease_seconds": 86_400, "renew_seconds": 3_600, "named_person": "Head of collections"}


def migrate() -> None:
    """Prepare the database that the environment names; once is enough."""
    if os.environ.get("BENCHMARK_MIGRATED") != os.environ["DATABASE_URL"]:
        words = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(words, cwd=ROOT, check=True)
        os.environ["BENCHMARK_MIGRATED"] = os.environ["DATABASE_URL"]


def make_tasks(prefix: str, *, granted: bool) -> list[dict[str, Any]]:
    """Return one paused task for each writer, or one that its worker holds for a day already."""
    import django

    django.setup()
    from contracts.gates.workers.owning import resume
    from contracts.rules.granting import Offer
    from contracts.rules.vocabulary import Actor, ActorKind
    from tests import builders

    made = []
    for number in range(MOST):
        keys = {"tools": [TOOL], "limits": _limits(), "gate": GATE}
        contract = builders.a_paused(task_id=f"{prefix}-{number}", **keys)
        told: dict[str, Any] = {
            "contract": contract.pk,
            "task_id": contract.task_id,
            "worker": f"{prefix}-{number}",
        }
        if granted:
            worker = Actor(told["worker"], ActorKind.WORKER)
            verdict = resume(contract_id=contract.pk, actor=worker, offer=Offer())
            told["generation"] = builders.done(verdict).attempt.generation
        made.append(told)
    return made


def _limits() -> list[dict[str, str]]:
    from contracts.rules.vocabulary import Measure

    return [
        {"measure": measure.value, "cap": "1000000000", "currency": "EUR" if measure is Measure.COST else ""}
        for measure in Measure
    ]

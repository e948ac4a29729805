"""A worker in a process of its own, to be frozen past its lease.

It is started by `python -m tests.storms.frozen SHAPE CONTRACT WORKER`. SHAPE is `fenced` for the gates, or
`naive` for the same writes without looking at the generation. The worker resumes, takes the object, tells `ready`
and waits for a line; then it writes as if nothing had happened and tells what it was answered, one JSON list.
"""

import json
import sys
from collections.abc import Callable

import django


def main(shape: str, contract_id: str, worker: str) -> None:
    """Hold the task, wait, and write on."""
    django.setup()
    from contracts.gates.workers.owning import resume
    from contracts.models import WorkObject
    from contracts.rules.granting import Offer
    from contracts.rules.vocabulary import Actor, ActorKind

    actor, contract = Actor(worker, ActorKind.WORKER), int(contract_id)
    grant = resume(contract_id=contract, actor=actor, offer=Offer()).outcome
    WorkObject.objects.filter(contract=contract).update(state="in_progress", attempt=grant.attempt)
    _tell(["ready", grant.attempt.generation])
    sys.stdin.readline()
    write = {"fenced": _fenced, "naive": _naive}[shape]
    _tell(write(contract, actor, grant.attempt))


def _tell(words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _fenced(contract: int, actor: object, attempt: object) -> list[str]:
    from contracts.gates.sending import dispatch
    from contracts.gates.workers.owning import complete, release, renew
    from contracts.gates.workers.pausing import request_pause
    from contracts.models import Operation
    from contracts.rules.granting import Released

    key = Operation.objects.filter(contract=contract).values_list("key", flat=True).get()
    mine = {"contract_id": contract, "actor": actor, "generation": attempt.generation}
    calls: list[Callable[[], object]] = [
        lambda: dispatch(**mine, operation_key=key),
        lambda: complete(**mine),
        lambda: renew(**mine),
        lambda: request_pause(**mine, reason="It thawed."),
        lambda: release(**mine, reason=Released.GIVEN_UP),
        lambda: dispatch(**mine, operation_key=key),
    ]
    return [call().code for call in calls]


def _naive(contract: int, _actor: object, attempt: object) -> list[str]:
    from contracts.models import Operation, WorkObject

    sent = Operation.objects.filter(contract=contract, state="pending").update(
        state="sending", generation=attempt.generation
    )
    done = WorkObject.objects.filter(contract=contract).update(note="the frozen one")
    return ["written"] * (sent + done)


if __name__ == "__main__":
    main(*sys.argv[1:])

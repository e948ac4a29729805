"""Every gate of workers is tried again after a serialisation failure or a deadlock, at most five times."""

import pytest
from django.db import OperationalError

from contracts.gates.beats import RETRIES
from contracts.gates.requesting import request_approval
from contracts.gates.sending import dispatch
from contracts.gates.workers.changing import change_source, raise_cap
from contracts.gates.workers.handing_out import give_back, hand_out
from contracts.gates.workers.handing_over import compensate, escalate
from contracts.gates.workers.journal import begin_step
from contracts.gates.workers.ledger import abandon, intend, report
from contracts.gates.workers.owning import complete, release, renew, resume
from contracts.gates.workers.pausing import request_pause, take_over
from contracts.gates.workers.reconciling import reconcile, settle_by_person
from contracts.gates.workers.rolling_back import roll_back
from contracts.gates.workers.stepping import commit_step
from contracts.models import Event, Operation
from contracts.rules.granting import Offer, Released
from contracts.rules.vocabulary import StepKind
from tests import builders
from tests.gates.test_beats import conflict, failing, listening
from tests.gates.watching import events_of
from tests.gates.workers import ledgering, owners, steps

pytestmark = pytest.mark.django_db
CODES = ["40001", "40P01"]
NEWER = {"source_id": "P-1", "version_label": "2", "sha256": builders.B, "location": "archive://p/1/2"}


def a_rolled_forward():
    contract = owners.a_held()
    owners.a_checkpoint(contract, 1)
    owners.a_checkpoint(contract, 2)
    return contract


def a_finished():
    contract = owners.a_held()
    owners.settled(contract)
    return contract


def on(contract, gate, **given):
    return lambda: gate(contract_id=contract.pk, **given)


def owner(gate, contract, **given):
    return on(contract, gate, **ledgering.by(contract), **given)


def operator(gate, contract, **given):
    return on(contract, gate, actor=owners.OPERATOR, reason=owners.WHY, **given)


def asking():
    call = builders.a_call()
    words = {"operation_key": call.key, "reason": "New text.", "draft_id": "L-1"}
    return on(call.contract, request_approval, actor=builders.WORKER, **words)


def on_an_operation(gate, build, **given):
    contract = ledgering.a_task({"compensation": "Take the page down."})
    operation = build(contract)
    return owner(gate, contract, operation_key=operation.key, **given)


def confirmed(contract):
    operation = ledgering.sending(contract)
    known = ledgering.by(contract, operation_key=operation.key)
    return builders.done(report(contract_id=contract.pk, result="confirmed", **known))


def settled(decision="confirmed"):
    contract = ledgering.a_task()
    key = ledgering.unknown(contract).key
    return operator(
        settle_by_person, contract, operation_key=key, decision=decision, evidence="cms://pages/1"
    )


CALLS = {
    "resume": lambda: on(owners.a_task(), resume, actor=owners.WORKER, offer=Offer()),
    "renew": lambda: owner(renew, owners.a_held()),
    "release": lambda: owner(release, owners.a_held(), reason=Released.GIVEN_UP),
    "finish": lambda: owner(release, a_finished(), reason=Released.FINISHED),
    "complete": lambda: owner(complete, a_finished()),
    "pause": lambda: operator(request_pause, owners.a_held()),
    "take over": lambda: operator(take_over, owners.a_held()),
    "roll back": lambda: operator(roll_back, a_rolled_forward(), checkpoint_id="C-1", request_key="R-1"),
    "raise a cap": lambda: operator(raise_cap, owners.a_held(), measure="tool_attempts", cap="100000"),
    "commit a step": lambda: owner(commit_step, steps.at_work(), step=steps.a_step()),
    "begin a step": lambda: owner(begin_step, steps.at_work(), key="draft-1", kind=StepKind.MODEL_TURN),
    "hand out": lambda: owner(hand_out, steps.at_work(), count=1),
    "give back": lambda: owner(
        give_back, steps.holding(steps.at_work(), "O-1"), object_ids=["O-1"], note="Not today."
    ),
    "intend": lambda: owner(intend, ledgering.a_task(), **ledgering.CALL),
    "dispatch": lambda: on_an_operation(dispatch, ledgering.intended),
    "report": lambda: on_an_operation(report, ledgering.sending, result="confirmed"),
    "abandon": lambda: on_an_operation(abandon, ledgering.intended, reason="Not wanted any more."),
    "reconcile": lambda: on_an_operation(reconcile, ledgering.unknown, asked=ledgering.asked()),
    "escalate": lambda: on_an_operation(escalate, ledgering.unknown, reason="Nobody can tell."),
    "compensate": lambda: on_an_operation(
        compensate,
        confirmed,
        tool="cms.publish",
        parameters={"page": "label-1", "down": True},
        target="cms://pages/label-1",
        expected="no page",
    ),
    "settle": settled,
    "change a source": lambda: on(ledgering.a_task(), change_source, actor=ledgering.WORKER, **NEWER),
    "ask": asking,
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", CALLS)
def test_five_conflicts_in_a_row_are_overcome(name, code):
    call = CALLS[name]()
    listener, passed = failing(RETRIES, code)
    with listening(listener):
        verdict = call()
    assert verdict.allowed, (name, verdict.code, verdict.problems)
    assert len(passed) >= RETRIES + 1
    for contract in {
        event.contract_id: event.contract for event in Event.objects.select_related("contract")
    }.values():
        events_of(contract)


@pytest.mark.parametrize("name", CALLS)
def test_a_sixth_conflict_is_an_error_and_leaves_nothing(name):
    call = CALLS[name]()
    before = Event.objects.count(), list(Operation.objects.order_by("pk").values())
    listener, _passed = failing(10 * RETRIES, CODES[0])
    with listening(listener), pytest.raises(OperationalError):
        call()
    assert (Event.objects.count(), list(Operation.objects.order_by("pk").values())) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("code", CODES)
def test_a_step_whose_one_statement_collides_is_committed_once(code):
    contract = steps.at_work()
    passed = []

    def listener(seam, gate):
        passed.append((seam, gate))
        if len(passed) == 1:
            conflict(code)

    with listening(listener):
        verdict = commit_step(contract_id=contract.pk, **steps.told(contract, steps.a_step()))
    assert (verdict.code, verdict.outcome.sequence) == ("done", 1)
    events_of(contract)

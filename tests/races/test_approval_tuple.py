"""Each member of the tuple changed in the stored rows, past every gate, twenty times: nothing decides or sends.

The control compares what is nearest at hand, the fingerprint of the parameters, and nothing else.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from contracts.gates.approving import decide
from contracts.gates.lifecycle import cancel
from contracts.gates.rows import edit_row
from contracts.gates.sending import dispatch
from contracts.models import Approval, ApprovalPolicy, Artefact, Contract, Operation, ToolContract
from contracts.rules.approving import MEMBERS
from contracts.rules.fingerprint import digest_bytes
from contracts.rules.parts import PARTS
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import ACTOR, own
from tests.races.racing import say

pytestmark = pytest.mark.django_db
TIMES = 20
LATER = datetime(2031, 6, 30, 18, tzinfo=UTC)


def items_of(state):
    """Return a contract owned by the worker, and that many items of it which wait or are approved."""
    operations = [
        {
            **builders.EXAMPLES["operation"],
            "step": f"publish-{number}",
            "parameters": {"page": f"label-{number}"},
            "intended_at": builders.NEAR["start"],
        }
        for number in range(TIMES)
    ]
    keys = builders.keys_of_a_call({})
    keys["tools"][0]["concurrency"] = "free"  # or one sending would wait for the end of another
    contract = builders.a_paused(**keys, operations=operations)
    builders.a_row(contract, "artefact")
    make = builders.a_waiting_item if state == "pending" else builders.a_decided_item
    items = [make(call) for call in Operation.objects.joined().filter(contract=contract)]
    assert len(items) == TIMES
    return own(contract), items


def digest(item):
    return digest_bytes(item.item_id.encode())


def of_call(column, value):
    """Return a change of the one operation of an item."""
    return lambda item: Operation.objects.filter(pk=item.operation_id).update(**{column: value(item)})


def of_contract(model, **columns):
    """Return a change of a row that all items of the contract share."""
    return lambda item: model.objects.filter(contract=item.contract_id).update(**columns)


def call_off(item):
    cancel(contract_id=item.contract_id, actor=ACTOR, reason="Called off.")


HOUR = timedelta(hours=1)
# Member → what changes it, the value it had (None: as the item says), the value it has then.
CHANGES = {
    "operation_key": (of_call("key", digest), None, digest),
    "tool": (of_contract(ToolContract, tool="cms.print"), None, "cms.print"),
    "fingerprint": (of_call("fingerprint", digest), None, digest),
    "draft": (of_contract(Artefact, artefact_id="L-2"), "L-1", "L-2"),
    "draft_version": (of_contract(Artefact, version_label="2"), None, "2"),
    "draft_sha256": (of_contract(Artefact, sha256="d" * 64), None, "d" * 64),
    "target": (
        of_call("target", lambda item: f"cms://{item.item_id}"),
        None,
        lambda item: f"cms://{item.item_id}",
    ),
    "requester": (
        lambda item: Approval.objects.filter(pk=item.pk).update(requester="somebody"),
        "label-writer",
        "somebody",
    ),
    "policy_number": (of_contract(ApprovalPolicy, number=2), "1", "2"),
    "task_deadline": (
        lambda item: Contract.objects.filter(pk=item.contract_id).update(deadline=LATER),
        "2031-05-31T18:00:00+00:00",
        LATER.isoformat(),
    ),
    "expires_at": (
        lambda item: Approval.objects.filter(pk=item.pk).update(expires_at=item.expires_at + HOUR),
        lambda item: item.expires_at.isoformat(),
        lambda item: (item.expires_at + HOUR).isoformat(),
    ),
    "cancelled": (call_off, "", "olga: Called off."),
}


def expected(member, item):
    _, was, now = CHANGES[member]
    return (
        "stale",
        member,
        str(getattr(item, member)) if was is None else was(item) if callable(was) else was,
        now(item) if callable(now) else now,
    )


def stored(item):
    row = Approval.objects.get(pk=item.pk)
    return row.state, row.stale_member, row.stale_was, row.stale_now


def by_fingerprint_alone(item):
    """The control: what many systems compare before they let a call out."""
    return Operation.objects.get(pk=item.operation_id).fingerprint == item.fingerprint


def let_through(items):
    return sum(by_fingerprint_alone(item) for item in items)


def key_of(item):
    return Operation.objects.values_list("key", flat=True).get(pk=item.operation_id)


def send(contract, item):
    given = {"actor": WORKER, "operation_key": key_of(item), "generation": contract.generation}
    return dispatch(contract_id=contract.pk, **given)


def test_every_member_is_changed_here():
    assert {*CHANGES, "scope", "decider"} | {"origin", "rolled_back"} == set(MEMBERS)


@pytest.mark.parametrize("member", CHANGES)
def test_a_waiting_item_of_which_a_member_changed_is_not_decided(member):
    _, items = items_of("pending")
    for item in items:
        CHANGES[member][0](item)
    slips = let_through(items)
    assert slips == (0 if member == "fingerprint" else TIMES), "the control must lose"
    carla = people.curator(items[0].contract.team)
    for item in items:
        verdict = decide(contract_id=item.contract_id, **word(item, carla))
        assert (verdict.code, verdict.values) == ("item_stale", {"member": MEMBERS[member]})
        assert stored(item) == expected(member, item)
    say(f"{member}: changed {TIMES}, decided 0, by fingerprint alone {slips}")


@pytest.mark.parametrize("member", CHANGES)
def test_an_approval_of_which_a_member_changed_is_not_used(member):
    contract, items = items_of("approved")
    for item in items:
        CHANGES[member][0](item)
    slips = let_through(items)
    assert slips == (0 if member == "fingerprint" else TIMES), "the control must lose"
    for item in items:
        verdict = send(contract, item)
        if member == "cancelled":  # a cancelled contract sends nothing, whatever else is asked
            assert verdict.code == "task_cancelled"
        else:
            assert (verdict.code, verdict.values) == ("item_stale", {"member": MEMBERS[member]})
        assert stored(item) == expected(member, item)
    assert not Operation.objects.filter(contract=contract, tries__gt=0).exists()
    say(f"{member}: changed {TIMES}, sent 0, by fingerprint alone {slips}")


def test_an_approval_whose_decider_lost_the_right_is_neither_given_nor_used():
    contract, items = items_of("approved")
    people.curator(contract.team).groups.clear()
    assert let_through(items) == TIMES, "the control must lose"
    for item in items:
        verdict = send(contract, item)
        assert (verdict.code, verdict.values) == ("item_stale", {"member": MEMBERS["decider"]})
        assert stored(item) == ("stale", "decider", "carla", "")
    _, waiting = items_of("pending")
    carla = people.curator(contract.team)
    for item in waiting:
        assert decide(contract_id=item.contract_id, **word(item, carla)).code == "no_right_to_decide"
        assert stored(item) == ("pending", "", "", "")


@pytest.mark.parametrize("state", ["pending", "approved"])
def test_the_scope_of_an_approval_cannot_be_changed_at_all(state):
    _, items = items_of(state)
    for item in items:
        with pytest.raises(IntegrityError) as caught, transaction.atomic():
            Approval.objects.filter(pk=item.pk).update(scope=f"calls-{item.pk}")
        assert caught.value.__cause__.diag.constraint_name == "no_blanket_scope"


def test_saving_what_stands_already_keeps_every_approval_and_it_is_used():
    contract, items = items_of("pending")
    carla = people.curator(contract.team)
    for item in items:
        save_again(contract, item)
        assert decide(contract_id=contract.pk, **word(item, carla)).code == "done"
        save_again(contract, item)
        assert send(contract, item).code == "done"
    states = Approval.objects.filter(contract=contract, consumed_at__isnull=False)
    assert list(states.values_list("state", flat=True)) == ["approved"] * TIMES


def save_again(contract, item):
    """Save the draft as it stands through the gate, and each row of the tuple as it stands past it."""
    draft = Artefact.objects.joined().get(contract=contract)
    values = {field.name: draft.facts()[field.name] for field in PARTS["artefact"].given}
    given = {"part": PARTS["artefact"], "row_id": draft.pk, "version": draft.version, "values": values}
    verdict = edit_row(contract_id=contract.pk, actor=ACTOR, **given)
    assert verdict.code in ("unchanged", "not_open")  # the contract may be at work
    for row in (draft, Operation.objects.get(pk=item.operation_id), Contract.objects.get(pk=contract.pk)):
        row.save()

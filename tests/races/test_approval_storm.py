"""Two hundred items about each of which several people and the clock act at the same moment; then it is sent.

Whoever wins, an item ends in one legal state, and what is sent is what was approved, with nothing in between.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import pytest

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.binding import Present
from contracts.gates.clock import tend_contract
from contracts.gates.correcting import correct_draft
from contracts.gates.lifecycle import cancel
from contracts.gates.policies import change_policy
from contracts.gates.rows import add_row
from contracts.gates.sending import dispatch
from contracts.models import Approval, ApprovalPolicy, ApprovalVote, Event, Operation
from contracts.rules.fingerprint import fingerprint
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Role
from tests import builders, people
from tests.builders import WORKER, word
from tests.gates.watching import ACTOR, own
from tests.races.racing import race, say

pytestmark = pytest.mark.django_db(transaction=True)
ITEMS, CONTROLS = 200, 24
# What may be answered to somebody who came too late, or too early.
EXPECTED = {
    "decide": {"done", "already_decided", "item_stale", "item_expired"},
    "edit": {"done", "item_stale", "already_decided", "item_expired", "not_open"},
    "end": {"done", "not_open", "illegal_move"},
    "expire": {"done", "unchanged"},
    "dispatch": {
        "done",
        "not_approved",
        "item_stale",
        "item_expired",
        "approval_expired",
        "operation_not_pending",
        "task_cancelled",
    },
}
CHANGED = {"add", "correct", "change_policy", "cancel", "tuple_changed", "time_ran_out"}


@dataclass
class Scene:
    """One item, who acts on it besides those who decide, and what they were answered."""

    number: int
    item: Approval
    call: Operation
    rivals: frozenset[str]
    cancels: bool
    answers: dict[str, list[str]] = field(default_factory=dict)


def a_scene(number):
    """Return a scene; its number says who takes part, so that each mixture comes up as often."""
    rivals = frozenset(name for bit, name in enumerate(("edit", "end", "expire")) if number >> bit & 1)
    call = {
        **builders.EXAMPLES["operation"],
        "parameters": {"page": f"label-{number}"},
        "intended_at": builders.NEAR["start"],
    }
    text = {
        **builders.EXAMPLES["artefact"],
        "current": True,
        "author": "rita",
    }
    contract = builders.a_paused(**builders.keys_of_a_call({}), operations=[call], artefacts=[text])
    operation = Operation.objects.joined().get(contract=contract)
    item = builders.a_waiting_item(operation)
    if number >> 3 & 1:
        own(contract)  # the call may leave while they still decide
    return Scene(number, item, operation, rivals, cancels=bool(number >> 4 & 1))


def deciding(scene, name, decision):
    person = people.person(name, scene.item.contract.team, Role.CURATOR)
    return decide(contract_id=scene.item.contract_id, **word(scene.item, person, decision)).code


def editing(scene):
    """Another text: by a reviewer while the contract is paused, else by a curator on the item's page."""
    contract, item = scene.item.contract, scene.item
    if contract.state == ContractState.PAUSED:
        values = {**builders.EXAMPLES["artefact"], "version_label": "2", "inline_text": "Fired clay, 1931."}
        return add_row(contract_id=contract.pk, actor=ACTOR, part=PARTS["artefact"], values=values).code
    person = people.person("edda", contract.team, Role.CURATOR)
    return correct_draft(
        contract_id=contract.pk,
        actor=people.acting(person),
        user=person,
        item_id=item.item_id,
        seen=item.fingerprint,
        text="Fired clay, 1931.",
        reason="The date.",
        confirmed_at=database_now(),
    ).code


def ending(scene):
    contract_id = scene.item.contract_id
    if scene.cancels:
        return cancel(contract_id=contract_id, actor=ACTOR, reason="Called off.").code
    row = ApprovalPolicy.objects.of(contract_id).last()
    values = {name: row.facts()[name] for name in (given.name for given in PARTS["policy"].given)}
    values |= {"longest_expiry_hours": 71}
    given = {"version": row.version, "values": values, "reason": "Shorter."}
    return change_policy(contract_id=contract_id, actor=ACTOR, **given).code


def expiring(scene):
    return tend_contract(contract_id=scene.item.contract_id).code


def sending(scene):
    contract = scene.item.contract
    given = {"actor": WORKER, "operation_key": scene.call.key, "generation": contract.generation}
    return dispatch(contract_id=contract.pk, **given).code


def roles(decide_by):
    """Return name of the part → what it does in a scene it takes part in."""
    return {
        "carla": ("decide", lambda scene: decide_by(scene, "carla", "approved")),
        "dora": (
            "decide",
            lambda scene: decide_by(scene, "dora", "approved" if scene.number % 5 else "rejected"),
        ),
        "edit": ("edit", editing),
        "end": ("end", ending),
        "expire": ("expire", expiring),
        "send": ("dispatch", sending),
    }


def takes_part(name, scene):
    return (
        name in ("carla", "dora")
        or name in scene.rivals
        or (name == "send" and scene.item.contract.generation > 0)
    )


def play(scenes, parts):
    """Let every part go through all scenes in a thread of its own, let go together at each of them."""
    gather = threading.Barrier(len(parts))

    def go(name):
        kind, act = parts[name]
        for scene in scenes:
            gather.wait(timeout=60)
            if name == "carla" and "expire" in scene.rivals:
                Approval.objects.filter(pk=scene.item.pk).update(
                    expires_at=database_now() + timedelta(milliseconds=20)
                )
            gather.wait(timeout=60)
            if takes_part(name, scene):
                scene.answers.setdefault(kind, []).append(act(scene))

    race(*(partial(go, name) for name in parts))


def faults(scene):
    """Return what is wrong with how a scene ended; nothing if it ended in exactly one legal state."""
    item = Approval.objects.get(pk=scene.item.pk)
    call = Operation.objects.get(pk=scene.call.pk)
    yes = ApprovalVote.objects.filter(approval=item).count()
    used, sent = item.consumed_at is not None, call.state == "sending"
    found = []
    if used != sent or call.tries != int(sent):
        found.append("used and sent differ")
    if sent and (
        item.state != "approved" or not item.fingerprint == call.fingerprint == fingerprint(call.parameters)
    ):
        found.append("sent is not what was approved")
    if sent and not scene_held(item):
        found.append("sent although something had changed")
    if item.state in ("approved", "rejected") and (yes != 1 or not item.decided_by):
        found.append("decided by nobody or twice")
    if item.state == "approved" and not used:
        found.append("approved, fitting, and not sent")
    if item.state in ("expired", "stale") and yes == 0 and item.decided_by:
        found.append("a name for what nobody decided")
    if item.state == "stale" and not item.stale_member:
        found.append("stale without a member")
    if item.state == "rejected" and call.state != "abandoned":
        found.append("rejected and still to be sent")
    if item.state == "pending":
        found.append("still waiting")
    return found


def scene_held(item):
    """Tell by the chain of events that nothing changed between the request and the use."""
    events = Event.objects.filter(contract=item.contract_id, refused="").order_by("sequence")
    acts = [(event.act, event.part) for event in events]
    if ("use", "approval") not in acts:
        return False
    asked, used = acts.index(("request", "approval")), acts.index(("use", "approval"))
    return not any(act in CHANGED for act, part in acts[asked:used] if part != "usage")


def figures(scenes):
    answers = Counter(
        (kind, code) for scene in scenes for kind, codes in scene.answers.items() for code in codes
    )
    votes = sum(ApprovalVote.objects.filter(approval=scene.item).count() for scene in scenes)
    decided = answers["decide", "done"]
    twice = sum(max(0, Operation.objects.get(pk=scene.call.pk).tries - 1) for scene in scenes)
    return {
        "attempted": sum(count for (kind, _), count in answers.items() if kind == "decide"),
        "acknowledged": decided,
        "lost": max(0, decided - votes),
        "duplicated": twice + max(0, votes - decided),
        "unexpected": sum(count for (kind, code), count in answers.items() if code not in EXPECTED[kind]),
    }


def test_whatever_races_an_approval_ends_in_one_legal_state_and_what_was_approved_is_sent():
    scenes = [a_scene(number) for number in range(ITEMS)]
    play(scenes, roles(deciding))
    for scene in scenes:
        scene.item.contract.refresh_from_db()
        if scene.item.contract.state == ContractState.PAUSED:
            own(scene.item.contract)
        scene.answers.setdefault("dispatch", []).append(sending(scene))
    found = {scene.item.item_id: faults(scene) for scene in scenes}
    counted = figures(scenes)
    ends = Counter(Approval.objects.values_list("state", flat=True))
    sent = Approval.objects.filter(consumed_at__isnull=False).count()
    say(f"{counted}, ends {dict(ends)}, sent {sent}, fingerprints equal {sent}/{sent}")
    assert {item: what for item, what in found.items() if what} == {}
    assert (counted["lost"], counted["duplicated"], counted["unexpected"]) == (0, 0, 0)
    assert sum(ends.values()) == ITEMS
    assert sent > 0
    assert min(ends["stale"], ends["expired"]) > 0


def test_control_looking_first_and_saving_afterwards_approves_and_sends_what_had_changed():
    """The shape that must lose: read, check, and save later what was read; no lock, no second look."""
    illegal = 0
    for _ in range(CONTROLS):
        scene = a_scene(0b01001)  # at work, and somebody edits
        read, changed = threading.Event(), threading.Event()
        race(partial(look_then_save, scene, read, changed), partial(edit_meanwhile, scene, read, changed))
        illegal += bool(faults(scene))
    say(f"attempted {CONTROLS}, illegal ends {illegal}")
    assert illegal == CONTROLS


def look_then_save(scene, read, changed):
    item = Approval.objects.joined().get(pk=scene.item.pk)
    call = Operation.objects.get(pk=scene.call.pk)
    fits = item.state == "pending" and Present(item.contract, [item]).difference(item) is None
    read.set()
    assert changed.wait(timeout=60)  # a person reads the page as long as it takes
    if fits:
        item.state, item.decided_by, item.decided_at = "approved", "carla", database_now()
        item.consumed_at, item.consumed_generation = item.decided_at, item.contract.generation
        item.save()
        call.state, call.tries, call.generation = "sending", 1, item.contract.generation
        call.save()


def edit_meanwhile(scene, read, changed):
    assert read.wait(timeout=60)
    editing(scene)
    changed.set()

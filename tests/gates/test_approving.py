from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from contracts.gates.approving import current_policy, decide, request_approval, withdraw
from contracts.gates.beats import database_now
from contracts.gates.lifecycle import cancel
from contracts.gates.rows import add_row
from contracts.models import Approval, ApprovalPolicy, ApprovalVote, Event, Operation
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders, people
from tests.gates.watching import assert_allowed, assert_refused, events_of

pytestmark = pytest.mark.django_db
WORKER = Actor("label-writer", ActorKind.WORKER)
ASKED = {"actor": WORKER, "reason": "The date was corrected.", "draft_id": "L-1"}


@pytest.fixture
def contract():
    paused = builders.a_paused()
    for part in ("tool", "source", "object", "operation", "artefact"):
        if not _there(paused, part):
            builders.a_row(paused, part)
    return paused


def _there(contract, part):
    from contracts.models import ROWS

    facts = builders.EXAMPLES[part]
    name = {"tool": "tool", "source": "source_id", "object": "object_id", "artefact": "artefact_id"}.get(part)
    rows = ROWS[part].objects.of(contract.pk)
    return rows.filter(**{name: facts[name]}).exists() if name else rows.exists()


@pytest.fixture
def curator(contract):
    return people.curator(contract.team)


def key(contract):
    return Operation.objects.of(contract.pk).last().key


def ask(contract, **given):
    verdict, _ = assert_allowed(
        contract, request_approval, **{"operation_key": key(contract), **ASKED, **given}
    )
    return verdict.outcome


def word(item, person, decision="approved", **given):
    known = {
        "actor": people.acting(person),
        "user": person,
        "item_id": item.item_id,
        "seen": item.fingerprint,
        "decision": decision,
        "confirmed_at": database_now(),
    }
    return known | given


def new_draft(contract, text):
    values = {"artefact_id": "L-1", "version_label": "2", "inline_text": text, "source": "P-1"}
    actor = people.acting(people.owner(contract.team))
    assert add_row(contract_id=contract.pk, actor=actor, part=PARTS["artefact"], values=values).allowed


def test_an_item_copies_the_whole_tuple_of_one_call(contract):
    item = ask(contract)
    operation = Operation.objects.joined().get(pk=item.operation_id)
    assert (item.tool, item.target) == (operation.tool.tool, operation.target)
    assert (item.fingerprint, item.operation_key) == (operation.fingerprint, operation.key)
    assert (item.draft_version, item.preview, item.last_editor) == ("1", "Fired clay.", "olga")
    assert (item.requester, item.scope, item.policy_number) == ("label-writer", "this_call", 1)
    assert item.expires_at == item.asked_at + timedelta(hours=24)
    assert events_of(contract)[-1].act == "request"


def test_t10_an_item_without_reason_names_the_missing_member(contract):
    verdict = assert_refused(
        contract, "bad_values", request_approval, operation_key=key(contract), **{**ASKED, "reason": " "}
    )
    assert [(p.field, p.code) for p in verdict.problems] == [("reason", "missing")]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"operation_key": "0" * 64}, "no_such_operation"),
        ({"draft_id": "L-9"}, "bad_values"),
        ({"hours": 73}, "expiry_out_of_range"),
        ({"hours": 0}, "expiry_out_of_range"),
        ({"preview": "a\x00b"}, "bad_values"),
    ],
)
def test_what_cannot_be_asked_is_refused(contract, given, code):
    assert_refused(contract, code, request_approval, **{"operation_key": key(contract), **ASKED, **given})


def test_a_draft_contract_and_a_sent_operation_ask_for_nothing(contract):
    Operation.objects.filter(contract=contract).update(state="sending", generation=1)
    assert_refused(contract, "operation_not_pending", request_approval, operation_key=key(contract), **ASKED)
    draft = builders.a_draft()
    assert_refused(draft, "not_open", request_approval, operation_key="0" * 64, **ASKED)


def test_one_item_waits_per_operation_until_it_is_out_of_date(contract):
    first = ask(contract)
    verdict = assert_refused(
        contract, "one_waiting_item_per_operation", request_approval, operation_key=key(contract), **ASKED
    )
    assert verdict.outcome == first
    new_draft(contract, "Fired clay, 1931.")
    second = ask(contract)
    first.refresh_from_db()
    assert (first.state, first.stale_member) == ("stale", "draft_version")
    assert second.item_id != first.item_id
    assert second.draft_version == "2"


def test_a_curator_approves_and_the_decision_is_stored(contract, curator):
    item = ask(contract)
    assert_allowed(contract, decide, **word(item, curator, reason="Reads well."))
    item.refresh_from_db()
    assert (item.state, item.decided_by, item.decision_reason) == ("approved", "carla", "Reads well.")


def test_t06_t50_the_first_decision_stands(contract, curator):
    item = ask(contract)
    assert_allowed(contract, decide, **word(item, curator))
    verdict = assert_refused(
        contract, "already_decided", decide, **word(item, curator, "rejected", reason="No.")
    )
    assert (verdict.outcome.state, verdict.outcome.decided_by) == ("approved", "carla")


def test_a_rejection_needs_its_reason(contract, curator):
    item = ask(contract)
    assert_refused(contract, "reason_missing", decide, **word(item, curator, "rejected"))
    assert_refused(contract, "bad_values", decide, **word(item, curator, reason="a\x00"))
    assert_allowed(contract, decide, **word(item, curator, "rejected", reason="The date is wrong."))
    item.refresh_from_db()
    assert (item.state, item.decision_reason) == ("rejected", "The date is wrong.")


def test_t09_a_worker_decides_nothing(contract, curator):
    item = ask(contract)
    assert_refused(
        contract, "workers_never_decide", decide, **word(item, curator, actor=Actor("w", ActorKind.WORKER))
    )


def test_rights_are_read_afresh_and_no_superuser_is_spared(contract, curator):
    item = ask(contract)
    viewer = people.viewer(contract.team)
    get_user_model().objects.filter(pk=viewer.pk).update(is_superuser=True)
    assert_refused(contract, "no_right_to_decide", decide, **word(item, viewer))
    curator.groups.clear()
    assert_refused(contract, "no_right_to_decide", decide, **word(item, curator))
    get_user_model().objects.filter(pk=curator.pk).update(is_active=False)
    assert_refused(contract, "no_right_to_decide", decide, **word(item, curator))


def test_the_last_editor_cannot_decide_on_the_own_draft(contract):
    item = ask(contract)
    assert_refused(contract, "own_draft", decide, **word(item, people.owner(contract.team)))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"confirmed_at": None}, "login_not_fresh"),
        ({"seen": "0" * 64}, "fingerprint_differs"),
        ({"decision": "always"}, "unknown_decision"),
        ({"item_id": "item-0"}, "no_such_item"),
    ],
)
def test_a_decision_that_does_not_fit_changes_nothing(contract, curator, given, code):
    item = ask(contract)
    assert_refused(contract, code, decide, **word(item, curator, **given))


def test_t51_t65_a_changed_draft_makes_the_item_stale_with_both_values(contract, curator):
    item = ask(contract)
    new_draft(contract, "Fired clay, 1931.")
    verdict = decide(contract_id=contract.pk, **word(item, curator))
    assert (verdict.allowed, verdict.code) == (False, "item_stale")
    item.refresh_from_db()
    assert (item.state, item.stale_member, item.stale_was, item.stale_now) == (
        "stale",
        "draft_version",
        "1",
        "2",
    )
    assert [(e.act, e.refused) for e in events_of(contract)[-2:]] == [
        ("tuple_changed", ""),
        ("decide", "item_stale"),
    ]
    assert_refused(contract, "item_stale", decide, **word(item, curator))


def test_t56_t59_an_item_out_of_time_is_nobodys_no(contract, curator):
    item = ask(contract)
    Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
    verdict = decide(contract_id=contract.pk, **word(item, curator))
    assert verdict.code == "item_expired"
    item.refresh_from_db()
    assert (item.state, item.decided_by, item.decided_at) == ("expired", "", None)
    assert not ApprovalVote.objects.filter(approval=item).exists()


def test_t52_saving_the_same_draft_again_keeps_the_item(contract, curator):
    item = ask(contract)
    from contracts.gates.rows import edit_row
    from contracts.models import Artefact

    draft = Artefact.objects.joined().get(contract=contract, artefact_id="L-1")
    values = {field.name: draft.facts()[field.name] for field in PARTS["artefact"].given}
    actor = people.acting(people.owner(contract.team))
    edit_row(
        contract_id=contract.pk,
        actor=actor,
        part=PARTS["artefact"],
        row_id=draft.pk,
        version=draft.version,
        values=values,
    )
    assert_allowed(contract, decide, **word(item, curator))


def test_a_cancelled_contract_decides_nothing(contract, curator):
    item = ask(contract)
    assert cancel(contract_id=contract.pk, actor=people.acting(curator), reason="Not needed.").allowed
    assert_refused(contract, "not_open", decide, **word(item, curator))


def test_a_quorum_needs_that_many_different_curators(contract, curator):
    ApprovalPolicy.objects.filter(contract=contract).update(quorum=2)
    item = ask(contract)
    assert_allowed(contract, decide, **word(item, curator))
    item.refresh_from_db()
    assert item.state == "pending"
    assert_refused(contract, "one_vote_per_curator", decide, **word(item, curator))
    second = people.person("dora", contract.team, *people_roles())
    assert_allowed(contract, decide, **word(item, second))
    item.refresh_from_db()
    assert (item.state, item.decided_by) == ("approved", "dora")


def people_roles():
    from contracts.rules.vocabulary import Role

    return (Role.CURATOR,)


def test_t15_a_policy_that_does_not_parse_closes_the_gate(contract, curator):
    item = ask(contract)
    ApprovalPolicy.objects.filter(contract=contract).delete()
    assert current_policy(contract) is None
    assert_refused(contract, "policy_unreadable", decide, **word(item, curator))
    item.delete()
    assert_refused(contract, "policy_unreadable", request_approval, operation_key=key(contract), **ASKED)


def test_only_who_asked_withdraws_and_only_once(contract, curator):
    item = ask(contract)
    given = {"item_id": item.item_id, "reason": "The draft is being rewritten."}
    assert_refused(contract, "requester_not_asking", withdraw, **given)
    assert_refused(contract, "reason_missing", withdraw, actor=WORKER, **{**given, "reason": ""})
    assert_refused(contract, "no_such_item", withdraw, actor=WORKER, **{**given, "item_id": "item-0"})
    assert_allowed(contract, withdraw, actor=WORKER, **given)
    assert_refused(contract, "illegal_move", withdraw, actor=WORKER, **given)
    assert_refused(contract, "item_withdrawn", decide, **word(item, curator))


def test_every_decision_and_refusal_is_in_the_chain(contract, curator):
    item = ask(contract)
    assert_allowed(contract, decide, **word(item, curator))
    decide(contract_id=contract.pk, **word(item, curator))
    told = Event.objects.filter(contract=contract, act__in=["vote", "decide"]).order_by("sequence")
    assert [(e.act, e.actor, e.actor_kind, e.refused) for e in told] == [
        ("vote", "carla", "person", ""),
        ("decide", "carla", "person", ""),
        ("decide", "carla", "person", "already_decided"),
    ]


def test_an_item_without_a_draft_is_decided_too(contract, curator):
    item = ask(contract, draft_id="")
    assert (item.draft, item.draft_version, item.last_editor, item.author) == (None, "", "", "")
    assert_allowed(contract, decide, **word(item, curator))

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from contracts.gates.approving import decide
from contracts.gates.beats import database_now
from contracts.gates.binding import current_policy
from contracts.gates.form_keys import make_form_key
from contracts.gates.lifecycle import cancel
from contracts.gates.requesting import request_approval, withdraw, writers_of
from contracts.gates.rows import add_row, edit_row
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
        "form_key": make_form_key(item, person),
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


def test_a_text_that_is_kept_here_is_shown_whatever_the_request_says(contract):
    assert ask(contract, preview="Harmless words.").preview == "Fired clay."


def test_a_preview_is_kept_as_text_where_there_is_no_draft(contract):
    item = ask(contract, draft_id="", preview="One\r\ntwo", reason="Why\r\nnot")
    assert (item.preview, item.reason) == ("One\ntwo", "Why\nnot")


@pytest.mark.parametrize("name", ["L-2", "L" * 200])
def test_who_stored_a_text_is_known_whoever_is_named_as_its_author(contract, name):
    version = {
        "artefact_id": name,
        "version_label": "v" * 200,
        "inline_text": "Glazed clay.",
        "author": "Ghost",
    }
    row = builders.a_row(contract, "artefact", **version)
    rita = people.reviewer(contract.team)
    values = {field.name: row.facts()[field.name] for field in PARTS["artefact"].given} | {"note": "Seen."}
    noted = edit_row(
        contract_id=contract.pk,
        actor=people.acting(rita),
        part=PARTS["artefact"],
        row_id=row.pk,
        version=row.version,
        values=values,
    )
    assert noted.allowed
    item = ask(contract, draft_id=name)
    assert (item.author, item.last_editor) == ("Ghost", "olga")
    assert not writers_of(contract, item.draft).came_along
    assert_refused(contract, "own_draft", decide, **word(item, people.owner(contract.team)))


def test_who_brought_a_text_in_by_a_document_cannot_decide_on_it():
    draft = {"artefact_id": "L-1", "version_label": "1", "inline_text": "Fired clay."}
    contract = builders.a_paused(artefacts=[draft])
    builders.a_row(contract, "operation")
    item = ask(contract)
    assert (item.author, item.last_editor) == ("olga", "olga")
    assert writers_of(contract, item.draft).came_along
    assert_refused(contract, "own_draft", decide, **word(item, people.owner(contract.team)))


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
    assert_allowed(contract, decide, **word(item, curator, "rejected", reason="The date\r\nis wrong. "))
    item.refresh_from_db()
    assert (item.state, item.decision_reason) == ("rejected", "The date\nis wrong.")


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
        ({"item_id": "item\x00"}, "no_such_item"),
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
    item.refresh_from_db()
    assert (item.state, item.stale_member, item.stale_now) == ("stale", "cancelled", "carla: Not needed.")
    assert Operation.objects.get(contract=contract).state == "abandoned"
    assert_refused(contract, "item_stale", decide, **word(item, curator))
    assert_refused(contract, "not_open", request_approval, operation_key=key(contract), **ASKED)


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


def test_a_person_who_is_called_as_a_worker_is_takes_nothing_back(contract):
    item = ask(contract)
    given = {"item_id": item.item_id, "reason": "Mine, I say."}
    assert_refused(contract, "requester_not_asking", withdraw, actor=Actor(WORKER.name), **given)


def test_everybody_who_stored_the_content_of_the_draft_is_barred(contract):
    """In a draft contract a version may still be edited: neither the first nor any later writer decides on it."""
    from contracts.gates.rows import edit_row
    from contracts.models import Artefact
    from contracts.rules.states import ContractState
    from contracts.rules.vocabulary import Role
    from tests.gates.watching import force

    writers = [
        people.person(name, contract.team, Role.REVIEWER, Role.CURATOR) for name in ("wim", "xena", "yara")
    ]
    force(contract, ContractState.DRAFT)
    for number, writer in enumerate(writers):
        row = Artefact.objects.joined().get(contract=contract, artefact_id="L-1")
        values = {field.name: row.facts()[field.name] for field in PARTS["artefact"].given}
        values |= {"inline_text": f"Fired clay, {1930 + number}.", "author": "Ghost", "sha256": ""}
        edited = edit_row(
            contract_id=contract.pk,
            actor=people.acting(writer),
            part=PARTS["artefact"],
            row_id=row.pk,
            version=row.version,
            values=values,
        )
        assert edited.allowed, edited
    force(contract, ContractState.PAUSED)
    item = ask(contract)
    assert (item.author, item.last_editor) == ("Ghost", "yara")
    for writer in writers:
        assert_refused(contract, "own_draft", decide, **word(item, writer))


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

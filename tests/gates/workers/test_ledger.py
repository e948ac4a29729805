"""The ledger: one slot holds one operation, whatever its parameters; only legal moves move it."""

from datetime import timedelta

import pytest

from contracts.gates.beats import database_now
from contracts.gates.lifecycle import cancel
from contracts.gates.requesting import request_approval, withdraw
from contracts.gates.rounds import open_round
from contracts.gates.sending import dispatch
from contracts.gates.workers.handing_over import compensate, escalate
from contracts.gates.workers.ledger import abandon, intend, report
from contracts.gates.workers.owning import release
from contracts.gates.workers.reconciling import reconcile, settle_by_person
from contracts.models import Approval, Attempt, Contract, Limit, Operation, UsageEntry
from contracts.rules.fingerprint import operation_key
from contracts.rules.granting import Released
from contracts.rules.states import OPERATION_MOVES, ContractState, OperationState
from tests import builders
from tests.builders import WORKER
from tests.gates.watching import assert_allowed, assert_refused, events_of, force, own, snapshot
from tests.gates.workers.ledgering import (
    CALL,
    OPERATOR,
    OTHER,
    a_task,
    asked,
    by,
    call,
    describe,
    intended,
    sending,
    unknown,
)

pytestmark = pytest.mark.django_db


def same(contract, gate, **given):
    """Call `gate` with what stands already; it is allowed as `exists`, and nothing is written."""
    before, known = snapshot(contract), len(events_of(contract))
    verdict = gate(contract_id=contract.pk, **given)
    assert (verdict.allowed, verdict.code) == (True, "exists"), verdict
    assert (snapshot(contract), len(events_of(contract))) == (before, known)
    return verdict.outcome


def test_an_intention_is_stored_before_anything_leaves():
    contract = a_task()
    verdict, events = assert_allowed(contract, intend, **call(contract))
    row = verdict.outcome
    key = operation_key(contract.task_id, "publish", 1, "cms.publish", CALL["parameters"])
    assert (row.key, row.state, row.round, row.tries, row.generation) == (key, "pending", 1, 0, None)
    assert (row.work_object.object_id, row.target, row.expected) == (
        "O-1",
        "cms://pages/label-1",
        "one page",
    )
    assert [(event.act, event.part, event.subject) for event in events] == [
        ("intend", "operation", "cms.publish · O-1 · publish · 1")
    ]


def test_the_same_call_gives_the_same_operation_and_stores_nothing():
    contract = a_task()
    row = intended(contract)
    assert same(contract, intend, **call(contract)).pk == row.pk
    assert same(contract, intend, **call(contract, expected="a page", round=1)).pk == row.pk


@pytest.mark.parametrize("change", [{"parameters": {"page": "label 1"}}, {"target": "cms://pages/other"}])
@pytest.mark.parametrize("state", ["pending", "sending", "unknown", "confirmed"])
def test_t44_another_call_for_a_taken_slot_is_refused_and_shown_what_stands(state, change):
    contract = a_task()
    row = intended(contract)
    Operation.objects.filter(pk=row.pk).update(state=state, generation=contract.generation)
    verdict = assert_refused(contract, "one_operation_per_slot", intend, **call(contract, **change))
    assert verdict.outcome.pk == row.pk


@pytest.mark.parametrize("state", ["rejected", "abandoned"])
def test_after_a_no_another_call_needs_a_round_opened_by_an_act(state):
    contract = a_task()
    row = intended(contract)
    Operation.objects.filter(pk=row.pk).update(state=state, generation=contract.generation)
    other = call(contract, parameters={"page": "2"})
    assert_refused(contract, "new_round_needed", intend, **other)
    assert_refused(contract, "new_round_needed", intend, **other, round=2)
    known = {"actor": WORKER, "operation_key": row.key, "parameters": {"page": "2"}}
    opened, _ = assert_allowed(contract, open_round, **known)
    assert same(contract, intend, **other).pk == opened.outcome.pk
    assert same(contract, intend, **other, round=2).pk == opened.outcome.pk
    assert same(contract, intend, **call(contract), round=1).pk == row.pk


def test_a_round_is_never_opened_by_naming_it():
    contract = a_task()
    assert_refused(contract, "new_round_needed", intend, **call(contract), round=2)


def test_one_call_for_two_objects_must_tell_them_apart():
    contract = a_task(objects=[{"object_id": "O-1"}, {"object_id": "O-2"}])
    row = intended(contract)
    verdict = assert_refused(contract, "operation_key_once", intend, **call(contract, object_id="O-2"))
    assert verdict.outcome.pk == row.pk
    assert intended(contract, object_id="O-2", parameters={"page": "label-2"}).pk != row.pk


def test_a_write_may_belong_to_no_single_object():
    contract = a_task()
    row = intended(contract, object_id="")
    assert (row.work_object, row.natural_key()) == (None, "cms.publish · – · publish · 1")
    assert_refused(
        contract, "one_operation_per_slot", intend, **call(contract, object_id="", parameters={"a": 1})
    )


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"parameters": {"token": "ghp_" + "a1B2" * 9}}, "parameters", "credential"),
        ({"parameters": {"page": "x" * 65_536}}, "parameters", "too_large"),
        ({"parameters": [1]}, "parameters", "wrong_type"),
        ({"parameters": None}, "parameters", "missing"),
        ({"parameters": {"n": 2**53}}, "parameters", "number_out_of_range"),
        ({"step": "s" * 201}, "step", "too_long"),
        ({"tool": "t" * 201}, "tool", "too_long"),
        ({"step": "a\u202eb"}, "step", "hidden_character"),
        ({"target": "cms://" + "t" * 2_000}, "target", "too_long"),
        ({"target": ""}, "target", "missing"),
        ({"expected": ""}, "expected", "missing"),
        ({"object_id": "O-9"}, "object", "unknown_reference"),
        ({"round": 0}, "round", "out_of_range"),
    ],
)
def test_t37_bad_input_is_named_by_field_and_leaves_the_state_unchanged(change, field, code):
    contract = a_task()
    verdict = assert_refused(contract, "bad_values", intend, **call(contract, **change))
    assert [(problem.field, problem.code) for problem in verdict.problems] == [(field, code)]
    assert intended(contract).state == "pending"  # and the entry can be given again


def test_parameters_of_64_kib_just_fit():
    contract = a_task()
    assert intended(contract, parameters={"page": "x" * (65_536 - len('{"page":""}'))}).pk


def test_a_tool_without_a_contract_is_never_called():
    contract = a_task()
    assert_refused(contract, "unknown_tool", intend, **call(contract, tool="mail.send"))


@pytest.mark.parametrize("measure", ["active_seconds", "model_turns", "tool_attempts", "tokens", "cost"])
def test_an_intention_needs_something_left_of_every_cap(measure):
    contract = a_task()
    row = intended(contract, step="first")
    UsageEntry.objects.create(
        contract=contract, entry_id="e", measure=measure, amount=100, used_at=database_now()
    )
    verdict = assert_refused(contract, "cap_reached", intend, **call(contract))
    assert verdict.values == {"measure": measure}
    assert same(contract, intend, **call(contract, step="first")).pk == row.pk


def test_what_is_unknown_blocks_sending_and_not_intending():
    contract = a_task()
    unknown(contract)
    row = intended(contract, step="next")
    assert_refused(contract, "unknown_first", dispatch, **by(contract, operation_key=row.key))


def test_intentions_are_strictly_ordered_even_if_the_clock_is_set_back():
    contract = a_task()
    ahead = database_now() + timedelta(days=1)
    Contract.objects.filter(pk=contract.pk).update(revised_at=ahead)
    rows = [intended(contract, step=f"s-{number}") for number in range(3)]
    moments = [row.intended_at for row in rows]
    assert moments == sorted(set(moments))
    assert moments[0] > ahead
    assert [row.pk for row in Operation.objects.of(contract.pk)] == [row.pk for row in rows]


def acts(contract, row):
    """Return every act of the owner on one operation, by name: the gate and what it is told."""
    key = by(contract, operation_key=row.key)
    parameters = {"parameters": {"page": "x"}}
    return {
        "intend": (intend, call(contract, step="later")),
        "dispatch": (dispatch, key),
        "report": (report, key | {"result": "confirmed"}),
        "abandon": (abandon, key | {"reason": "Dropped."}),
        "reconcile": (reconcile, key | {"asked": asked()}),
        "escalate": (escalate, key | {"reason": "Nobody knows."}),
        "compensate": (
            compensate,
            key | {"tool": "cms.publish", "target": "cms://x", "expected": "none"} | parameters,
        ),
    }


ACTS = ["intend", "dispatch", "report", "abandon", "reconcile", "escalate", "compensate"]


@pytest.mark.parametrize(
    ("change", "given", "code"),
    [
        ({"state": ContractState.PAUSED}, {}, "not_open"),
        ({"state": ContractState.CANCELLED}, {}, "task_cancelled"),
        ({"state": ContractState.RUNNING, "generation": 500}, {}, "stale_generation"),
        ({"state": ContractState.RUNNING}, {"generation": 1}, "stale_generation"),
        ({"state": ContractState.RUNNING}, {"actor": OTHER}, "not_owner"),
        ({"state": ContractState.RUNNING, "deadline": "2020-01-01T00:00Z"}, {}, "deadline_passed"),
    ],
)
def test_t27_only_the_live_owner_of_a_contract_at_work_writes(change, given, code):
    contract = own(a_task())  # so that generation 1 was granted once
    known = acts(contract, sending(contract))
    force(contract, **change)
    for act in ACTS:
        gate, told_so = known[act]
        if act == "report" and code != "not_owner":
            assert gate(contract_id=contract.pk, **told_so | given).code == "late_report"
        else:
            assert_refused(contract, code, gate, **told_so | given)
    assert Operation.objects.get(contract=contract).state == "sending"


def test_t27_a_lapsed_lease_writes_nothing():
    contract = a_task()
    known = acts(contract, sending(contract))
    Attempt.objects.filter(contract=contract, ended_at__isnull=True).update(lease_end=database_now())
    for act in ACTS:
        gate, told_so = known[act]
        assert_refused(contract, "lease_lapsed", gate, **told_so)


def test_t43_cancelling_one_task_refuses_its_writes_and_no_others():
    one, other = a_task(), a_task()
    row = intended(one)
    assert cancel(contract_id=one.pk, actor=OPERATOR, reason="Called off.").allowed
    assert not intend(contract_id=one.pk, **call(one, step="next")).allowed
    assert not dispatch(contract_id=one.pk, **by(one, operation_key=row.key)).allowed
    assert sending(other).state == "sending"


@pytest.mark.parametrize("act", ["intend", "dispatch"])
def test_while_a_pause_is_requested_no_write_begins(act):
    contract = a_task()
    gate, known = acts(contract, intended(contract))[act]
    force(contract, ContractState.PAUSE_REQUESTED)
    assert_refused(contract, "pause_requested", gate, **known)


@pytest.mark.parametrize(("act", "state"), [("report", "confirmed"), ("reconcile", "confirmed")])
def test_while_a_pause_is_requested_what_is_under_way_ends(act, state):
    contract = a_task()
    row = sending(contract) if act == "report" else unknown(contract)
    gate, known = acts(contract, row)[act]
    force(contract, ContractState.PAUSE_REQUESTED)
    assert_allowed(contract, gate, **known)
    row.refresh_from_db()
    assert row.state == state


# --- the whole table: every state, every act ------------------------------------------------------------------------

DEEDS = {
    "intend_same": (intend, {}),
    "intend_other": (intend, {}),
    "dispatch": (dispatch, {}),
    "report_confirmed": (report, {"result": "confirmed"}),
    "report_rejected": (report, {"result": "rejected"}),
    "report_unknown": (report, {"result": "unknown"}),
    "abandon": (abandon, {"reason": "Dropped."}),
    "found": (reconcile, {}),
    "absent": (reconcile, {}),
    "unclear": (reconcile, {}),
    "decide_confirmed": (settle_by_person, {"decision": "confirmed"}),
    "decide_rejected": (settle_by_person, {"decision": "rejected"}),
    "escalate": (escalate, {"reason": "Nobody knows."}),
    "compensate": (compensate, {}),
    "open_round": (open_round, {}),
    "release": (release, {}),
}
TAKEN, ROUND = "one_operation_per_slot", "new_round_needed"
NOT_UNKNOWN = dict.fromkeys(
    ("found", "absent", "unclear", "decide_confirmed", "decide_rejected", "escalate"),
    "operation_not_unknown",
)
NOT_SENDING = dict.fromkeys(
    ("report_confirmed", "report_rejected", "report_unknown"), "operation_not_sending"
)
SAME = {"intend_same": "=exists"}
SETTLED = {
    **SAME,
    **NOT_UNKNOWN,
    "dispatch": "operation_not_pending",
    "abandon": "operation_not_pending",
    "compensate": "operation_not_confirmed",
    "open_round": "round_not_open",
    "release": "=",
    "intend_other": TAKEN,
}
STANDS = dict.fromkeys(("report_confirmed", "report_rejected", "report_unknown"), "report_stands")
# state → act → the state it leads to (">"), what stays ("="), or the code of the refusal.
TABLE = {
    "pending": {
        **SETTLED,
        **NOT_SENDING,
        "dispatch": ">sending",
        "abandon": ">abandoned",
        "open_round": ">abandoned",
        "release": ">unknown",
    },
    "sending": {
        **SETTLED,
        "report_confirmed": ">confirmed",
        "report_rejected": ">rejected",
        "report_unknown": ">unknown",
        "release": ">unknown",
    },
    "confirmed": {**SETTLED, **STANDS, "report_confirmed": "=exists", "compensate": "="},
    "rejected": {
        **SETTLED,
        **STANDS,
        "report_rejected": "=exists",
        "intend_other": ROUND,
        "open_round": "=",
    },
    "unknown": {
        **SETTLED,
        **STANDS,
        "report_unknown": "=exists",
        "found": ">confirmed",
        "absent": ">pending",
        "unclear": "=",
        "decide_confirmed": ">confirmed",
        "decide_rejected": ">rejected",
        "escalate": "=",
    },
    "abandoned": {
        **SETTLED,
        **NOT_SENDING,
        "abandon": "=exists",
        "intend_other": ROUND,
        "open_round": "=",
    },
}


def told(deed, contract, row):
    gate, given = DEEDS[deed]
    known = by(contract, operation_key=row.key) | given
    call_of = {"tool": "cms.publish", "parameters": {"page": "x"}, "target": "cms://x", "expected": "gone"}
    if deed.startswith("intend"):
        other = {} if deed == "intend_same" else {"parameters": {"page": "other"}}
        known = call(contract, step=row.step, **other)
    elif gate is reconcile:
        known["asked"] = asked(deed)
    elif gate is settle_by_person:
        known |= {"actor": OPERATOR, "evidence": "logs://cms/1", "reason": "Seen in the target."}
        del known["generation"]
    elif gate is compensate:
        known |= call_of
    elif gate is open_round:
        known |= {"parameters": {"page": "other"}}
        del known["generation"]
    elif gate is release:
        known |= {"reason": Released.GIVEN_UP}
        del known["operation_key"]
    return gate, known


def in_state(contract, state, step):
    """Return an operation in `state`, as the present owner left it."""
    row = intended(contract, step=step)
    if state not in ("pending", "abandoned"):
        at = database_now() - timedelta(seconds=600)
        Operation.objects.filter(pk=row.pk).update(
            generation=contract.generation, tries=1, sent_at=at, settled_at=at, intended_at=at
        )
    Operation.objects.filter(pk=row.pk).update(state=state)
    row.refresh_from_db()
    return row


@pytest.mark.parametrize("state", TABLE)
def test_every_act_in_every_state_does_what_the_table_says(state):
    contract = a_task({"settle_seconds": 1, "compensation": "cms.unpublish"})
    for deed, expected in TABLE[state].items():
        row = in_state(own(contract), state, deed.replace("_", "-"))
        gate, known = told(deed, contract, row)
        if expected[0] not in ">=":
            assert_refused(contract, expected, gate, **known)
        elif expected == "=exists":
            same(contract, gate, **known)
        else:
            assert_allowed(contract, gate, **known)
        row.refresh_from_db()
        assert (deed, row.state) == (deed, expected[1:] if expected[0] == ">" else state)
        Operation.objects.filter(contract=contract).exclude(state=state).update(state="abandoned")


def test_every_legal_move_of_an_operation_is_made_by_some_act_and_no_other_is():
    assert set(TABLE) == {state.value for state in OperationState}
    assert all(set(row) == set(DEEDS) for row in TABLE.values())
    made = {
        (state, result[1:]) for state, row in TABLE.items() for result in row.values() if result[0] == ">"
    }
    assert made == {(move.before.value, move.after.value) for move in OPERATION_MOVES}


# --- reports ---------------------------------------------------------------------------------------------------------


def test_a_report_stores_what_the_target_answered():
    contract = a_task()
    row = sending(contract)
    given = by(
        contract,
        operation_key=row.key,
        result="confirmed",
        reference="cms://pages/4711",
        response_sha256="A" * 64,
        detail="Took two seconds.",
    )
    verdict, (event,) = assert_allowed(contract, report, **given)
    found = verdict.outcome
    assert (found.target_reference, found.response_sha256, found.settled_at) == (
        "cms://pages/4711",
        "a" * 64,
        event.at,
    )
    assert (event.act, event.after["detail"]) == ("report", "Took two seconds.")
    assert same(contract, report, **given).pk == row.pk
    assert_refused(contract, "report_stands", report, **given | {"reference": "cms://pages/4712"})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"result": "done"}, "result"),
        ({"response_sha256": "x"}, "response_sha256"),
        ({"reference": "two words"}, "reference"),
        ({"detail": "x" * 2_001}, "detail"),
    ],
)
def test_a_report_that_cannot_be_read_changes_nothing(change, field):
    contract = a_task()
    row = sending(contract)
    given = by(contract, operation_key=row.key, result="confirmed") | change
    verdict = assert_refused(contract, "bad_values", report, **given)
    assert [problem.field for problem in verdict.problems] == [field]


@pytest.mark.parametrize("result", ["confirmed", "rejected", "unknown"])
def test_t27_a_late_report_of_a_displaced_owner_changes_no_state_and_is_kept_as_evidence(result):
    contract = a_task()
    row, given = sending(contract), {}
    given = by(contract, operation_key=row.key, result=result, reference="cms://pages/4711")
    own(contract)
    Operation.objects.filter(pk=row.pk).update(state="unknown")
    row.refresh_from_db()
    before = row.facts()
    verdict = report(contract_id=contract.pk, **given)
    row.refresh_from_db()
    assert (verdict.allowed, verdict.code, row.facts()) == (False, "late_report", before)
    evidence, refused = events_of(contract)[-2:]
    assert (evidence.act, evidence.refused, refused.refused) == ("late_report", "", "late_report")
    assert evidence.after == {
        "result": result,
        "reference": "cms://pages/4711",
        "response_sha256": "",
        "detail": "",
        "generation": contract.generation - 1,
    }


def test_a_report_about_a_grant_of_another_is_no_evidence():
    contract = a_task()
    row, former = sending(contract), contract.generation
    own(contract)
    given = {"actor": OTHER, "operation_key": row.key, "result": "confirmed"}
    assert_refused(contract, "stale_generation", report, **given, generation=former)
    assert_refused(contract, "stale_generation", report, **given, generation=former + 100)


def test_what_a_former_owner_sent_is_not_reported_by_the_next():
    contract = a_task()
    row = sending(contract)
    own(contract)
    Operation.objects.filter(pk=row.pk).update(state="confirmed")
    assert_refused(
        contract,
        "operation_not_sending",
        report,
        **by(contract, operation_key=row.key, result="rejected"),
    )


@pytest.mark.parametrize("gate", [report, abandon, dispatch, reconcile, escalate, compensate])
def test_a_key_of_no_operation_is_refused(gate):
    contract = a_task()
    given = {
        report: {"result": "confirmed"},
        abandon: {"reason": "x"},
        reconcile: {"asked": asked()},
        escalate: {"reason": "x"},
        compensate: {"tool": "t", "parameters": {}, "target": "cms://x", "expected": "x"},
    }.get(gate, {})
    assert_refused(contract, "no_such_operation", gate, **by(contract, operation_key="0" * 64), **given)


# --- giving up --------------------------------------------------------------------------------------------------------


def asked_about(contract, row, actor=WORKER):
    return builders.done(
        request_approval(contract_id=contract.pk, actor=actor, operation_key=row.key, reason="Please.")
    )


def test_who_gives_a_write_up_takes_the_question_back():
    contract = a_task()
    row = intended(contract)
    item = asked_about(contract, row)
    given = by(contract, operation_key=row.key)
    assert_refused(contract, "reason_missing", abandon, **given, reason=" ")
    _, events = assert_allowed(contract, abandon, **given, reason="The label was dropped.")
    item.refresh_from_db()
    row.refresh_from_db()
    assert (row.state, item.state) == ("abandoned", "withdrawn")
    assert [event.act for event in events] == ["withdraw", "dropped"]
    assert events[-1].after["reason"] == "The label was dropped."


def test_a_question_of_somebody_else_about_it_goes_stale():
    contract = a_task()
    row = intended(contract)
    item = asked_about(contract, row, OPERATOR)
    assert_allowed(contract, abandon, **by(contract, operation_key=row.key), reason="Dropped.")
    item.refresh_from_db()
    assert (item.state, item.stale_member) == ("stale", "operation_key")
    assert Approval.objects.open().filter(contract=contract).count() == 0


KEYED = {"key_supported": True, "key_memory_hours": 24, "settle_seconds": 1}


def back_by_its_key(contract):
    """Return an operation that waits to be sent again only because the target knows its key."""
    row = unknown(contract)
    verdict = reconcile(
        contract_id=contract.pk, **by(contract, operation_key=row.key, asked=asked("unclear"))
    )
    assert verdict.outcome.operation.state == "pending"
    row.refresh_from_db()
    return row


def test_what_may_have_been_written_is_not_given_up_and_no_round_follows_it():
    contract = a_task(KEYED)
    row = back_by_its_key(contract)
    given = by(contract, operation_key=row.key)
    assert_refused(contract, "may_have_left", abandon, **given, reason="Dropped.")
    known = {"actor": WORKER, "operation_key": row.key, "parameters": {"page": "2"}}
    assert_refused(contract, "may_have_left", open_round, **known)


def test_taking_back_the_question_about_it_leaves_it_unknown():
    contract = a_task(KEYED)
    row = back_by_its_key(contract)
    item = asked_about(contract, row)
    _, events = assert_allowed(contract, withdraw, actor=WORKER, item_id=item.item_id, reason="Later.")
    row.refresh_from_db()
    assert (row.state, events[-1].act) == ("unknown", "owner_lost")


# --- sending ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "object_id", "code"),
    [
        ("one_at_a_time", "O-2", "tool_busy"),
        ("one_at_a_time", "O-1", "tool_busy"),
        ("one_per_object", "O-1", "tool_busy"),
        ("one_per_object", "O-2", ""),
        ("one_per_object", "", ""),
        ("free", "O-1", ""),
    ],
)
def test_calls_of_a_tool_overlap_as_its_contract_lets_them(rule, object_id, code):
    contract = a_task({"concurrency": rule}, objects=[{"object_id": "O-1"}, {"object_id": "O-2"}])
    first = sending(contract)
    row = intended(contract, object_id=object_id, step="next")
    given = by(contract, operation_key=row.key)
    if code:
        assert assert_refused(contract, code, dispatch, **given).outcome.pk == first.pk
    else:
        assert_allowed(contract, dispatch, **given)


def test_t68_a_key_older_than_the_targets_memory_is_not_sent_again():
    contract = a_task(KEYED)
    row = back_by_its_key(contract)
    yesterday = database_now() - timedelta(hours=26)
    Operation.objects.filter(pk=row.pk).update(intended_at=yesterday, sent_at=yesterday)
    verdict = dispatch(contract_id=contract.pk, **by(contract, operation_key=row.key))
    row.refresh_from_db()
    assert (verdict.allowed, verdict.code, row.state, row.tries) == (False, "key_too_old", "unknown", 1)
    known = by(contract, operation_key=row.key)
    assert_refused(contract, "operation_not_pending", dispatch, **known)
    assert [event.act for event in events_of(contract)[-3:-1]] == ["owner_lost", "dispatch"]


def test_t68_the_key_is_good_until_its_hour():
    contract = a_task(KEYED)
    row = back_by_its_key(contract)
    young = database_now() - timedelta(hours=23)
    Operation.objects.filter(pk=row.pk).update(intended_at=young, sent_at=young)
    verdict, _ = assert_allowed(contract, dispatch, **by(contract, operation_key=row.key))
    sent = verdict.outcome
    assert (sent.tries, sent.settled_at, sent.reconciliation) == (2, None, None)


@pytest.mark.parametrize("measure", ["tool_attempts", "tries_per_step"])
def test_a_cap_on_sending_is_kept_and_named(measure):
    contract = a_task()
    describe(contract, settle_seconds=1)
    Limit.objects.filter(contract=contract, measure=measure).update(cap=1)
    row = unknown(contract)
    known = by(contract, operation_key=row.key)
    assert_allowed(contract, reconcile, **known, asked=asked("absent"))
    verdict = assert_refused(contract, "cap_reached", dispatch, **known)
    assert verdict.values == {"measure": measure}
    Limit.objects.filter(contract=contract, measure=measure).update(cap=None)
    assert_allowed(contract, dispatch, **known)


def test_a_displaced_owner_asks_nobody():
    contract = a_task()
    row = intended(contract)
    asked = {"actor": WORKER, "operation_key": row.key, "reason": "Please."}
    assert_refused(
        contract, "stale_generation", request_approval, **asked, generation=contract.generation - 1
    )

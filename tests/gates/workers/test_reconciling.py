"""“Absent” is not “never”: what the answer of the target settles, and what it leaves to the named person."""

from datetime import timedelta

import pytest

from contracts.gates.beats import database_now, take_turn
from contracts.gates.requesting import request_approval
from contracts.gates.sending import dispatch
from contracts.gates.workers.displaced import settle_displaced
from contracts.gates.workers.reconciling import reconcile, settle_by_person
from contracts.models import Approval, Attempt, Contract, Operation, OwnerGate, Source, WorkObject
from contracts.rules.repeating import Ahead
from contracts.rules.states import ContractState
from contracts.rules.verdict import allow
from contracts.rules.vocabulary import Actor, AttemptEnd
from tests import builders, people
from tests.builders import WORKER
from tests.gates.watching import assert_allowed, assert_refused, events_of, force, own
from tests.gates.workers.ledgering import (
    CALL,
    OPERATOR,
    a_task,
    asked,
    by,
    describe,
    intended,
    sending,
    unknown,
)

pytestmark = pytest.mark.django_db
PERSON = Actor("rita")


def ask(contract, row, form, **given):
    """Ask as the live owner; return what came of it, and the row anew."""
    known = by(contract, operation_key=row.key, asked=form) | given
    verdict, events = assert_allowed(contract, reconcile, **known)
    row.refresh_from_db()
    return verdict.outcome.outlook, events


def object_of(contract):
    return WorkObject.objects.joined().get(contract=contract)


def displaced(contract, end=AttemptEnd.LEASE_LAPSED):
    """Let the owner be lost as the next resume settles it, and grant the task to another attempt."""

    def body(turn):
        settle_displaced(turn, Attempt.objects.get(contract=contract, ended_at__isnull=True), end)
        return allow()

    builders.done(take_turn(contract_id=contract.pk, actor=WORKER, act="resume", body=body))
    return own(contract)


def test_t05_t45_a_call_still_running_is_unknown_to_the_next_owner_and_is_asked_for_first():
    contract = a_task({"settle_seconds": 1})
    WorkObject.objects.filter(contract=contract).update(
        state="in_progress", attempt=Attempt.objects.get(contract=contract, ended_at__isnull=True)
    )
    row = sending(contract)
    displaced(contract)
    row.refresh_from_db()
    assert (row.state, object_of(contract).state) == ("unknown", "unknown")
    later = intended(contract, step="next")
    assert_refused(contract, "operation_not_pending", dispatch, **by(contract, operation_key=row.key))
    assert_refused(contract, "unknown_first", dispatch, **by(contract, operation_key=later.key))
    seen, _ = ask(contract, row, asked("absent"))  # a displaced owner may still send: never certain
    assert (seen.ahead, row.state) == (Ahead.PERSON, "unknown")
    seen, _ = ask(contract, row, asked("found", count=1))
    assert (seen.ahead, row.state, row.reconciliation["count"]) == (Ahead.CONFIRM, "confirmed", 1)
    assert_allowed(contract, dispatch, **by(contract, operation_key=later.key))


def test_what_the_target_has_is_confirmed_with_all_the_evidence():
    contract = a_task()
    row = unknown(contract)
    form = asked("found", count=2, note="Two pages, one of them a draft.")
    _, (event,) = ask(contract, row, form)
    assert (row.state, row.target_reference, row.settled_at) == ("confirmed", form.reference, event.at)
    assert event.act == "reconciled"
    record = row.reconciliation
    assert record["asked_at"] == form.asked_at.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert {name: record[name] for name in ("answer", "asked_by", "generation", "count", "path", "note")} == {
        "answer": "found",
        "asked_by": "label-writer",
        "generation": contract.generation,
        "count": 2,
        "path": form.path,
        "note": form.note,
    }


def test_absence_is_certain_only_after_the_settle_time():
    contract = a_task({"settle_seconds": 3_600})
    row = unknown(contract, ago=600)
    seen, (event,) = ask(contract, row, asked("absent", reference=""))
    assert (seen.ahead, row.state, event.act) == (Ahead.WAIT, "unknown", "asked")
    assert seen.until == row.settled_at + timedelta(hours=1)
    describe(contract, settle_seconds=300)
    seen, (event,) = ask(contract, row, asked("absent", reference=""))
    assert (seen.ahead, row.state, event.act) == (Ahead.SEND_AGAIN, "pending", "certainly_absent")


@pytest.mark.parametrize(
    ("tool", "form", "ahead"),
    [
        ({"stale_owner": "single_write_proxy"}, {}, Ahead.SEND_AGAIN),
        ({"stale_owner": "none"}, {}, Ahead.PERSON),
        ({"stale_owner": "target_deduplicates"}, {}, Ahead.PERSON),
        ({"stale_owner": "target_checks_generation"}, {}, Ahead.ASK),
        ({"stale_owner": "target_checks_generation"}, {"told": 60}, Ahead.SEND_AGAIN),
        ({"stale_owner": "target_checks_generation"}, {"told": 3}, Ahead.WAIT),
        ({"settle_seconds": None}, {}, Ahead.PERSON),
        ({"key_supported": True, "key_memory_hours": 24}, {}, Ahead.SEND_AGAIN),
        ({"query_path": "", "named_person": "Head of collections"}, {}, Ahead.PERSON),
    ],
)
def test_after_another_took_over_absence_needs_the_former_owner_kept_out(tool, form, ahead):
    contract = a_task({"settle_seconds": 10})
    row = unknown(contract)
    describe(contract, **tool)  # an owner alone sends nothing through a proxy
    own(contract)
    given = {}
    if form:
        now = database_now()
        given = {
            "announced_generation": contract.generation,
            "announced_at": now - timedelta(seconds=form["told"]),
            "asked_at": now,
        }
    seen, _ = ask(contract, row, asked("absent", **given))
    assert (seen.ahead, row.state) == (ahead, "pending" if ahead is Ahead.SEND_AGAIN else "unknown")


def test_t68_an_old_key_is_not_sent_again_but_asked_for_or_handed_on():
    contract = a_task({"key_supported": True, "key_memory_hours": 24, "settle_seconds": 10})
    row = unknown(contract, ago=26 * 3_600)
    own(contract)
    seen, _ = ask(contract, row, asked("unclear"))
    assert (seen.ahead, row.state) == (Ahead.PERSON, "unknown")
    assert_refused(contract, "operation_not_pending", dispatch, **by(contract, operation_key=row.key))


def test_a_person_certifies_that_the_former_process_is_dead_and_asks_once_more():
    contract = a_task({"settle_seconds": 0})
    row = unknown(contract)
    own(contract)
    by_person = {"actor": PERSON, "generation": None}
    seen, _ = ask(contract, row, asked("absent", certify_dead=True), **by_person)
    assert (seen.ahead, row.state) == (Ahead.ASK, "unknown")  # it may have sent between the two
    assert row.reconciliation["certified_at"]
    assert row.reconciliation["generation"] is None
    seen, _ = ask(contract, row, asked("absent"))
    assert (seen.ahead, row.state) == (Ahead.SEND_AGAIN, "pending")


def test_a_worker_certifies_nothing_and_asks_as_the_owner_or_not_at_all():
    contract = a_task()
    row = unknown(contract)
    given = by(contract, operation_key=row.key)
    assert_refused(contract, "person_only", reconcile, **given, asked=asked(certify_dead=True))
    assert_refused(contract, "operator_only", reconcile, **given | {"generation": None}, asked=asked())


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ContractState.PAUSED, ""),
        (ContractState.RUNNING, ""),
        (ContractState.CANCELLED, ""),
        (ContractState.COMPLETED, "not_open"),
        (ContractState.DRAFT, "not_open"),
    ],
)
def test_a_person_asks_in_every_state_but_the_last_and_the_first(state, code):
    contract = a_task()
    row = unknown(contract)
    columns = {"completed_at": database_now()} if state is ContractState.COMPLETED else {}
    force(contract, state, **columns)
    given = {"actor": PERSON, "operation_key": row.key, "asked": asked()}
    decided = {"actor": OPERATOR, "operation_key": row.key, "decision": "confirmed"}
    decided |= {"evidence": "logs://1", "reason": "Seen."}
    if code:
        assert_refused(contract, code, reconcile, **given)
        assert_refused(contract, code, settle_by_person, **decided)
    else:
        assert_allowed(contract, reconcile, **given)


def test_after_a_cancellation_nothing_is_sent_again():
    contract = a_task({"settle_seconds": 1})
    row = unknown(contract)
    describe(contract, stale_owner="single_write_proxy")
    force(contract, ContractState.CANCELLED)
    seen, _ = ask(contract, row, asked("absent"), actor=PERSON, generation=None)
    assert (seen.ahead, row.state) == (Ahead.SEND_AGAIN, "unknown")


HOUR = timedelta(hours=1)
LONG = {"path": "cms://" + "\U00020000" * 1_990, "reference": "cms://" + "\U00020000" * 1_990}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"asked_at": HOUR}, "asked_at_wrong"),
        ({"asked_at": -HOUR}, "asked_at_wrong"),  # it was sent ten minutes ago
        ({"announced_generation": 1}, "announcement_incomplete"),
        ({"announced_at": -HOUR}, "announcement_incomplete"),
        ({"announced_generation": 99, "announced_at": -HOUR}, "announcement_wrong"),
        ({"announced_generation": 1, "announced_at": HOUR}, "announcement_wrong"),
    ],
)
def test_an_asking_that_cannot_be_true_settles_nothing(change, code):
    contract, now = a_task(), database_now()
    row = unknown(contract)
    moments = {name: now + value for name, value in change.items() if isinstance(value, timedelta)}
    given = by(contract, operation_key=row.key, asked=asked(**change | moments))
    assert_refused(contract, code, reconcile, **given)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"answer": "maybe"}, "answer"),
        ({"path": ""}, "path"),
        ({"asked_at": "yesterday"}, "asked_at"),
        ({"count": -1}, "count"),
        ({"note": "x" * 1_001}, "note"),
        ({"note": "\U00020000" * 1_000, **LONG}, "reconciliation"),
    ],
)
def test_an_asking_that_cannot_be_read_is_named_by_field(change, field):
    contract = a_task()
    row = unknown(contract)
    given = by(contract, operation_key=row.key, asked=asked(**change))
    verdict = assert_refused(contract, "bad_values", reconcile, **given)
    assert [problem.field for problem in verdict.problems] == [field]


# --- the object -------------------------------------------------------------------------------------------------------


def unknown_object(contract, **given):
    row = unknown(contract, **given)
    WorkObject.objects.filter(contract=contract, object_id="O-1").update(
        state="unknown", note="A wire broke."
    )
    return row


@pytest.mark.parametrize(
    ("acceptance", "answer", "state", "who"),
    [
        ("worker", "found", "confirmed", "label-writer"),
        ("person", "found", "pending", ""),
        ("worker", "absent", "pending", ""),
        ("worker", "unclear", "unknown", ""),
    ],
)
def test_the_object_is_let_go_with_its_operation(acceptance, answer, state, who):
    contract = a_task({"settle_seconds": 1})
    Contract.objects.filter(pk=contract.pk).update(acceptance=acceptance)
    row = unknown_object(contract)
    _, events = ask(contract, row, asked(answer))
    found = object_of(contract)
    assert (found.state, found.settled_by, found.attempt) == (state, who, None)
    assert (found.note == "A wire broke.") is (state == "unknown")
    assert len({event.at for event in events}) == 1
    assert len(events) == (1 if state == "unknown" else 2)


def test_an_approved_call_that_was_written_is_an_accepted_object():
    contract = a_task({"needs_approval": True})
    row, _ = used_approval(contract)
    WorkObject.objects.filter(contract=contract).update(state="unknown")
    row.refresh_from_db()
    ask(contract, row, asked())
    found = object_of(contract)
    assert (found.state, found.settled_by) == ("confirmed", "carla")


def test_an_object_stays_unknown_while_another_of_its_writes_is_and_open_while_one_waits():
    contract = a_task()
    Contract.objects.filter(pk=contract.pk).update(acceptance="worker")
    first = unknown_object(contract)
    second = intended(contract, step="second")
    third = intended(contract, step="third")
    Operation.objects.filter(pk=second.pk).update(state="unknown", generation=contract.generation)
    ask(contract, first, asked())
    assert object_of(contract).state == "unknown"
    ask(contract, second, asked())
    assert object_of(contract).state == "pending"
    third.refresh_from_db()
    assert third.state == "pending"


@pytest.mark.parametrize(("acceptance", "state"), [("worker", "recheck"), ("person", "pending")])
def test_what_changed_while_nobody_knew_is_looked_at_again(acceptance, state):
    contract = a_task()
    row = unknown_object(contract)
    Contract.objects.filter(pk=contract.pk).update(acceptance=acceptance)
    Source.objects.filter(contract=contract).update(current=False)
    newer = Source.objects.create(
        contract=contract, source_id="P-1", version_label="2", sha256="d" * 64, location="archive://p/1"
    )
    ask(contract, row, asked())
    found = object_of(contract)
    assert found.state == state
    assert (found.source_id == newer.pk) is (state == "pending")


def test_an_object_that_is_not_unknown_is_left_alone():
    contract = a_task()
    row = unknown(contract)
    _, events = ask(contract, row, asked())
    assert len(events) == 1
    assert object_of(contract).state == "pending"
    bare = unknown(contract, object_id="", step="other")
    assert len(ask(contract, bare, asked())[1]) == 1


# --- the named person -------------------------------------------------------------------------------------------------


def decision(row, actor, **given):
    known = {"decision": "confirmed", "evidence": "mail://cms-desk/7", "reason": "The desk found one page."}
    return {"actor": actor, "operation_key": row.key, **known, **given}


def named(contract, person, *, tool="", gate=""):
    describe(contract, named_person=tool)
    OwnerGate.objects.filter(contract=contract).update(named_person=gate)
    return people.acting(person)


@pytest.mark.parametrize(
    ("tool", "gate", "may"),
    [
        ("rita", "", True),
        ("", " RITA ", True),
        ("otto", "rita", True),
        ("otto", "olga", False),
        ("", "", False),
    ],
)
def test_the_named_person_decides_and_nobody_who_is_not(tool, gate, may):
    contract = a_task()
    row = unknown(contract)
    rita = named(contract, people.reviewer(contract.team), tool=tool, gate=gate)
    if may:
        assert_allowed(contract, settle_by_person, **decision(row, rita))
    else:
        assert_refused(contract, "not_the_named_person", settle_by_person, **decision(row, rita))


def test_a_full_name_names_a_person_too():
    contract = a_task()
    row = unknown(contract)
    rita = people.reviewer(contract.team)
    actor = named(contract, rita, gate=rita.get_full_name())
    assert_allowed(contract, settle_by_person, **decision(row, actor))


@pytest.mark.parametrize("actor", [WORKER, Actor("nobody-known")])
def test_neither_a_worker_nor_somebody_unknown_decides_by_bearing_the_name(actor):
    contract = a_task()
    row = unknown(contract)
    describe(contract, named_person=actor.name)
    assert_refused(contract, "not_the_named_person", settle_by_person, **decision(row, actor))


@pytest.mark.parametrize(("word", "state"), [("confirmed", "confirmed"), ("rejected", "rejected")])
def test_an_operator_decides_with_evidence_and_a_reason(word, state):
    contract = a_task()
    row = unknown_object(contract)
    own(contract)
    ask(contract, row, asked("unclear", note="It would not say."))
    _, events = assert_allowed(contract, settle_by_person, **decision(row, OPERATOR, decision=word))
    row.refresh_from_db()
    record = row.reconciliation
    assert (row.state, row.settled_at, record["decided_by"]) == (state, events[0].at, "otto")
    assert (record["decision"], record["evidence"]) == (word, "mail://cms-desk/7")
    assert record["note"] == "It would not say."  # what was known before stays
    assert object_of(contract).state == "pending"


@pytest.mark.parametrize("field", ["decision", "evidence", "reason"])
def test_a_decision_without_one_of_them_is_none(field):
    contract = a_task()
    row = unknown(contract)
    given = decision(row, OPERATOR) | {field: ""}
    verdict = assert_refused(contract, "bad_values", settle_by_person, **given)
    assert [problem.field for problem in verdict.problems] == [field]
    given = decision(row, OPERATOR) | {"operation_key": "0" * 64}
    assert_refused(contract, "no_such_operation", settle_by_person, **given)


# --- sent again -------------------------------------------------------------------------------------------------------


def used_approval(contract):
    """Return an operation sent under an approval, its result unknown, and the item."""
    row = intended(contract)
    item = builders.a_decided_item(row, draft_id="")
    builders.done(dispatch(contract_id=contract.pk, **by(contract, operation_key=row.key)))
    at = database_now() - timedelta(seconds=600)
    Operation.objects.filter(pk=row.pk).update(state="unknown", intended_at=at, sent_at=at, settled_at=at)
    row.refresh_from_db()
    return row, item


def test_the_approval_it_used_covers_the_same_call_again_while_the_tuple_matches():
    contract = a_task({"needs_approval": True, "settle_seconds": 1})
    row, item = used_approval(contract)
    ask(contract, row, asked("absent"))
    item.refresh_from_db()
    used = (item.consumed_at, item.consumed_generation, item.version)
    known = {"actor": WORKER, "operation_key": row.key, "reason": "Once more."}
    verdict = assert_refused(contract, "approval_stands", request_approval, **known)
    assert verdict.outcome.pk == item.pk  # nobody is asked twice about one call
    _, events = assert_allowed(contract, dispatch, **by(contract, operation_key=row.key))
    item.refresh_from_db()
    assert (item.consumed_at, item.consumed_generation, item.version) == used
    assert [event.act for event in events] == ["use_again", "dispatch"]


@pytest.mark.parametrize(
    ("loss", "code"), [("time", "approval_expired"), ("target", "item_stale"), ("right", "item_stale")]
)
def test_once_anything_of_it_has_changed_it_needs_a_new_one(loss, code):
    contract = a_task({"needs_approval": True, "settle_seconds": 1})
    row, item = used_approval(contract)
    ask(contract, row, asked("absent"))
    if loss == "time":
        Approval.objects.filter(pk=item.pk).update(expires_at=database_now())
    elif loss == "target":
        Operation.objects.filter(pk=row.pk).update(target="cms://pages/other")
    else:
        people.curator(contract.team).groups.clear()
    assert_refused(contract, code, dispatch, **by(contract, operation_key=row.key))
    item.refresh_from_db()
    assert item.state == "approved"  # what was used stays as it was
    if loss == "time":
        builders.a_decided_item(row, draft_id="")
        assert_allowed(contract, dispatch, **by(contract, operation_key=row.key))


def test_the_chain_of_events_tells_the_whole_way():
    contract = a_task({"settle_seconds": 1})
    row = unknown(contract)
    ask(contract, row, asked("unclear"))
    ask(contract, row, asked("absent"))
    builders.done(dispatch(contract_id=contract.pk, **by(contract, operation_key=row.key)))
    told = [event.act for event in events_of(contract) if event.part == "operation"]
    assert told == ["intend", "dispatch", "asked", "certainly_absent", "dispatch"]
    assert CALL["step"] == row.step

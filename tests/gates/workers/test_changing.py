"""A source replaced overnight pauses only itself; a cap rises by an operator's act, and never falls."""

from decimal import Decimal

import pytest

from contracts.gates.beats import database_now
from contracts.gates.workers.changing import change_source, raise_cap
from contracts.models import Contract, Limit, Source, WorkObject
from contracts.rules.states import ContractState
from tests import builders
from tests.builders import A, B
from tests.gates.watching import ACTOR, assert_allowed, assert_refused, events_of, force, snapshot
from tests.gates.workers.ledgering import OPERATOR, WORKER, a_task

pytestmark = pytest.mark.django_db
OLD = {"source_id": "P-1", "version_label": "1", "sha256": A, "location": "archive://p/1"}
NEW = {"source_id": "P-1", "version_label": "2", "sha256": B, "location": "archive://p/1-2", "size_bytes": 99}


def objects(contract):
    return dict(WorkObject.objects.of(contract.pk).values_list("object_id", "state"))


def a_shown_task():
    contract = a_task(
        sources=[{**OLD, "current": True}, {**OLD, "source_id": "P-2", "current": True}],
        objects=[
            {"object_id": "O-1", "source": "P-1"},
            {"object_id": "O-2", "source": "P-2"},
            {"object_id": "O-3", "source": "P-1"},
        ],
    )
    done = {"state": "confirmed", "settled_by": "olga", "settled_at": database_now()}
    WorkObject.objects.filter(contract=contract).exclude(object_id="O-3").update(**done)
    return contract


@pytest.mark.parametrize("actor", [WORKER, ACTOR])
def test_t12_a_photograph_replaced_overnight_pauses_only_itself(actor):
    contract = a_shown_task()
    verdict, events = assert_allowed(contract, change_source, actor=actor, **NEW)
    assert (verdict.outcome.version_label, verdict.outcome.current) == ("2", True)
    assert objects(contract) == {"O-1": "recheck", "O-2": "confirmed", "O-3": "pending"}
    third = WorkObject.objects.joined().get(contract=contract, object_id="O-3")
    assert third.source.version_label == "2"  # what is not begun begins with the new version
    assert [event.act for event in events] == ["superseded", "add", "source_changed", "source_changed"]


def test_the_same_version_again_changes_nothing():
    contract = a_shown_task()
    before, known = snapshot(contract), len(events_of(contract))
    verdict = change_source(contract_id=contract.pk, actor=WORKER, **OLD)
    assert (verdict.code, verdict.outcome.source_id) == ("exists", "P-1")
    assert (snapshot(contract), len(events_of(contract))) == (before, known)


def test_the_same_label_with_another_checksum_is_another_version():
    contract = a_shown_task()
    assert_allowed(contract, change_source, actor=WORKER, **OLD | {"sha256": B})
    assert objects(contract)["O-1"] == "recheck"


def test_a_version_that_comes_back_is_current_again_and_stays_one_row():
    contract = a_shown_task()
    assert_allowed(contract, change_source, actor=WORKER, **NEW)
    _, events = assert_allowed(contract, change_source, actor=WORKER, **OLD)
    versions = Source.objects.filter(contract=contract, source_id="P-1")
    assert sorted(versions.values_list("version_label", "current")) == [("1", True), ("2", False)]
    assert [event.act for event in events] == ["superseded", "promoted", "source_changed"]
    assert objects(contract)["O-1"] == "recheck"  # whoever accepted it looks again


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"source_id": "P-9"}, "no_such_source"),
        ({"sha256": "x"}, "bad_values"),
        ({"location": "https://u:secret@cms/"}, "bad_values"),
    ],
)
def test_what_is_no_version_of_a_known_source_is_refused(change, code):
    contract = a_shown_task()
    assert_refused(contract, code, change_source, actor=WORKER, **NEW | change)


def test_after_the_end_no_source_changes():
    contract = a_shown_task()
    force(contract, ContractState.CANCELLED)
    assert_refused(contract, "not_open", change_source, actor=WORKER, **NEW)
    force(contract, ContractState.RUNNING)
    Contract.objects.filter(pk=contract.pk).update(deadline=database_now())
    assert_refused(contract, "deadline_passed", change_source, actor=WORKER, **NEW)


# --- caps -------------------------------------------------------------------------------------------------------------


def rise(**given):
    known = {"actor": OPERATOR, "measure": "tokens", "cap": "250.5", "reason": "The photographs are larger."}
    return known | given


@pytest.mark.parametrize("cap", ["250.5", Decimal("250.5"), 251])
def test_an_operator_raises_a_cap_with_a_reason(cap):
    contract = a_task()
    verdict, (event,) = assert_allowed(contract, raise_cap, **rise(cap=cap))
    assert Limit.objects.get(contract=contract, measure="tokens").cap == Decimal(cap)
    assert verdict.outcome.cap == Decimal(cap)
    assert (event.act, event.part, event.subject) == ("raise_cap", "limit", "tokens")
    assert (event.before["cap"], event.after["reason"]) == ("100", "The photographs are larger.")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"actor": WORKER}, "operator_only"),
        ({"actor": ACTOR}, "operator_only"),
        ({"cap": "100"}, "cap_only_rises"),
        ({"cap": "99"}, "cap_only_rises"),
        ({"cap": ""}, "cap_only_rises"),
        ({"cap": "many"}, "bad_values"),
        ({"cap": 10**15}, "bad_values"),
        ({"measure": "words"}, "no_such_limit"),
        ({"reason": " "}, "reason_missing"),
    ],
)
def test_nothing_else_raises_a_cap(change, code):
    assert_refused(a_task(), code, raise_cap, **rise(**change))


def test_what_is_only_counted_has_no_cap_to_raise_and_after_the_end_none_rises():
    contract = a_task()
    Limit.objects.filter(contract=contract, measure="tokens").update(cap=None)
    assert_refused(contract, "no_such_limit", raise_cap, **rise())
    force(contract, ContractState.CANCELLED)
    assert_refused(contract, "not_open", raise_cap, **rise(measure="cost"))


def test_a_cap_is_raised_after_the_deadline_too():
    contract = a_task()
    Contract.objects.filter(pk=contract.pk).update(deadline=database_now())
    assert_allowed(contract, raise_cap, **rise())
    assert builders.WORKER == WORKER

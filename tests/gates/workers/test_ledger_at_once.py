"""An ordinary write goes by single statements, and leaves what the slow path leaves: drawn at random, on real rows."""

from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import errors

from contracts.gates.answers import Answer, Asked, answering, settle_answer
from contracts.gates.beats import database_now
from contracts.gates.filling import seal_operation
from contracts.gates.requesting import request_approval
from contracts.gates.sending import dispatch
from contracts.gates.workers import ledger_at_once
from contracts.gates.workers.caps import entry_id
from contracts.gates.workers.ledger import intend, report
from contracts.gates.workers.ledger_at_once import execute
from contracts.gates.workers.ledger_statement import DISPATCH, INTEND, REPORT
from contracts.models import (
    Attempt,
    Contract,
    JournalStep,
    Limit,
    Operation,
    ToolContract,
    UsageEntry,
    UsageTotal,
    WorkObject,
)
from contracts.models.content import plain
from contracts.rules.fingerprint import operation_key
from contracts.rules.vocabulary import Actor, ActorKind, Measure
from contracts.rules.windows import Seam
from tests import builders
from tests.builders import WORKER
from tests.gates.test_beats import listening
from tests.gates.watching import events_of, snapshot
from tests.gates.workers.ledgering import CALL, OTHER, a_task, by, call, intended

pytestmark = pytest.mark.django_db
at_once = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
MOST = 13  # of fourteen cases, so that a write out of nothing but ordinary things is often drawn
PAGE = {"page": 'label "1" \\ \n夏\x7f', "z": [1.5, None, True], "a": {"b": 10**15, "B": "é"}}
NAMES = ("intend", "dispatch", "report")


# What each case says, the ordinary first.
WORDS = {
    "state": ("running", "resuming", "pause_requested", "paused", "cancelled"),
    "deadline": (1, -1),
    "ahead": (0, 1, -1),
    "ended": (False, True),
    "lease": (1, -1, None),
    "actor": (WORKER, OTHER, Actor("otto", ActorKind.OPERATOR)),
    "clock": (0, 1),
    "object": ("O-1", "", "O-2"),
    "known": (True, False),
    "slot": ("free", "pending", "abandoned", "of another object"),
    "row": ("ready", "pending", "sending", "unknown", "confirmed"),
    "sent_by": ("ready", None, 0, -1),
    "others": ("none", "sending", "sending here", "unknown"),
    "concurrency": ("free", "one_at_a_time", "one_per_object"),
    "tool": ({}, {"needs_approval": True}, {"stale_owner": "single_write_proxy"}),
    "asked": (False, True),
    "reconciled": (None, {"answer": "found"}),
    "used": (0, 1, 2),
    "cap": (None, 2),
    "tries": ("first", "journal", "counted"),
    "detail": ("", 'Took "two" seconds.\n夏'),
    "result": ("confirmed", "rejected", "unknown"),
    "round": (None, 1, 2),
}
ORDINARY = {name: first for name, (first, *_) in WORDS.items()}
TOGETHER = ("object", "concurrency", "others", "used", "cap", "tries")  # what only tells something together


def mostly(usual, *others):
    """Draw what lets a write pass nearly always, else one of `others`."""
    return st.integers(0, MOST).flatmap(lambda n: st.sampled_from(others) if n == 0 else st.just(usual))


CASES = st.fixed_dictionaries(
    {"act": st.sampled_from(NAMES)}
    | {
        name: st.sampled_from(words[:1] * 3 + words) if name in TOGETHER else mostly(*words)
        for name, words in WORDS.items()
    }
)


def arrange(contract, case):
    """Let the rows stand as `case` says; return the gate, what it is told, and the statement with its values."""
    now, attempt = database_now(), Attempt.objects.get(contract=contract, ended_at__isnull=True)
    row = _arrange_operations(contract, case, attempt, now)
    cancelled = {"cancelled_at": now, "cancelled_by": "olga", "cancel_reason": "x"}
    Contract.objects.filter(pk=contract.pk).update(
        state=case["state"],
        deadline=now + case["deadline"] * HOUR,
        revised_at=now + case["clock"] * HOUR,
        **(cancelled if case["state"] == "cancelled" else {}),
    )
    lease = None if case["lease"] is None else now + case["lease"] * HOUR
    ended = {"ended_at": now, "end_reason": "released"} if case["ended"] else {}
    Attempt.objects.filter(pk=attempt.pk).update(lease_end=lease, **ended)
    ToolContract.objects.filter(contract=contract).update(concurrency=case["concurrency"], **case["tool"])
    return row


def _standing(contract, case, now):
    """Return how the operation stands that is sent or reported."""
    ready = {"dispatch": "pending", "report": "sending"}[case["act"]]
    state = ready if case["row"] == "ready" else case["row"]
    sent_by = {"ready": None if state == "pending" else 0}.get(case["sent_by"], case["sent_by"])
    if state != "pending":
        sent_by = sent_by or 0
    columns = {"state": state, "reconciliation": case["reconciled"]}
    if sent_by is not None:
        columns |= {"generation": contract.generation + sent_by, "tries": 1, "sent_at": now}
    return columns


def _arrange_operations(contract, case, attempt, now):
    for measure in Measure:
        Limit.objects.filter(contract=contract, measure=measure.value).update(cap=case["cap"])
        for number in range(case["used"]):
            UsageEntry.objects.create(
                contract=contract, entry_id=f"u-{measure.value}-{number}", measure=measure.value, amount=1,
                used_at=now, step="first",
            )  # fmt: skip
    if case["others"] != "none":
        state, _, here = case["others"].partition(" ")
        other = intended_now(contract, step="other", object=case["object"] if here else "O-2")
        Operation.objects.filter(pk=other.pk).update(state=state, generation=contract.generation, sent_at=now)
    if case["tries"] == "journal":
        JournalStep.objects.create(
            contract=contract, sequence=1, key="publish", kind="tool_call", attempt=attempt, state="started"
        )
    elif case["tries"] == "counted":
        UsageEntry.objects.create(
            contract=contract, entry_id="try", measure="tries_per_step", amount=2, used_at=now, step="publish"
        )
    if case["act"] == "intend":
        if case["slot"] == "of another object":
            intended_now(contract, object="" if case["object"] else "O-1")
        elif case["slot"] != "free":
            row = intended_now(contract, object=case["object"])
            Operation.objects.filter(pk=row.pk).update(state=case["slot"])
        return None
    row = intended_now(contract, object=case["object"])
    if case["asked"]:
        given = {"actor": WORKER, "operation_key": row.key, "reason": "Please."}
        builders.done(request_approval(contract_id=contract.pk, **given))
    Operation.objects.filter(pk=row.pk).update(**_standing(contract, case, now))
    return row


def intended_now(contract, step="publish", object=""):  # noqa: A002
    """Store a pending operation past every gate; what is asked for is what the gates make of it next."""
    row = Operation(
        contract=contract, tool=ToolContract.objects.get(contract=contract), step=step, parameters=PAGE,
        work_object=WorkObject.objects.filter(contract=contract, object_id=object).first(),
        target=CALL["target"], expected='one "page"', intended_at=database_now(),
    )  # fmt: skip
    seal_operation(contract.task_id, row)
    row.save()
    return row


def words(contract, case, row):
    """Return the gate's own words and the statement with its values, for one case."""
    generation = contract.generation + case["ahead"]
    known = {"contract_id": contract.pk, "actor": case["actor"], "generation": generation}
    owner = (contract.pk, case["actor"], generation)
    if case["act"] == "intend":
        told = {**CALL, "parameters": PAGE, "object_id": case["object"], "round": case["round"]}
        if not case["known"]:
            told["tool"] = "mail.send"
        raw = {**told, "object": told["object_id"]}
        del raw["object_id"]
        return intend, known | told, INTEND, ledger_at_once.told_of_intention(*owner, raw)
    key = row.key if case["known"] else "0" * 64
    values = ledger_at_once.told_of_operation(case["act"], *owner, key)
    if case["act"] == "dispatch":
        return dispatch, known | {"operation_key": key}, DISPATCH, values and values | {"entry": entry_id()}
    raw = {"result": case["result"], "reference": "cms://pages/4711", "detail": case["detail"]}
    extra = ledger_at_once.told_of_report({**raw, "response_sha256": ""})
    return report, known | raw | {"operation_key": key}, REPORT, values and values | extra


def left(contract):
    """Return all rows and events, with what no two runs share (ids, moments, random names) told by its place."""
    events = events_of(contract)
    now = plain(events[-1].at)
    rows = snapshot(contract)
    told = {"contract": rows["contract"]} | {
        name: rows[name] for name in ("Operation", "UsageEntry", "Approval", "Attempt", "WorkObject")
    }
    told["events"] = [
        (
            e.sequence,
            plain(e.at),
            e.actor,
            e.actor_kind,
            e.act,
            e.part,
            e.subject,
            e.before,
            e.after,
            e.refused,
        )
        for e in events
    ]
    return _told(told, now)


def _told(value, now):
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name not in ("id", "stored_at")}
        return {name: _told(inner, now) for name, inner in kept.items()}
    if isinstance(value, list | tuple):
        return [_told(inner, now) for inner in value]
    if isinstance(value, datetime):
        value = plain(value)
    if isinstance(value, str) and value.startswith("send-"):
        return "send"
    return "now" if value == now else value


@contextmanager
def taken_back():
    """Let nothing of the block stay. A block of Django's own would let no gate make its transaction in it."""
    point = transaction.savepoint_create()
    try:
        yield
    finally:
        connection.needs_rollback = False
        transaction.savepoint_rollback(point)


def look(contract, case):
    """Let the slow path and the statement do the same; return what the slow path says, and if it went at once."""
    with taken_back():
        row = arrange(contract, case)
        gate, known, statement, values = words(contract, case, row)
        with taken_back():
            verdict = gate(**known)
            slow = left(contract)
        fast = execute(statement, values) if values else None
        if fast is not None:
            assert (verdict.allowed, verdict.code) == (True, "done"), verdict
            assert left(contract) == slow
            assert fast.facts() == Operation.objects.get(pk=fast.pk).facts()
    return verdict.code, fast is not None


@pytest.fixture
def contract():
    return a_task(objects=[{"object_id": "O-1"}, {"object_id": "O-2"}])


def test_the_statements_write_what_the_slow_path_writes_and_never_what_it_refuses(contract):
    told = Counter()

    @settings(
        max_examples=150,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(CASES)
    def draw(case):
        told[case["act"], *look(contract, case)] += 1

    draw()
    print(told)
    assert all(told[name, "done", True] for name in NAMES)


# What the statements leave to the slow path although it does it.
LEFT = {("dispatch", "reconciled"), ("report", "reconciled")}


@pytest.mark.parametrize("act", NAMES)
def test_one_thing_out_of_the_ordinary_and_the_statement_says_what_the_rule_says(contract, act):
    found = {}
    assert look(contract, {"act": act} | ORDINARY) == ("done", True)
    for name, (_, *others) in WORDS.items():
        for word in others:
            code, quick = look(contract, {"act": act} | ORDINARY | {name: word})
            assert quick is (code == "done" and (act, name) not in LEFT), (name, word, code, quick)
            found[code] = found.get(code, 0) + 1
    print(act, found)


@pytest.mark.parametrize(
    ("act", "case", "code"),
    [
        ("intend", {"used": 2, "cap": 2}, "cap_reached"),
        ("intend", {"used": 1, "cap": 2}, "done"),
        ("dispatch", {"used": 1, "cap": 2}, "done"),
        ("dispatch", {"used": 2, "cap": 2}, "cap_reached"),
        ("dispatch", {"tries": "counted", "cap": 2}, "cap_reached"),
        ("dispatch", {"tries": "journal", "cap": 2}, "done"),
        ("dispatch", {"others": "sending", "concurrency": "one_at_a_time"}, "tool_busy"),
        ("dispatch", {"others": "sending", "concurrency": "one_per_object"}, "done"),
        ("dispatch", {"others": "sending here", "concurrency": "one_per_object"}, "tool_busy"),
        ("dispatch", {"others": "sending here", "concurrency": "one_per_object", "object": ""}, "tool_busy"),
        ("dispatch", {"others": "unknown"}, "unknown_first"),
        ("report", {"others": "unknown"}, "done"),
    ],
)
def test_what_only_together_is_out_of_the_ordinary(contract, act, case, code):
    assert look(contract, {"act": act} | ORDINARY | case) == (code, code == "done")


@pytest.fixture
def passed():
    """The seams that gates pass: behind `BEGUN`, only the slow path passes others than `COMMITTED`."""
    found = []
    with listening(lambda seam, gate: found.append((gate, seam))):
        yield found


def ways(passed):
    """Return the gates in turn, each with whether it went at once."""
    begun = [n for n, (_, seam) in enumerate(passed) if seam is Seam.BEGUN]
    return [(passed[n][0], passed[n + 1 : n + 2] == [(passed[n][0], Seam.COMMITTED)]) for n in begun]


@at_once
def test_an_ordinary_write_goes_at_once_and_its_chain_holds(passed):
    contract = a_task()
    passed.clear()
    row = builders.done(intend(contract_id=contract.pk, **call(contract, parameters=PAGE)))
    assert row.key == operation_key(contract.task_id, "publish", 1, "cms.publish", PAGE)
    assert (row.work_object.object_id, row.tool.tool, row.parameters) == ("O-1", "cms.publish", PAGE)
    known = by(contract, operation_key=row.key)
    sent = builders.done(dispatch(contract_id=contract.pk, **known))
    assert (sent.state, sent.generation, sent.tries) == ("sending", contract.generation, 1)
    told = {"result": "confirmed", "reference": "cms://pages/1", "detail": "Took two seconds."}
    done = builders.done(report(contract_id=contract.pk, **known, **told))
    assert (done.state, done.sent_at, done.target_reference) == ("confirmed", sent.sent_at, "cms://pages/1")
    assert done.facts() == Operation.objects.get(pk=row.pk).facts()
    assert ways(passed) == [("intend", True), ("dispatch", True), ("report", True)]
    assert [event.act for event in events_of(contract)[-3:]] == ["intend", "dispatch", "report"]
    assert UsageTotal.objects.get(contract=contract).tool_attempts == 1


@at_once
def test_what_is_out_of_the_ordinary_goes_the_slow_way(passed):
    contract = a_task({"needs_approval": True})
    row = intended(contract)
    passed.clear()
    assert intend(contract_id=contract.pk, **call(contract)).code == "exists"
    known = by(contract, operation_key=row.key)
    assert dispatch(contract_id=contract.pk, **known).code == "not_approved"
    assert report(contract_id=contract.pk, **known, result="confirmed").code == "operation_not_sending"
    assert ways(passed) == [("intend", False), ("intend", False)] + [
        (name, False) for name in ("dispatch", "dispatch", "report", "report")
    ]
    passed.clear()
    missing = by(contract, operation_key="0" * 64)
    assert dispatch(contract_id=contract.pk, **missing).code == "no_such_operation"
    assert report(contract_id=contract.pk, **missing, result="confirmed").code == "no_such_operation"
    assert report(contract_id=contract.pk, **known, result="done").code == "bad_values"
    assert intend(contract_id=contract.pk, **call(contract, target="")).code == "bad_values"
    assert intend(contract_id=contract.pk, **call(contract, step="2", round=2)).code == "new_round_needed"
    assert len(ways(passed)) == 5


@at_once
def test_the_answer_to_a_request_is_stored_by_the_slow_path(passed):
    contract = a_task()
    passed.clear()
    told = Asked(contract.pk, WORKER.name, "key-1", "a" * 64, lambda _: Answer(200, "text/plain", b"x"))
    with answering(told):
        verdict = intend(contract_id=contract.pk, **call(contract))
        settle_answer(told, verdict)
    assert (verdict.code, ways(passed)) == ("done", [("intend", False)])


@at_once
def test_parameters_that_were_changed_meanwhile_are_not_sent_at_once(passed):
    contract = a_task()
    row = intended(contract)
    Operation.objects.filter(pk=row.pk).update(parameters={"page": 2.0})
    passed.clear()
    known = by(contract, operation_key=row.key)
    assert builders.done(dispatch(contract_id=contract.pk, **known)).parameters == {"page": 2.0}
    assert ways(passed) == [("dispatch", False), ("dispatch", False)]
    events_of(contract)


@at_once
@pytest.mark.parametrize("remembered", [0, 1, 200])
def test_what_another_process_intended_goes_at_once_too(passed, monkeypatch, remembered):
    monkeypatch.setattr(ledger_at_once, "REMEMBERED", remembered)
    contract = a_task()
    rows = [intended(contract, step=step, parameters=PAGE | {"step": step}) for step in ("a", "b")]
    if not remembered:
        ledger_at_once._told.clear()
    passed.clear()
    for row in rows:
        known = by(contract, operation_key=row.key)
        assert dispatch(contract_id=contract.pk, **known).code == "done"
        assert report(contract_id=contract.pk, **known, result="confirmed").code == "done"
    assert all(quick for _, quick in ways(passed))
    events_of(contract)


def conflict(cause):
    error = OperationalError()
    error.__cause__ = cause
    return error


@at_once
@pytest.mark.parametrize(
    "fault", [IntegrityError(), conflict(errors.DeadlockDetected()), conflict(errors.AdminShutdown())]
)
def test_after_a_conflict_the_write_goes_the_slow_way_and_another_fault_is_raised(monkeypatch, fault):
    contract = a_task()

    def fail(*_):
        raise fault

    monkeypatch.setattr(ledger_at_once, "execute", fail)
    if isinstance(fault.__cause__, errors.AdminShutdown):
        with pytest.raises(OperationalError):
            intend(contract_id=contract.pk, **call(contract))
    else:
        assert intended(contract).state == "pending"


@at_once
def test_intentions_at_once_are_strictly_ordered_even_if_the_clock_is_set_back(passed):
    contract = a_task()
    ahead = database_now() + HOUR
    Contract.objects.filter(pk=contract.pk).update(revised_at=ahead)
    passed.clear()
    rows = [intended(contract, step=f"s-{number}") for number in range(3)]
    assert all(quick for _, quick in ways(passed))
    assert ahead < rows[0].intended_at < rows[1].intended_at < rows[2].intended_at
    events_of(contract)

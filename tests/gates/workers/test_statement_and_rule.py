"""The statement of a step and its rule say the same of every case: drawn at random, against real rows."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.gates.beats import Turn, database_now, lock_contract
from contracts.gates.workers.stepping import execute, refused
from contracts.models import Artefact, Attempt, Checkpoint, Contract, JournalStep, Limit, WorkObject
from contracts.rules.vocabulary import Actor, ActorKind, Measure
from tests.gates.workers.steps import WORKER, a_step, at_work, live, use

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
POINT = {
    "kind": "state",
    "event_cursor": "",
    "durability": "sync",
    "next_step": "draft",
    "schema_version": 2,
    "location": "",
    "inline_state": {"photo": 1},
}
MOST = 9  # of ten cases, so that a step with everything in it is often allowed


def mostly(usual, *others):
    """Draw what lets a step pass nine times of ten, else one of `others`."""
    return st.integers(0, MOST).flatmap(lambda n: st.sampled_from(others) if n == 0 else st.just(usual))


CASES = st.fixed_dictionaries(
    {
        "state": mostly("running", "resuming", "pause_requested", "paused", "draft", "completed"),
        "deadline": mostly(1, -1),
        "ahead": mostly(0, 1, -1),
        "ended": mostly(False, True),
        "lease": mostly(1, -1, None),
        "actor": mostly(WORKER, Actor("other", ActorKind.WORKER), Actor("otto", ActorKind.OPERATOR)),
        "stored": mostly("none", "same", "other", "later"),
        "sequence": mostly("next", "none", "gap", "same"),
        "entry": mostly("none", "started", "done", "not named"),
        "objects": st.lists(mostly("mine", "pending", "confirmed", "former", "missing"), max_size=3),
        "accept": st.booleans(),
        "acceptance": st.sampled_from(["worker", "person"]),
        "version": mostly("made", "stored", "unknown", "older"),
        "made": mostly("new", "none", "bad source", "bad version"),
        "used": st.sampled_from([0, 50, 100, 101]),
        "wanted": st.sampled_from([None, "0", "50", "50.000001"]),
        "capped": st.booleans(),
        "minutes": mostly(0, 30, 61),
        "by_hand": st.booleans(),
    }
)


@pytest.fixture
def contract():
    contract = at_work(3)
    attempt = live(contract)
    former = Attempt(
        contract=contract,
        number=1,
        attempt_id="A-1",
        generation=contract.generation + 5,
        worker=WORKER.name,
        started_at=attempt.started_at,
        ended_at=attempt.started_at,
        end_reason="released",
    )
    former.save()
    for label, current in (("1", False), ("2", True)):
        row = Artefact(contract=contract, artefact_id="L-0", version_label=label, sha256="a" * 64)
        row.location, row.current = "s3://x", current
        row.save()
    return contract


def arrange(contract, case):
    """Let the rows stand as `case` says; return the step that arrives."""
    now, attempt = database_now(), live(contract)
    Contract.objects.filter(pk=contract.pk).update(
        state=case["state"], deadline=now + case["deadline"] * HOUR, acceptance=case["acceptance"]
    )
    lease = None if case["lease"] is None else now + case["lease"] * HOUR
    started = now - timedelta(minutes=case["minutes"])
    ended = {"ended_at": now, "end_reason": "released"} if case["ended"] else {}
    Attempt.objects.filter(pk=attempt.pk).update(
        lease_end=lease, started_at=started, by_hand=case["by_hand"], **ended
    )
    Limit.objects.filter(contract=contract).update(cap=None)
    if case["capped"]:
        Limit.objects.filter(contract=contract, measure="tokens").update(cap=100)
        Limit.objects.filter(contract=contract, measure="active_seconds").update(cap=3_600)
    if case["used"]:
        use(contract, Measure.TOKENS, case["used"])
    _arrange_rows(contract, case, attempt, now)
    return _step(case)


def _arrange_rows(contract, case, attempt, now):
    if case["stored"] != "none":
        name = "C-1" if case["stored"] in ("same", "other") else "C-0"
        step = a_step(checkpoint={"inline_state": {"photo": 1 if case["stored"] == "same" else 2}}).point
        Checkpoint(
            contract=contract,
            sequence=1,
            checkpoint_id=name,
            attempt=attempt,
            generation=1,
            committed_at=now,
            **POINT,
            sha256=step.sha256,
            size_bytes=step.size_bytes,
        ).save()
    if case["entry"] in ("started", "done"):
        JournalStep(
            contract=contract, sequence=1, key="k", kind="decision", attempt=attempt, state=case["entry"]
        ).save()
    former = Attempt.objects.get(contract=contract, attempt_id="A-1")
    held = {"mine": ("in_progress", attempt), "former": ("in_progress", former)}
    for number, what in enumerate(case["objects"], 1):
        state, owner = held.get(what, (what, None))
        settled = {"settled_by": "rita", "settled_at": now} if what == "confirmed" else {}
        if what != "missing":
            WorkObject.objects.filter(contract=contract, object_id=f"O-{number}").update(
                state=state, attempt=owner, **settled
            )


def _step(case):
    version = {
        "made": {"artefact": "L-1"} if case["made"] == "new" else {},
        "stored": {"artefact": "L-0"},
        "older": {"artefact": "L-0", "artefact_version": "1"},
        "unknown": {"artefact": "L-9"},
    }[case["version"]]
    source = {"bad source": {"source": "P-9"}, "bad version": {"source": "P-1", "source_version": "9"}}
    made = {"artefact_id": "L-1", "version_label": "1", "inline_text": "x", "source": "P-1"}
    first = 2 if case["stored"] != "none" else 1
    sequence = {"next": first, "none": None, "gap": 9, "same": 1}[case["sequence"]]
    parts = {}
    if case["entry"] != "not named":
        parts["step"] = {"key": "k", "kind": "decision", "result": 1}
    if case["made"] != "none":
        parts["artefacts"] = [{**made, **source.get(case["made"], {})}]
    if case["wanted"] is not None:
        parts["usage"] = {"tokens": case["wanted"]}
    parts["objects"] = [
        {"object_id": f"O-{9 if what == 'missing' else number}", "accept": case["accept"], **version}
        for number, what in enumerate(case["objects"], 1)
        if what != "missing" or "missing" not in case["objects"][: number - 1]
    ]
    return a_step(sequence=sequence, **parts)


def write(contract, actor, generation, step):
    """Run the statement; where a unique key stops it, it wrote nothing either."""
    try:
        with transaction.atomic():
            return execute(contract.pk, actor, generation, step, {})
    except IntegrityError:
        return None


def test_the_statement_writes_exactly_what_the_rule_allows(contract):
    told = Counter()

    @settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(CASES)
    def look(case):
        generation = contract.generation + case["ahead"]
        with transaction.atomic():
            step = arrange(contract, case)
            turn = Turn(lock_contract(contract.pk), database_now(), case["actor"])
            verdict = refused(turn, generation, step)
            wrote = write(contract, case["actor"], generation, step)
            transaction.set_rollback(True)
        assert (wrote is not None) is (verdict is None), (verdict, wrote)
        told[verdict.code if verdict else "written"] += 1

    look()
    print(told)
    assert told["written"] > 10
    assert len(told) > 8


def test_an_amount_of_nothing_is_no_usage():
    assert a_step(usage={"tokens": "0"}).usage == {}
    assert a_step(usage={"tokens": "0.5"}).usage == {Measure.TOKENS: Decimal("0.5")}

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.approving import THIS_CALL, Bound, Difference, Item, read_policy
from contracts.rules.limiting import Cap
from contracts.rules.parts import PARTS
from contracts.rules.repeating import Answer, Asked, Operation, Tool
from contracts.rules.resume_checks import CHECKS
from contracts.rules.resume_facts import (
    SAMPLE,
    Caller,
    Facts,
    Fault,
    FaultKind,
    Held,
    Holder,
    ObjectRow,
    OpenWrite,
    Place,
    Point,
    Task,
)
from contracts.rules.resuming import Check, CheckName, Outcome, Permit, Standing, decide, verdict_of
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import ActorKind, Durability, Effect, Measure, Plane, Section

NOW = datetime(2030, 5, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
P, Obj, A, C = OperationState, ObjectState, ApprovalState, ContractState
WORKER = Caller("worker-2", ActorKind.WORKER, may_see=True, may_continue=True)
TOOL = Tool(
    "cms.publish", Effect.NON_IDEMPOTENT_WRITE, needs_approval=True, query_path="cms:", settle_seconds=5
)
WRITE = Operation("a" * 64, "cms.publish", "publish", P.PENDING, NOW - HOUR, object="O1")
BOUND = Bound("a" * 64, "cms.publish", "f", "d", "1", "s", "cms:label", "worker-1", 1, THIS_CALL, NOW + HOUR)
ITEM = Item(A.APPROVED, BOUND, "ada", "", NOW + HOUR, decided_by="cleo")
HELD = Held("item-1", ITEM)
TASK = Task("label", C.PAUSED, NOW + 24 * HOUR, 3, "labels", "5", 2, frozenset({1}), "1.4", "Bo")
SOUND = Facts(
    task=TASK,
    policy=read_policy({"number": 1}),
    point=Point(7, "C7", "publish", 2, Durability.SYNC, "s3://states/7"),
    chain_whole=True,
    caps=(Cap(Measure.TOKENS, Decimal(100)), Cap(Measure.FAILED_RECOVERIES, Decimal(3))),
    totals={Measure.TOKENS: Decimal(10)},
    tools={"cms.publish": TOOL},
    operations=(OpenWrite(WRITE, HELD),),
    counts={Obj.CONFIRMED: 12, Obj.PENDING: 2, Obj.SKIPPED: 1},
    waiting=("O2", "O3"),
    planes=(Place(Plane.PROGRESS, "postgres://ledger", "labels"),),
)
HOLDER = Holder(4, "A4", 3, "worker-1", NOW + HOUR)
UNKNOWN = replace(
    WRITE, state=P.UNKNOWN, generation=3, tries=1, sent_at=NOW - HOUR, last_send=NOW - HOUR, key="b" * 64
)


def but(**changes):
    return replace(SOUND, **changes)


def with_task(**changes):
    return but(task=replace(TASK, **changes))


def decided(facts=SOUND, caller=WORKER):
    return decide(facts, caller, NOW)


def check(name, facts=SOUND, caller=WORKER):
    return next(one for one in decided(facts, caller).checks if one.name == name)


def asked_for(write=WRITE, held=HELD, **changes):
    return but(operations=(OpenWrite(write, held),), **changes)


# One blocked setting of each check that can be blocked: facts, caller, verdict.
BLOCKING = {
    CheckName.ACCESS: ({}, {"may_continue": False}, Outcome.REFUSE),
    CheckName.LIFE: ({"task": {"archived": True}}, {}, Outcome.REFUSE),
    CheckName.INTEGRITY: ({"chain_whole": False}, {}, Outcome.ESCALATE),
    CheckName.VERSIONS: ({}, {"schema_version": 3}, Outcome.MIGRATE),
    CheckName.OWNER: ({"holder": HOLDER}, {}, Outcome.WAIT),
    CheckName.LIMITS: ({"totals": {Measure.TOKENS: Decimal(100)}}, {}, Outcome.ESCALATE),
    CheckName.UNKNOWN: ({"unknown": True}, {}, Outcome.RECONCILE),
    CheckName.SOURCES: ({"drifted": 1}, {}, Outcome.RECHECK),
    CheckName.APPROVALS: ({"held": None}, {}, Outcome.APPROVE),
}


def setting(blocked):
    facts, caller, held, unknown = {}, {}, HELD, ()
    for name in blocked:
        changes, said, _ = BLOCKING[name]
        facts |= {key: value for key, value in changes.items() if key not in ("task", "unknown", "held")}
        caller |= said
        facts |= {"task": replace(TASK, **changes["task"])} if "task" in changes else {}
        held = changes.get("held", held)
        unknown = (OpenWrite(UNKNOWN),) if changes.get("unknown") else unknown
    facts["operations"] = (OpenWrite(WRITE, held), *unknown)
    return but(**facts), replace(WORKER, **caller)


def test_a_sound_task_is_continued_and_all_ten_checks_are_told_in_order():
    decision = decided()
    assert decision.verdict is Outcome.CONTINUE
    assert [one.name for one in decision.checks] == list(CheckName)
    assert {one.standing for one in decision.checks} == {Standing.PASSED}
    assert decision.deciding is None
    assert decision.may_resume


@pytest.mark.parametrize("blocked", list(product([False, True], repeat=len(BLOCKING))))
def test_of_every_combination_the_first_blocked_check_gives_the_verdict(blocked):
    names = [name for name, is_blocked in zip(BLOCKING, blocked, strict=True) if is_blocked]
    facts, caller = setting(names)
    decision = decided(facts, caller)
    assert [one.name for one in decision.checks if one.standing is Standing.BLOCKED] == names
    assert decision.verdict is (BLOCKING[names[0]][2] if names else Outcome.CONTINUE)
    assert (decision.deciding.name if names else None) == (names[0] if names else None)


def _bare(name, standing):
    leads_to = BLOCKING.get(name, (None, None, Outcome.ESCALATE))[2]
    return Check(
        name,
        standing,
        "",
        {},
        (),
        Section.IDENTITY,
        "",
        leads_to if standing is Standing.BLOCKED else None,
        (),
    )


def test_every_combination_of_ten_standings_has_the_verdict_of_its_first_blocked_one():
    table = {(name, standing): _bare(name, standing) for name in CheckName for standing in Standing}
    for standings in product(Standing, repeat=10):
        checks = [table[pair] for pair in zip(CheckName, standings, strict=True)]
        first = next((one for one in checks if one.standing is Standing.BLOCKED), None)
        assert verdict_of(checks) is (first.leads_to if first else Outcome.CONTINUE)


@given(st.sets(st.sampled_from(list(BLOCKING))), st.sampled_from(list(BLOCKING)))
def test_a_further_blocked_check_never_moves_the_verdict_to_a_later_one(blocked, further):
    order = list(CheckName)
    before = decided(*setting(sorted(blocked, key=order.index)))
    after = decided(*setting(sorted(blocked | {further}, key=order.index)))
    assert after.deciding is not None
    if before.deciding is not None:
        assert order.index(after.deciding.name) <= order.index(before.deciding.name)
    if before.deciding is not None and order.index(further) > order.index(before.deciding.name):
        assert after.verdict is before.verdict


@given(st.sets(st.sampled_from(list(BLOCKING))))
def test_the_same_input_gives_the_same_answer(blocked):
    facts, caller = setting(blocked)
    assert decide(facts, caller, NOW) == decide(copy.deepcopy(facts), copy.deepcopy(caller), NOW)


@pytest.mark.parametrize("blocked", list(BLOCKING))
def test_every_sentence_is_filled_and_says_where_it_is_put_right(blocked):
    for one in decided(*setting([blocked])).checks:
        assert one.sentence % one.values
        assert one.section in Section
        assert one.part in {*PARTS, "share"}
        assert all(found.sentence % found.values for found in one.findings)


# 1. access


def test_who_may_not_see_the_task_is_told_nothing_of_it():
    decision = decided(caller=replace(WORKER, may_see=False))
    assert decision.verdict is Outcome.REFUSE
    assert [one.name for one in decision.checks] == list(CheckName)
    assert {(one.values == {}, one.evidence) for one in decision.checks} == {(True, ())}
    assert (decision.work, decision.ways, decision.may_resume) == (None, (), False)
    assert len({one.sentence for one in decision.checks[1:]}) == 1


# 2. completed, cancelled, expired


@pytest.mark.parametrize("state", list(ContractState))
def test_only_an_open_task_is_continued(state):
    refused = state in (C.DRAFT, C.COMPLETED, C.CANCELLED)
    assert (decided(with_task(state=state)).verdict is Outcome.REFUSE) is refused


def test_a_cancelled_task_says_who_and_why():
    task = with_task(state=C.CANCELLED, cancelled_by="Bo", cancel_reason="No exhibition.")
    assert check(CheckName.LIFE, task).values == {"name": "Bo", "reason": "No exhibition."}


@pytest.mark.parametrize(
    ("deadline", "refused"),
    [(NOW, True), (NOW - HOUR, True), (NOW + timedelta(microseconds=1), False), (None, False)],
)
def test_an_expired_task_is_refused_by_the_time_given(deadline, refused):
    assert (decided(with_task(deadline=deadline)).verdict is Outcome.REFUSE) is refused


# 3. integrity


@pytest.mark.parametrize("kind", list(FaultKind))
def test_a_record_that_is_not_what_it_should_be_stops_the_task(kind):
    facts = but(faults=(Fault(kind, "checkpoint", "7 · C7"),))
    one = check(CheckName.INTEGRITY, facts)
    stopped = kind is not FaultKind.MISSING_BY_HAND
    assert one.standing is (Standing.BLOCKED if stopped else Standing.ATTENTION)
    assert decided(facts).verdict is (Outcome.ESCALATE if stopped else Outcome.CONTINUE)
    assert [(found.part, found.key) for found in one.evidence] == [("checkpoint", "7 · C7")]


@pytest.mark.parametrize(
    ("whole", "verdict"), [(True, Outcome.CONTINUE), (None, Outcome.CONTINUE), (False, Outcome.ESCALATE)]
)
def test_a_chain_nobody_knows_does_not_change_the_verdict(whole, verdict):
    assert decided(but(chain_whole=whole)).verdict is verdict


@pytest.mark.parametrize("durability", list(Durability))
def test_what_the_framework_may_have_lost_is_told(durability):
    facts = but(point=replace(SOUND.point, durability=durability))
    lasting = durability in (Durability.SYNC, Durability.EVENT_HISTORY)
    assert check(CheckName.INTEGRITY, facts).standing is (Standing.PASSED if lasting else Standing.ATTENTION)


def test_t02_admitted_without_a_checkpoint_begins_at_the_first_step():
    decision = decided(but(point=None))
    assert decision.verdict is Outcome.CONTINUE
    assert (decision.work.next_step, decision.work.checkpoint, decision.work.location) == ("", "", "")
    assert check(CheckName.INTEGRITY, but(point=None)).standing is Standing.ATTENTION
    never = replace(with_task(generation=0), point=None)
    assert check(CheckName.INTEGRITY, never).standing is Standing.PASSED


# 4. versions


@pytest.mark.parametrize(("version", "fits"), [(2, True), (1, True), (3, False)])
def test_t12_a_checkpoint_in_a_version_nobody_reads_is_migrated(version, fits):
    facts = but(point=replace(SOUND.point, schema_version=version))
    assert decided(facts).verdict is (Outcome.CONTINUE if fits else Outcome.MIGRATE)


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        (
            {"workflow": "labels", "workflow_version": "5", "schema_version": 2, "policy_number": 1},
            Outcome.CONTINUE,
        ),
        ({"workflow": "photos"}, Outcome.MIGRATE),
        ({"workflow_version": "6"}, Outcome.MIGRATE),
        ({"schema_version": 1}, Outcome.MIGRATE),
        ({"policy_number": 2}, Outcome.MIGRATE),
        ({"agent_version": "1.4"}, Outcome.CONTINUE),
        ({"agent_version": "1.5"}, Outcome.CONTINUE),
    ],
)
def test_what_the_caller_brings_must_be_what_was_agreed(stated, verdict):
    assert decided(caller=replace(WORKER, **stated)).verdict is verdict


def test_another_agent_version_is_told_and_stops_nothing():
    one = check(CheckName.VERSIONS, caller=replace(WORKER, agent_version="1.5"))
    assert one.standing is Standing.ATTENTION


@pytest.mark.parametrize("stated", [None, 1])
def test_a_policy_that_does_not_parse_closes_the_gate(stated):
    decision = decided(but(policy=None), replace(WORKER, policy_number=stated))
    assert (decision.verdict, decision.work) == (Outcome.MIGRATE, None)
    assert (decision.deciding.section, decision.deciding.part) == (Section.APPROVALS, "policy")


# 5. owner


@pytest.mark.parametrize(
    ("lease_end", "verdict"),
    [
        (NOW + HOUR, Outcome.WAIT),
        (NOW, Outcome.CONTINUE),
        (NOW - HOUR, Outcome.CONTINUE),
        (None, Outcome.CONTINUE),
    ],
)
def test_a_live_lease_is_waited_for_and_a_lapsed_one_can_be_taken_over(lease_end, verdict):
    facts = replace(with_task(state=C.RUNNING), holder=replace(HOLDER, lease_end=lease_end))
    assert decided(facts).verdict is verdict
    wanted = Standing.BLOCKED if verdict is Outcome.WAIT else Standing.ATTENTION
    assert check(CheckName.OWNER, facts).standing is wanted
    assert check(CheckName.OWNER, facts).evidence[0].key == "4 · A4"


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"name": "worker-1", "attempt_id": "A4", "generation": 3}, True),
        ({"name": "worker-1"}, False),
        ({"name": "worker-2", "attempt_id": "A4", "generation": 3}, False),
        ({"name": "worker-1", "attempt_id": "A3", "generation": 3}, False),
        ({"name": "worker-1", "attempt_id": "A4", "generation": 2}, False),
    ],
)
def test_t29_the_same_name_is_no_ownership(claim, holds):
    decision = decided(but(holder=HOLDER), replace(WORKER, **claim))
    assert decision.verdict is (Outcome.CONTINUE if holds else Outcome.WAIT)


def test_a_holder_of_another_generation_holds_nothing():
    own = replace(WORKER, name="worker-1", attempt_id="A4", generation=2)
    assert decided(but(holder=replace(HOLDER, generation=2)), own).verdict is Outcome.WAIT


@pytest.mark.parametrize("state", [C.RESUMING, C.RUNNING, C.PAUSE_REQUESTED])
def test_t39_work_that_nobody_holds_is_told(state):
    assert check(CheckName.OWNER, with_task(state=state)).standing is Standing.ATTENTION


# 6. limits


@pytest.mark.parametrize(
    ("used", "standing"),
    [(79, Standing.PASSED), (80, Standing.ATTENTION), (95, Standing.ATTENTION), (100, Standing.BLOCKED)],
)
def test_t66_a_new_owner_gets_what_is_left(used, standing):
    facts = but(totals={Measure.TOKENS: Decimal(used)})
    assert check(CheckName.LIMITS, facts).standing is standing
    if standing is not Standing.BLOCKED:
        left = {one.measure: one.left for one in decided(facts).work.left}
        assert left[Measure.TOKENS] == 100 - used


def test_too_many_failed_recoveries_of_this_step_are_escalated():
    assert decided(but(step_totals={Measure.FAILED_RECOVERIES: Decimal(3)})).verdict is Outcome.ESCALATE
    assert decided(but(totals={Measure.FAILED_RECOVERIES: Decimal(9)})).verdict is Outcome.CONTINUE


# 7. unknown operations


def test_t05_reconciling_is_the_only_step_while_a_result_is_unknown():
    decision = decided(but(operations=(OpenWrite(UNKNOWN), OpenWrite(WRITE, HELD))))
    assert decision.verdict is Outcome.RECONCILE
    assert decision.permits == {Permit.RECONCILE}
    assert decision.work is None


@pytest.mark.parametrize(("live", "verdict"), [(True, Outcome.WAIT), (False, Outcome.RECONCILE)])
def test_what_a_lost_owner_was_sending_is_unknown(live, verdict):
    holder = HOLDER if live else replace(HOLDER, lease_end=NOW)
    facts = but(holder=holder, operations=(OpenWrite(replace(UNKNOWN, state=P.SENDING)),))
    assert decided(facts).verdict is verdict
    wanted = Standing.ATTENTION if live else Standing.BLOCKED
    assert check(CheckName.UNKNOWN, facts).standing is wanted


NO_QUERY = replace(TOOL, query_path="")


@pytest.mark.parametrize(("tool_person", "person"), [("Ada", "Ada"), ("", "Bo")])
def test_what_cannot_be_asked_goes_to_the_named_person(tool_person, person):
    facts = but(
        tools={"cms.publish": replace(NO_QUERY, named_person=tool_person)}, operations=(OpenWrite(UNKNOWN),)
    )
    assert decided(facts).verdict is Outcome.ESCALATE
    assert check(CheckName.UNKNOWN, facts).values["person"] == person


def test_what_can_be_asked_is_asked_before_a_person_is_needed():
    silent = replace(UNKNOWN, tool="mail.send", key="c" * 64)
    tools = {"cms.publish": TOOL, "mail.send": replace(NO_QUERY, name="mail.send")}
    facts = but(tools=tools, operations=(OpenWrite(silent), OpenWrite(UNKNOWN)))
    assert decided(facts).verdict is Outcome.RECONCILE
    assert check(CheckName.UNKNOWN, facts).values["row"] == UNKNOWN.shown


def test_while_it_settles_the_check_says_until_when():
    asked = Asked(Answer.ABSENT, NOW - timedelta(seconds=2), generation=3)
    late = replace(UNKNOWN, last_send=NOW - timedelta(seconds=3), asked=asked)
    one = check(CheckName.UNKNOWN, but(operations=(OpenWrite(late),)))
    assert (one.leads_to, one.values["until"]) == (Outcome.RECONCILE, NOW + timedelta(seconds=2))


def test_an_unknown_object_without_a_write_to_ask_about_goes_to_a_person():
    rows = (ObjectRow("O8", Obj.RECHECK), ObjectRow("O9", Obj.UNKNOWN))
    facts = but(counts={Obj.UNKNOWN: 1}, rows=rows)
    assert decided(facts).verdict is Outcome.ESCALATE
    assert [found.key for found in check(CheckName.UNKNOWN, facts).evidence] == ["O9"]
    with_write = but(counts={Obj.UNKNOWN: 1}, operations=(OpenWrite(UNKNOWN),))
    assert decided(with_write).verdict is Outcome.RECONCILE


# 8. sources and artefacts


def test_a_replaced_photograph_pauses_only_itself():
    rows = (
        ObjectRow("O4", Obj.RECHECK),
        ObjectRow("O5", Obj.CONFIRMED, drifted=True),
        ObjectRow("O6", Obj.IN_PROGRESS),
    )
    counts = {Obj.CONFIRMED: 12, Obj.RECHECK: 1, Obj.IN_PROGRESS: 1, Obj.PENDING: 2}
    decision = decided(but(counts=counts, drifted=1, rows=rows))
    assert decision.verdict is Outcome.RECHECK
    assert [found.key for found in decision.deciding.evidence] == ["O4", "O5"]
    work = decision.work
    assert (work.to_do, work.to_skip, work.to_recheck) == (3, 11, 2)
    assert (work.objects, work.recheck_objects) == (("O6", "O2", "O3"), ("O4", "O5"))
    assert {Permit.STEP, Permit.HAND_OUT, Permit.RECHECK, Permit.SEND} <= decision.permits


def test_a_write_waits_with_its_object_while_others_go_on():
    other = replace(WRITE, key="d" * 64, object="O2")
    held_back = OpenWrite(WRITE, HELD, held_back=True)
    decision = decided(but(drifted=1, operations=(held_back, OpenWrite(other, HELD))))
    assert decision.work.sendable == ("d" * 64,)
    assert Permit.SEND not in decided(but(drifted=1, operations=(held_back,))).permits


# 9. approvals of the next write


CHANGED = Difference("draft_version", "1", "2")


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        (None, Outcome.APPROVE),
        (HELD, Outcome.CONTINUE),
        (replace(HELD, present=CHANGED), Outcome.APPROVE),
        (replace(HELD, deciders_still_may=False), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, consumed=True)), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, expires_at=NOW)), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.PENDING)), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.PENDING, expires_at=NOW)), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.PENDING), present=CHANGED), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.STALE), stale_member="target"), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.EXPIRED, decided_by="")), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.EXPIRED)), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.WITHDRAWN)), Outcome.APPROVE),
        (replace(HELD, item=replace(ITEM, state=A.REJECTED)), Outcome.REFUSE),
    ],
)
def test_the_next_write_needs_a_decision_that_covers_it(held, verdict):
    decision = decided(asked_for(held=held))
    assert decision.verdict is verdict
    one = decision.checks[list(CheckName).index(CheckName.APPROVALS)]
    assert one.sentence % one.values
    assert (Permit.SEND in decision.permits) is (verdict is Outcome.CONTINUE)


@pytest.mark.parametrize(
    ("held", "member"),
    [
        (replace(HELD, present=CHANGED), "Draft version"),
        (replace(HELD, item=replace(ITEM, state=A.STALE), stale_member="target"), "Target"),
        (replace(HELD, deciders_still_may=False), "Right of who decided"),
    ],
)
def test_t19_a_stale_approval_names_what_differs(held, member):
    assert check(CheckName.APPROVALS, asked_for(held=held)).values["member"] == member


@pytest.mark.parametrize(("tries", "verdict"), [(0, Outcome.APPROVE), (1, Outcome.CONTINUE)])
def test_what_was_certainly_absent_goes_out_under_the_approval_it_used(tries, verdict):
    used = replace(HELD, item=replace(ITEM, consumed=True))
    assert decided(asked_for(replace(WRITE, tries=tries), used)).verdict is verdict


def test_a_tool_that_needs_no_approval_sends_without_one():
    facts = asked_for(held=None, tools={"cms.publish": replace(TOOL, needs_approval=False)})
    assert decided(facts).verdict is Outcome.CONTINUE
    assert decided(facts).work.sendable == ("a" * 64,)


def test_the_next_write_is_the_oldest_of_the_next_step():
    earlier = OpenWrite(replace(WRITE, key="e" * 64, step="draft"))
    facts = but(operations=(earlier, OpenWrite(WRITE, HELD)))
    assert decided(facts).verdict is Outcome.CONTINUE
    assert check(CheckName.APPROVALS, facts).standing is Standing.ATTENTION
    assert decided(but(operations=(earlier,))).verdict is Outcome.APPROVE


def test_while_one_write_waits_another_that_is_covered_may_go():
    covered = OpenWrite(replace(WRITE, key="f" * 64), HELD)
    decision = decided(but(operations=(OpenWrite(WRITE), covered)))
    assert (decision.verdict, decision.work.sendable) == (Outcome.APPROVE, ("f" * 64,))
    assert Permit.SEND in decision.permits


# 10. the next step


def test_t61_confirmed_objects_are_skipped_and_the_rest_is_told():
    work = decided().work
    assert (work.next_step, work.checkpoint, work.location) == ("publish", "7 · C7", "s3://states/7")
    assert (work.to_do, work.to_skip, work.to_recheck, work.objects) == (2, 13, 0, ("O2", "O3"))
    assert work.places == SOUND.planes


@pytest.mark.parametrize(
    ("counts", "operations", "done"),
    [
        ({Obj.CONFIRMED: 3, Obj.SKIPPED: 1}, (), True),
        ({Obj.CONFIRMED: 3, Obj.PENDING: 1}, (), False),
        ({Obj.CONFIRMED: 3}, SOUND.operations, False),
    ],
)
def test_only_where_nothing_is_left_the_task_can_be_completed(counts, operations, done):
    decision = decided(but(counts=counts, operations=operations, waiting=()))
    assert (Permit.COMPLETE in decision.permits) is done
    assert (decision.checks[-1].standing is Standing.ATTENTION) is done
    assert (Permit.HAND_OUT in decision.permits) is (Obj.PENDING in counts)


def test_t36_while_a_pause_is_requested_nothing_new_is_begun():
    own = replace(WORKER, name="worker-1", attempt_id="A4", generation=3)
    decision = decided(replace(with_task(state=C.PAUSE_REQUESTED), holder=HOLDER), own)
    assert decision.permits == {Permit.STEP}
    assert decision.work.sendable == ()


def test_what_is_told_does_not_grow_with_the_objects():
    waiting = tuple(f"O{number}" for number in range(100))
    unknown = tuple(OpenWrite(replace(UNKNOWN, round=number)) for number in range(1, 101))
    assert len(decided(but(waiting=waiting)).work.objects) == SAMPLE
    assert len(check(CheckName.UNKNOWN, but(operations=unknown)).evidence) == SAMPLE
    covered = tuple(OpenWrite(replace(WRITE, round=number), HELD) for number in range(1, 101))
    assert len(decided(but(operations=covered)).work.sendable) == SAMPLE


def test_every_check_has_its_rule():
    assert list(CHECKS) == list(CheckName)

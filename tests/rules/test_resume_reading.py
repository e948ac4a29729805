import copy
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.rules.document import check_document
from contracts.rules.fingerprint import canonical, digest_bytes, fingerprint, operation_key
from contracts.rules.repeating import Answer, Asked
from contracts.rules.resume_facts import SAMPLE, Begun, Caller, FaultKind, ObjectRow
from contracts.rules.resume_reading import UnreadableExport, facts_of
from contracts.rules.resume_rows import read_asked
from contracts.rules.resuming import CheckName, Outcome, Permit, Standing, decide
from contracts.rules.states import ObjectState, OperationState
from contracts.rules.vocabulary import ActorKind, Effect, Measure, StepKind
from tests.rules.samples import SUM, whole_document

NOW = datetime(2030, 5, 31, 12, 30, tzinfo=UTC)
WORKER = Caller("worker-2", ActorKind.WORKER, may_see=True, may_continue=True)
NEW_SUM = "a" * 64
P = OperationState


def exported(**changes):
    """Return a document at rest with one pending write under an approval nobody used yet."""
    document = whole_document()
    document["operations"] = document["operations"][:1]
    document["operations"][0] |= {"state": "pending", "tries": 0, "generation": None, "sent_at": None}
    document["tools"][0] |= {"needs_approval": True, "query_path": "cms:", "settle_seconds": 5}
    document["policies"] = [{"number": 1}]
    approved = document["approvals"][1]
    approved |= {
        "draft_sha256": digest_bytes("展签\n第二版".encode()),
        "consumed_at": None,
        "consumed_generation": None,
        "expires_at": "2030-06-01T12:00:00Z",
    }
    document["approvals"], document["votes"] = [approved], []
    return document | changes


def verdict(document, now=NOW):
    return decide(facts_of(document), WORKER, now).verdict


def test_an_export_gives_the_facts_of_its_task():
    facts = facts_of(whole_document())
    assert facts.task.task_id == "label"
    assert (facts.task.generation, facts.task.readable, facts.task.named_person) == (3, {1, 2}, "Bo")
    assert facts.chain_whole is None
    assert (facts.point.shown, facts.next_step) == ("2 · C2", "publish")
    assert facts.holder is None
    assert facts.counts == {"confirmed": 1, "skipped": 1, "pending": 1}
    assert facts.waiting == ("O3",)
    assert facts.totals == {Measure.TOKENS: Decimal(12)}
    assert facts.begun == (Begun("call-1", StepKind.TOOL_CALL),)
    assert [write.operation.state for write in facts.operations] == [P.UNKNOWN, P.PENDING]
    assert len(facts.planes) == 5
    assert {fault.kind for fault in facts.faults} == set()


def test_an_approval_in_an_export_keeps_its_state_while_an_import_drops_it():
    document = exported()
    assert not check_document(copy.deepcopy(document)).problems
    assert verdict(document) is Outcome.CONTINUE
    assert check_document(document).rows["approval"][0]["state"] == "stale"


def test_what_was_written_twice_as_json_gives_the_same_facts():
    document = exported()
    assert facts_of(json.loads(json.dumps(document))) == facts_of(document)


# What changes in the document → where the verdict goes.
CHANGES = {
    "draft_corrected": (
        lambda d: d["artefacts"].append({"artefact_id": "draft", "version_label": "3", "inline_text": "1897"})
        or d["artefacts"][1].update(current=False)
        or d["objects"][0].update(state="pending", settled_by="", settled_at=None),
        Outcome.APPROVE,
    ),
    "deadline_moved": (lambda d: d["identity"].update(deadline="2031-02-01T00:00:00Z"), Outcome.APPROVE),
    "policy_renewed": (lambda d: d["policies"].append({"number": 2}), Outcome.APPROVE),
    "policy_gone": (lambda d: d["policies"].clear() or d["approvals"].clear(), Outcome.MIGRATE),
    "target_moved": (lambda d: d["operations"][0].update(target="cms:other"), Outcome.APPROVE),
    "nobody_asked": (lambda d: d["approvals"].clear(), Outcome.APPROVE),
    "source_replaced": (
        lambda d: d["objects"][0].update(source_sha256=SUM, source_version="1"),
        Outcome.RECHECK,
    ),
    "cap_reached": (lambda d: d["usage"][0].update(amount="100000"), Outcome.ESCALATE),
    "step_failed": (
        lambda d: d["usage"].append(
            d["usage"][0]
            | {"entry_id": "u2", "measure": "failed_recoveries_per_step", "amount": "3", "step": "publish"}
        ),
        Outcome.ESCALATE,
    ),
    "another_step_failed": (
        lambda d: d["usage"].append(
            d["usage"][0]
            | {"entry_id": "u2", "measure": "failed_recoveries_per_step", "amount": "3", "step": "draft"}
        ),
        Outcome.CONTINUE,
    ),
    "archived": (lambda d: d["life"].update(archived_at="2030-05-01T00:00:00Z"), Outcome.REFUSE),
    "schema_moved_on": (
        lambda d: d["identity"].update(state_schema_version=3, readable_schema_versions=[2]),
        Outcome.MIGRATE,
    ),
    "held": (
        lambda d: d["life"].update(state="running")
        or d["attempts"][1].update(ended_at=None, end_reason="", lease_end="2030-05-31T13:00:00Z"),
        Outcome.WAIT,
    ),
    "lapsed": (
        lambda d: d["life"].update(state="running")
        or d["attempts"][1].update(ended_at=None, end_reason="", lease_end="2030-05-31T12:00:00Z"),
        Outcome.CONTINUE,
    ),
    "state_tampered": (lambda d: d["checkpoints"][0].update(sha256=SUM), Outcome.ESCALATE),
    "size_tampered": (lambda d: d["checkpoints"][0].update(size_bytes=3), Outcome.ESCALATE),
    "unknown": (
        lambda d: d["operations"][0].update(state="unknown", generation=3, tries=1, sent_at="2030-05-31T11:00:00Z"),
        Outcome.RECONCILE,
    ),
    "rolled_back": (
        lambda d: d["checkpoints"][1].update(rolled_back_at="2030-05-31T12:00:00Z"),
        Outcome.CONTINUE,
    ),
    "no_checkpoint": (lambda d: d["checkpoints"].clear(), Outcome.CONTINUE),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_in_the_document_changes_the_verdict(name):
    change, expected = CHANGES[name]
    document = exported()
    change(document)
    assert verdict(document) is expected


@given(st.sets(st.sampled_from([name for name in CHANGES if name not in ("policy_gone", "step_failed")])))
def test_of_several_changes_the_first_check_decides(names):
    document = exported()
    for name in sorted(names - {"another_step_failed"}):
        try:
            CHANGES[name][0](document)
        except IndexError:
            return  # an earlier change took away what this one is about
    try:
        decision = decide(facts_of(document), WORKER, NOW)
    except UnreadableExport:
        return
    assert decision.verdict is (decision.deciding.leads_to if decision.deciding else Outcome.CONTINUE)


def test_the_clock_alone_takes_an_approval_away():
    late = datetime(2030, 6, 1, 12, tzinfo=UTC)
    assert [verdict(exported(), now) for now in (late - timedelta(seconds=1), late)] == [
        Outcome.CONTINUE,
        Outcome.APPROVE,
    ]


def test_a_settled_write_is_no_open_one():
    document = exported()
    document["operations"][0] |= {"state": "rejected", "generation": 3}
    assert facts_of(document).operations == ()
    assert verdict(document) is Outcome.CONTINUE


def test_an_older_item_for_the_same_call_does_not_count():
    document = exported()
    document["approvals"].append(document["approvals"][0] | {"item_id": "item-9", "state": "withdrawn"})
    assert verdict(document) is Outcome.APPROVE


def fault_kinds(document):
    return [fault.kind for fault in facts_of(document).faults]


def test_a_call_that_is_not_what_its_key_says_is_found():
    document = exported()
    document["operations"][0]["parameters"] = {"title": "other"}
    assert fault_kinds(document) == [FaultKind.KEY]
    assert verdict(document) is Outcome.ESCALATE


@pytest.mark.parametrize(
    ("second", "kinds"),
    [
        ({}, []),
        ({"sequence": 3}, [FaultKind.MISSING]),
        ({"sequence": 3, "attempt": 1}, [FaultKind.MISSING_BY_HAND]),
        ({"generation": 2}, [FaultKind.NOT_GRANTED]),
    ],
)
def test_checkpoints_are_numbered_without_a_gap_under_generations_that_were_granted(second, kinds):
    document = exported()
    document["checkpoints"][1] |= second
    assert fault_kinds(document) == kinds


def test_a_later_checkpoint_never_bears_an_earlier_generation():
    document = exported()
    document["checkpoints"][0] |= {"attempt": 2, "generation": 3}
    document["checkpoints"][1] |= {"attempt": 1, "generation": 1}
    assert fault_kinds(document) == [FaultKind.FALLS]
    document["checkpoints"].reverse()  # the order in the document is not the order of writing
    assert fault_kinds(document) == [FaultKind.FALLS]


def test_what_a_hand_leaves_out_is_computed():
    document = exported()
    document["operations"][0] |= {"key": "", "fingerprint": ""}
    state = canonical({"position": 4})
    document["checkpoints"][0] |= {"sha256": digest_bytes(state), "size_bytes": len(state)}
    facts = facts_of(document)
    parameters = document["operations"][0]["parameters"]
    assert facts.operations[0].operation.key == operation_key(
        "label", "publish", 1, "cms.publish", parameters
    )
    assert (facts.faults, facts.operations[0].held.item_id) == ((), "item-2")
    assert fingerprint(parameters) == facts.operations[0].held.item.bound.fingerprint


@pytest.mark.parametrize(
    ("changes", "drifted"),
    [
        ([], 0),
        ([("sources", 1, {"current": False})], 0),  # O1 names no checksum: either version may be meant
        ([("objects", 0, {"source_sha256": SUM})], 1),
        ([("objects", 0, {"source_sha256": NEW_SUM})], 0),
        ([("objects", 0, {"source_sha256": SUM, "state": "recheck"})], 0),
        ([("objects", 0, {"artefact_version": "1", "artefact_sha256": SUM})], 1),
        ([("artefacts", 1, {"source_version": "1", "source_sha256": SUM}),
          ("objects", 0, {"artefact_sha256": digest_bytes("展签\n第二版".encode())})], 0),  # its own source
        ([("artefacts", 1, {"source_version": "1", "source_sha256": SUM}),
          ("objects", 0, {"artefact_sha256": digest_bytes("展签\n第二版".encode()),
                          "source": None, "source_version": None, "source_sha256": None})], 1),
    ],
)  # fmt: skip
def test_a_confirmed_object_drifts_with_its_source_its_artefact_or_that_artefacts_source(changes, drifted):
    document = exported()
    document["artefacts"][1]["sha256"] = digest_bytes("展签\n第二版".encode())
    for key, index, change in changes:
        document[key][index] |= change
    facts = facts_of(document)
    assert facts.drifted == drifted
    assert [row.object_id for row in facts.rows if row.drifted] == ["O1"] * drifted
    assert [write.held_back for write in facts.operations] == [
        bool(drifted) or document["objects"][0]["state"] == "recheck"
    ]


def test_a_write_waits_with_an_object_that_is_to_be_rechecked():
    document = exported()
    document["objects"][0] |= {"state": "recheck"}
    decision = decide(facts_of(document), WORKER, NOW)
    assert decision.verdict is Outcome.RECHECK
    assert Permit.SEND not in decision.permits
    assert facts_of(document).rows == (ObjectRow("O1", ObjectState.RECHECK, False, (P.PENDING,)),)


def test_only_as_many_rows_come_along_as_people_look_at():
    document = exported()
    document["objects"] += [{"object_id": f"X{number}"} for number in range(50)]
    document["objects"] += [{"object_id": f"Y{number}", "state": "in_progress"} for number in range(50)]
    document["objects"] += [{"object_id": "Z", "state": "recheck"}]
    facts = facts_of(document)
    assert len(facts.waiting) == SAMPLE
    assert facts.count(ObjectState.PENDING) == 51
    assert [row.object_id for row in facts.rows][SAMPLE - 1 :] == ["Y19", "Z"]


def test_a_step_found_begun_is_decided_by_the_writes_under_its_name():
    document = exported()
    document["journal"][1]["key"] = "publish"
    found = Begun("publish", StepKind.TOOL_CALL, Effect.NON_IDEMPOTENT_WRITE, (P.PENDING,))
    assert facts_of(document).begun == (found,)


@pytest.mark.parametrize(
    ("settled_at", "ended_at", "lease_end", "expected"),
    [
        ("2030-05-31T11:30:00Z", "2030-05-31T11:40:00Z", None, (11, 30)),
        (None, "2030-05-31T11:40:00Z", None, (11, 40)),
        (None, None, "2030-05-31T11:50:00Z", (11, 50)),
        (None, None, None, None),
    ],
)
def test_the_last_sending_is_bounded_by_the_report_or_by_the_end_of_the_attempt(
    settled_at, ended_at, lease_end, expected
):
    document = exported()
    document["life"]["state"] = "running"
    document["operations"][0] |= {"state": "unknown", "generation": 3, "tries": 1, "settled_at": settled_at}
    end = {"ended_at": ended_at, "lease_end": lease_end, "end_reason": "lease_lapsed" if ended_at else ""}
    document["attempts"][1] |= end
    last = facts_of(document).operations[0].operation.last_send
    assert (last and (last.hour, last.minute)) == expected


ASKED = {"answer": "absent", "asked_at": "2030-05-31T12:00:00+08:00", "path": "cms:pages"}


@pytest.mark.parametrize(
    ("record", "asked"),
    [
        (ASKED, Asked(Answer.ABSENT, datetime(2030, 5, 31, 4, tzinfo=UTC))),
        (
            ASKED | {"generation": 4, "announced_generation": 4, "announced_at": "2030-05-31T03:00:00Z", "count": 0},
            Asked(
                Answer.ABSENT, datetime(2030, 5, 31, 4, tzinfo=UTC), generation=4, announced=4,
                announced_at=datetime(2030, 5, 31, 3, tzinfo=UTC), count=0,
            ),
        ),
        (ASKED | {"generation": True, "certified_at": "soon", "announced_at": 5, "count": "2"},
         Asked(Answer.ABSENT, datetime(2030, 5, 31, 4, tzinfo=UTC))),
        (ASKED | {"asked_at": "2030-05-31T12:00:00"}, None),
        (ASKED | {"asked_at": None}, None),
        (ASKED | {"answer": "maybe"}, None),
        (ASKED | {"answer": []}, None),
        ({}, None),
        (None, None),
        ("absent", None),
        ([ASKED], None),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_relied_on_is_none(record, asked):
    assert read_asked(record) == asked


@pytest.mark.parametrize(
    ("document", "field", "code"),
    [
        (None, "/format", "unknown_format"),
        ([], "/format", "unknown_format"),
        (exported(format="other"), "/format", "unknown_format"),
        (exported(schema_version=2), "/schema_version", "unknown_version"),
        (exported(schema_version=True), "/schema_version", "unknown_version"),
        (exported(identity=[]), "/identity", "wrong_type"),
        (exported(life=None), "/life", "wrong_type"),
        (exported(objects={}), "/objects", "wrong_type"),
        (exported(objects=["O1"]), "/objects/0", "wrong_type"),
        (exported(objects=[{"object_id": 5}]), "/objects/0/object_id", "wrong_type"),
        (exported(tools=[]), "/operations/0/tool", "unknown_reference"),
    ],
)
def test_what_is_no_export_is_refused_by_place(document, field, code):
    with pytest.raises(UnreadableExport) as refused:
        facts_of(document)
    assert (field, code) in [(problem.field, problem.code) for problem in refused.value.problems]
    assert code in str(refused.value)


def test_a_chain_that_is_known_to_hold_gives_the_same_verdict():
    facts = facts_of(exported())
    known = decide(replace(facts, chain_whole=True), WORKER, NOW)
    assert known.verdict is decide(facts, WORKER, NOW).verdict
    integrity = list(CheckName).index(CheckName.INTEGRITY)
    assert known.checks[integrity].standing is Standing.ATTENTION  # of the framework's own loss window

"""A whole document: every fault by JSON pointer, never an exception, and nothing accepted that cannot be stored."""

import copy
import json
import math
import secrets

import pytest
from django.db import connection
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from contracts.gates.creating import create_contract
from contracts.gates.people import create_person, create_team
from contracts.models import ROWS, SectionMark
from contracts.rules.coherence import pointer
from contracts.rules.document import KEYS, LIFE, LISTS, check_document, creation_digest
from contracts.rules.fingerprint import operation_key
from contracts.rules.parts import PARTS
from contracts.rules.parts.part import COUNTED_LONG
from contracts.rules.states import ApprovalState, ContractState, ObjectState, OperationState
from contracts.rules.vocabulary import Actor, Role, Section
from tests.rules.samples import BAD, NOON, SECRET, SUM, whole_document

REMOVED = object()
OTHER_SUM = "b" * 64


def changed(place, value, raw=None):
    """Return the whole document with the value at the JSON pointer `place` replaced, added or removed."""
    raw = whole_document() if raw is None else raw
    *path, last = [int(piece) if piece.isdigit() else piece for piece in place.split("/")[1:]]
    node = raw
    for piece in path:
        node = node[piece]
    if value is REMOVED:
        del node[last]
    elif isinstance(node, list) and last == len(node):
        node.append(value)
    else:
        node[last] = value
    return raw


def faults(raw, **options):
    problems = check_document(raw, **options).problems
    for problem in problems:
        assert problem.field == "" or problem.field.startswith("/")
        assert problem.sentence % problem.values
    return [(problem.field, problem.code) for problem in problems]


def fault_of(*changes):
    raw = whole_document()
    for place, value in changes:
        raw = changed(place, value, raw)
    return faults(raw)


def test_the_whole_document_has_no_fault():
    document = check_document(whole_document())
    assert document.problems == []
    assert (document.task_id, document.team, document.revision) == ("label", "labels", 7)
    assert document.complete_sections == ["identity", "limits"]
    assert set(document.rows) == set(LISTS.values())
    assert all(document.rows.values())
    assert set(whole_document()) <= set(KEYS)


def test_the_smallest_document_is_a_draft():
    raw = {"format": "resume-state-contract", "schema_version": 1, "task_id": "a", "identity": {"title": "A"}}
    document = check_document(raw)
    assert document.problems == []
    assert document.life["state"] == ContractState.DRAFT
    assert document.gate["lease_seconds"] == 120
    assert (document.revision, document.revised_at, document.team) == (1, None, "")


@pytest.mark.parametrize("raw", [None, 5, "text", [], [{}], True, math.nan])
def test_a_document_is_an_object(raw):
    assert faults(raw) == [("", "wrong_type")]


def test_an_empty_object_is_told_what_it_is_not():
    assert faults({}) == [
        ("/format", "unknown_format"),
        ("/schema_version", "unknown_version"),
        ("/task_id", "missing"),
    ]


HEAD = [
    *(("/format", value, "unknown_format") for value in ("other", "", None, 5, [], {})),
    *(("/schema_version", value, "unknown_version") for value in (0, 2, "1", 1.0, True, None, [1], 10**400)),
    *(("/task_id", value, "missing") for value in (None, "", "   ")),
    *(("/task_id", value, "wrong_type") for value in (5, True, [], {}, 10**5000)),
    *(
        ("/task_id", value, "bad_pattern")
        for value in ("a b", "-a", "展签", "a/b", "a\x00", "a\ud800", "a\u202eb")
    ),
    ("/task_id", "a" * 121, "too_long"),
    ("/task_id", SECRET, "credential"),
    ("/task_id", "password=" + "hunter2hunter2", "credential"),
    *(("/revision", value, "out_of_range") for value in (0, -1, 2**53)),
    *(("/revision", value, "wrong_type") for value in (1.5, True, [], "one", math.nan)),
    ("/revised_at", "yesterday", "wrong_type"),
    ("/revised_at", "2030-01-01", "no_zone"),
    ("/revised_at", "9999-12-31T23:59-23:59", "out_of_range"),
    ("/team", 5, "wrong_type"),
    ("/team", "a" * 51, "too_long"),
    ("/team", SECRET, "credential"),
]


@pytest.mark.parametrize(
    ("place", "value", "code"), [pytest.param(*case, id=f"{n}-{case[2]}") for n, case in enumerate(HEAD)]
)
def test_a_fault_of_the_head_hides_no_other_unless_the_document_is_of_another_kind(place, value, code):
    raw = changed(place, value) | {"objects": "nonsense"}
    problems = check_document(raw).problems
    rest = [] if place in ("/format", "/schema_version") else [("/objects", "wrong_type")]
    assert [(problem.field, problem.code) for problem in problems] == [(place, code), *rest]
    assert SECRET not in repr(problems)
    assert "hunter2" not in repr(problems)


def test_keys_that_do_not_exist_are_named_as_they_can_be_shown():
    raw = whole_document() | {"events": [], "a/b~c": 1, "x\ud800": 1, SECRET: 1}
    assert faults(raw) == [
        ("/events", "unknown_field"),
        ("/a~1b~0c", "unknown_field"),
        ("/x?", "unknown_field"),
        ("/…", "unknown_field"),
    ]
    for problem in check_document(raw).problems:
        problem.field.encode()


@pytest.mark.parametrize("key", LISTS)
@pytest.mark.parametrize("value", [None, 5, "text", {}, True])
def test_a_list_is_a_list(key, value):
    assert (f"/{key}", "wrong_type") in faults(whole_document() | {key: value})


@pytest.mark.parametrize("key", LISTS)
@pytest.mark.parametrize("value", [None, 5, "text", [], True])
def test_a_row_is_an_object(key, value):
    raw = whole_document()
    place = len(raw[key])
    raw[key].append(value)
    assert faults(raw) == [(f"/{key}/{place}", "wrong_type")]


@pytest.mark.parametrize("key", ["identity", "life", "gate"])
@pytest.mark.parametrize("value", [None, 5, "text", [], True])
def test_a_single_part_is_an_object(key, value):
    assert faults(whole_document() | {key: value}) == [(f"/{key}", "wrong_type")]


@pytest.mark.parametrize("key", [*LISTS, "identity", "life", "gate"])
def test_a_fault_in_a_field_is_found_where_it_lies(key):
    part = LIFE if key == "life" else PARTS[LISTS.get(key, key)]
    where = f"/{key}/0" if key in LISTS else f"/{key}"
    assert faults(changed(f"{where}/nonsense", 1)) == [(f"{where}/nonsense", "unknown_field")]
    assert faults(changed(f"{where}/{SECRET}", 1)) == [(f"{where}/…", "unknown_field")]
    for field in part.fields:
        value, code = BAD[field.kind][-1]
        tighter = {"too_long", "too_large"} if field.limit else set()
        ((place, found),) = faults(changed(f"{where}/{field.name}", value))
        assert place == f"{where}/{field.name}"
        assert found in {code} | tighter


MARKS = [
    (None, "", "wrong_type"),
    ("identity", "", "wrong_type"),
    ({"identity": True}, "", "wrong_type"),
    (["nowhere"], "/0", "unknown_word"),
    (["identity", 5], "/1", "unknown_word"),
    ([[]], "/0", "unknown_word"),
    ([{}], "/0", "unknown_word"),
    ([math.nan], "/0", "unknown_word"),
    (["identity", "limits", "identity"], "/2", "duplicate"),
]


@pytest.mark.parametrize(("value", "where", "code"), MARKS)
def test_marks_are_sections_and_stand_once(value, where, code):
    assert faults(whole_document() | {"complete_sections": value}) == [(f"/complete_sections{where}", code)]


def test_marks_come_in_the_order_of_the_sections():
    names = [section.value for section in Section]
    assert check_document(whole_document() | {"complete_sections": names[::-1]}).complete_sections == names


def twin(key, index, /, **more):
    """Return a change that adds a copy of a row to its list."""
    rows = whole_document()[key]
    return (f"/{key}/{len(rows)}", rows[index] | more)


DUPLICATES = [
    (twin("planes", 0), "/planes/5/plane"),
    (twin("attempts", 0, attempt_id="A3", generation=2), "/attempts/2/number"),
    (twin("attempts", 0, number=3, generation=2), "/attempts/2/attempt_id"),
    (twin("attempts", 0, number=3, attempt_id="A3"), "/attempts/2/generation"),
    (twin("checkpoints", 0, checkpoint_id="C3"), "/checkpoints/2/sequence"),
    (twin("checkpoints", 0, sequence=3), "/checkpoints/2/checkpoint_id"),
    (twin("journal", 0, key="turn-2"), "/journal/2/sequence"),
    (twin("journal", 0, sequence=3), "/journal/2/key"),
    (twin("sources", 0), "/sources/2/source_id"),
    (twin("artefacts", 0), "/artefacts/2/artefact_id"),
    (twin("objects", 2), "/objects/3/object_id"),
    (twin("tools", 0), "/tools/1/tool"),
    (twin("operations", 0, object=""), "/operations/2/key"),
    (twin("operations", 1, parameters={"title": "Third"}), "/operations/2/round"),
    (twin("policies", 0), "/policies/2/number"),
    (twin("approvals", 2), "/approvals/6/item_id"),
    (twin("votes", 0), "/votes/1/item"),
    (twin("limits", 0), "/limits/3/measure"),
    (twin("usage", 0), "/usage/1/entry_id"),
    (twin("windows", 1), "/windows/7/window"),
]


@pytest.mark.parametrize(("change", "place"), DUPLICATES, ids=[place for _, place in DUPLICATES])
def test_what_must_stand_once_is_refused_the_second_time(change, place):
    assert fault_of(change) == [(place, "duplicate")]


def test_an_operation_without_an_object_fills_its_slot_as_well():
    free = whole_document()["operations"][1] | {"object": ""}
    again = free | {"parameters": {"title": "Third"}}
    assert fault_of(("/operations/2", free | {"parameters": {"title": "4"}})) == []
    places = fault_of(("/operations/1", free), ("/operations/2", again))
    assert places == [("/operations/2/round", "duplicate")]


ONE_AT_MOST = [
    ([("/sources/0/current", True)], "/sources/1/current", "one_current_source_version"),
    ([("/sources/0/current", REMOVED)], "/sources/1/current", "one_current_source_version"),
    ([("/artefacts/0/current", True)], "/artefacts/1/current", "one_current_artefact_version"),
    (
        [twin("approvals", 0, item_id="item-7")],
        "/approvals/6/state",
        "one_waiting_item_per_operation",
    ),
    (
        [
            (f"/attempts/{index}/{fact}", value)
            for index in (0, 1)
            for fact, value in (("ended_at", None), ("end_reason", ""), ("by_hand", True))
        ],
        "/attempts/1/ended_at",
        "one_open_attempt",
    ),
]


@pytest.mark.parametrize(
    ("changes", "place", "code"), ONE_AT_MOST, ids=[place for _, place, _ in ONE_AT_MOST]
)
def test_one_at_most_is_current_open_or_waiting(changes, place, code):
    assert fault_of(*changes) == [(place, code)]


def test_an_attempt_recorded_by_hand_may_lack_its_end_and_a_workers_may_not():
    open_end = [("/attempts/1/ended_at", None), ("/attempts/1/end_reason", "")]
    assert fault_of(*open_end, ("/attempts/1/by_hand", True)) == []
    assert fault_of(*open_end) == [("/attempts/1/ended_at", "not_at_rest")]


REFERENCES = [
    ("/checkpoints/1/attempt", 9),
    ("/journal/0/attempt", 9),
    ("/objects/0/attempt", 9),
    ("/usage/0/attempt", 9),
    ("/artefacts/0/source", "P9"),
    ("/artefacts/1/source_version", "9"),
    ("/artefacts/0/source_sha256", OTHER_SUM),
    ("/objects/0/source", "P9"),
    ("/objects/0/source_version", "9"),
    ("/objects/0/source_sha256", OTHER_SUM),
    ("/objects/1/source_sha256", SUM),
    ("/objects/0/artefact", "other"),
    ("/objects/0/artefact_version", "9"),
    ("/objects/0/artefact_sha256", OTHER_SUM),
    ("/operations/1/object", "O9"),
    ("/approvals/0/operation_key", OTHER_SUM),
    ("/approvals/0/tool", "other"),
    ("/approvals/0/draft", "other"),
    ("/approvals/0/draft_version", "9"),
    ("/approvals/0/draft_sha256", OTHER_SUM),
    ("/votes/0/item", "item-9"),
]
SHOWN = {"source_version": "source", "source_sha256": "source", "artefact_version": "artefact",
         "artefact_sha256": "artefact", "draft_version": "draft", "draft_sha256": "draft",
         "tool": "operation_key"}  # fmt: skip


@pytest.mark.parametrize(("place", "value"), REFERENCES)
def test_a_reference_to_nothing_is_named(place, value):
    row, fact = place.rsplit("/", 1)
    assert fault_of((place, value)) == [(f"{row}/{SHOWN.get(fact, fact)}", "unknown_reference")]


def test_a_tool_that_is_not_there_is_named():
    raw = whole_document() | {"approvals": [], "votes": []}
    raw["operations"][1]["tool"] = "other"
    assert faults(raw) == [("/operations/1/tool", "unknown_reference")]


def test_an_item_shows_the_call_its_key_stands_for():
    changes = [("/approvals/0/parameters", {"title": "other"}), ("/approvals/0/fingerprint", OTHER_SUM)]
    assert fault_of(*changes) == [
        ("/approvals/0/fingerprint", "bad_checksum"),
        ("/approvals/0/operation_key", "unknown_reference"),
    ]


def test_a_reference_may_name_the_id_alone_or_all_of_it():
    assert fault_of(("/objects/0/source_version", REMOVED)) == []
    assert fault_of(("/objects/0/source_sha256", "a" * 64)) == []
    assert fault_of(("/objects/0/source_version", REMOVED), ("/objects/0/source_sha256", SUM)) == []


DIGESTS = [
    ("/operations/0/fingerprint", OTHER_SUM, "bad_checksum"),
    ("/operations/1/key", OTHER_SUM, "bad_checksum"),
    ("/checkpoints/0/sha256", OTHER_SUM, "bad_checksum"),
    ("/checkpoints/0/size_bytes", 5, "does_not_match"),
    ("/checkpoints/0/generation", 2, "does_not_match"),
    ("/artefacts/1/sha256", OTHER_SUM, "bad_checksum"),
    ("/artefacts/1/size_bytes", 1, "does_not_match"),
]


@pytest.mark.parametrize(("place", "value", "code"), DIGESTS)
def test_a_digest_that_lies_is_refused(place, value, code):
    assert fault_of((place, value)) == [(place, code)]


def test_digests_are_computed_where_they_are_not_given():
    document = check_document(whole_document())
    for row in document.rows["operation"]:
        assert row["key"] == operation_key("label", row["step"], row["round"], row["tool"], row["parameters"])
    draft = document.rows["artefact"][1]
    assert draft["size_bytes"] == len("展签\n第二版".encode())
    assert draft["sha256"] != ""
    inline, located = document.rows["checkpoint"]
    assert (inline["size_bytes"], inline["generation"]) == (len(b'{"position":4}'), 1)
    assert (located["sha256"], located["generation"]) == (SUM, 3)


LIFE_FAULTS = [
    *(
        ([("/life/state", state)], [("/life/state", "not_at_rest")])
        for state in ("resuming", "running", "pause_requested")
    ),
    ([("/identity/deadline", None)], [("/identity/deadline", "missing")]),
    ([("/identity/deadline", None), ("/life/state", "draft")], []),
    (
        [("/life/state", "cancelled")],
        [("/life/cancelled_at", "missing"), ("/life/cancelled_by", "missing"), ("/life/cancel_reason", "missing")],
    ),
    (
        [("/life", {"state": "cancelled", "generation": 3, "cancelled_at": NOON, "cancelled_by": "a",
                    "cancel_reason": "b"}),
         ("/identity/deadline", None)],
        [],
    ),
    (
        [("/life/state", "completed")],
        [("/life/state", "objects_unfinished"), ("/life/state", "operations_open")],
    ),
    ([("/life/generation", 2)], [("/life/generation", "generation_falls")]),
    ([("/life", {})], [("/life/generation", "generation_falls")]),
    ([("/life/generation", 3), ("/operations/0/generation", 4)], [("/life/generation", "generation_falls")]),
    ([("/approvals/1/consumed_generation", 4)], [("/life/generation", "generation_falls")]),
    ([("/operations/0/state", "sending")], [("/operations/0/state", "not_at_rest")]),
    ([("/journal/0/usage", [])], [("/journal/0/usage", "wrong_type")]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), LIFE_FAULTS, ids=range(len(LIFE_FAULTS)))
def test_only_a_contract_at_rest_is_taken_over(changes, expected):
    assert fault_of(*changes) == expected


def test_a_completed_contract_has_nothing_left_to_do():
    changes = [("/life/state", "completed"), ("/objects/2", {"object_id": "O3", "state": "skipped", "note": "n",
               "settled_by": "a", "settled_at": NOON}), ("/operations/0/state", "confirmed"),
               ("/operations/1/state", "abandoned")]  # fmt: skip
    assert fault_of(*changes) == []


STATED = {"settled_by": "settled_by", "settled_at": "settled_at"}
NEEDS = [
    *(("/objects/0", {"state": state.value, "note": "n"}, ("settled_by", "settled_at"))
      for state in ObjectState if state in ("confirmed", "skipped")),
    *(("/objects/2", {"state": state.value}, ()) for state in ObjectState if state not in ("confirmed", "skipped")),
    ("/objects/1", {}, ("note",)),
    *(("/operations/1", {"state": state.value}, ("generation",)) for state in OperationState
      if state not in ("pending", "abandoned", "sending")),
    *(("/operations/1", {"state": state}, ()) for state in ("pending", "abandoned")),
    ("/approvals/2", {"state": "approved"}, ("decided_by", "decided_at")),
    ("/approvals/2", {}, ("decided_by", "decided_at")),
    ("/approvals/2", {}, ("decision_reason",)),
    ("/approvals/3", {}, ("stale_member",)),
    ("/approvals/1", {}, ("consumed_generation",)),
]  # fmt: skip


@pytest.mark.parametrize(("place", "more", "facts"), NEEDS, ids=range(len(NEEDS)))
def test_a_state_brings_its_facts_along(place, more, facts):
    changes = [(f"{place}/{name}", value) for name, value in more.items()]
    changes += [(f"{place}/{fact}", None) for fact in facts]
    assert fault_of(*changes) == [(f"{place}/{fact}", "missing") for fact in facts]


def test_an_item_is_used_only_once_it_was_decided():
    changes = [("/approvals/0/consumed_at", NOON)]
    assert fault_of(*changes) == [
        ("/approvals/0/consumed_generation", "missing"),
        ("/approvals/0/decided_by", "missing"),
    ]


NEVER = [
    ([("/approvals/0/scope", "everything")], "/approvals/0/scope", "no_blanket_scope"),
    ([("/approvals/1/decided_by", "worker-1")], "/approvals/1/decided_by", "requester_cannot_decide"),
    (
        [("/approvals/4/decided_by", "curator"), ("/approvals/4/decided_at", "2030-05-31T12:00:01Z")],
        "/approvals/4/decided_at",
        "expiry_is_nobodys_no",
    ),
    ([("/approvals/4/decided_by", "curator")], "/approvals/4/decided_at", "expiry_is_nobodys_no"),
    *(
        ([("/votes/0/decision", state.value)], "/votes/0/decision", "vote_is_yes_or_no")
        for state in ApprovalState
        if state not in ("approved", "rejected")
    ),
]


@pytest.mark.parametrize(
    ("changes", "place", "code"), NEVER, ids=[f"{n}-{case[2]}" for n, case in enumerate(NEVER)]
)
def test_what_can_never_be_is_refused(changes, place, code):
    assert fault_of(*changes) == [(place, code)]


def test_an_item_may_expire_after_a_decision_that_was_in_time():
    assert fault_of(("/approvals/4/decided_by", "curator"), ("/approvals/4/decided_at", NOON)) == []


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("/operations/1/intended_at", "operations"),
        ("/usage/0/entry_id", "usage"),
        ("/usage/0/used_at", "usage"),
    ],
)
def test_what_only_the_workbench_sets_must_be_in_the_document(place, key):
    assert fault_of((place, REMOVED)) == [(place, "missing")]


def test_every_fault_is_told_at_once():
    raw = whole_document()
    raw["objects"][0]["state"] = "nonsense"
    raw["tools"].append({})
    raw["gate"] = []
    raw["complete_sections"] = ["nowhere"]
    assert faults(raw) == [
        ("/gate", "wrong_type"),
        ("/complete_sections/0", "unknown_word"),
        ("/objects/0/state", "unknown_word"),
        ("/tools/1/tool", "missing"),
        ("/tools/1/effect", "missing"),
    ]


def test_under_another_task_the_keys_are_new():
    before, after = check_document(whole_document()), check_document(whole_document(), task_id="label-2")
    assert after.problems == []
    assert after.task_id == "label-2"
    old, new = before.rows["operation"][0], after.rows["operation"][0]
    assert (
        new["key"] == operation_key("label-2", "publish", 1, "cms.publish", old["parameters"]) != old["key"]
    )
    assert new["fingerprint"] == old["fingerprint"]
    for was, item in zip(before.rows["approval"], after.rows["approval"], strict=True):
        assert item == {**was, "operation_key": new["key"]}


@pytest.mark.parametrize("task_id", ["", "label", "label-2"])
def test_t21_no_decision_enters_by_a_document(task_id):
    raw = whole_document()
    raw["approvals"].append(
        {**raw["approvals"][1], "item_id": "item-7", "consumed_at": None, "consumed_generation": None}
    )
    items = check_document(raw, task_id=task_id).rows["approval"]
    assert [item["state"] for item in items] == [
        "stale",
        "approved",
        "rejected",
        "stale",
        "expired",
        "withdrawn",
        "stale",
    ]
    for item, was in ((items[0], "pending"), (items[-1], "approved")):
        assert (item["stale_member"], item["stale_was"], item["stale_now"]) == ("origin", was, "")
        assert item["consumed_at"] is None


@pytest.mark.parametrize("state", ["paused", "completed"])
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda raw: raw["identity"].pop("purpose"), "incomplete_empty"),
        (lambda raw: raw["planes"].pop(), "incomplete_empty"),
        (lambda raw: raw["limits"].pop(), "incomplete_empty"),
        (lambda raw: raw["windows"].pop(1), "incomplete_empty"),
        (
            lambda raw: raw["tools"][0].update(key_supported=False, key_memory_hours=None),
            "incomplete_named_person",
        ),
    ],
)
def test_no_document_goes_round_the_gate_that_leaves_draft(state, change, code):
    raw = whole_document()
    if state == "completed":
        raw["objects"].pop()
        raw["operations"].pop()
        raw["operations"][0].update(state="confirmed")
    raw["life"]["state"] = state
    assert check_document(raw).problems == []
    change(raw)
    told = check_document(raw).problems
    assert {(problem.field, problem.code) for problem in told} == {("/life/state", code)}
    raw["life"]["state"] = "draft"
    assert check_document(raw).problems == []


def test_what_was_moved_to_another_task_is_a_good_document_there():
    moved = check_document(whole_document(), task_id="label-2")
    raw = whole_document() | {"task_id": "label-2"}
    for key in ("operations", "approvals"):
        rows = [{name: value for name, value in row.items() if value != ""} for row in moved.rows[LISTS[key]]]
        raw[key] = json.loads(json.dumps(rows, default=str))
    assert faults(raw) == []


@pytest.mark.parametrize("task_id", ["", "label"])
def test_under_the_same_task_everything_stays(task_id):
    assert check_document(whole_document(), task_id=task_id) == check_document(whole_document())


def test_both_task_ids_must_be_good():
    assert faults(whole_document(), task_id="a b") == [("/task_id", "bad_pattern")]
    assert faults(changed("/task_id", REMOVED), task_id="label-2") == [("/task_id", "missing")]
    assert faults(changed("/task_id", ""), task_id="") == [("/task_id", "missing")]


def test_reading_changes_nothing_in_what_was_given():
    raw = whole_document()
    check_document(raw, task_id="label-2")
    assert raw == whole_document()


def turned_round(value):
    """Return the same JSON value with the names of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned_round(value[key]) for key in reversed(value)}
    return [turned_round(item) for item in value] if isinstance(value, list) else value


def test_the_digest_of_a_definition_does_not_depend_on_the_order_of_names():
    digest = check_document(whole_document()).digest
    assert (
        digest == check_document(turned_round(whole_document())).digest == creation_digest(whole_document())
    )
    assert digest != check_document(whole_document(), task_id="label-2").digest
    assert digest != check_document(changed("/identity/title", "Another")).digest
    assert len(digest) == 64
    assert check_document({}).digest == ""


@pytest.mark.parametrize("key", [*LISTS, "identity", "life", "gate", "complete_sections", *KEYS[:6]])
def test_hostile_values_are_refused_and_never_raise(key):
    bottomless = []
    for _ in range(5_000):
        bottomless = [bottomless]
    hostile = [
        bottomless,
        {"a": bottomless},
        [bottomless],
        [[[]]],
        [{"": {}}],
        10**5000,
        math.nan,
        -math.inf,
        "\ud800",
        "\x00",
        [{"key": []}],
    ]
    hostile += [
        [{field.name: value} for field in PARTS[LISTS[key]].fields]
        for value in ([], {}, bottomless)
        if key in LISTS
    ]
    for value in hostile:
        assert check_document(whole_document() | {key: value}).problems


def test_a_pointer_is_escaped():
    assert pointer("a/b", "c~d", 0) == "/a~1b/c~0d/0"
    assert pointer() == ""


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.characters(categories=["Cs", "Cc", "Cf"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted({field.name for part in [*PARTS.values(), LIFE] for field in part.fields} | set(KEYS))
LIKELY = st.sampled_from(
    ["", "0", "-1", "1", "2", SUM, OTHER_SUM, NOON, "pending", "stale", "approved", "confirmed", "skipped", "unknown",
     "completed", "cancelled", "draft", "O1", "P1", "cms.publish", "EUR", "worker-1", "curator", True, False, None, 0,
     1, 2, 3, 4, 2**31, 2**53 - 1, 2**53, [], {}, [1], "9998-12-31T23:59:59-23:59", "1970-01-01T00:00+14:00", "1e5",
     "0.000001", "99999999999999", 1e20, -0.0, SECRET]
)  # fmt: skip
ROOTS = JSON | st.dictionaries(
    st.sampled_from(NAMES),
    JSON | st.lists(st.dictionaries(st.sampled_from(NAMES), JSON | LIKELY, max_size=6), max_size=3),
)


def places(value, path=()):
    """Yield the path of every value inside `value`."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(value[key], (*path, key))


PLACES = list(places(whole_document()))


@st.composite
def mutated(draw):
    """Draw a whole document that was changed, cut or added to in at most five places."""
    raw = whole_document()
    for _ in range(draw(st.integers(0, 5))):
        *path, last = draw(st.sampled_from(PLACES))
        node = raw
        try:
            for key in path:
                node = node[key]
            act = draw(st.sampled_from(["set", "set", "likely", "likely", "drop", "twin", "add"]))
            if act == "drop":
                del node[last]
            elif act == "twin" and isinstance(node, list):
                node.append(copy.deepcopy(node[last]))
            elif act == "add" and isinstance(node, dict):
                node[draw(st.sampled_from(NAMES))] = draw(JSON | LIKELY)
            else:
                node[last] = draw(LIKELY if act == "likely" else JSON)
        except (KeyError, IndexError, TypeError):
            assume(path)  # an earlier change took the place away
    return raw


def assert_told(raw, **options):
    for problem in check_document(raw, **options).problems:
        assert problem.field == "" or problem.field.startswith("/")
        assert problem.code
        assert problem.sentence % problem.values
        problem.field.encode()
        assert SECRET not in repr(problem)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROOTS, st.sampled_from(["", "other", "a b"]))
def test_no_json_makes_it_raise(raw, task_id):
    assert_told(raw, task_id=task_id)
    head = {
        "format": "resume-state-contract",
        "schema_version": 1,
        "task_id": "a",
        "identity": {"title": "A"},
    }
    assert_told({**head, **raw} if isinstance(raw, dict) else raw, task_id=task_id)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.sampled_from(["", "other"]))
def test_no_change_of_a_good_document_makes_it_raise(raw, task_id):
    assert_told(raw, task_id=task_id)


@pytest.fixture
def storing(db):
    """A function that stores a document as a new task and gives back the contract."""
    team = create_team(slug="labels", name="Labels")
    person = create_person(
        username="rita", full_name="Rita", password="correct horse battery", team=team, roles=(Role.REVIEWER,)
    )

    def store(document):
        verdict = create_contract(user=person, actor=Actor("rita"), team=team, document=document)
        assert verdict.allowed, verdict
        connection.check_constraints()  # those that are looked at when the transaction ends
        return verdict.outcome

    return store


def fresh(raw, renamed):
    """Return the document read for a task id that was never used."""
    task_id = "t-" + secrets.token_hex(8)
    if renamed:
        return check_document(raw, task_id=task_id)
    raw = {**raw, "task_id": task_id, "operations": copy.deepcopy(raw.get("operations", []))}
    keys = {}
    for row in raw["operations"]:
        given = row.pop("key", "")
        parameters = row.get("parameters"), row.get("round", 1)
        keys[given] = operation_key(task_id, row["step"], parameters[1], row["tool"], parameters[0])
    raw["approvals"] = [
        {**row, "operation_key": keys.get(row["operation_key"], OTHER_SUM)}
        for row in raw.get("approvals", [])
    ]
    return check_document(raw)


@pytest.mark.parametrize("renamed", [False, True])
def test_the_whole_document_is_stored_without_loss(storing, renamed):
    document = fresh(whole_document(), renamed)
    assert document.problems == []
    contract = storing(document)
    assert set(SectionMark.objects.of(contract.pk).values_list("section", flat=True)) == {
        "identity",
        "limits",
    }
    for part in ("attempt", "checkpoint", "step", "object", "operation", "approval", "vote", "usage"):
        stored = {row.natural_key(): row.facts() for row in ROWS[part].objects.of(contract.pk)}
        assert len(stored) == len(document.rows[part])
    items = [row.facts()["operation_key"] for row in ROWS["approval"].objects.of(contract.pk)]
    assert items == [row["operation_key"] for row in document.rows["approval"]]
    assert {row.facts()["draft_version"] for row in ROWS["approval"].objects.of(contract.pk)} == {"2"}


def test_whatever_is_accepted_can_be_stored(storing):
    stored = []

    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(mutated())
    def store(raw):
        document = check_document(raw, task_id="t-" + secrets.token_hex(8))
        if not document.problems:
            stored.append(storing(document))

    store()
    assert stored


def test_the_extremes_of_every_field_can_be_stored(storing):
    raw = whole_document() | {"approvals": [], "votes": []}
    stored = set()
    for key, part in LISTS.items():
        for row in raw[key]:
            for field in PARTS[part].fields:
                wanted = {"WHOLE": field.high, "TEXT": "a" * field.max_chars, "AMOUNT": "99999999999999"}
                if field.kind.name in wanted and field.name in row:
                    trial = copy.deepcopy(raw)
                    trial[key][raw[key].index(row)][field.name] = wanted[field.kind.name]
                    trial["life"]["generation"] = COUNTED_LONG
                    document = check_document(trial, task_id="t-" + secrets.token_hex(8))
                    if not document.problems:
                        storing(document)
                        stored.add((part, field.name))
    # Kept below what the columns hold, so that the workbench can go on counting from there.
    assert {("attempt", "generation"), ("checkpoint", "sequence"), ("limit", "cap")} <= stored


def test_json_survives_the_database_as_it_was(storing):
    parameters = {"é": [1, 1.5, -0.25, 2**53 - 1, True, None, "\\u0000", "展\u200b签"], "": {}}
    raw = changed("/operations/1/parameters", parameters)
    contract = storing(check_document(raw, task_id="t-" + secrets.token_hex(8)))
    stored = [row.parameters for row in ROWS["operation"].objects.of(contract.pk)]
    assert json.dumps(parameters, sort_keys=True) in [json.dumps(value, sort_keys=True) for value in stored]

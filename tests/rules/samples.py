"""Bad and good raw values for each kind of field, and one whole document with every part in it."""

import copy
import math
from datetime import datetime

from contracts.rules.fields import Kind
from contracts.rules.fingerprint import fingerprint, operation_key

# Made up, in the shape of a real one; put together so that no scanner takes this file for a leak.
SECRET = "gh" + "p_" + "Ab3dE" * 8
ADDRESS_SECRET = "postgres://curator:" + "hunter2hunter2" + "@db.example/labels"
SUM = "0123456789abcdef" * 4
NOON = "2030-05-31T12:00:00Z"

NOT_TEXT = [0, 5, -1, 1.5, math.nan, True, [], ["a"], {}, {"a": 1}]
NOT_WHOLE = [
    "120 s", "5d", "1e5", "1_000", "1,000", "1.0", "0x10", "+5", "--5", "- 5", "-", "一", "１２", "٣", "½", "²",
    "NaN", "Infinity", "a\x00", "5\ud800", "9" * 21, 5.0, 1.5, math.nan, math.inf, True, False, [], [5], {}, {"a": 1},
]  # fmt: skip
BAD: dict[Kind, list[tuple[object, str]]] = {
    Kind.ID: [
        *((value, "wrong_type") for value in NOT_TEXT),
        ("a" * 201, "too_long"),
        ("a\x07b", "control_character"),
        ("a\x00b", "control_character"),
        ("a\nb", "control_character"),
        ("a\u202eb", "hidden_character"),
        ("a\u200bb", "hidden_character"),
        ("a\ud800", "bad_unicode"),
        ("p\u0430ypal", "mixed_scripts"),
        (SECRET, "credential"),
    ],
    Kind.LINE: [
        *((value, "wrong_type") for value in NOT_TEXT),
        ("a" * 201, "too_long"),
        ("a\nb", "control_character"),
        ("a\tb", "control_character"),
        ("a\rb", "control_character"),
        ("a\u2028b", "control_character"),
        ("a\u2029b", "control_character"),
        ("a\x00b", "control_character"),
        ("a\x1bb", "control_character"),
        ("a\udfff", "bad_unicode"),
        ("the key is " + SECRET, "credential"),
    ],
    Kind.TEXT: [
        *((value, "wrong_type") for value in NOT_TEXT),
        ("a\x00b", "control_character"),
        ("a\x1b[2Jb", "control_character"),
        ("a\ud800b", "bad_unicode"),
        ("first\npassword: correcthorse1\nlast", "credential"),
    ],
    Kind.LOCATION: [
        *((value, "wrong_type") for value in NOT_TEXT),
        ("a" * 2001, "too_long"),
        ("two words", "bad_location"),
        ("a\nb", "bad_location"),
        ("data:text/plain,hello", "bad_location"),
        ("javascript:alert(1)", "bad_location"),
        ('{"content":1}', "bad_location"),
        ("a\x00b", "control_character"),
        ("a\u202eb", "hidden_character"),
        ("a\ud800", "bad_unicode"),
        (ADDRESS_SECRET, "credential"),
        ("https://archive.example/?token=" + SECRET, "credential"),
    ],
    Kind.SHA256: [
        *((value, "wrong_type") for value in NOT_TEXT),
        (SUM + "0", "too_long"),
        (SUM[:-1], "bad_checksum"),
        ("g" * 64, "bad_checksum"),
        ("０" * 64, "bad_checksum"),
        (SECRET, "bad_checksum"),
        ("\x00" * 64, "bad_checksum"),
        ("\ud800", "bad_checksum"),
    ],
    Kind.WHOLE: [
        *((value, "wrong_type") for value in NOT_WHOLE),
        (-1, "out_of_range"),
        ("-1", "out_of_range"),
        (2**53, "out_of_range"),
        (str(2**53), "out_of_range"),
        (10**400, "out_of_range"),
        (-(10**5000), "out_of_range"),
        (SECRET, "wrong_type"),
    ],
    Kind.WHOLES: [
        *((value, "wrong_type") for value in [5, 1.5, True, {}, {"a": 1}, "a", "1,,2", "1, 2,", "1;2", "1.5"]),
        *(([value], "wrong_type") for value in NOT_WHOLE),
        ([-1], "out_of_range"),
        ([2**53], "out_of_range"),
        ([1, 1], "duplicate"),
        ("1, 1", "duplicate"),
        (list(range(1, 52)), "too_many"),
        (",".join(map(str, range(1, 52))), "too_many"),
        (SECRET, "wrong_type"),
    ],
    Kind.AMOUNT: [
        *((value, "wrong_type") for value in [*NOT_WHOLE, ".", "1.2.3", "5 EUR", "1,5", "-."]
          if value not in ("1.0", "9" * 21)),
        ("9" * 21, "out_of_range"),
        ("9" * 10_000, "out_of_range"),
        ("-1", "out_of_range"),
        (-1, "out_of_range"),
        ("-0.000001", "out_of_range"),
        (10**14, "out_of_range"),
        (10**5000, "out_of_range"),
        ("99999999999999.5", "out_of_range"),
        ("0.0000001", "too_precise"),
        (SECRET, "wrong_type"),
    ],
    Kind.CHOICE: [
        *((value, "unknown_word") for value in [*NOT_TEXT, "nonsense", "Pending", "\x00", "\ud800", SECRET]),
    ],
    Kind.FLAG: [
        *((value, "wrong_type") for value in
          [0, 1, -1, 1.0, math.nan, [], {}, [True], "maybe", "yes please", "１", "\ud800", "\x00", SECRET]),
    ],
    Kind.MOMENT: [
        *((value, "wrong_type") for value in NOT_TEXT),
        *((value, "wrong_type") for value in [
            "tomorrow", "120 s", "2030-02-30T00:00Z", "2030-13-01T00:00Z", "2030-01-01T24:01Z", "2030-01-01T00:00:60Z",
            "0000-01-01T00:00Z", "10000-01-01T00:00Z", "-2030-01-01T00:00Z", "2030-01-01T00:00+24:00",
            "２０３０-01-01T00:00Z", "2030-01-01\ud80000:00Z", "2030-01-01\x0000:00Z", "1e5", "1893456000", "Z" * 41,
            SECRET,
        ]),
        ("2030-05-31T18:00", "no_zone"),
        ("2030-05-31", "no_zone"),
        (datetime(2030, 1, 1), "no_zone"),
        ("0001-01-01T00:00+23:59", "out_of_range"),
        ("9999-12-31T23:59:59-23:59", "out_of_range"),
        ("9999-01-01T00:00Z", "out_of_range"),
        ("9998-12-31T23:59-00:01", "out_of_range"),
        ("1970-01-01T00:00+00:01", "out_of_range"),
        ("1969-12-31T23:59Z", "out_of_range"),
    ],
}  # fmt: skip
DEEP = 1
for _ in range(33):
    DEEP = [DEEP]
# In a page these are the texts typed; the values among them are met in documents too.
BAD_JSON_TEXT: list[tuple[str, str]] = [
    ("{", "bad_json"),
    ("{'a': 1}", "bad_json"),
    ('{"a": 1} {}', "trailing_content"),
    ('{"a": 1, "a": 2}', "duplicate_key"),
    ('{"a": NaN}', "not_finite"),
    ('{"a": -Infinity}', "not_finite"),
    ('{"a": 9007199254740993}', "number_out_of_range"),
    ('{"a": 1e400}', "number_out_of_range"),
    ('{"a": "\\u0000"}', "control_character"),
    ('{"a": "\\ud800"}', "bad_unicode"),
    ('{"a": "\ud800"}', "bad_unicode"),
    ("[" * 33 + "]" * 33, "too_deep"),
    ("[" * 100_000, "too_deep"),
    ("[" + "1," * 10_000 + "1]", "too_many_items"),
    ('"' + "a" * 64 * 1024 + '"', "too_large"),
    ('{"password": "' + "hunter2hunter2" + '"}', "credential"),
    ('{"a": ["' + SECRET + '"]}', "credential"),
    ('{"' + SECRET + '": 1}', "credential"),
    ('{"a": "first\\npassword: correcthorse\\nlast"}', "credential"),
]
BAD[Kind.JSON] = [
    (math.nan, "not_finite"),
    ({"a": -math.inf}, "not_finite"),
    (2**53, "number_out_of_range"),
    ({"a": 10**400}, "number_out_of_range"),
    ({"a": 1e20}, "number_out_of_range"),
    ({"a": 1e300}, "number_out_of_range"),
    ({"a\ud800": 1}, "bad_unicode"),
    ({"a": "\udfff"}, "bad_unicode"),
    ({"a": "b\x00"}, "control_character"),
    ({"a\x00": "b"}, "control_character"),
    ({"e\u0301": 1, "\u00e9": 2}, "duplicate_key"),
    ({1: 2}, "wrong_type"),
    ({"a": {1, 2}}, "wrong_type"),
    (DEEP, "too_deep"),
    ({"a": [1] * 10_001}, "too_many_items"),
    (["x" * 64 * 1024], "too_large"),
    ({"password": "hunter2" * 2}, "credential"),
    ({"deep": [{"note": SECRET}]}, "credential"),
    ({SECRET: 1}, "credential"),
    ({"note": "first\npassword: correcthorse\nlast"}, "credential"),
]
GOOD = {
    Kind.ID: "P-01",
    Kind.LINE: "One line 一行",
    Kind.TEXT: "Two\nlines",
    Kind.LOCATION: "archive://box/1",
    Kind.SHA256: SUM,
    Kind.WHOLE: 30,
    Kind.WHOLES: [1, 2],
    Kind.AMOUNT: "1.5",
    Kind.FLAG: True,
    Kind.MOMENT: NOON,
    Kind.JSON: {"a": 1},
}


def good(field):
    """Return a raw value that `field` takes."""
    if field.words is not None:
        return next(iter(field.words)).value
    if field.kind in (Kind.ID, Kind.LINE):
        return GOOD[field.kind][: field.max_chars]
    return GOOD[field.kind]


def whole_document():
    """Return a document in which every list has rows, every reference is used, and nothing is wrong."""
    parameters = {"title": "展签", "page": 7}
    spare = {"title": "Second", "page": 8}
    keys = [operation_key("label", "publish", 1, "cms.publish", value) for value in (parameters, spare)]

    def item(number, state, **more):
        return {
            "item_id": f"item-{number}", "operation_key": keys[0], "tool": "cms.publish", "parameters": parameters,
            "fingerprint": fingerprint(parameters), "draft": "draft", "draft_version": "2", "target": "cms:label",
            "requester": "worker-1", "author": "worker-1", "policy_number": 1, "expires_at": NOON,
            "task_deadline": "2031-01-01T00:00:00Z", "reason": "Ready.", "asked_at": "2030-05-30T12:00:00Z",
            "state": state, **more,
        }  # fmt: skip

    decided = {"decided_by": "curator", "decided_at": "2030-05-31T08:00:00Z", "decision_reason": "Good."}
    return copy.deepcopy({
        "format": "resume-state-contract",
        "schema_version": 1,
        "task_id": "label",
        "team": "labels",
        "revision": 7,
        "revised_at": NOON,
        "complete_sections": ["limits", "identity"],
        "identity": {"title": "展签 label", "deadline": "2031-01-01T00:00:00Z", "readable_schema_versions": [1, 2],
                     "purpose": "Labels.", "accountable_owner": "Bo", "workflow_name": "labels",
                     "workflow_version": "5", "state_schema_version": 2, "agent_version": "1.4"},
        "life": {"state": "paused", "generation": 3},
        "gate": {"named_person": "Bo"},
        "planes": [
            {"plane": plane, "authority": "postgres://ledger", "readers": "labels", "retention_days": 30}
            for plane in ("progress", "conversation", "checkpoint", "effects", "approval")
        ],
        "attempts": [
            {"number": 1, "attempt_id": "A1", "generation": 1, "worker": "w", "started_at": "2030-01-01T00:00:00Z",
             "ended_at": "2030-01-02T00:00:00Z", "end_reason": "released"},
            {"number": 2, "attempt_id": "A2", "generation": 3, "worker": "w", "started_at": "2030-01-03T00:00:00Z",
             "by_hand": False, "ended_at": "2030-01-04T00:00:00Z", "end_reason": "lease_lapsed"},
        ],
        "checkpoints": [
            {"sequence": 1, "checkpoint_id": "C1", "attempt": 1, "durability": "sync", "next_step": "draft",
             "schema_version": 1, "inline_state": {"position": 4}, "committed_at": NOON},
            {"sequence": 2, "checkpoint_id": "C2", "attempt": 2, "durability": "async", "next_step": "publish",
             "schema_version": 1, "location": "s3://states/2", "sha256": SUM, "size_bytes": 0, "committed_at": NOON},
        ],
        "journal": [
            {"sequence": 1, "kind": "model_turn", "key": "turn-1", "attempt": 1, "state": "done", "result": [1, "a"],
             "usage": {"tokens": "12"}},
            {"sequence": 2, "kind": "tool_call", "key": "call-1", "attempt": 2, "result_location": "s3://results/2",
             "result_sha256": SUM},
        ],
        "sources": [
            {"source_id": "P1", "version_label": "1", "sha256": SUM, "location": "archive://p1", "current": False},
            {"source_id": "P1", "version_label": "1", "sha256": "a" * 64, "location": "archive://p1"},
        ],
        "artefacts": [
            {"artefact_id": "draft", "version_label": "1", "sha256": SUM, "location": "s3://drafts/1",
             "current": False, "source": "P1", "source_version": "1", "source_sha256": SUM},
            {"artefact_id": "draft", "version_label": "2", "inline_text": "展签\n第二版", "source": "P1",
             "accepted_by": "curator", "accepted_at": NOON},
        ],
        "objects": [
            {"object_id": "O1", "source": "P1", "source_version": "1", "artefact": "draft", "artefact_version": "2",
             "state": "confirmed", "attempt": 1, "settled_by": "curator", "settled_at": NOON},
            {"object_id": "O2", "state": "skipped", "note": "Lost.", "settled_by": "curator", "settled_at": NOON},
            {"object_id": "O3"},
        ],
        "tools": [{"tool": "cms.publish", "effect": "non_idempotent_write", "key_supported": True,
                   "key_memory_hours": 24}],
        "operations": [
            {"key": keys[0], "object": "O1", "tool": "cms.publish", "step": "publish", "parameters": parameters,
             "fingerprint": fingerprint(parameters), "target": "cms:label", "expected": "One page.",
             "state": "unknown", "generation": 3, "tries": 1, "intended_at": NOON, "sent_at": NOON},
            {"object": "O3", "tool": "cms.publish", "step": "publish", "parameters": spare, "target": "cms:label",
             "expected": "One page.", "intended_at": NOON},
        ],
        "policies": [{"number": 1}, {"number": 2, "quorum": 2}],
        "approvals": [
            item(1, "pending"),
            item(2, "approved", **decided, consumed_at=NOON, consumed_generation=3),
            item(3, "rejected", **decided),
            item(4, "stale", stale_member="draft_version", stale_was="1", stale_now="2"),
            item(5, "expired"),
            item(6, "withdrawn"),
        ],
        "votes": [{"item": "item-2", "decider": "curator", "decision": "approved", "at": NOON}],
        "limits": [
            {"measure": "tokens", "cap": "100000"},
            {"measure": "cost", "cap": "12.5", "currency": "EUR"},
            {"measure": "failed_recoveries_per_step", "cap": "3"},
        ],
        "usage": [{"entry_id": "u1", "measure": "tokens", "amount": "12", "attempt": 1, "used_at": NOON,
                   "evidence": "s3://bills/1"}],
        "windows": [
            {"window": "two_resumes", "setting": "Test", "counted": 0, "repeated": False, "verdict": "held",
             "run_at": NOON, "run_by": "operator", "evidence": "s3://drills/1"},
            *({"window": window, "setting": "Test"} for window in (
                "before_commit", "after_commit", "receipt_lost", "frozen_owner", "changed_while_paused",
            )),
            {"window": "power cut", "setting": "Test", "provoked": "Pull the plug.", "expected": "Nothing is lost."},
        ],
    })  # fmt: skip

from decimal import Decimal

import pytest

from contracts.rules.fingerprint import canonical, digest_bytes
from contracts.rules.limiting import Cap, limits_left
from contracts.rules.states import StepState
from contracts.rules.step_reading import read_step
from contracts.rules.stepping import (
    STEP_MAX_ROWS,
    Entry,
    Ground,
    Made,
    ObjectStep,
    Point,
    Step,
    Version,
    may_commit,
    not_held,
    sealed,
    sealed_text,
)
from contracts.rules.vocabulary import CheckpointKind, Durability, Measure, StepKind

POINT = {"checkpoint_id": "C-1", "next_step": "draft", "schema_version": 2, "durability": "sync"}
INLINE = {**POINT, "inline_state": {"photo": 3}}
LABEL = {"artefact_id": "L-1", "version_label": "1", "inline_text": "Fired clay.", "source": "P-1"}


def step(**parts):
    return Step(**{"point": Point("C-1", "draft", 2), **parts})


def left(measure, total, cap=100):
    return limits_left([Cap(measure, Decimal(cap))], {measure.value: Decimal(total)}, step="", step_totals={})


@pytest.mark.parametrize(
    ("parts", "ground", "code"),
    [
        ({}, {}, ""),
        ({}, {"newest": 7}, ""),
        ({"point": Point("C-1", "draft", 2, sequence=8)}, {"newest": 7}, ""),
        ({"point": Point("C-1", "draft", 2, sequence=7)}, {"newest": 7}, "sequence_not_next"),
        ({}, {"same": True, "newest": 3}, "exists"),
        ({"point": Point("C-1", "draft", 2, sequence=1)}, {"same": False}, "checkpoint_id_once"),
        ({}, {"entry": StepState.STARTED}, ""),
        ({}, {"entry": StepState.DONE}, "step_done"),
        ({"objects": (ObjectStep("O-1"),)}, {"held": frozenset({"O-1", "O-2"})}, ""),
        (
            {"objects": (ObjectStep("O-1"), ObjectStep("O-2"))},
            {"held": frozenset({"O-1"})},
            "object_not_held",
        ),
        ({}, {"unknown": ("P-9",)}, "unknown_reference"),
        ({}, {"taken": ("L-1",)}, "artefact_version_once"),
        ({"usage": {Measure.TOKENS: Decimal(40)}}, {"left": left(Measure.TOKENS, 60)}, ""),
        (
            {"usage": {Measure.TOKENS: Decimal("40.000001")}},
            {"left": left(Measure.TOKENS, 60)},
            "cap_reached",
        ),
        ({"usage": {Measure.TOKENS: Decimal(1)}}, {"left": left(Measure.COST, 100)}, ""),
        ({}, {"left": left(Measure.TOKENS, 130)}, ""),
        ({}, {"left": left(Measure.ACTIVE_SECONDS, 100)}, ""),
        ({}, {"left": left(Measure.ACTIVE_SECONDS, 101)}, "cap_reached"),
    ],
)
def test_a_step_is_committed_or_the_first_fault_is_named(parts, ground, code):
    assert may_commit(step(**parts), Ground(**ground)) == code


def test_time_without_a_cap_is_only_counted():
    uncapped = limits_left([], {"active_seconds": Decimal(10**6)}, step="", step_totals={})
    assert may_commit(step(), Ground(left=uncapped)) == ""


def test_what_is_not_held_is_named():
    objects = (ObjectStep("O-1"), ObjectStep("O-2"), ObjectStep("O-3"))
    assert not_held(step(objects=objects), Ground(held=frozenset({"O-2"}))) == ("O-1", "O-3")


def test_checksum_and_size_of_what_is_inline_are_computed():
    content = canonical({"b": 1, "a": "é"})
    point = sealed(Point("C-1", "draft", 2, inline_state={"b": 1, "a": "é"}, sha256="f" * 64, size_bytes=1))
    assert (point.sha256, point.size_bytes) == (digest_bytes(content), len(content))
    made = sealed_text(Made("L-1", "1", inline_text="one\r\ntwo"))
    assert (made.sha256, made.size_bytes) == (digest_bytes(b"one\ntwo"), 7)
    located = Point("C-1", "draft", 2, location="s3://x", sha256="a" * 64, size_bytes=9)
    assert sealed(located) is located
    assert sealed_text(elsewhere := Made("L-1", "1", sha256="a" * 64, location="s3://x")) is elsewhere


def test_a_whole_step_is_read():
    raw = {
        "checkpoint": {**INLINE, "sequence": 4, "kind": "summary", "event_cursor": "e-1", "write_ms": 3},
        "step": {"key": "draft-1", "kind": "model_turn", "result": {"text": "Clay"}},
        "objects": [
            {"object_id": "O-1", "accept": True, "artefact": "L-1", "artefact_version": "1", "note": "Good."},
            {"object_id": "O-2", "step": "draft", "evidence": "logs://2"},
        ],
        "artefacts": [LABEL],
        "usage": {"tokens": "12.5", "model_turns": 1, "cost": "0"},
    }
    read, problems = read_step(raw)
    assert problems == ()
    assert read is not None
    point = read.point
    assert (point.sequence, point.kind, point.durability) == (4, CheckpointKind.SUMMARY, Durability.SYNC)
    assert point.size_bytes == len(canonical({"photo": 3}))
    assert read.entry == Entry("draft-1", StepKind.MODEL_TURN, {"text": "Clay"})
    assert read.objects == (
        ObjectStep("O-1", accept=True, artefact=Version("L-1", "1"), note="Good."),
        ObjectStep("O-2", step="draft", evidence="logs://2"),
    )
    assert read.artefacts[0].version == Version("L-1", "1", digest_bytes(b"Fired clay."))
    assert read.usage == {Measure.TOKENS: Decimal("12.5"), Measure.MODEL_TURNS: Decimal(1)}


def test_the_least_a_step_holds_is_a_checkpoint():
    read, _ = read_step({"checkpoint": INLINE})
    assert read is not None
    assert (read.entry, read.objects, read.artefacts, read.usage) == (None, (), (), {})
    located = {**POINT, "location": "s3://x", "sha256": "a" * 64, "size_bytes": 9}
    read, _ = read_step({"checkpoint": located})
    assert read is not None
    assert (read.point.sequence, read.point.size_bytes) == (None, 9)


@pytest.mark.parametrize(
    ("raw", "field", "code"),
    [
        ({"checkpoint": None}, "checkpoint", "wrong_type"),
        ({"checkpoint": []}, "checkpoint", "wrong_type"),
        ({"state": 1}, "state", "unknown_field"),
        ({"checkpoint": {**INLINE, "attempt": 1}}, "checkpoint/attempt", "unknown_field"),
        ({"checkpoint": {**INLINE, "next_step": None}}, "checkpoint/next_step", "wrong_type"),
        ({"checkpoint": {**INLINE, "schema_version": "2"}}, "checkpoint/schema_version", "wrong_type"),
        ({"checkpoint": {**INLINE, "durability": "maybe"}}, "checkpoint/durability", "unknown_word"),
        ({"checkpoint": POINT}, "checkpoint/location", "location_or_inline"),
        ({"checkpoint": {**POINT, "location": "s3://x"}}, "checkpoint/sha256", "missing"),
        ({"checkpoint": {**POINT, "inline_state": "x" * 70_000}}, "checkpoint/inline_state", "too_large"),
        (
            {"checkpoint": {**POINT, "inline_state": {"password": "hunter22"}}},
            "checkpoint/inline_state",
            "credential",
        ),
        ({"checkpoint": {**INLINE, "event_cursor": "a\nb"}}, "checkpoint/event_cursor", "control_character"),
        ({"step": None}, "step", "wrong_type"),
        ({"step": {"kind": "decision"}}, "step/key", "missing"),
        ({"step": {"kind": "decision", "key": "k", "result": "x" * 17_000}}, "step/result", "too_large"),
        ({"step": {"kind": "decision", "key": "k", "state": "done"}}, "step/state", "unknown_field"),
        ({"objects": {}}, "objects", "wrong_type"),
        ({"objects": [{}] * (STEP_MAX_ROWS + 1)}, "objects", "too_many"),
        ({"objects": [{"object_id": "a", "accept": "yes"}]}, "objects/0/accept", "wrong_type"),
        ({"objects": [{"object_id": "a"}, {"object_id": "a"}]}, "objects/1/object_id", "duplicate"),
        ({"objects": [{"object_id": "a", "artefact_version": "1"}]}, "objects/0/artefact", "missing"),
        ({"artefacts": [{**LABEL, "author": "x"}]}, "artefacts/0/author", "unknown_field"),
        ({"artefacts": [{**LABEL, "inline_text": ""}]}, "artefacts/0/location", "location_or_inline"),
        ({"usage": []}, "usage", "wrong_type"),
        ({"usage": {"tokens": "-1"}}, "usage/tokens", "out_of_range"),
        ({"usage": {"tokens": 1.5}}, "usage/tokens", "wrong_type"),
        ({"usage": {"active_seconds": "1"}}, "usage/active_seconds", "unknown_field"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(raw, field, code):
    read, problems = read_step({"checkpoint": INLINE, **raw})
    assert read is None
    assert (field, code) in [(problem.field, problem.code) for problem in problems]
    for problem in problems:
        assert problem.sentence % problem.values

"""The six windows of every grid, the closed lists of words, and the verdicts gates answer with."""

import inspect
import re

import pytest

from contracts.rules import states, vocabulary, windows
from contracts.rules.verdict import Problem, Verdict, allow, refuse
from contracts.rules.vocabulary import (
    LOSS_WINDOWS,
    PLANE_QUESTIONS,
    ROLE_RIGHTS,
    Actor,
    ActorKind,
    Durability,
    Plane,
    Right,
    Role,
    Section,
)
from contracts.rules.windows import WINDOW_TEXTS, Seam, Window
from contracts.rules.words import N_, Labelled

ENUMERATIONS = [
    member
    for module in (states, vocabulary, windows)
    for _, member in inspect.getmembers(module, inspect.isclass)
    if issubclass(member, Labelled) and member is not Labelled and member.__module__ == module.__name__
]


def test_the_six_windows_stand_in_their_order_with_how_and_what():
    assert [window.value for window in Window] == [
        "before_commit", "after_commit", "receipt_lost", "two_resumes", "frozen_owner", "changed_while_paused",
    ]  # fmt: skip
    assert set(WINDOW_TEXTS) == set(Window)
    for text in WINDOW_TEXTS.values():
        assert text.provoked.endswith(".")
        assert text.expected.endswith(".")


def test_a_program_can_be_stopped_at_every_beat_of_a_gate():
    assert [seam.value for seam in Seam] == ["begun", "locked", "allowed", "written", "recorded", "committed"]


def test_the_five_planes_and_nine_sections_are_those_of_the_specification():
    assert [plane.value for plane in Plane] == [
        "conversation",
        "checkpoint",
        "progress",
        "effects",
        "approval",
    ]
    assert set(PLANE_QUESTIONS) == set(Plane)
    assert len(Section) == 9
    assert set(LOSS_WINDOWS) == set(Durability)


@pytest.mark.parametrize("words", ENUMERATIONS, ids=lambda words: words.__name__)
def test_every_word_has_a_stable_value_and_a_label_without_placeholders(words):
    for word in words:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", word.value)
        assert word.label
        assert "%" not in word.label
        assert words(word.value) is word
        assert str(word) == word.value == word
    with pytest.raises(ValueError, match="nothing"):
        words("nothing")


def test_deciding_is_the_curators_right_alone():
    holders = {right: {role for role, rights in ROLE_RIGHTS.items() if right in rights} for right in Right}
    assert holders[Right.VIEW] == set(Role)
    assert holders[Right.DECIDE] == {Role.CURATOR}
    assert holders[Right.FILL] == {Role.REVIEWER}
    assert holders[Right.OPERATE] == {Role.OPERATOR}
    assert holders[Right.EXPORT] == {Role.EXPORTER}
    assert holders[Right.SHARE] == set()


def test_a_verdict_says_yes_or_no_with_a_code():
    assert allow(5) == Verdict(True, "done", "", outcome=5)
    problem = Problem("title", "missing", "Needed.")
    verdict = refuse("bad_values", "%(count)d faults.", problems=(problem,), outcome=[], count=1)
    assert (verdict.allowed, verdict.code, verdict.problems, verdict.outcome) == (
        False,
        "bad_values",
        (problem,),
        [],
    )
    assert verdict.sentence % verdict.values == "1 faults."


def test_an_actor_is_a_person_unless_told_otherwise():
    assert Actor("rita").kind is ActorKind.PERSON
    assert N_("unchanged") == "unchanged"

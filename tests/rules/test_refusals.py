"""Every code a gate may answer has its one sentence, and every constraint people can meet has a code."""

import ast
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

from contracts.rules.coherence import NEVER, ONE_AT_MOST
from contracts.rules.refusals import FIELDS, SENTENCES, refusal
from contracts.rules.verdict import Problem

ROOM = Path(__file__).resolve().parents[2] / "contracts"


def used_codes():
    for path in sorted(ROOM.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refusal" and node.args:
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield path.name, part.value


def test_every_code_a_gate_answers_has_a_sentence():
    used = set(used_codes())
    assert len(used) > 10
    assert {code for _, code in used} - set(SENTENCES) == set()


def test_every_sentence_is_one_and_ends():
    for code, sentence in SENTENCES.items():
        assert re.fullmatch(r"[a-z][a-z_]*", code)
        assert sentence.endswith(".")
        assert len(sentence) < 160


# What these say is the deed itself.
DEEDS = {
    "announcement_incomplete",
    "key_missing",
    "unknown_decision",
    "task_id_is_well_formed",
    "item_id_is_well_formed",
}


@pytest.mark.parametrize("code", sorted(set(SENTENCES) - DEEDS))
def test_a_refusal_says_what_is_so_and_then_what_to_do(code):
    assert re.search(r"[.;:] |, then ", SENTENCES[code])


@pytest.mark.parametrize("code", SENTENCES)
def test_a_refusal_carries_its_code_its_sentence_and_its_place(code):
    values = dict.fromkeys(re.findall(r"%\((\w+)\)", SENTENCES[code]), 1)
    verdict = refusal(code, outcome="what stands", **values)
    assert not verdict.allowed
    assert (verdict.code, verdict.outcome) == (code, "what stands")
    assert "%" not in verdict.sentence % verdict.values
    assert [problem.field for problem in verdict.problems] == ([FIELDS[code]] if code in FIELDS else [])


def test_problems_that_are_given_stand_instead_of_the_usual_place():
    problem = Problem("title", "missing", "Needed.")
    assert refusal("task_id_taken", problems=(problem,)).problems == (problem,)


def test_an_unknown_code_is_a_fault_of_the_program():
    with pytest.raises(KeyError):
        refusal("nonsense")


def test_places_belong_to_codes():
    assert set(FIELDS) <= set(SENTENCES)
    assert {code for *_, code in (*ONE_AT_MOST, *NEVER)} <= set(SENTENCES)


def test_every_uniqueness_among_what_people_name_has_a_sentence():
    rows = apps.get_app_config("contracts").get_models()
    unique = {
        constraint.name
        for model in rows
        for constraint in model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint)
    }
    # Rows that are made with the contract, by the workbench itself, and never by a person or a worker.
    fixed = {
        "one_row_per_plane", "one_limit_per_measure", "one_mark_per_section", "one_owner_gate",
        "policy_version_once", "event_sequence_once", "one_vote_per_curator", "one_group_per_team_role",
        "one_presence_per_place", "one_muting_per_kind", "one_answer_per_key", "token_reaches_contract_once",
    }  # fmt: skip
    assert unique - fixed - set(SENTENCES) == set()
    assert fixed <= unique

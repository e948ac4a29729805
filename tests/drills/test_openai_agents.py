"""The OpenAI Agents SDK, with workers that are really killed: a RunState in a file, and calls that are approved."""

import pytest

from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict
from tests.drills.cells import counted, declared_without, needs

pytestmark = pytest.mark.django_db
OBJECTS = 8


def test_it_is_declared_without_the_framework_and_without_django():
    assert declared_without("openai_agents", "agents", "openai") == ["openai-agents"]


@needs("openai-agents")
def test_a_state_that_was_stored_is_gone_on_from(tmp_path):
    found, verdict = counted("openai-agents", Window.AFTER_COMMIT, tmp_path)
    assert (found.in_target, found.repeated_steps, verdict) == (OBJECTS, 0, WindowVerdict.HELD)


@needs("openai-agents")
def test_a_lost_receipt_makes_a_second_page_unless_the_target_knows_the_call(tmp_path):
    found, _ = counted("openai-agents", Window.RECEIPT_LOST, tmp_path / "plain")
    assert (found.in_target, found.duplicated, found.unknown_held) == (OBJECTS + 1, 1, 0)
    found, verdict = counted("openai-agents", Window.RECEIPT_LOST, tmp_path / "knows", Target.DEDUPLICATES)
    assert (found.in_target, found.attempted, verdict) == (OBJECTS, OBJECTS + 1, WindowVerdict.HELD)


@needs("openai-agents")
def test_two_resumes_both_do_all_the_rest(tmp_path):
    found, _ = counted("openai-agents", Window.TWO_RESUMES, tmp_path)
    assert found.duplicated > 1


@needs("openai-agents")
def test_a_yes_for_what_was_shown_publishes_it_although_its_source_was_replaced(tmp_path):
    found, _ = counted("openai-agents", Window.CHANGED_WHILE_PAUSED, tmp_path)
    assert (found.unexpected, found.duplicated) == (1, 0)

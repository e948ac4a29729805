"""LangGraph, with workers that are really killed and frozen: what its savers keep, and what no saver can know."""

import pytest

from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict
from tests.drills.cells import counted, declared_without, needing, needs

pytestmark = pytest.mark.django_db
NAMES = ["langgraph-memory", "langgraph-sqlite", "langgraph-sync", "langgraph-async", "langgraph-exit"]
OBJECTS = 8


def test_it_is_declared_without_the_framework_and_without_django():
    assert declared_without("langgraph", "langgraph") == NAMES


@pytest.mark.parametrize("name", needing("langgraph-sync", "langgraph-sqlite"))
def test_a_checkpoint_that_was_committed_is_gone_on_from(name, tmp_path):
    found, verdict = counted(name, Window.AFTER_COMMIT, tmp_path)
    assert (found.in_target, found.repeated_steps, verdict) == (OBJECTS, 0, WindowVerdict.HELD)


@pytest.mark.parametrize("name", needing("langgraph-memory", "langgraph-exit"))
def test_what_no_checkpoint_holds_is_done_again_from_the_beginning(name, tmp_path):
    found, verdict = counted(name, Window.BEFORE_COMMIT, tmp_path)
    assert (found.duplicated, found.repeated_steps, found.lost) == (3, 3, 0)
    assert verdict is WindowVerdict.FAILED


@needs("langgraph-sync")
def test_a_lost_receipt_makes_a_second_page(tmp_path):
    found, _ = counted("langgraph-sync", Window.RECEIPT_LOST, tmp_path)
    assert (found.in_target, found.duplicated, found.unknown_held) == (OBJECTS + 1, 1, 0)


@needs("langgraph-sync")
def test_two_resumes_both_do_all_the_rest(tmp_path):
    found, _ = counted("langgraph-sync", Window.TWO_RESUMES, tmp_path)
    assert found.duplicated > 1


@needs("langgraph-sync")
def test_a_frozen_owner_is_stopped_by_nothing_but_the_target(tmp_path):
    late, _ = counted("langgraph-sync", Window.FROZEN_OWNER, tmp_path / "plain")
    assert late.duplicated > 0
    kept_out, _ = counted(
        "langgraph-sync", Window.FROZEN_OWNER, tmp_path / "fenced", Target.CHECKS_GENERATION
    )
    assert (kept_out.duplicated, kept_out.stale_refused) == (0, 1)


@needs("langgraph-sync")
def test_a_yes_for_what_was_shown_publishes_it_although_its_source_was_replaced(tmp_path):
    found, _ = counted("langgraph-sync", Window.CHANGED_WHILE_PAUSED, tmp_path)
    assert (found.unexpected, found.duplicated) == (1, 0)

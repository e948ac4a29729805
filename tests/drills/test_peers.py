"""DBOS, Temporal and Restate, with workers that are really killed and frozen: what each survives and what it does not.

Skipped where a peer's parts are missing; `uv run --group peers pytest tests/drills` has them all.
"""

import sys

import pytest

from contracts.drills.adapters import find_adapter
from contracts.drills.servers import npm_program, program_version
from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict
from tests.drills.cells import declared_without, needs

pytestmark = pytest.mark.django_db
FRAMEWORKS = {"dbos": "dbos", "temporal": "temporalio", "restate": "restate"}
OBJECTS = 8


def peer(name):
    return pytest.param(find_adapter(name), id=name, marks=needs(name))


every_peer = pytest.mark.parametrize("adapter", [peer(name) for name in FRAMEWORKS])


@pytest.mark.parametrize(("name", "framework"), FRAMEWORKS.items())
def test_it_is_declared_without_the_framework_and_without_django(name, framework):
    assert declared_without(name, framework) == [name]


@every_peer
def test_a_stored_draft_is_not_drafted_again(drill, adapter):
    cell = drill.run(adapter, Window.AFTER_COMMIT, Target.PLAIN)
    assert (cell.verdict, cell.counters.in_target) == (WindowVerdict.HELD, OBJECTS), drill.lines
    assert (cell.counters.repeated_steps, cell.counters.attempted) == (0, OBJECTS)


@every_peer
@pytest.mark.parametrize(("target", "too_many"), [(Target.PLAIN, 1), (Target.DEDUPLICATES, 0)])
def test_a_lost_receipt_is_sent_again_and_nobody_asks(drill, adapter, target, too_many):
    cell = drill.run(adapter, Window.RECEIPT_LOST, target)
    assert (cell.counters.attempted, cell.counters.duplicated) == (OBJECTS + 1, too_many), drill.lines
    assert (cell.counters.recovered, cell.counters.unknown_held) == (0, 0)


# On a plain target it is no double for certain: Temporal's library may interrupt the woken worker before it writes.
@every_peer
def test_a_frozen_owner_that_wakes_up_is_kept_out_by_the_generation(drill, adapter):
    cell = drill.run(adapter, Window.FROZEN_OWNER, Target.CHECKS_GENERATION)
    assert (cell.verdict, cell.counters.in_target) == (WindowVerdict.HELD, OBJECTS), drill.lines


@every_peer
def test_what_was_approved_is_published_although_its_source_was_replaced(drill, adapter):
    cell = drill.run(adapter, Window.CHANGED_WHILE_PAUSED, Target.PLAIN)
    assert (cell.verdict, cell.counters.unexpected) == (WindowVerdict.FAILED, 1), drill.lines


@every_peer
def test_a_result_names_the_versions_it_depends_on(adapter):
    assert set(adapter.versions()) >= {"python", *adapter.packages}


def test_a_program_of_npm_is_found_by_name_then_on_the_path_then_by_npx(monkeypatch):
    monkeypatch.setenv("DRILLED_SERVER", "/opt/drilled")
    assert npm_program("drilled", "@drilled/server@1", "DRILLED_SERVER") == ("/opt/drilled",)
    monkeypatch.delenv("DRILLED_SERVER")
    places = {"npx": "/usr/bin/npx"}
    monkeypatch.setattr("shutil.which", places.get)
    assert npm_program("drilled", "@drilled/server@1", "DRILLED_SERVER")[:2] == ("/usr/bin/npx", "--yes")
    places["drilled"] = "/usr/bin/drilled"
    assert npm_program("drilled", "@drilled/server@1", "DRILLED_SERVER") == ("/usr/bin/drilled",)
    places.clear()
    assert npm_program("drilled", "@drilled/server@1", "DRILLED_SERVER") == ()


def test_a_version_is_the_last_word_of_what_a_program_says():
    assert program_version((sys.executable,)) == sys.version.split()[0]

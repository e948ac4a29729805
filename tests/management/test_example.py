import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from contracts.gates.objects import change_objects
from contracts.gates.people import create_team
from contracts.models import Approval, Contract, WorkObject
from contracts.rules.states import Act
from contracts.rules.vocabulary import Role
from tests import people
from tests.builders import done
from tests.serving import _environment, served
from tests.storms.working import approve

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


class Command:
    """`manage.py example` as a person runs it; `lines` grows while it tells."""

    def __init__(self, url, folder, task="museum-label"):
        self.lines = []
        words = [sys.executable, "manage.py", "example", task, "--url", url]
        self.process = subprocess.Popen(
            words,
            cwd=ROOT,
            env=_environment(folder, 1) | {"MODEL_SECONDS": "2"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line.rstrip())

    def until(self, words):
        end = time.monotonic() + 120
        while not (found := [line for line in self.lines if words in line]):
            assert time.monotonic() < end, self.lines[-5:]
            assert self.process.poll() is None, self.lines[-5:]
            time.sleep(0.05)
        return found[0]


@pytest.fixture
def team():
    team = create_team(slug="collection", name="Collection")
    people.person("reviewer", team, Role.REVIEWER)
    return team


@pytest.fixture(scope="module")
def url(tmp_path_factory, django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), served(tmp_path_factory.mktemp("served"), workers=1) as url:
        yield url


def accept_drafts(contract, team):
    rows = WorkObject.objects.filter(contract=contract, state="in_progress", artefact__isnull=False)
    names = list(rows.values_list("object_id", flat=True))
    actor = people.acting(people.reviewer(team))
    done(change_objects(contract_id=contract.pk, actor=actor, act=Act.ACCEPT, object_ids=names))
    return len(names)


def test_the_photographs_are_told_through_a_power_cut_and_a_night(url, team, tmp_path):
    command = Command(url, tmp_path, "archive-photographs")
    command.until("choose P-")
    contract = Contract.objects.get(task_id="example-archive-photographs-1")
    assert accept_drafts(contract, team) == 2
    command.until("it alone is to be rechecked")
    command.until("drafts that wait for a cataloguer to accept them: 4")
    assert accept_drafts(contract, team) == 4
    assert command.process.wait(120) == 0, command.lines
    command.listener.join(30)
    told = "\n".join(command.lines)
    assert "The worker died (SIGKILL)" in told
    assert "accepted: 1, to do: 3, to recheck: 1" in told
    assert "Calls of the model: 7" in told


def test_without_a_workbench_the_command_says_so(team, tmp_path):
    command = Command("http://127.0.0.1:9", tmp_path)
    assert command.process.wait(120) == 1
    command.listener.join(30)
    assert "No workbench answers at http://127.0.0.1:9" in "\n".join(command.lines)


def test_the_label_is_told_line_by_line_and_goes_on_after_it_was_killed(url, team, tmp_path):
    command = Command(url, tmp_path)
    command.until("Decide as")
    os.kill(command.process.pid, signal.SIGKILL)
    command.process.wait(30)
    contract = Contract.objects.get(task_id="example-museum-label-1")
    approve(contract)
    command = Command(url, tmp_path)
    command.until("does not cover this one")
    command.until("Decide as")
    approve(contract)
    assert command.process.wait(120) == 0, command.lines
    command.listener.join(30)
    told = "\n".join(command.lines)
    assert "Once more, as if somebody had clicked again" in told
    assert "Pages in the content system: 1 (page-1)" in told
    assert "Calls of the model: 1" in told
    assert sorted(Approval.objects.values_list("state", flat=True)) == ["approved", "stale"]

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from django.core.management import call_command
from django.db import connection

from contracts.gates.objects import add_lines
from contracts.models import Contract, Event, ReservedTaskId, WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.windows import Seam
from tests import builders, documents, people

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
BEFORE_COMMIT = [seam.value for seam in Seam if seam is not Seam.COMMITTED]
SEAMS = pytest.mark.parametrize("seam", BEFORE_COMMIT)
TASK = "task-under-fire"
MANY = 10_000


def killed_at(seam, gate, shape, *command):
    """Run `command` in a process that dies at `seam` of `gate`, and make sure that it died there."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + quote(connection.settings_dict["NAME"]))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.storms.killed", seam, gate, shape, *command],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url.geturl()},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr


@pytest.fixture
def file(tmp_path):
    """A document with many objects, for a team that has a reviewer."""
    team = builders.a_team()
    people.owner(team)
    objects = [{"object_id": f"O-{number}"} for number in range(300)]
    path = tmp_path / "contract.json"
    path.write_text(
        json.dumps({**documents.full_document(TASK, team), "objects": objects, **_no_operations()})
    )
    return path


def _no_operations():
    return {"operations": [], "approvals": [], "votes": []}


def stored():
    """Return what is stored of the task: contracts, reserved ids, rows of objects, events."""
    return (
        Contract.objects.filter(task_id=TASK).count(),
        ReservedTaskId.objects.filter(task_id=TASK).count(),
        WorkObject.objects.filter(contract__task_id=TASK).count(),
        Event.objects.filter(contract__task_id=TASK).count(),
    )


@SEAMS
def test_an_import_killed_before_its_commit_leaves_nothing_and_succeeds_again(file, seam):
    killed_at(seam, "create", "whole", "import", str(file))
    assert stored() == (0, 0, 0, 0)
    call_command("import_contract", file)
    assert stored() == (1, 1, 300, 1)
    assert Event.objects.first_break(Contract.objects.get(task_id=TASK)) is None


def test_an_import_killed_after_its_commit_is_there_whole(file):
    killed_at(Seam.COMMITTED, "create", "whole", "import", str(file))
    assert stored() == (1, 1, 300, 1)
    call_command("import_contract", file)
    assert stored() == (1, 1, 300, 1)


def test_an_import_without_its_transaction_is_left_half_stored(file):
    """The control: the same kill finds what the transaction is for."""
    killed_at(Seam.WRITTEN, "create", "torn", "import", str(file))
    assert stored() == (1, 1, 300, 0)


@pytest.fixture
def lines(tmp_path):
    """A draft, and the ids of many objects that shall be pasted into it."""
    builders.a_draft(task_id=TASK)
    path = tmp_path / "ids"
    path.write_text("\n".join(f"O-{number}" for number in range(MANY)))
    return path


def paste_again(lines):
    contract = Contract.objects.get(task_id=TASK)
    rows = [{"object_id": name} for name in lines.read_text().split()]
    actor = people.acting(people.owner(contract.team))
    return builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=rows))


@SEAMS
def test_a_paste_killed_before_its_commit_leaves_nothing(lines, seam):
    killed_at(seam, "add_lines", "whole", "paste", TASK, str(lines))
    contract = Contract.objects.get(task_id=TASK)
    assert (stored(), contract.revision) == ((1, 1, 0, 1), 1)
    assert Event.objects.first_break(contract) is None


def test_a_killed_paste_succeeds_again(lines):
    killed_at(Seam.RECORDED, "add_lines", "whole", "paste", TASK, str(lines))
    assert paste_again(lines) == MANY
    assert stored() == (1, 1, MANY, 1 + MANY)


def test_a_paste_killed_after_its_commit_is_there_whole(lines):
    killed_at(Seam.COMMITTED, "add_lines", "whole", "paste", TASK, str(lines))
    contract = Contract.objects.get(task_id=TASK)
    assert (stored(), contract.revision) == ((1, 1, MANY, 1 + MANY), 2)
    assert Event.objects.first_break(contract) is None


def test_a_paste_without_its_transaction_is_left_half_stored(lines):
    """The control: rows without their events."""
    killed_at(Seam.WRITTEN, "add_lines", "torn", "paste", TASK, str(lines))
    assert stored() == (1, 1, MANY, 1)

"""The systemd units as the documents show them: sound to systemd, and their very commands start, serve and stop."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.operations.sites import ROOT, a_port, address_of_database, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENTS = ("DEPLOYING.md", "DEPLOYING.zh-hans.md")
SHOWN = re.compile(r"```ini\n(# /etc/systemd/system/([\w.-]+).*?)```", re.DOTALL)
PROGRAM = Path(sys.prefix)


def units(document):
    """Return name → text of each unit in a document, with this checkout in the place of the installed one."""
    text = (ROOT / "workbench" / document).read_text("utf-8")
    found = {name: unit for unit, name in SHOWN.findall(text)}
    assert sorted(found) == ["workbench-watch.service", "workbench-web.service"]
    return {
        name: unit.replace("/opt/workbench/.venv", str(PROGRAM)).replace("/opt/workbench", str(ROOT))
        for name, unit in found.items()
    }


def said_of(folder, name, unit):
    """Return what systemd says of a unit."""
    place = folder / name
    place.write_text(unit)
    words = ["systemd-analyze", "verify", "--man=no", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}, timeout=60)
    return done.stderr


@pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="Install systemd (Debian: apt-get install systemd)."
)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_systemd_finds_nothing_wrong_with_a_unit(tmp_path, document):
    for name, unit in units(document).items():
        assert said_of(tmp_path, name, unit) == ""
        assert "Unknown key" in said_of(tmp_path, name, unit.replace("Restart=", "Restat="))  # the control


def test_both_languages_show_the_same_units():
    def without_comments(unit):
        return [line for line in unit.splitlines() if not line.startswith("#")]

    one, other = (units(document) for document in DOCUMENTS)
    assert {name: without_comments(unit) for name, unit in one.items()} == {
        name: without_comments(unit) for name, unit in other.items()
    }


def value(unit, key):
    (found,) = re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE)
    return found


@pytest.fixture
def started(tmp_path):
    """Start the command of a unit in its environment; whatever still runs is ended with the test."""
    running = []

    def start(unit, **changes):
        command = value(unit, "ExecStart")
        for before, after in changes.items():
            assert before in command
            command = command.replace(before, after)
        given = dict(
            word.split("=", 1)
            for word in re.findall(r"^Environment=(.*)$", unit, re.MULTILINE)
            for word in word.split()
        )
        environment = os.environ | {
            "DATABASE_URL": address_of_database(), "WORKBENCH_DATA": str(tmp_path), "WORKBENCH_POOL": "4", **given,
        }  # fmt: skip
        log = tmp_path / f"{len(running)}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                shlex.split(command),
                cwd=value(unit, "WorkingDirectory"),
                env=environment,
                stdout=output,
                stderr=output,
            )
        running.append(process)
        return process, log

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_the_commands_of_the_units_serve_and_stop_when_they_are_told(transactional_db, started):
    shown = units(DOCUMENTS[0])
    port = a_port()
    web, log = started(shown["workbench-web.service"], **{"--port 8000": f"--port {port}"})
    watch, watched = started(shown["workbench-watch.service"])
    wait_until(f"http://127.0.0.1:{port}/readyz", web, log)
    for process, name, told in (
        (web, "workbench-web.service", log),
        (watch, "workbench-watch.service", watched),
    ):
        time.sleep(2)  # long enough to have begun
        assert process.poll() is None, told.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(int(value(shown[name], "TimeoutStopSec"))) in (0, -signal.SIGTERM), (
            told.read_text()
        )

"""A user's own worker, which is no Python: what it survives, what it does not, and the other way to mark a point."""

import shutil
from pathlib import Path

import pytest

from contracts.drills.running import DrillRefused, own_command
from contracts.rules.drilling import Target
from contracts.rules.windows import Window, WindowVerdict

SCRIPT = Path(__file__).with_name("own_worker.sh")
# The same worker, which touches a file at a crash point instead of printing a line.
TOUCHING = """reach() {
    place=$DRILL_FOLDER/reached-$1-$2
    if [ "${DRILL_CRASH:-}" = "$1:$2" ]; then
        : >"$place"
        while [ -e "$place" ]; do sleep 0.05; done
    fi
}
"""


def worker(script=SCRIPT):
    return own_command(["sh", str(script)])


def test_the_example_needs_nothing_that_is_not_everywhere():
    assert all(shutil.which(program) for program in ("sh", "curl", "od", "cmp", "sed"))
    assert len(SCRIPT.read_text("utf-8").splitlines()) < 80


@pytest.mark.parametrize(
    ("window", "target"),
    [
        (Window.BEFORE_COMMIT, Target.PLAIN),
        (Window.AFTER_COMMIT, Target.PLAIN),
        (Window.RECEIPT_LOST, Target.PLAIN),
        (Window.CHANGED_WHILE_PAUSED, Target.PLAIN),
        (Window.TWO_RESUMES, Target.CHECKS_GENERATION),
        (Window.FROZEN_OWNER, Target.DEDUPLICATES),
    ],
)
def test_it_makes_each_page_once(drill, window, target):
    cell = drill.run(worker(), window, target)
    assert (cell.verdict, cell.counters.in_target) == (WindowVerdict.HELD, 8), drill.lines


def test_it_asks_the_target_before_it_sends_again(drill):
    cell = drill.run(worker(), Window.RECEIPT_LOST, Target.PLAIN)
    assert (cell.counters.attempted, cell.counters.acknowledged) == (8, 7)


def test_its_late_write_is_refused_by_generation(drill):
    cell = drill.run(worker(), Window.FROZEN_OWNER, Target.CHECKS_GENERATION)
    assert (cell.verdict, cell.counters.stale_refused) == (WindowVerdict.HELD, 1)


def test_its_late_write_doubles_a_page_where_nothing_keeps_it_out(drill):
    cell = drill.run(worker(), Window.FROZEN_OWNER, Target.PLAIN)
    assert (cell.verdict, cell.counters.duplicated) == (WindowVerdict.FAILED, 1)


def test_it_has_a_new_draft_approved_when_the_source_has_changed(drill):
    drill.run(worker(), Window.CHANGED_WHILE_PAUSED, Target.PLAIN)
    assert sum(line.endswith(": waiting object-4") for line in drill.lines) == 2


@pytest.mark.parametrize("window", [Window.BEFORE_COMMIT, Window.FROZEN_OWNER])
def test_a_crash_point_may_be_a_file(drill, tmp_path, window):
    text = SCRIPT.read_text("utf-8")
    before, _, after = text.partition("reach() {")
    script = tmp_path / "touching.sh"
    script.write_text(before + TOUCHING + after.partition("\n}\n")[2], "utf-8")
    cell = drill.run(worker(script), window, Target.CHECKS_GENERATION)
    assert (cell.verdict, cell.counters.in_target) == (WindowVerdict.HELD, 8), drill.lines
    assert not any("reached" in line for line in drill.lines)


def test_a_worker_that_never_comes_to_the_point_is_no_result(drill, tmp_path):
    script = tmp_path / "other.sh"
    script.write_text("echo hello\n", "utf-8")
    cell = drill.run(worker(script), Window.BEFORE_COMMIT, Target.PLAIN)
    assert cell.verdict is None
    assert cell.reason


def test_a_program_that_is_not_here_is_refused(drill):
    with pytest.raises(DrillRefused):
        drill.run(own_command(["no-such-program"]), Window.BEFORE_COMMIT, Target.PLAIN)


def test_the_proxy_is_for_our_own_workers_only(drill):
    cell = drill.run(worker(), Window.RECEIPT_LOST, Target.PROXY)
    assert cell.verdict is WindowVerdict.NOT_EXPRESSIBLE


def test_it_is_told_nothing_of_how_the_workbench_is_run(drill, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SMTP", "smtps://us:secret-of-the-mail@mail.example.org")
    monkeypatch.setenv("PGPASSWORD", "secret-of-the-database")
    told = tmp_path / "told"
    spying = tmp_path / "spying.sh"
    spying.write_text(f"env >>{told}\n" + SCRIPT.read_text("utf-8"), "utf-8")
    drill.run(worker(spying), Window.AFTER_COMMIT, Target.PLAIN)
    names = {line.partition("=")[0] for line in told.read_text("utf-8").splitlines()}
    assert any(name.startswith("DRILL_") for name in names)
    assert "secret" not in told.read_text("utf-8")
    assert not {"DATABASE_URL", "WORKBENCH_SECRET_KEY", "WORKBENCH_SMTP", "PGPASSWORD"} & names

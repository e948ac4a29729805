import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from workbench.management.commands import up
from workbench.postgres import EmbeddedPostgres

ROOT = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(environment, *words):
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


class Up:
    """`manage.py up --empty` as a person runs it."""

    def __init__(self, environment, port, *words):
        self.address = f"http://127.0.0.1:{port}"
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(port), *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        self.lines.extend(line.rstrip() for line in self.process.stdout)

    def wait_until_ready(self):
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and self.process.poll() is None:
            if f"Workbench ready: {self.address}" in self.lines:
                return self
            time.sleep(0.05)
        raise AssertionError("\n".join(self.lines))

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.reader.join(30)
        self.process.stdout.close()
        return code

    def healthz(self):
        with urllib.request.urlopen(f"{self.address}/healthz") as answer:
            return answer.status, answer.read()


@contextlib.contextmanager
def running(environment, port, *words):
    up = Up(environment, port, *words)
    try:
        yield up.wait_until_ready()
    finally:
        if up.process.poll() is None:
            up.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def environment(server_folder):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WORKBENCH_", "PYTEST_", "DJANGO_"))}
    kept.pop("DATABASE_URL", None)
    return kept | {"WORKBENCH_DATA": str(server_folder / "folder")}


@pytest.fixture(scope="module", autouse=True)
def stop_what_a_failure_leaves(environment):
    yield
    EmbeddedPostgres(Path(environment["WORKBENCH_DATA"])).stop("immediate")


def server_of(environment):
    return EmbeddedPostgres(Path(environment["WORKBENCH_DATA"])).postmaster()


def test_up_answers_is_alone_and_stops_with_everything_it_started(environment):
    port = free_port()
    folder = Path(environment["WORKBENCH_DATA"])
    with running(environment, port, "--empty") as up:
        assert up.healthz() == (200, b"ok\n")
        assert server_of(environment) is not None
        assert (folder / "secret-key").stat().st_mode & 0o777 == 0o600
        again = command(environment, "up", "--port", str(free_port()))
        assert (again.returncode, again.stdout) == (1, "")
        assert f"already runs with the data folder {folder} at {up.address}" in again.stderr
        elsewhere = command(
            environment | {"WORKBENCH_DATA": str(folder.parent / "other")}, "up", "--port", str(port)
        )
        assert elsewhere.returncode == 1
        assert elsewhere.stderr == f"Port {port} is already in use; choose another with --port.\n"
        assert command(environment, "showmigrations").returncode == 0
        assert server_of(environment) is not None
        workers = psutil.Process(up.process.pid).children(recursive=True)
        assert up.stop() == 0
    assert server_of(environment) is None
    assert not psutil.wait_procs(workers, timeout=10)[1]


def test_after_kill_9_up_finds_its_server_and_data_again(environment):
    port = free_port()
    key = Path(environment["WORKBENCH_DATA"]) / "secret-key"
    with running(environment, port, "--empty") as up:
        kept, server = key.read_text(), server_of(environment)
        workers = psutil.Process(up.process.pid).children(recursive=True)
        up.stop(signal.SIGKILL)
    assert not psutil.wait_procs(workers, timeout=10)[1]
    assert server.is_running()
    with running(environment, port, "--empty") as up:
        assert (key.read_text(), server_of(environment).pid) == (kept, server.pid)
        assert up.stop(signal.SIGINT) == 0
    assert server_of(environment) is None


@pytest.mark.parametrize(
    ("words", "changes", "sentence"),
    [
        (
            ["--port", "70000"],
            {"DATABASE_URL": "postgresql://a@b/c"},
            "a port is a whole number from 1 to 65535",
        ),
        (["--lang", "de"], {"DATABASE_URL": "postgresql://a@b/c"}, "invalid choice: 'de'"),
        ([], {"WORKBENCH_DATA": "/proc/nowhere"}, "cannot be written"),
        ([], {"WORKBENCH_DATA": "relative"}, "WORKBENCH_DATA must be an absolute path."),
        ([], {"WORKBENCH_HTPS": "1"}, "did you mean WORKBENCH_HTTPS?"),
        ([], {"DATABASE_URL": "mysql://a@b/c"}, "DATABASE_URL must begin with postgres:// or postgresql://"),
        (["--database-url", "postgresql://a:hunter22@127.0.0.1:1/c"], {}, "The database does not answer"),
    ],
)
def test_a_refusal_is_one_sentence_without_traceback(environment, tmp_path, words, changes, sentence):
    answer = command(environment | {"WORKBENCH_DATA": str(tmp_path)} | changes, "up", *words)
    assert answer.returncode != 0
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "hunter22" not in answer.stderr + answer.stdout


@pytest.mark.parametrize(("lang", "asked"), [("zh-hans", {"lang": "zh-hans"}), (None, {})])
def test_the_examples_are_asked_for_in_the_language_that_was_chosen(monkeypatch, lang, asked):
    called = {}
    monkeypatch.setattr(up, "call_command", lambda name, **options: called.update({name: options}))
    for name in ("refuse_unusable_database", "refuse_newer_database", "collect_if_changed"):
        monkeypatch.setattr(up, name, lambda: None)
    command = up.Command()
    command.prepare(empty=False, lang=lang)
    assert called["create_examples"] == {"stdout": command.stdout, "people_only": False, **asked}


def test_a_database_folder_of_an_older_version_is_refused(environment, tmp_path):
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("15\n")
    answer = command(environment | {"WORKBENCH_DATA": str(tmp_path)}, "up")
    assert answer.returncode == 1
    assert "made by PostgreSQL 15" in answer.stderr
    assert answer.stderr.count("\n") == 1

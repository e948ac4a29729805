import time
from pathlib import Path

import psutil
import pytest

from tests.mail_server import mail_server
from tests.test_workbench.test_up import command, environment, free_port, running, server_of
from workbench.postgres import EmbeddedPostgres

__all__ = ["environment"]  # a fixture
A_NOTICE = """
from django.contrib.auth import get_user_model
from contracts.models import Contract, Notice
person = get_user_model().objects.get(username="curator")
person.email = "curator@example.org"
person.save()
Notice.objects.create(
    contract=Contract.objects.first(), person=person, kind="waiting", item_id="A-1", mail="pending"
)
"""


@pytest.fixture(scope="module", autouse=True)
def stop_what_a_failure_leaves(environment):
    yield
    EmbeddedPostgres(Path(environment["WORKBENCH_DATA"])).stop("immediate")


def spawned(up):
    """Return the processes that `up` has spawned, oldest first: the watch, the worker of drills, the web workers."""
    children = psutil.Process(up.process.pid).children(recursive=True)
    found = [one for one in children if "spawn_main" in " ".join(one.cmdline())]
    return sorted(found, key=lambda one: one.create_time())


def until(holds, patience=60):
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_up_watches_starts_whoever_works_beside_it_again_and_ends_both(environment):
    port = free_port()
    with mail_server() as server:
        settings = {"WORKBENCH_SMTP": server.url, "WORKBENCH_MAIL_FROM": "w@example.org"}
        with running(environment | settings, port) as up:
            made = command(environment, "shell", "-c", A_NOTICE)
            assert made.returncode == 0, made.stderr
            killed = spawned(up)[:2]
            for one in killed:
                one.kill()
            until(lambda: server.delivered)
            until(lambda: sum("is started again" in line for line in up.lines) == 2)
            assert not {one.pid for one in killed} & {one.pid for one in spawned(up)}
            for name in ("the watch", "the worker of drills"):
                assert any(f"{name} ended with -9" in line for line in up.lines)
            everybody = spawned(up)
            assert up.stop() == 0
        assert not psutil.wait_procs(everybody, timeout=10)[1]
        assert f"http://127.0.0.1:{port}/contracts/" in server.delivered[0].get_content()
    assert server_of(environment) is None
    assert "Traceback" not in "\n".join(up.lines)

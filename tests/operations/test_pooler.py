"""A pooler in transaction mode gives each transaction another session; the workbench does not mind if it is told."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.client.targets import a_token
from tests.operations.acts import a_written_task, do_everything
from tests.operations.pooler import pooled
from tests.operations.sites import served_at

pytestmark = pytest.mark.django_db(transaction=True)
ASKED = 30


@pytest.fixture
def folder():
    # Not below pytest's own folder, which nobody else may enter.
    made = Path(tempfile.mkdtemp(prefix="workbench-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def pooler(transactional_db, folder):
    with pooled(folder) as url:
        yield url


def test_sessions_are_really_shared(pooler):
    """The control of the others: what a session keeps is not there in the next transaction."""
    with psycopg.connect(pooler, autocommit=True) as one, psycopg.connect(pooler) as other:
        other.execute("SELECT 1")  # keeps one session busy, so that there is a second
        one.execute("SELECT 1")
        other.rollback()
        sessions = {one.execute("SELECT pg_backend_pid()").fetchone()[0] for _ in range(4)}
        locked = [one.execute("SELECT pg_try_advisory_lock(7)").fetchone()[0]]
        locked += [one.execute("SELECT pg_advisory_unlock(7)").fetchone()[0]]
    assert len(sessions) == 2
    assert locked == [True, False]


def test_everything_the_workbench_does_is_done_through_a_pooler(pooler, tmp_path):
    contract = a_written_task()
    with served_at(tmp_path, pooler, WORKBENCH_POOLER="1") as place:
        exports = do_everything([place], contract)
        seen = statuses(place, contract)
    assert contract.task_id.encode() in exports["json"]
    assert seen == {200: ASKED}


def test_without_being_told_prepared_statements_are_looked_for_in_the_wrong_session(pooler, tmp_path):
    """The control: the same requests fail where nobody said that there is a pooler."""
    contract = a_written_task()
    with served_at(tmp_path, pooler, WORKBENCH_POOLER="0", WORKBENCH_STATEMENT_SECONDS="0") as place:
        seen = statuses(place, contract)
    assert seen[500] > 0


def statuses(place, contract):
    """Ask as a worker, many times; return how often each status was answered."""
    headers = {"Authorization": f"Bearer {a_token(contract, worker='asker')}"}
    with httpx.Client(base_url=place, headers=headers, trust_env=False, timeout=30) as client:
        path = f"/api/v1/contracts/{contract.task_id}"
        return Counter(client.get(path).status_code for _ in range(ASKED))

"""Migrations beside a running workbench, and the limit of every statement that a request may ask for."""

import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from workbench.limiting import limit_statements
from workbench.management.commands import migrate

APP = "workbench"  # which has no migrations of its own
PATIENCE = 60.0
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def one_missing(settings):
    """A migration of its own is not applied; at the end it is not there any more, whatever a test did."""
    settings.MIGRATION_MODULES = {APP: "tests.test_workbench.moving"}
    yield
    call_command("migrate", APP, "zero", verbosity=0)


def is_applied():
    return (APP, "add_a_column") in MigrationRecorder(connection).applied_migrations()


def direct(**more):
    return psycopg.connect(**connection.get_connection_params() | more, autocommit=True)


@contextmanager
def somebody_reads_for_long():
    """A transaction that has read the contracts and goes on."""
    with direct() as reader:
        reader.execute("BEGIN; SELECT 1 FROM contracts_contract LIMIT 1")
        yield
        reader.execute("ROLLBACK")


def wait_until_it_waits_for_a_lock():
    deadline = time.monotonic() + PATIENCE
    with direct() as looker:
        while not looker.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()[0]:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def can_be_read(table):
    """Whether somebody who only wants to read gets an answer within a second."""
    with direct(options="-c statement_timeout=1s") as reader:
        try:
            reader.execute(f"SELECT 1 FROM {table} LIMIT 1")
        except psycopg.errors.QueryCanceled:
            return False
    return True


def test_a_migration_that_gets_no_lock_gives_up_with_one_sentence_and_leaves_nothing(
    one_missing, monkeypatch, capsys
):
    monkeypatch.setattr(migrate, "LOCK_SECONDS", 1)
    monkeypatch.setattr(migrate, "PAUSE_SECONDS", 0.0)
    with (
        somebody_reads_for_long(),
        pytest.raises(CommandError, match=r"did not get its lock .* nothing of it"),
    ):
        call_command("migrate", APP, verbosity=0)
    assert capsys.readouterr().err.count("tried again") == migrate.TRIES - 1
    assert not is_applied()


def test_it_goes_on_once_the_lock_is_let_go(one_missing, monkeypatch):
    monkeypatch.setattr(migrate, "LOCK_SECONDS", 1)
    let_go = threading.Event()

    def pause(_):
        let_go.set()  # after the first try; the reader ends before the second
        reading.join()

    def read():
        with somebody_reads_for_long():
            held.set()
            let_go.wait(PATIENCE)

    held = threading.Event()
    reading = threading.Thread(target=read)
    reading.start()
    held.wait(PATIENCE)
    monkeypatch.setattr(migrate.time, "sleep", pause)
    call_command("migrate", APP, verbosity=0)
    assert let_go.is_set()
    assert is_applied()
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone()[0] == "0"  # the limit was of the migration alone


def test_the_control_without_a_limit_holds_up_whoever_only_reads():
    """What the limit is for: a change of a table that waits keeps everybody out who comes after it."""
    with somebody_reads_for_long():
        with direct() as changer:
            changing = threading.Thread(target=change_a_table, args=(changer,))
            changing.start()
            wait_until_it_waits_for_a_lock()
            assert not can_be_read("contracts_contract")
            changer.cancel()
            changing.join(PATIENCE)
        assert can_be_read("contracts_contract")


def change_a_table(changer):
    try:
        changer.execute("ALTER TABLE contracts_contract ADD COLUMN never integer")
    except psycopg.errors.QueryCanceled:
        return


def test_a_statement_of_a_request_is_ended_at_its_limit():
    database = {"OPTIONS": {}}
    limit_statements(database, 1)
    with direct(**database["OPTIONS"]) as limited:
        with pytest.raises(psycopg.errors.QueryCanceled):
            limited.execute("SELECT pg_sleep(30)")
        assert limited.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("said", "seconds", "told"),
    [
        ("", 60, "-c statement_timeout=60s"),
        ("-c search_path=x", 60, "-c search_path=x -c statement_timeout=60s"),
        ("-c statement_timeout=5s", 60, "-c statement_timeout=5s"),
        ("-c search_path=x", 0, "-c search_path=x"),
    ],
)
def test_what_the_address_of_the_database_says_stands(said, seconds, told):
    database = {"OPTIONS": {"options": said}}
    limit_statements(database, seconds)
    assert database["OPTIONS"]["options"] == told

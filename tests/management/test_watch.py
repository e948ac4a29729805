import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from contracts.management.commands import watch
from contracts.management.mailing import Unreachable
from contracts.models import Notice
from contracts.rules.notices import MailState
from tests import builders, people
from tests.mail_server import mail_server
from tests.notices import a_notice

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


def environment(**more):
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + quote(connection.settings_dict["NAME"]))
    return os.environ | {"DATABASE_URL": url.geturl(), "WORKBENCH_MAIL_FROM": "w@example.org"} | more


@contextlib.contextmanager
def watching(*words, **more):
    """`manage.py watch` as a process of its own; its lines can be read from `stderr`."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "watch", "--every", "0.2", *words],
        cwd=ROOT,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(holds, patience=60):
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def a_mail():
    team = builders.a_team()
    carla = people.curator(team)
    carla.email = "carla@example.org"
    carla.save(update_fields=["email"])
    contract = Notice.objects.order_by("id").values_list("contract", flat=True).first()
    if contract is None:
        return a_notice(builders.a_draft(team), carla)
    from contracts.models import Contract

    return a_notice(Contract.objects.get(pk=contract), carla)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_mails_round_after_round_and_stops_when_told(number):
    with mail_server() as server, watching(WORKBENCH_SMTP=server.url) as process:
        for count in (1, 2):
            a_mail()
            until(lambda count=count: len(server.delivered) == count)
        process.send_signal(number)
        assert process.wait(30) == 0
        assert "Traceback" not in process.stderr.read()
    assert set(Notice.objects.values_list("mail", flat=True)) == {MailState.SENT}


def test_it_outlives_a_database_that_is_away_for_a_while():
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    elsewhere = connection.get_connection_params() | {"dbname": "postgres"}

    def allow(words):
        with psycopg.connect(**elsewhere, autocommit=True) as direct:
            direct.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {words}")

    with mail_server() as server, watching(WORKBENCH_SMTP=server.url) as process:
        a_mail()
        until(lambda: server.delivered)
        allow("false")
        try:
            assert "the database does not answer" in process.stderr.readline()
            time.sleep(1)  # several rounds, of which nothing more is said
            a_mail()
        finally:
            allow("true")
        assert "the database answers again" in process.stderr.readline()
        until(lambda: len(server.delivered) == 2)
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""


def test_it_outlives_a_mail_server_that_is_away_for_a_while():
    with mail_server() as gone:
        url = gone.url
    a_mail()
    with watching(WORKBENCH_SMTP=url) as process:
        assert "the mail server does not answer (ConnectionRefusedError)" in process.stderr.readline()
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
    assert Notice.objects.get().mail == MailState.PENDING


def test_one_round_says_what_it_did(capsys):
    a_mail()
    call_command("watch", once=True)
    assert capsys.readouterr().out == "0 contracts changed, 1 mails sent.\n"


def test_one_round_that_failed_ends_with_an_error(monkeypatch, caplog):
    def fail():
        raise RuntimeError

    monkeypatch.setattr(watch, "tend", fail)
    a_mail()
    with pytest.raises(CommandError):
        call_command("watch", once=True)
    assert Notice.objects.get().mail == MailState.SENT  # the clock keeps no mail from leaving


@pytest.mark.parametrize("error", [OperationalError("hunter22"), Unreachable("Timeout"), RuntimeError("x")])
def test_a_trouble_is_told_when_it_begins_and_when_it_ends(monkeypatch, caplog, error):
    answers = iter([error, error, None])

    def step(*_):
        if fault := next(answers):
            raise fault
        return 0

    monkeypatch.setattr(watch, "tend", lambda: 0)
    monkeypatch.setattr(watch, "mail_waiting", step)
    rounds = watch.Watch()
    with caplog.at_level(logging.INFO, logger=watch.__name__):
        assert [rounds.go_round() for _ in range(3)] == [False, False, True]
    assert "hunter22" not in caplog.text
    assert len(caplog.records) == 2


@pytest.mark.parametrize("text", ["0", "0.05", "3601", "x", "nan", "inf", "-1"])
def test_nonsense_between_rounds_is_refused(text):
    from argparse import ArgumentTypeError

    with pytest.raises(ArgumentTypeError):
        watch.seconds(text)


def test_the_console_shows_mails_where_no_server_is_set():
    a_mail()
    done = subprocess.run(
        [sys.executable, "manage.py", "watch", "--once"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "To: carla@example.org" in done.stdout


def test_the_head_of_a_chain_is_logged_whenever_it_grew_and_only_then(caplog):
    contract = builders.a_draft(builders.a_team())
    caplog.set_level(logging.INFO, watch.log.name)
    rounds = watch.Watch(heads=True)

    def logged():
        caplog.clear()
        assert rounds.go_round()
        return [line for line in caplog.messages if contract.task_id in line]

    def now():
        contract.refresh_from_db()
        return f"events of {contract.task_id}: {contract.event_count}, head {contract.event_head}"

    before = now()
    assert logged() == [before]
    assert logged() == []
    builders.a_row(contract, "object", step="draft")
    assert logged() == [now()] != [before]
    assert not [line for line in caplog.messages if "Traceback" in line]


def test_without_being_asked_no_head_is_logged(caplog):
    builders.a_draft(builders.a_team())
    caplog.set_level(logging.INFO, watch.log.name)
    assert watch.Watch().go_round()
    assert caplog.messages == []

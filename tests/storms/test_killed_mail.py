import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from django.db import connection

from contracts.models import Notice
from contracts.rules.notices import MailState
from tests import builders, people
from tests.mail_server import mail_server
from tests.notices import a_notice

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
WATCH = ("manage.py", "watch", "--once")
NAIVE = ("-m", "tests.storms.naive_mailer")


@pytest.fixture
def notice():
    team = builders.a_team()
    carla = people.curator(team)
    carla.email = "carla@example.org"
    carla.save(update_fields=["email"])
    return a_notice(builders.a_draft(team), carla)


def started(server, command):
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + quote(connection.settings_dict["NAME"]))
    more = {
        "DATABASE_URL": url.geturl(),
        "WORKBENCH_SMTP": server.url,
        "WORKBENCH_MAIL_FROM": "w@example.org",
    }
    return subprocess.Popen([sys.executable, *command], cwd=ROOT, env=os.environ | more)


def delivered_although_killed(command):
    """Kill the mailer between the whole text and the server's answer, run it once more; return what arrived."""
    with mail_server() as server:
        server.answers.clear()
        first = started(server, command)
        assert server.holding.wait(60)
        first.kill()
        assert first.wait(30) == -signal.SIGKILL
        server.answers.set()
        assert started(server, command).wait(60) == 0
        return len(server.delivered)


def test_a_mail_is_not_repeated_by_whoever_comes_after_the_kill(notice):
    assert delivered_although_killed(WATCH) == 1
    notice.refresh_from_db()
    assert notice.mail == MailState.SENDING
    assert Notice.objects.unread().count() == 1  # it stands in the page all the same


def test_control_sending_first_and_marking_afterwards_delivers_twice(notice):
    assert delivered_although_killed(NAIVE) == 2

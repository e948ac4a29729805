"""What is held open when the workbench is stopped."""

import contextlib

import httpx
import psutil
import pytest
from django.conf import settings

from tests import builders, people
from tests.serving import served
from tests.views.visiting import address, visitor

RETRY = "retry: 3000"
SAID = {"", ":", "event: news", "data: 1"}  # news: whatever was told before the process listened


@pytest.fixture
def curator(transactional_db):
    return people.curator(builders.a_team())


@contextlib.contextmanager
def held_line(url, person):
    """Hold the line on which a page of `person` is told of news; gives what is said on it."""
    cookies = {settings.SESSION_COOKIE_NAME: visitor(person).cookies[settings.SESSION_COOKIE_NAME].value}
    with httpx.stream("GET", url + address("news_line"), cookies=cookies, timeout=60) as answer:
        said = answer.iter_lines()
        assert (answer.status_code, next(said)) == (200, RETRY)
        yield said


def test_a_line_that_is_held_ends_by_itself_when_the_workbench_is_stopped(curator, tmp_path):
    with contextlib.ExitStack() as line:
        with served(tmp_path, workers=1) as url:
            said = line.enter_context(held_line(url, curator))
        assert {*said} <= SAID
    assert not (tmp_path / "stopping").exists()


def test_control_of_a_workbench_that_is_killed_the_line_is_cut_off(curator, tmp_path):
    known = {child.pid for child in psutil.Process().children()}
    with served(tmp_path, workers=1) as url, held_line(url, curator) as said:
        (served_here,) = [child for child in psutil.Process().children() if child.pid not in known]
        served_here.kill()
        with pytest.raises(httpx.TransportError):
            list(said)

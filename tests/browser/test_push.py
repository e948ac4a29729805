"""News that reach an open page by themselves, on the workbench as it is really served."""

import pytest
from django.conf import settings
from playwright.sync_api import expect

from contracts.gates.reading import mark_all_read
from contracts.rules.notices import Told
from tests import builders, people
from tests.browser.walking import address
from tests.notices import a_notice
from tests.serving import served
from tests.views.visiting import visitor

NEVER_ASKS = "glossary"  # a page that asks for nothing by itself
SOON_MS = 30_000  # on a machine that is busy with other tests


@pytest.fixture
def carla(team):
    return people.curator(team)


@pytest.fixture
def contract(team):
    return builders.a_draft(team)


@pytest.fixture
def workbench(tmp_path, monkeypatch, team):
    monkeypatch.setenv("WORKBENCH_STREAMS", "2")
    with served(tmp_path, workers=1) as url:
        yield url


@pytest.fixture
def opened(chromium, troubles, workbench):
    """Open a page that asks for nothing by itself, for a person; it is answered so when it asks for a line."""

    def open_one(person, answered=200):
        context = chromium.new_context(base_url=workbench)
        troubles.watch(context)
        cookie = visitor(person).cookies[settings.SESSION_COOKIE_NAME].value
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": workbench}])
        page = context.new_page()
        with page.expect_response(lambda answer: answer.url.endswith(address("news_line"))) as line:
            page.goto(address(NEVER_ASKS))
        assert line.value.status == answered
        return page

    return open_one


def test_news_reach_an_open_page_and_leave_it_when_they_are_read(opened, carla, contract):
    page = opened(carla)
    expect(page.locator("#unread .count")).to_have_count(0)
    first = a_notice(contract, carla, Told.SENT_BACK, person="olga", reason="Wrong wall.")
    news = page.locator("#news .note")
    expect(news).to_contain_text("Olga sent this back", timeout=SOON_MS)
    expect(page.locator("#unread .count")).to_contain_text("1")
    expect(page.locator("#announce")).to_contain_text("Olga sent this back")
    last = a_notice(contract, carla, person="otto")
    expect(news).to_contain_text("and 1 more notice", timeout=SOON_MS)
    mark_all_read(carla, up_to=max(first.pk, last.pk))
    expect(news).to_have_count(0, timeout=SOON_MS)
    expect(page.locator("#unread .count")).to_have_count(0)


def test_what_is_told_while_the_page_is_asking_is_asked_for_too(opened, carla, contract):
    page, held = opened(carla), []
    page.evaluate("window.heard = 0; document.body.addEventListener('news', () => window.heard++)")
    page.route("**/notices/news/*", lambda route: held.append((route, route.fetch())), times=1)
    a_notice(contract, carla, Told.SENT_BACK, person="olga", reason="Wrong wall.")
    while not held:
        page.wait_for_timeout(50)
    heard = page.evaluate("window.heard")
    a_notice(contract, carla, person="otto")
    page.wait_for_function(f"window.heard > {heard}", timeout=SOON_MS)
    (route, answer) = held[0]
    route.fulfill(response=answer)  # what it says was true before the second
    expect(page.locator("#news .note")).to_contain_text("and 1 more notice", timeout=SOON_MS)


def test_control_a_page_for_which_no_line_is_free_is_told_nothing(opened, troubles, carla, contract):
    troubles.expected |= {503}
    two, third = [opened(carla) for _ in range(2)], opened(carla, 503)
    a_notice(contract, carla)
    for page in two:
        expect(page.locator("#news .note")).to_be_visible(timeout=SOON_MS)
    expect(third.locator("#news .note")).to_have_count(0)


def test_nobody_hears_of_the_news_of_others(opened, team, carla, contract):
    others, own = opened(people.reviewer(team)), opened(carla)
    a_notice(contract, carla)
    expect(own.locator("#news .note")).to_be_visible(timeout=SOON_MS)
    expect(others.locator("#news .note")).to_have_count(0)

import re

import pytest
from playwright.sync_api import expect

from tests import people
from tests.browser.test_accessibility import OVERFLOW, looked_at, person_at
from tests.histories import a_history

PAGES = {
    "all": lambda walker: walker.page.goto("/contracts/history/timeline/?range=all"),
    "an hour": lambda walker: walker.page.goto("/contracts/history/timeline/?range=hour"),
    "overview": lambda walker: walker.go("overview", "history"),
}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_timeline_stands_in_anybodys_way(open_browser, team, language):
    a_history(team)
    walker = person_at(open_browser, people.viewer(team), language)
    found = [f"{name}: {one}" for name, go in PAGES.items() for one in looked_at(walker, go)]
    assert not found, "\n".join(found)


def test_a_phone_has_a_picture_of_its_own(open_browser, team):
    a_history(team)
    page = open_browser(people.viewer(team))
    page.goto("/contracts/history/timeline/")
    expect(page.locator("svg.timeline.wide")).to_be_visible()
    expect(page.locator("svg.timeline.narrow")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator("svg.timeline.narrow")).to_be_visible()
    expect(page.locator("svg.timeline.wide")).to_be_hidden()
    assert page.evaluate(OVERFLOW) <= 0


def test_a_mark_leads_to_its_line(open_browser, team):
    a_history(team)
    page = open_browser(people.viewer(team))
    page.goto("/contracts/history/timeline/?range=all")
    mark = page.locator("svg.timeline.wide").get_by_role("link", name=re.compile("publish-3: Result unknown"))
    mark.focus()
    page.keyboard.press("Enter")
    line = page.locator("tr:target")
    expect(line).to_contain_text("Result unknown")
    expect(line).to_be_in_viewport()

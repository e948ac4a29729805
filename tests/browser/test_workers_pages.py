"""What a person sees of workers, and does about them, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests import people, shifts
from tests.browser.test_accessibility import looked_at, person_at
from tests.browser.walking import Walker
from tests.browser.worker_sights import ISSUING, OPERATING


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("half", range(2))
def test_no_page_about_workers_stands_in_anybodys_way(open_browser, team, half, language):
    shifts.fill_the_shifts(team)
    walker = person_at(open_browser, people.operator(team), language)
    names = sorted(OPERATING)[half::2]
    found = [f"{name}: {one}" for name in names for one in looked_at(walker, OPERATING[name])]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_page_for_workers_programmers_stands_in_anybodys_way(open_browser, team, language):
    shifts.fill_the_shifts(team)
    walker = person_at(open_browser, people.owner(team), language)
    found = [f"{name}: {one}" for name, go in ISSUING.items() for one in looked_at(walker, go)]
    assert not found, "\n".join(found)


def test_the_page_follows_the_worker_without_a_reload(open_browser, team):
    """The lease runs, lapses, and the decision on the page becomes another one, which is spoken."""
    contract = shifts.working(team)
    walker = Walker(open_browser(people.operator(team)))
    walker.go("overview", contract.task_id)
    page = walker.page
    expect(page.locator("#decision .verdict")).to_have_class(re.compile(r"\bwait\b"))
    page.locator("#decision .checks a").first.focus()
    shifts.let_lapse(contract)
    expect(page.locator("#decision .verdict")).to_have_class(re.compile(r"\bcontinue\b"))
    expect(page.locator("#holder .state.attention")).to_be_visible()
    assert page.evaluate("document.activeElement !== document.body")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_operator_settles_a_lost_receipt_from_the_overview(open_browser, team, scripts):
    contract, operation = shifts.lost_write(team)
    walker = Walker(open_browser(people.operator(team), java_script_enabled=scripts), scripts=scripts)
    page = walker.page
    walker.go("overview", contract.task_id)
    page.click(".verdict .button.deed")
    page.check("#reconcile input[value=found]")
    page.fill("#reconcile [name=reference]", "cms://pages/4711")
    page.click("#reconcile button.deed")
    expect(page.locator("#notices")).to_contain_text(walker.word("The answer is stored."))
    expect(page.locator(".heading .state")).to_have_class(re.compile("confirmed"))
    operation.refresh_from_db()
    assert operation.state == "confirmed"


def test_a_take_over_is_done_by_the_keyboard_alone(open_browser, team):
    contract = shifts.lapsed(team)
    walker = Walker(open_browser(people.operator(team)))
    page = walker.page
    walker.go("operate", contract.task_id, "take-over")
    page.locator("#id_reason").focus()
    page.keyboard.type("The worker hangs.")
    page.keyboard.press("Tab")
    with walker.leaving():
        page.keyboard.press("Enter")
    expect(page.locator("#decision .verdict")).to_be_visible()
    contract.refresh_from_db()
    assert (contract.state, contract.generation) == ("paused", 2)

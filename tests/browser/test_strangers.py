import re

import pytest
from django.urls import URLPattern
from playwright.sync_api import expect

from contracts import urls
from contracts.models import Approval, WorkObject
from contracts.rules.vocabulary import Section
from tests import builders, people
from tests.browser.walking import Walker, address
from tests.drilled import a_run

# What an address of a contract holds beside its task id.
WITH = {"section": "objects", "part": "object", "act": "leave-draft"}
PUBLIC = {
    "list",
    "new",
    "worksheet",
    "schema",
    "approvals",
    "notices",
    "drills",
    "states",
    "glossary",
    "keyboard",
    "style",
    "mail_preferences",
    "news",
    "news_line",
}

CHANGING = "main form[method=post], main [hx-post], main a[href$='/edit/'], main a[href$='/add/']"


@pytest.fixture
def contract(team):
    contract = builders.a_paused(team, task_id="not-yours", **builders.keys_of_a_call({}))
    builders.a_waiting_item(builders.a_call(contract))
    return contract


def addresses(contract):
    """Return every address of the contract that the workbench knows."""
    row, item = WorkObject.objects.get(contract=contract), Approval.objects.get(contract=contract)
    values = {**WITH, "row_id": row.pk, "task_id": contract.task_id}
    values |= {"item_id": item.item_id, "operation_key": item.operation_key, "slug": contract.team.slug}
    values["run_id"] = a_run(contract).run_id
    for pattern in urls.urlpatterns:
        # What is for workers is closed by tokens, and tested beside it.
        if isinstance(pattern, URLPattern) and pattern.name not in PUBLIC:
            yield address(pattern.name, *(values[name] for name in pattern.pattern.converters))


POST = (
    """async ([url, token]) => (await fetch(url, {method: "POST", headers: {"X-CSRFToken": token}})).status"""
)


def test_a_stranger_finds_nothing_at_any_address_of_a_contract(open_browser, team, contract, troubles):
    troubles.expected = {404, 405}
    page = open_browser(people.neighbour())
    page.goto("/")
    token = page.evaluate("JSON.parse(document.body.getAttribute('hx-headers'))['X-CSRFToken']")
    found = []
    for url in addresses(contract):
        # From within the page, as a stranger with the developer tools would.
        got = page.evaluate("async (url) => (await fetch(url)).status", url)
        posted = page.evaluate(POST, [url, token])
        found.append((url, got, posted))
    assert len(found) > 12
    wrong = [line for line in found if line[1] not in (404, 405) or line[2] not in (404, 405)]
    assert wrong == []


def test_a_stranger_sees_no_approval_in_the_queue_and_is_told_of_none(open_browser, team, contract):
    page = open_browser(people.neighbour())
    for place in ("approvals", "notices"):
        page.goto(address(place))
        expect(page.locator("main .empty")).to_be_visible()
        expect(page.locator("main")).not_to_contain_text("cms")


def test_a_stranger_sees_neither_the_contract_nor_its_title(open_browser, team, contract, troubles):
    troubles.expected = {404}
    page = open_browser(people.neighbour())
    page.goto("/?q=not-yours")
    expect(page.locator("#found")).not_to_contain_text(contract.title)
    page.goto(address("overview", contract.task_id))
    expect(page.locator("main h1")).to_have_text("There is nothing here")
    expect(page.locator("body")).not_to_contain_text(contract.title)


def test_a_viewer_sees_no_control_that_changes_anything(open_browser, team, contract):
    walker = Walker(open_browser(people.viewer(team)))
    for section in Section:
        walker.go("section", contract.task_id, section.value)
        expect(walker.page.locator("main h1")).to_be_visible()
        changing = walker.page.locator(
            "main form[method=post], main [hx-post]:not(#here), main a[href$='/edit/'], main a[href$='/add/']"
        )
        expect(changing).to_have_count(0)
    walker.go("overview", contract.task_id)
    expect(walker.page.locator("main a[href*='/act/']")).to_have_count(0)
    expect(walker.page.locator("nav.rail a", has_text=re.compile("Sharing|Export"))).to_have_count(0)


def test_a_viewer_may_not_open_a_form(open_browser, team, contract, troubles):
    troubles.expected = {403}
    walker = Walker(open_browser(people.viewer(team)))
    walker.go("row_add", contract.task_id, "object")
    expect(walker.page.locator("main h1")).to_have_text("You may see this, but not do it")

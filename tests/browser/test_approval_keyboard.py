"""Deciding by keyboard alone, and what an open page tells by itself."""

import re
import string

import pytest
from playwright.sync_api import expect

from contracts.models import Approval, ApprovalVote
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import Role
from tests import people, scenes
from tests.browser.walking import Walker, focused

TASK, WRITTEN = "label-by-keyboard", "The year is not certain."
PLACE = """
() => {
  const here = document.activeElement;
  const name = here.id || here.name + here.value || here.textContent.trim();
  const around = here.closest(".decide, .label, .rail, .top, #item");
  return `${around?.className.split(" ")[0]} ${here.localName} ${name}`;
}
"""


@pytest.fixture
def item(team):
    contract = scenes.a_label_contract(team, TASK)
    scenes.call(contract, 2)
    return scenes.ask(contract, scenes.WHY)


@pytest.fixture
def asked_of_two(team, item):
    """The same question, asked again under a policy that wants two curators."""
    scenes.change_rules(item.contract, quorum="2")
    return scenes.ask(item.contract, scenes.WHY, hours=30)


@pytest.fixture
def walker(open_browser, team):
    return Walker(open_browser(people.curator(team)))


@pytest.fixture
def other(team):
    return people.person("dora", team, Role.CURATOR)


def tab_to(page, selector):
    """Press Tab until the element has the focus; return every place that had it on the way."""
    places = []
    for _ in range(80):
        page.keyboard.press("Tab")
        places.append(page.evaluate(PLACE))
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return places
    raise AssertionError(f"{selector} cannot be reached: {places}")


def open_item(walker, item):
    walker.go("approval", item.contract.task_id, item.item_id)
    expect(walker.page.locator("#decide")).to_be_visible()


def test_an_approval_is_found_read_and_sent_back_by_keyboard_alone(walker, item):
    page = walker.page
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page).to_have_url(re.compile("/approvals/$"))
    tab_to(page, f"#open-{item.item_id}")
    with walker.leaving():
        page.keyboard.press("Enter")
    assert focused(page) == "body#"
    places = tab_to(page, "#decide button.deed")
    # What is decided on comes before the decision, and nothing of the decision before its first button.
    assert [place for place in places if place.startswith("decide")] == places[-1:]
    assert any("summary" in place for place in places if place.startswith("stack"))
    tab_to(page, ".send-back summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#id_reason")).to_be_focused()
    page.keyboard.type(WRITTEN)
    page.keyboard.press("Tab")
    expect(page.locator(".send-back button.danger")).to_be_focused()
    with walker.leaving():
        page.keyboard.press("Enter")
    expect(page.locator("#item .heading .state.rejected")).to_be_visible()
    (vote,) = ApprovalVote.objects.filter(approval=item)
    assert (vote.decider, vote.decision, vote.reason) == ("carla", ApprovalState.REJECTED.value, WRITTEN)


def test_an_approval_is_decided_by_no_single_key(walker, item):
    page, posted = walker.page, []
    page.on("request", lambda sent: posted.append(sent.url) if sent.method == "POST" else None)
    open_item(walker, item)
    address = page.url
    for key in [*string.ascii_lowercase, *string.ascii_uppercase, *string.digits, "Enter", "Space", "Delete"]:
        page.keyboard.press(key)
    # The page's own sign of being looked at comes after all these keys.
    with page.expect_request(lambda sent: sent.url.endswith("/looking/")):
        pass
    assert {url for url in posted if not url.endswith("/looking/")} == set()
    assert page.url == address
    assert not ApprovalVote.objects.filter(approval=item).exists()


def test_approval_focus_and_reason_stay_while_the_page_notices_another_vote(walker, asked_of_two, other):
    page, half = walker.page, len(WRITTEN) // 2

    def type_meanwhile(route):
        """Let the person type on while the page waits for the answer."""
        nonlocal half
        answer = route.fetch()
        page.keyboard.type(WRITTEN[half])
        half += 1
        route.fulfill(response=answer)

    open_item(walker, asked_of_two)
    tab_to(page, ".send-back summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type(WRITTEN[:half])
    scenes.say(asked_of_two, other, reason="Fine for me.")
    page.route("**/looking/", type_meanwhile, times=1)
    expect(page.locator("#votes")).to_be_visible()
    expect(page.locator("#id_reason")).to_be_focused()
    page.keyboard.type(WRITTEN[half:])
    expect(page.locator("#id_reason")).to_have_value(WRITTEN)
    page.keyboard.press("Tab")
    with walker.leaving():
        page.keyboard.press("Enter")
    expect(page.locator(".verdict .said")).to_have_text(WRITTEN)


def test_an_approval_page_tells_who_else_looks_and_who_decided(walker, open_browser, item, other):
    mine, theirs = walker, Walker(open_browser(other))
    queue = Walker(open_browser(other))
    queue.go("approvals")
    expect(queue.page).to_have_title(re.compile(r"^\(1\) "))
    for one in (mine, theirs):
        open_item(one, item)
    expect(mine.page.locator(".lookers")).to_contain_text("Dora")
    expect(theirs.page.locator(".lookers")).to_contain_text("Carla")
    expect(queue.page.locator(".lookers")).to_contain_text("Carla")
    theirs.page.locator(".send-back summary").press("Enter")
    theirs.page.fill("#id_reason", WRITTEN)
    with mine.leaving():
        mine.page.click("#decide button.deed")
    expect(theirs.page.locator("#item .verdict")).to_contain_text("Approved by Carla")
    expect(theirs.page.locator("#decide")).to_have_count(0)
    expect(theirs.page.locator("#announce")).to_contain_text("Approved")
    expect(theirs.page).to_have_title(re.compile("^Approved"))
    assert focused(theirs.page) not in ("body#", "html#")
    expect(theirs.page.locator("section[aria-labelledby=written]")).to_contain_text(WRITTEN)
    expect(queue.page.locator(".empty")).to_be_visible()
    expect(queue.page).to_have_title(re.compile("^Approvals"))
    assert Approval.objects.get(pk=item.pk).decided_by == "carla"

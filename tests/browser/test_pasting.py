import pytest
from playwright.sync_api import expect

from contracts.models import WorkObject
from tests import builders, people
from tests.browser.walking import Walker

LINES = 10_000
BAD = {17: "", 5_000: "O-4999", 9_999: "O-9999\u200b"}  # no id, one that stands twice, a hidden character


def table():
    lines = [BAD.get(number, f"O-{number}") for number in range(1, LINES + 1)]
    return "object_id\tstep\n" + "\n".join(f"{name}\tdescribe" for name in lines)


@pytest.fixture
def contract(team):
    return builders.a_draft(team, task_id="many-lines")


def shown(walker, contract):
    """Paste the table and let the page show what it would store."""
    walker.go("paste", contract.task_id, "object")
    # A paste; typed letter by letter it would take the browser minutes.
    walker.page.locator("[name=table]").evaluate("(area, text) => { area.value = text; }", table())
    with walker.leaving():
        walker.page.click("button[value=preview]")
    return walker.page.locator(".bad-lines > li")


def test_of_ten_thousand_lines_the_three_bad_ones_are_shown_and_nothing_is_stored(
    open_browser, team, contract
):
    walker = Walker(open_browser(people.owner(team)))
    bad = shown(walker, contract)
    expect(bad).to_have_count(3)
    # The head is line one of what was pasted.
    assert [int(line.get_attribute("value")) for line in bad.all()] == [number + 1 for number in BAD]
    with walker.leaving():  # storing without leaving them out stores nothing
        walker.page.click("button[value=store]")
    expect(bad).to_have_count(3)
    assert not WorkObject.objects.filter(contract=contract).exists()


@pytest.mark.parametrize("scripts", [True, False], ids=["js", "no-js"])
def test_the_lines_in_order_are_stored_where_the_others_are_left_out(open_browser, team, contract, scripts):
    walker = Walker(open_browser(people.owner(team), java_script_enabled=scripts))
    shown(walker, contract)
    walker.page.check("[name=leave_out]")
    with walker.leaving():
        walker.page.click("button[value=store]")
    expect(walker.page.locator("#part-object .heading .quiet")).to_have_text("9997")
    stored = set(WorkObject.objects.filter(contract=contract).values_list("object_id", flat=True))
    assert len(stored) == LINES - len(BAD)
    assert not stored & {"O-17", "O-5000", "O-9999"}

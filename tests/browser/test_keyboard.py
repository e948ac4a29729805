import re

import pytest
from playwright.sync_api import expect

from tests import builders, people
from tests.browser.walking import Walker, field, focused

TASK = "by-keyboard"


@pytest.fixture
def walker(open_browser, team):
    contract = builders.a_complete_draft(team, task_id=TASK)
    builders.a_row(contract, "object", object_id="O-2", source="")
    return Walker(open_browser(people.owner(team)))


@pytest.fixture
def objects(walker):
    """The person in front of the table of objects."""
    walker.go("section", TASK, "objects")
    return walker


@pytest.mark.parametrize(
    ("row", "name"), [("#row-limit-failed_recoveries_per_step", "cap"), ("#part-gate", "named_person")]
)
def test_what_is_missing_leads_into_the_field_that_is_empty(open_browser, team, row, name):
    builders.a_draft(team, task_id="fresh")
    walker = Walker(open_browser(people.owner(team)))
    walker.go("overview", "fresh")
    link = walker.page.locator(f"a[href$='{row}']").first
    link.focus()
    with walker.leaving():
        walker.page.keyboard.press("Enter")
    expect(field(walker.page.locator(row), name)).to_be_focused()


def test_the_first_tab_leads_past_the_head_of_the_page(objects):
    objects.page.keyboard.press("Tab")
    expect(objects.page.locator("a.skip")).to_be_focused()
    expect(objects.page.locator("a.skip")).to_be_in_viewport()
    objects.page.keyboard.press("Enter")
    expect(objects.page.locator("#main")).to_be_focused()


def test_the_question_mark_lists_the_keys_and_escape_closes_the_list(objects):
    objects.page.keyboard.press("?")
    expect(objects.page.locator("dialog#keys")).to_be_visible()
    objects.page.keyboard.press("Escape")
    expect(objects.page.locator("dialog#keys")).to_be_hidden()


def test_the_slash_leads_to_the_search(objects):
    objects.page.keyboard.press("/")
    expect(objects.page.locator("#search-object")).to_be_focused()
    expect(objects.page.locator("#search-object")).to_have_value("")


@pytest.mark.parametrize("page", ["list", "events"])
def test_the_slash_leads_to_the_search_of_every_page_that_has_one(walker, page):
    walker.go(page, *([TASK] if page == "events" else []))
    walker.page.keyboard.press("/")
    expect(walker.page.locator("[data-search]")).to_be_focused()


def test_g_and_c_lead_to_the_contracts(objects):
    objects.page.keyboard.press("g")
    objects.page.keyboard.press("c")
    expect(objects.page).to_have_url(re.compile(r"//[^/]+/$"))


def test_keys_are_letters_while_somebody_types(objects):
    objects.page.focus("#search-object")
    objects.page.keyboard.type("?g c/")
    expect(objects.page.locator("#search-object")).to_have_value("?g c/")
    expect(objects.page.locator("dialog#keys")).to_be_hidden()


def test_the_keys_can_be_switched_off_and_stay_off(objects):
    objects.page.keyboard.press("?")
    objects.page.uncheck("#keys-on")
    objects.page.keyboard.press("Escape")
    objects.page.reload()
    objects.page.keyboard.press("/")
    objects.page.keyboard.press("?")
    expect(objects.page.locator("#search-object")).not_to_be_focused()
    expect(objects.page.locator("dialog#keys")).to_be_hidden()


def test_the_link_in_the_foot_opens_the_list_without_a_key(objects):
    objects.page.click("footer a[data-show=keys]")
    expect(objects.page.locator("dialog#keys")).to_be_visible()


def test_the_keys_can_be_switched_off_and_on_again_on_their_page(walker):
    walker.go("keyboard")
    walker.page.uncheck("#keys-here")
    expect(walker.page.locator("#keys-on")).not_to_be_checked()
    walker.go("list")
    walker.page.keyboard.press("?")
    expect(walker.page.locator("dialog#keys")).to_be_hidden()
    walker.go("keyboard")
    expect(walker.page.locator("#keys-here")).not_to_be_checked()
    walker.page.check("#keys-here")
    walker.page.keyboard.press("Tab")
    walker.page.keyboard.press("?")
    expect(walker.page.locator("dialog#keys")).to_be_visible()


def test_the_focus_is_in_the_form_while_a_row_is_edited_and_at_the_row_afterwards(objects):
    edit = objects.page.locator("#rows-object a[href$='/edit/']").first
    edit.focus()
    objects.page.keyboard.press("Enter")
    expect(objects.page.locator("tr.editing h3")).to_be_focused()
    field(objects.page.locator("tr.editing"), "note").fill("by keyboard")
    objects.page.keyboard.press("Tab")
    objects.page.locator("tr.editing button.deed").focus()
    objects.page.keyboard.press("Enter")
    expect(edit).to_be_focused()
    expect(objects.page.locator("#announce")).to_contain_text("Saved on the server")


def test_the_focus_comes_back_to_the_row_when_editing_is_cancelled(objects):
    edit = objects.page.locator("#rows-object a[href$='/edit/']").first
    edit.press("Enter")
    objects.page.locator("tr.editing .actions a").press("Enter")
    expect(edit).to_be_focused()


def test_the_focus_is_never_lost_by_adding_a_row(objects):
    objects.page.locator("#part-object .heading a[href$='/add/']").press("Enter")
    form = objects.page.locator("#add-object form")
    expect(form.locator("h3")).to_be_focused()
    field(form, "object_id").fill("O-3")
    form.locator("button.deed").press("Enter")
    expect(objects.page.locator("#announce")).to_contain_text("O-3 was added")
    assert focused(objects.page) not in ("body#", "html#")


def test_the_focus_is_at_the_neighbour_when_a_row_is_removed(objects):
    rows = objects.page.locator("#rows-object > tr")
    rows.first.locator(".menu summary").press("Enter")
    rows.first.locator("a[href$='/remove/']").press("Enter")
    expect(objects.page.locator("tr.editing a")).to_be_focused()
    objects.page.locator("tr.editing button.danger").press("Enter")
    expect(rows).to_have_count(1)
    expect(objects.page.locator("#announce")).to_contain_text("was removed")
    expect(rows.first.locator(":focus")).to_have_count(1)


def test_the_focus_stays_with_the_row_that_is_moved(objects):
    rows = objects.page.locator("#rows-object > tr")
    rows.first.locator(".menu summary").press("Enter")
    rows.first.locator("button[value=down]").press("Enter")
    expect(rows.last).to_contain_text("O-1")
    objects.page.wait_for_function("document.activeElement !== document.body")


def test_the_focus_is_never_lost_by_saving_a_section(walker):
    walker.go("section", TASK, "identity")
    field(walker.page.locator("#part-identity"), "purpose").fill("By keyboard")
    walker.page.locator("#part-identity button.deed").press("Enter")
    expect(walker.page.locator("#part-identity .state.confirmed")).to_be_focused()


def test_the_focus_is_never_lost_by_marking_a_section(objects):
    objects.page.locator("#mark button").press("Enter")
    told = objects.page.locator("#mark span[data-focus]")
    expect(told).to_be_focused()
    objects.page.keyboard.press("Enter")  # a second time by mistake takes nothing back
    expect(told).to_be_focused()
    expect(objects.page.locator("#mark button[value=yes]")).to_be_visible()


def test_the_focus_is_at_what_was_done_after_an_act_on_objects(objects):
    objects.page.locator("#rows-object input[type=checkbox]").first.press("Space")
    objects.page.select_option("#objects-act-name", "begin")
    objects.page.locator("#objects-act button").press("Enter")
    expect(objects.page.locator("#part-object .note.ok")).to_be_focused()

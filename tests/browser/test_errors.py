import re

import pytest
from playwright.sync_api import expect

from tests import builders, people
from tests.browser.walking import Walker, field

TASK = "with-errors"
LANGUAGES = pytest.mark.parametrize(("language", "prefix"), [("en", "Error: "), ("zh-hans", "错误")])
SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["js", "no-js"])


def walker_of(open_browser, team, language="en", scripts=True):
    builders.a_draft(team, task_id=TASK)
    page = open_browser(people.owner(team), language=language, java_script_enabled=scripts)
    return Walker(page, language, scripts)


def refuse(walker, part):
    """Fill in two wrong values beside a right one, and save."""
    walker.go("section", TASK, "identity")
    block = walker.page.locator(f"#part-{part}")
    field(block, "purpose").fill("Everything typed is kept")
    field(block, "state_schema_version").fill("two")
    field(block, "title").fill("")
    walker.press(block.locator("button.deed"), then=walker.page.locator(".error-summary"))
    return block


@LANGUAGES
@SCRIPTS
def test_a_refused_section_says_so_first_and_keeps_what_was_typed(
    open_browser, team, language, prefix, scripts
):
    walker = walker_of(open_browser, team, language, scripts)
    block = refuse(walker, "identity")
    expect(walker.page).to_have_title(re.compile(f"^{prefix}"))
    summary = walker.page.locator(".error-summary")
    expect(summary).to_be_focused()
    expect(summary.locator("a")).to_have_count(2)
    expect(field(block, "purpose")).to_have_value("Everything typed is kept")
    expect(field(block, "state_schema_version")).to_have_value("two")
    wrong = field(block, "state_schema_version")
    assert wrong.get_attribute("aria-invalid") == "true"
    words = walker.page.locator(f"#{wrong.get_attribute('id')}_error p").inner_text()
    said = words.partition("\n")[2] or words.split(":", 1)[-1].strip()
    expect(summary).to_contain_text(said.split("：", 1)[-1].strip())


@SCRIPTS
def test_the_summary_leads_to_the_field(open_browser, team, scripts):
    walker = walker_of(open_browser, team, scripts=scripts)
    block = refuse(walker, "identity")
    walker.page.locator(".error-summary a").last.click()
    expect(field(block, "state_schema_version")).to_be_focused()


def test_the_title_is_calm_again_once_the_section_is_saved(open_browser, team):
    walker = walker_of(open_browser, team)
    block = refuse(walker, "identity")
    field(block, "title").fill("A title")
    field(block, "state_schema_version").fill("2")
    walker.save_block("identity")
    expect(walker.page).to_have_title(re.compile("^Identity"))


@SCRIPTS
def test_a_row_that_is_not_added_keeps_what_was_typed(open_browser, team, scripts):
    walker = walker_of(open_browser, team, scripts=scripts)
    walker.go("section", TASK, "sources")
    walker.page.click("#part-source .heading a[href$='/add/']")
    form = walker.page.locator("#add-source form" if scripts else "main form")
    field(form, "source_id").fill("P-1")
    field(form, "sha256").fill("no checksum")
    walker.press(form.locator("button.deed"), then=walker.page.locator(".error-summary"))
    expect(walker.page.locator(".error-summary")).to_be_focused()
    expect(walker.page).to_have_title(re.compile("^Error: "))
    expect(field(form, "source_id")).to_have_value("P-1")
    expect(field(form, "sha256")).to_have_value("no checksum")
    walker.page.locator(".error-summary a").first.click()
    expect(form.locator(":focus")).to_have_count(1)


@SCRIPTS
def test_objects_stay_chosen_when_an_act_on_them_is_refused(open_browser, team, scripts):
    walker = walker_of(open_browser, team, scripts=scripts)
    contract = the_contract()
    for number in (1, 2):
        builders.a_row(contract, "object", object_id=f"O-{number}", source="")
    walker.go("section", TASK, "objects")
    walker.page.locator("#rows-object input[type=checkbox]").first.check()
    walker.page.select_option("#objects-act-name", "skip")
    walker.press(walker.page.locator("#objects-act button"), then=walker.page.locator(".error-summary"))
    expect(walker.page.locator("#rows-object input:checked")).to_have_count(1)
    expect(walker.page.locator("#objects-act-name")).to_have_value("skip")


def test_a_secret_is_refused_without_being_said_again(open_browser, team):
    walker = walker_of(open_browser, team)
    walker.go("section", TASK, "identity")
    block = walker.page.locator("#part-identity")
    secret = "postgresql://robot:hunter2hunter2@db.internal/labels"
    field(block, "purpose").fill(secret)
    block.locator("button.deed").click()
    expect(walker.page.locator(".error-summary")).to_be_focused()
    expect(walker.page.locator(".error-summary")).not_to_contain_text("hunter2")


def test_a_session_that_ended_loses_nothing_that_was_typed(open_browser, team):
    walker = walker_of(open_browser, team)
    walker.go("section", TASK, "identity")
    block = walker.page.locator("#part-identity")
    field(block, "purpose").fill("Typed before the session ended")
    walker.page.context.clear_cookies(name="workbench_session")
    block.locator("button.deed").click()
    expect(walker.page.locator("#notices a[data-login-again]")).to_be_visible()
    expect(field(block, "purpose")).to_have_value("Typed before the session ended")


def the_contract():
    from contracts.models import Contract

    return Contract.objects.get(task_id=TASK)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_refused_clipboard_is_told_on_a_line_of_its_own(open_browser, team, language):
    draft = builders.a_draft(team, task_id=TASK)
    builders.a_row(draft, "source")
    walker = Walker(open_browser(people.owner(team), language=language), language)
    refused = "void (navigator.clipboard.writeText = async () => { throw new Error(); })"
    for place, button in (
        (("section", TASK, "sources"), "td .copy"),
        (("overview", TASK), "main .quiet .copy"),
        (("export", TASK), "[data-copy-url]"),
    ):
        walker.go(*place)
        walker.page.evaluate(refused)
        pressed = walker.page.locator(button).first
        pressed.click()
        told = walker.page.locator(".copy-told")
        expect(told).to_be_visible()
        assert told.bounding_box()["y"] >= pressed.bounding_box()["y"] + pressed.bounding_box()["height"] / 2
        around = told.locator("xpath=..")
        assert around.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
        assert around.evaluate("one => one.lastElementChild.className") == "copy-told"
        assert walker.page.evaluate("getSelection().toString()").strip()

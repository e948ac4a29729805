from urllib.parse import urldefrag

import pytest
from playwright.sync_api import expect

from contracts.models import Operation
from contracts.rules.fingerprint import operation_key
from contracts.rules.vocabulary import Measure, Section
from tests import people
from tests.browser import walking
from tests.browser.walking import Walker, address, field

TASK = "archive-photographs"
PATHS = pytest.mark.parametrize("language", ["en", "zh-hans"])
SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["js", "no-js"])


@pytest.fixture
def walker(open_browser, team, live_server, language, scripts):
    """A reviewer of the team who has never been here, in front of the login page."""
    person = people.owner(team)
    page = open_browser(
        language=language, java_script_enabled=scripts, accept_downloads=True, timezone_id="Asia/Shanghai"
    )
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    walker = Walker(page, language, scripts)
    walker.log_in(person)
    return walker


def fill_nine_sections(walker):
    walking.fill_identity(walker, TASK)
    walking.fill_attempt_and_checkpoint(walker, TASK)
    walker.paste(TASK, "source", walking.sources_table(), lines=200)
    walker.paste(TASK, "object", walking.objects_table(), lines=200)
    walking.fill_operations(walker, TASK)
    walking.fill_rules(walker, TASK)
    walking.fill_windows(walker, TASK)
    for section in list(Section)[:-1]:
        walker.mark(TASK, section)


def be_told_what_is_missing_and_mend_it(walker):
    """Try to leave draft: the cap of failed recoveries and one mark were forgotten, each named with its place."""
    walker.go("act", TASK, "leave-draft")
    missing = walker.page.locator("ul.missing a")
    expect(missing).to_have_count(2)
    expect(missing.nth(0)).to_contain_text(walker.word(Measure.FAILED_RECOVERIES.label))
    expect(missing.nth(1)).to_contain_text(walker.word(Section.WINDOWS.label))
    assert address("section", TASK, "windows") in missing.nth(1).get_attribute("href")
    with walker.leaving():
        missing.nth(0).click()
    assert urldefrag(walker.page.url).url.endswith(address("section", TASK, "limits"))
    field(walker.page.locator("#part-limit"), "cap").last.fill("3")
    walker.save_block("limit")
    walker.mark(TASK, Section.WINDOWS)


def leave_draft(walker):
    walker.go("overview", TASK)
    with walker.leaving():
        walker.page.click(f"a[href$='{address('act', TASK, 'leave-draft')}']")
    with walker.leaving():
        walker.page.click("main button.deed")
    expect(walker.page.locator(".heading .state.paused").first).to_be_visible()


def carry_away(walker, task_id, folder):
    """Return the TXT and the JSON as downloaded, after comparing them with preview and clipboard."""
    walker.go("export", task_id)
    text = walker.download("a[href*='export.txt']", folder).read_bytes()
    assert walker.page.locator("#preview").text_content().encode() == text
    if walker.scripts:
        walker.page.click("[data-copy-url]")
        expect(walker.page.locator("[data-copy-url].done")).to_have_text(walker.word("Copied"))
        assert walker.page.evaluate("navigator.clipboard.readText()").encode() == text
    else:
        expect(walker.page.locator("[data-copy-url]")).to_be_hidden()
    return text, walker.download("a[href$='export.json']", folder)


@PATHS
@SCRIPTS
def test_a_newcomer_fills_a_blank_contract_and_carries_it_away(walker, tmp_path):
    walker.create("blank", title="Archive photographs / 馆藏照片", task_id=TASK)
    fill_nine_sections(walker)
    be_told_what_is_missing_and_mend_it(walker)
    leave_draft(walker)
    text, file = carry_away(walker, TASK, tmp_path)
    assert "P-0200" in text.decode()
    walker.create("import", file=str(file), task_id="another-task")
    _, again = carry_away(walker, "another-task", tmp_path)
    assert again.read_bytes() == walking.as_other_task(file.read_bytes(), again.read_bytes())
    assert again.read_bytes() != file.read_bytes()
    (operation,) = Operation.objects.filter(contract__task_id="another-task")
    parameters = {"record": "P-0001", "text": "Harbour with two boats, about 1910."}
    assert operation.key == operation_key("another-task", "publish", 1, "catalogue.write", parameters)

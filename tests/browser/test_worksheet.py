"""The worksheet in a browser: what it keeps, what it never keeps, and what leaves it."""

import contextlib
import re

import psutil
import pytest
from playwright.sync_api import expect

from tests import people
from tests.browser.conftest import PATIENCE_MS
from tests.chromium import LAUNCH
from tests.rules.test_credentials import filler

WHERE = "/worksheet/"
TITLE, PURPOSE = "[name=identity-title]", "[name=identity-purpose]"
KEPT = re.compile("Kept on this device at [0-2][0-9]:[0-5][0-9]")
SECRET = "gh" + "p_" + filler(36)
READ = """() => new Promise((resolve, reject) => {
  const opening = indexedDB.open("worksheet", 1);
  opening.onerror = reject;
  opening.onsuccess = () => {
    const request = opening.result.transaction("kept").objectStore("kept").get("only");
    request.onsuccess = () => resolve(JSON.stringify([request.result, { ...localStorage }, { ...sessionStorage }]));
  };
})"""


@pytest.fixture
def page(open_browser, transactional_db):
    page = open_browser()
    page.goto(WHERE)
    expect(page.locator("#kept")).to_have_text(re.compile("Nothing is kept yet"))
    return page


def is_kept(page):
    expect(page.locator("#kept")).to_have_text(KEPT)


@contextlib.contextmanager
def on_disk(chromium, live_server, browser_path, folder):
    context = chromium.browser_type.launch_persistent_context(
        folder, executable_path=browser_path, args=[*LAUNCH], base_url=live_server.url
    )
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context.pages[0]
    finally:
        with contextlib.suppress(Exception):  # it was killed
            context.close()


def kill(folder):
    """Kill every process of the browser whose folder it is, as a power cut does."""
    found = [
        one
        for one in psutil.process_iter(["cmdline"])
        if f"--user-data-dir={folder}" in (one.info["cmdline"] or [])
    ]
    assert found
    for one in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(found, timeout=30)


def test_a_killed_browser_loses_at_most_a_second_of_typing(
    chromium, live_server, browser_path, tmp_path, transactional_db
):
    with on_disk(chromium, live_server, browser_path, tmp_path) as page:
        page.goto(WHERE)
        page.click("[data-add=source]")
        page.fill("[name=source-1-source_id]", "P-1")
        page.click("[data-add=source]")
        page.fill("[name=source-2-source_id]", "P-2")
        page.check("[name=complete-identity]")
        page.locator("[name=window-receipt_lost-run_by]").evaluate(
            "(one) => one.closest('details').open = true"
        )
        page.fill("[name=window-receipt_lost-run_by]", "rita")
        page.locator(TITLE).press_sequentially("A label", delay=20)
        page.wait_for_timeout(1000)
        kill(tmp_path)
    with on_disk(chromium, live_server, browser_path, tmp_path) as page:
        page.goto(WHERE)
        expect(page.locator("#kept")).to_have_text(re.compile("Taken up again"))
        expect(page.locator(TITLE)).to_have_value("A label")
        expect(page.locator("[name=source-2-source_id]")).to_have_value("P-2")
        expect(page.locator("[name=complete-identity]")).to_be_checked()
        expect(page.locator("[name=window-receipt_lost-run_by]")).to_be_visible()


def test_a_credential_is_kept_nowhere_and_named_by_field_and_kind(page):
    page.fill(TITLE, "A label")
    page.fill(PURPOSE, f"use {SECRET}")
    warning = page.locator("[data-told]")
    expect(warning).to_have_text(re.compile(r"^Purpose: this looks like a credential \(GitHub token\)"))
    expect(warning).not_to_contain_text(SECRET)
    expect(page.locator("#kept")).to_have_text(re.compile("What looks like a credential is not kept"))
    kept = page.evaluate(READ)
    assert "A label" in kept
    assert SECRET not in kept
    page.fill(PURPOSE, "use the vault")
    expect(warning).to_have_count(0)
    is_kept(page)
    assert "use the vault" in page.evaluate(READ)


def test_nothing_is_sent_while_somebody_types(page):
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    page.fill(TITLE, "A label")
    page.click("[data-add=object]")
    page.fill("[name=object-1-object_id]", "O-1")
    is_kept(page)
    page.wait_for_timeout(500)
    assert sent == []


def test_clearing_asks_first_and_leaves_nothing(page):
    page.fill(TITLE, "A label")
    is_kept(page)
    page.click("[data-clear]")
    page.click("#clear [value=keep]")
    expect(page.locator(TITLE)).to_have_value("A label")
    page.click("[data-clear]")
    with page.expect_navigation():
        page.click("#clear [value=clear]")
    expect(page.locator("#kept")).to_have_text(re.compile("Nothing is kept yet"))
    expect(page.locator(TITLE)).to_have_value("")
    assert "A label" not in page.evaluate(READ)


def test_rows_come_and_go_and_stay_numbered(page):
    for name in ("P-1", "P-2", "P-3"):
        page.click("[data-add=source]")
        page.locator("#rows-source fieldset").last.locator("[name$=source_id]").fill(name)
    page.locator("#rows-source fieldset").nth(1).locator("[data-remove]").click()
    expect(page.locator("#rows-source legend")).to_have_text(
        [re.compile(r"Source\s+1"), re.compile(r"Source\s+2")]
    )
    assert page.evaluate("document.activeElement.dataset.add") == "source"
    is_kept(page)
    page.reload()
    expect(page.locator("#rows-source [name$=source_id]")).to_have_count(2)
    assert page.locator("#rows-source [name$=source_id]").evaluate_all(
        "(all) => all.map((one) => one.value)"
    ) == [
        "P-1",
        "P-3",
    ]


def test_preview_copy_and_file_are_the_same_bytes(open_browser, transactional_db):
    page = open_browser(permissions=["clipboard-read", "clipboard-write"])
    page.goto(WHERE)
    page.fill(TITLE, "陶碗的说明 & <label>")
    page.click("[data-add=object]")
    page.fill("[name=object-1-object_id]", "O-1")
    with page.expect_download() as download:
        page.click("[value=txt]")
    text = download.value.path().read_text("utf-8")
    assert "陶碗的说明 & <label>" in text
    page.click("[data-copy-form]")
    expect(page.locator("[data-copy-form]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == text
    page.click(".sticky [value=preview]")
    expect(page.locator("#preview")).to_be_focused()
    assert page.locator("#preview").evaluate("(one) => one.textContent") == text
    expect(page.locator("[name=object-1-object_id]")).to_have_value("O-1")
    is_kept(page)


def test_copying_what_cannot_be_read_leads_to_the_field(page, troubles):
    page.fill("[name=gate-lease_seconds]", "two minutes")
    page.click("[data-copy-form]")
    expect(page.locator(".error-summary")).to_be_focused()
    page.click(".error-summary a")
    expect(page.locator("[name=gate-lease_seconds]")).to_be_focused()
    expect(page.locator("#id_gate-lease_seconds_error")).to_be_visible()


def test_whoever_logs_in_takes_it_into_the_workbench(page, team):
    person = people.reviewer(team)
    page.fill("[name=task_id]", "label-0042")
    page.fill(TITLE, "Label for the bowl")
    page.click("[data-add=object]")
    page.fill("[name=object-1-object_id]", "O-1")
    page.click("text=Log in to take it into the workbench")
    page.fill("[name=login]", person.get_username())
    page.fill("[name=password]", people.PASSWORD)
    page.click("main button[type=submit]")
    expect(page.locator(TITLE)).to_have_value("Label for the bowl")
    page.click("[value=take]")
    shown = page.locator("#preview")
    expect(shown).to_contain_text("Label for the bowl")
    expect(shown).to_contain_text("label-0042")
    page.click("[value=create]")
    expect(page.locator("main h1")).to_have_text("Label for the bowl")


def test_without_scripts_it_is_a_form_that_makes_the_text(open_browser, transactional_db):
    page = open_browser(java_script_enabled=False)
    page.goto(WHERE)
    expect(page.locator("noscript .note")).to_contain_text("nothing of the worksheet is kept")
    page.fill(TITLE, "A label")
    page.locator("[name=object-1-object_id]").fill("O-1")
    page.locator("[data-add=object]").click()
    page.locator("[name=object-4-object_id]").fill("O-4")
    with page.expect_download() as download:
        page.locator("[value=txt]").click()
    text = download.value.path().read_text("utf-8")
    assert "A label" in text
    assert text.index("O-1") < text.index("O-4")
    page.locator(".sticky [value=preview]").click()
    expect(page.locator("#preview")).to_have_text(text.rstrip("\n"), use_inner_text=False)

"""What is typed and not saved outlives the browser, is offered and never put back silently, and leaves on logout."""

import re
import signal
from contextlib import contextmanager, suppress

import psutil
import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from playwright.sync_api import Error, expect

from contracts.models import Approval, Contract, SectionMark, WorkObject
from tests import builders, people
from tests.browser.walking import Walker, address, field
from tests.chromium import LAUNCH
from tests.views.visiting import visitor

COUNT = """async () => {
  const asked = indexedDB.open("drafts", 1);
  const done = (one) => new Promise((yes) => (one.onsuccess = () => yes(one.result)));
  asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
  return done((await done(asked)).transaction("kept").objectStore("kept").count());
}"""
KEYS_AND_VALUES = """async () => {
  const done = (one) => new Promise((yes) => (one.onsuccess = () => yes(one.result)));
  const kept = (await done(indexedDB.open("drafts", 1))).transaction("kept").objectStore("kept");
  const [keys, values] = await Promise.all([done(kept.getAllKeys()), done(kept.getAll())]);
  return JSON.stringify([keys, values]);
}"""
KEPT = "Not on the server yet, kept on this device at"


@pytest.fixture
def contract(team):
    contract = builders.a_draft(team, task_id="half-typed")
    builders.a_row(contract, "object", step="draft", note="as it was")
    return contract


def log_in(context, live_server, person):
    session = visitor(person).cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])


@pytest.fixture
def start(chromium, browser_path, live_server, tmp_path, troubles):
    """Start a browser that remembers: every call is the same browser, started again."""

    @contextmanager
    def start_one(person):
        context = chromium.browser_type.launch_persistent_context(
            str(tmp_path / "profile"), executable_path=browser_path, args=[*LAUNCH], base_url=live_server.url
        )
        context.set_default_timeout(60_000)
        troubles.watch(context)
        log_in(context, live_server, person)
        yield context.new_page()
        with suppress(Error):
            context.close()

    return start_one


def kill(folder):
    """Kill every process of the browser whose profile is in `folder`, as a crash would."""
    found = [
        one for one in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(one.info["cmdline"] or [])
    ]
    assert found
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)


def open_row(page, contract):
    page.goto(address("section", contract.task_id, "objects"))
    page.click("#rows-object a[href$='/edit/']")
    form = page.locator("tr.editing form")
    expect(form).to_be_visible()
    return form


def identity(page, contract):
    page.goto(address("section", contract.task_id, "identity"))
    return page.locator("#part-identity")


def is_kept(form):
    expect(form.locator("[data-told]")).to_contain_text(KEPT)


def bar(scope):
    return scope.locator(".draft")


def count_of(page):
    return page.evaluate(COUNT)


def test_what_was_typed_outlives_a_killed_browser_and_is_offered_not_put_back(
    team, contract, start, tmp_path
):
    olga = people.owner(team)
    with start(olga) as page:
        form = open_row(page, contract)
        field(form, "note").fill("")
        field(form, "note").press_sequentially("typed before the crash", delay=5)
        page.wait_for_timeout(1000)
        kill(tmp_path / "profile")
    with start(olga) as page:
        form = open_row(page, contract)
        expect(bar(form)).to_be_visible()
        expect(field(form, "note")).to_have_value("as it was")
        expect(page.locator("#announce")).to_contain_text("You typed here and did not save.")
        bar(form).locator("[value=compare]").click()
        cells = bar(form).locator("tbody tr").locator("th, td")
        expect(cells).to_have_text([re.compile("Note"), "typed before the crash", "as it was"])
        expect(bar(form).locator("p[data-moved]")).to_be_hidden()
        bar(form).locator("[value=restore]").click()
        expect(field(form, "note")).to_have_value("typed before the crash")
        expect(field(form, "note")).to_be_focused()
        is_kept(form)
        form.locator("button.deed").click()
        expect(page.locator("tr.editing")).to_have_count(0)
        assert WorkObject.objects.get(contract=contract).note == "typed before the crash"
        assert count_of(page) == 0
        form = open_row(page, contract)
        page.wait_for_timeout(300)
        expect(bar(form)).to_have_count(0)


def test_a_restored_draft_whose_fields_moved_on_is_answered_with_yours_theirs_and_base(
    open_browser, team, contract
):
    page, other = open_browser(people.owner(team)), open_browser(people.reviewer(team))
    form = open_row(page, contract)
    field(form, "note").fill("mine")
    field(form, "evidence").fill("logs://mine")
    is_kept(form)
    theirs = open_row(other, contract)
    field(theirs, "note").fill("theirs")
    theirs.locator("button.deed").click()
    expect(other.locator("tr.editing")).to_have_count(0)
    form = open_row(page, contract)
    expect(bar(form).locator("p[data-moved]")).to_be_visible()
    bar(form).locator("[value=compare]").click()
    rows = bar(form).locator("tbody tr")
    expect(rows.filter(has_text="mine").filter(has_text="theirs")).to_contain_text("as it was")
    bar(form).locator("[value=restore]").click()
    form.locator("button.deed").click()
    conflict = page.locator("tr.editing .error-summary")
    expect(conflict).to_be_focused()
    expect(conflict.locator("thead th")).to_have_text(
        ["Field", "Yours", "Stored by somebody else", "Before both"]
    )
    expect(conflict.locator("tbody tr", has_text="theirs").locator("td")).to_have_text(
        ["mine", "theirs", "as it was"]
    )
    assert WorkObject.objects.get(contract=contract).note == "theirs"
    page.locator("tr.editing button.deed").click()
    expect(page.locator("tr.editing")).to_have_count(0)
    row = WorkObject.objects.get(contract=contract)
    assert (row.note, row.evidence) == ("mine", "logs://mine")
    assert count_of(page) == 0


def test_a_discarded_draft_is_gone(open_browser, team, contract):
    page = open_browser(people.owner(team))
    field(identity(page, contract), "purpose").fill("Not meant")
    is_kept(page.locator("#part-identity"))
    expect(page.locator("#status [data-told]")).to_contain_text("typed since, kept on this device at")
    page.reload()
    block = page.locator("#part-identity")
    bar(block).locator("[value=discard]").click()
    expect(bar(block)).to_have_count(0)
    expect(page.locator("#announce")).to_contain_text("The draft was discarded.")
    page.wait_for_function(f"({COUNT})().then((count) => count === 0)")
    page.reload()
    page.wait_for_timeout(300)
    expect(bar(block)).to_have_count(0)


def test_typing_beside_an_offered_draft_gives_up_neither(open_browser, team, contract):
    page = open_browser(people.owner(team))
    block = identity(page, contract)
    field(block, "purpose").fill("The first thought")
    is_kept(block)
    page.reload()
    expect(bar(block)).to_be_visible()
    field(block, "workflow_name").fill("second-thought")
    is_kept(block)
    page.reload()
    bar(block).locator("[value=restore]").click()
    expect(field(block, "purpose")).to_have_value("The first thought")
    expect(field(block, "workflow_name")).to_have_value("second-thought")


def test_a_refused_save_keeps_the_draft_and_a_good_one_removes_it(open_browser, team, contract):
    page = open_browser(people.owner(team))
    block = identity(page, contract)
    field(block, "purpose").fill("Kept over a refusal")
    field(block, "state_schema_version").fill("no number")
    block.locator("button.deed").click()
    expect(block.locator(".error-summary")).to_be_visible()
    is_kept(block)
    assert count_of(page) == 1
    page.reload()
    bar(block).locator("[value=restore]").click()
    expect(field(block, "state_schema_version")).to_have_value("no number")
    field(block, "state_schema_version").fill("3")
    block.locator("button.deed").click()
    expect(block.locator(".state.confirmed")).to_be_visible()
    page.wait_for_function(f"({COUNT})().then((count) => count === 0)")
    assert Contract.objects.get(pk=contract.pk).purpose == "Kept over a refusal"
    expect(page.locator("#status [data-told]")).to_have_count(0)


def test_marking_a_section_points_at_what_is_typed_and_not_saved(open_browser, team, contract):
    page = open_browser(people.owner(team))
    page.goto(address("section", contract.task_id, "objects"))
    page.click("#rows-object a[href$='/edit/']")
    note = field(page.locator("tr.editing form"), "note")
    note.fill("typed beside the mark")
    page.click("#mark button[value=yes]")
    told = page.locator("#mark .unsaved")
    expect(told.locator("a")).to_be_focused()
    assert not SectionMark.objects.filter(contract=contract, complete=True).exists()
    page.keyboard.press("Enter")
    expect(note).to_be_focused()
    page.click("tr.editing button.deed")
    expect(page.locator("tr.editing")).to_have_count(0)
    page.click("#mark button[value=yes]")
    expect(page.locator("#mark button[value=no]")).to_be_visible()
    expect(told).to_have_count(0)
    assert WorkObject.objects.get(contract=contract).note == "typed beside the mark"


def test_marking_a_section_knows_of_a_row_that_is_closed_again_and_a_second_word_counts(
    open_browser, team, contract
):
    page = open_browser(people.owner(team))
    page.goto(address("section", contract.task_id, "objects"))
    page.click("#rows-object a[href$='/edit/']")
    form = page.locator("tr.editing form")
    field(form, "note").fill("typed before the reload")
    is_kept(form)
    page.reload()
    page.click("#mark button[value=yes]")
    row = WorkObject.objects.get(contract=contract).pk
    edited = address("row_edit", contract.task_id, "object", row)
    expect(page.locator("#mark .unsaved a")).to_have_attribute("href", edited)
    page.click("#mark button[value=yes]")
    expect(page.locator("#mark button[value=no]")).to_be_visible()
    page.goto(edited)
    expect(bar(page.locator("form[data-draft]"))).to_be_visible()


def test_no_credential_and_no_token_of_a_form_is_ever_kept(open_browser, team, contract):
    page = open_browser(people.owner(team))
    block = identity(page, contract)
    secret = "gh" + "p_" + "aB3dE5gH7jK9mN2pQ4sT" * 2
    field(block, "purpose").fill(f"use {secret}")
    field(block, "workflow_name").fill("labels-2")
    expect(block.locator("[data-told]")).to_contain_text("What looks like a credential is not kept")
    kept = page.evaluate(KEYS_AND_VALUES)
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    assert "labels-2" in kept
    assert secret not in kept
    assert token not in kept
    assert "csrf" not in kept


def test_another_person_at_the_same_browser_is_offered_nothing(open_browser, live_server, team, contract):
    page = open_browser(people.owner(team))
    block = identity(page, contract)
    field(block, "purpose").fill("Olga's own words")
    is_kept(block)
    page.goto("about:blank")  # a page left open would go on asking in the name of the one before
    page.context.clear_cookies()
    log_in(page.context, live_server, people.reviewer(team))
    identity(page, contract)
    page.wait_for_timeout(500)
    expect(bar(block)).to_have_count(0)
    page.goto("about:blank")  # a page left open would go on asking in the name of the one before
    page.context.clear_cookies()
    log_in(page.context, live_server, people.owner(team))
    identity(page, contract)
    expect(bar(block)).to_be_visible()


def test_logging_out_asks_and_wipes_what_is_the_persons_own_and_nothing_else(
    open_browser, live_server, team, contract
):
    page = open_browser(people.reviewer(team))
    block = identity(page, contract)
    field(block, "purpose").fill("Rita's own words")
    is_kept(block)
    page.goto("about:blank")  # a page left open would go on asking in the name of the one before
    page.context.clear_cookies()
    log_in(page.context, live_server, people.owner(team))
    page.goto(address("list"))
    page.goto(address("worksheet"))
    page.fill("[name=identity-title]", "belongs to the browser")
    expect(page.locator("#kept")).to_contain_text("Kept on this device")
    identity(page, contract)
    field(block, "purpose").fill("Olga's own words")
    is_kept(block)
    page.click("header details.menu summary")
    page.click("[data-logout] button")
    dialog = page.locator("#logout")
    expect(dialog.locator("[data-count]")).to_have_text("1")
    expect(dialog.locator("[value=stay]")).to_be_focused()
    dialog.locator("[value=stay]").click()
    expect(dialog).to_be_hidden()
    assert count_of(page) == 2
    page.click("header details.menu summary")
    page.click("[data-logout] button")
    dialog.locator("[value=wipe]").click()
    expect(page.locator("body")).to_have_attribute("data-page", "login")
    kept = page.evaluate(KEYS_AND_VALUES)
    assert "Rita" in kept
    assert "Olga" not in kept
    page.goto(address("worksheet"))
    expect(page.locator("[name=identity-title]")).to_have_value("belongs to the browser")


def test_logging_out_without_drafts_asks_nothing_and_works_without_scripts(open_browser, team):
    for scripts in (True, False):
        page = open_browser(people.owner(team), java_script_enabled=scripts)
        page.goto(address("list"))
        page.click("header details.menu summary")
        page.click("[data-logout] button")
        expect(page.locator("body")).to_have_attribute("data-page", "login")


def test_a_form_posted_after_the_session_has_ended_comes_back_with_its_draft(open_browser, team, contract):
    walker = Walker(open_browser(people.owner(team)))
    page = walker.page
    walker.go("paste", contract.task_id, "source")
    page.fill("[name=table]", "source_id\tversion_label\nP-1\t1")
    is_kept(page.locator("main form"))
    Session.objects.all().delete()
    page.click("button[value=preview]")
    expect(page.locator("body")).to_have_attribute("data-page", "login")
    page.fill("[name=login]", "olga")
    page.fill("[name=password]", people.PASSWORD)
    page.click("main button[type=submit]")
    expect(page).to_have_url(re.compile(re.escape(address("paste", contract.task_id, "source")) + "$"))
    expect(page.locator("[name=table]")).to_have_value("")
    bar(page).locator("[value=restore]").click()
    expect(page.locator("[name=table]")).to_have_value("source_id\tversion_label\nP-1\t1")


def test_a_session_that_ends_under_a_section_loses_nothing(open_browser, team, contract, troubles):
    troubles.expected |= {403}  # who is here is asked with the token of the former session
    page = open_browser(people.owner(team))
    block = identity(page, contract)
    field(block, "purpose").fill("Typed while the session ended")
    is_kept(block)
    Session.objects.all().delete()
    block.locator("button.deed").click()
    expect(page.locator("[data-login-again]")).to_be_visible()
    expect(field(block, "purpose")).to_have_value("Typed while the session ended")
    assert count_of(page) == 1
    with page.expect_popup() as opened:
        page.click("[data-login-again]")
    door = opened.value
    door.fill("[name=login]", "olga")
    door.fill("[name=password]", people.PASSWORD)
    door.click("main button[type=submit]")
    expect(door.locator("main h1")).to_have_text("Contracts")
    door.close()
    page.bring_to_front()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#notices .note.ok")).to_be_visible()
    block.locator("button.deed").click()
    expect(block.locator(".state.confirmed")).to_be_visible()
    assert Contract.objects.get(pk=contract.pk).purpose == "Typed while the session ended"
    page.wait_for_function(f"({COUNT})().then((count) => count === 0)")


def test_pasted_lines_stay_kept_over_the_preview_and_go_once_stored(open_browser, team, contract):
    walker = Walker(open_browser(people.owner(team)))
    page = walker.page
    walker.go("paste", contract.task_id, "source")
    line = "\t".join(["P-1", "1", "1" * 64, "archive://1.tif"])
    page.fill("[name=table]", f"source_id\tversion_label\tsha256\tlocation\n{line}")
    is_kept(page.locator("main form"))
    with walker.leaving():
        page.click("button[value=preview]")
    expect(page.locator("button[value=store]")).to_be_visible()
    is_kept(page.locator("main form"))
    expect(bar(page)).to_have_count(0)
    assert count_of(page) == 1
    with walker.leaving():
        page.click("button[value=store]")
    page.wait_for_function(f"({COUNT})().then((count) => count === 0)")


def test_the_reason_for_sending_back_is_kept_and_goes_with_the_decision(open_browser, team):
    contract = builders.a_paused(team, task_id="to-decide", **builders.keys_of_a_call({}))
    item = builders.a_waiting_item(builders.a_call(contract))
    page = open_browser(people.curator(team))
    where = address("approval", contract.task_id, item.item_id)
    page.goto(where)
    page.click(".send-back summary")
    page.fill("#id_reason", "The year is wrong")
    is_kept(page.locator("#decide"))
    page.reload()
    expect(page.locator("#id_reason")).to_have_value("")
    bar(page).locator("[value=restore]").click()
    expect(page.locator("#id_reason")).to_have_value("The year is wrong")
    page.click("#decide button[value=rejected]")
    expect(page.locator("#decide")).to_have_count(0)
    assert Approval.objects.get(pk=item.pk).state == "rejected"
    page.wait_for_function(f"({COUNT})().then((count) => count === 0)")


def test_two_people_in_a_section_see_each_other(open_browser, team, contract):
    first, second = open_browser(people.owner(team)), open_browser(people.reviewer(team))
    first.goto(address("section", contract.task_id, "objects"))
    expect(first.locator("#here")).to_be_attached()
    first.wait_for_timeout(1500)
    second.goto(address("section", contract.task_id, "objects"))
    expect(second.locator("#here")).to_contain_text("Olga has this section open too")
    expect(first.locator("#here")).to_contain_text("Rita has this section open too")


def test_nobody_is_asked_for_while_the_page_is_hidden(open_browser, team, contract):
    page = open_browser(people.owner(team))
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/here/") else None)
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => window.unseen ?? true })")
    page.goto(address("section", contract.task_id, "objects"))
    page.wait_for_timeout(2000)
    assert asked == []
    with page.expect_response(lambda answer: answer.url.endswith("/here/")):
        page.evaluate("window.unseen = false; document.dispatchEvent(new Event('visibilitychange'))")

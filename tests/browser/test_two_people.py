import pytest
from playwright.sync_api import expect

from contracts.models import Contract, WorkObject
from tests import builders, people
from tests.browser.walking import Walker, field

SECTION = "section"


@pytest.fixture
def contract(team):
    contract = builders.a_draft(team, task_id="shared-task")
    builders.a_row(contract, "object", step="draft", note="as it was")
    return contract


@pytest.fixture
def two(open_browser, team, contract):
    """Two reviewers, each at a browser of their own."""
    return Walker(open_browser(people.owner(team))), Walker(open_browser(people.reviewer(team)))


def open_row(walker, contract):
    walker.go(SECTION, contract.task_id, "objects")
    walker.page.click("#rows-object a[href$='/edit/']")
    form = walker.page.locator("tr.editing form")
    expect(form).to_be_visible()
    return form


def test_the_second_to_save_a_row_sees_both_values_and_overwrites_nothing(two, contract):
    first, second = (open_row(walker, contract) for walker in two)
    field(first, "note").fill("first was here")
    field(second, "note").fill("second was here")
    field(second, "evidence").fill("logs://second")
    first.locator("button.deed").click()
    expect(two[0].page.locator("tr.editing")).to_have_count(0)
    second.locator("button.deed").click()
    conflict = second.locator(".error-summary")
    expect(conflict).to_be_focused()
    for words in ("first was here", "second was here", "as it was"):
        expect(conflict).to_contain_text(words)
    row = WorkObject.objects.get(contract=contract)
    assert (row.note, row.evidence) == ("first was here", "")
    expect(field(second, "note")).to_have_value("second was here")
    second.locator("button.deed").click()
    expect(two[1].page.locator("tr.editing")).to_have_count(0)
    row.refresh_from_db()
    assert (row.note, row.evidence) == ("second was here", "logs://second")


def test_the_second_to_save_the_identity_sees_both_values_and_overwrites_nothing(two, contract):
    blocks = []
    for walker in two:
        walker.go(SECTION, contract.task_id, "identity")
        blocks.append(walker.page.locator("#part-identity"))
    field(blocks[0], "purpose").fill("The first purpose")
    field(blocks[0], "workflow_name").fill("first workflow")
    two[0].save_block("identity")
    field(blocks[1], "purpose").fill("The second purpose")
    blocks[1].locator("button.deed").click()
    conflict = blocks[1].locator(".error-summary")
    expect(conflict).to_be_focused()
    for words in ("The first purpose", "The second purpose", "first workflow"):
        expect(conflict).to_contain_text(words)
    assert Contract.objects.get(pk=contract.pk).purpose == "The first purpose"
    expect(field(blocks[1], "workflow_name")).to_have_value("first workflow")
    two[1].save_block("identity")
    stored = Contract.objects.get(pk=contract.pk)
    assert (stored.purpose, stored.workflow_name) == ("The second purpose", "first workflow")


def test_without_scripts_the_second_to_save_a_row_sees_both_values_too(open_browser, team, contract):
    row = WorkObject.objects.get(contract=contract)
    pages = [
        open_browser(person, java_script_enabled=False)
        for person in (people.owner(team), people.reviewer(team))
    ]
    for page in pages:
        Walker(page).go("row_edit", contract.task_id, "object", row.pk)
    for page, words in zip(pages, ("first was here", "second was here"), strict=True):
        field(page.locator("main form"), "note").fill(words)
        with page.expect_navigation():
            page.click("main form button.deed")
    conflict = pages[1].locator(".error-summary")
    for words in ("first was here", "second was here", "as it was"):
        expect(conflict).to_contain_text(words)
    row.refresh_from_db()
    assert row.note == "first was here"
    with pages[1].expect_navigation():
        pages[1].click("main form button.deed")
    row.refresh_from_db()
    assert row.note == "second was here"


def test_two_quick_clicks_on_create_make_one_contract(open_browser, team):
    walker = Walker(open_browser(people.owner(team)))
    walker.page.goto("/contracts/new/?from=blank")
    walker.page.fill("[name=title]", "Clicked twice")
    walker.page.fill("[name=task_id]", "clicked-twice")
    with walker.leaving():
        walker.page.click("button[value=preview]")
    walker.page.locator("button[value=create]").dblclick(no_wait_after=True)
    expect(walker.page.locator("main h1")).to_have_text("Clicked twice")
    assert Contract.objects.filter(task_id="clicked-twice").count() == 1


def test_two_quick_clicks_on_save_store_once_and_refuse_nothing(open_browser, team, contract):
    walker = Walker(open_browser(people.owner(team)))
    walker.go(SECTION, contract.task_id, "identity")
    revision = Contract.objects.get(pk=contract.pk).revision
    block = walker.page.locator("#part-identity")
    field(block, "purpose").fill("Clicked twice")
    block.locator("button.deed").dblclick()
    expect(block.locator(".state.confirmed")).to_be_visible()
    walker.page.wait_for_load_state("networkidle")
    expect(walker.page.locator(".error-summary")).to_have_count(0)
    stored = Contract.objects.get(pk=contract.pk)
    assert (stored.purpose, stored.revision) == ("Clicked twice", revision + 1)


def test_two_quick_clicks_on_add_make_one_row(open_browser, team, contract):
    walker = Walker(open_browser(people.owner(team)))
    walker.go(SECTION, contract.task_id, "sources")
    walker.page.click("#part-source .heading a[href$='/add/']")
    form = walker.page.locator("#add-source form")
    values = {"source_id": "P-9", "version_label": "1", "sha256": "9" * 64, "location": "archive://p/9"}
    for name, value in values.items():
        field(form, name).fill(value)
    form.locator("button.deed").dblclick()
    expect(walker.page.locator("#rows-source tr", has_text="P-9")).to_have_count(1)
    walker.page.wait_for_load_state("networkidle")
    expect(walker.page.locator(".error-summary")).to_have_count(0)

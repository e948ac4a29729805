"""Every page of the workbench in every state that looks different, each reached by a function of its name."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from contracts.rules.notices import Told
from contracts.rules.vocabulary import Section
from tests import builders, documents, people
from tests.browser import walking
from tests.browser.walking import Walker
from tests.notices import a_notice

ROWS = ("attempt", "checkpoint", "step", "artefact", "operation", "usage", "window")
DRAFT, PAUSED, EMPTY, FULL = "a-draft", "a-paused", "an-empty", "a-full"
Go = Callable[[Walker], None]
SIGHTS: dict[str, Go] = {}


def fill_the_world(team: Any) -> None:
    """Make an empty draft, a full draft, a contract that left draft, and one with every record."""
    owner = people.owner(team)
    builders.a_draft(team, owner, task_id=EMPTY)
    draft = builders.a_complete_draft(team, owner, task_id=DRAFT)
    for part in ROWS:
        builders.a_row(draft, part, owner)
    builders.a_paused(team, owner, task_id=PAUSED)
    builders.done(builders.created(team, owner, documents.full_document(FULL, team)))
    a_notice(draft, owner, Told.SENT_BACK, person="carla", reason="The label names the wrong wall.")


def sight(go: Go) -> Go:
    SIGHTS[go.__name__] = go
    return go


def _page_of(name: str, page: str, *args: str) -> None:
    SIGHTS[name] = lambda walker: walker.go(page, *args)


_page_of("contracts", "list")
_page_of("overview_of_an_empty_draft", "overview", EMPTY)
_page_of("overview_of_a_draft", "overview", DRAFT)
_page_of("overview_of_a_full_contract", "overview", FULL)
_page_of("events", "events", FULL)
_page_of("timeline", "timeline", FULL)
_page_of("timeline_of_nothing", "timeline", EMPTY)
_page_of("states", "states")
_page_of("export", "export", FULL)
_page_of("sharing", "sharing", DRAFT)
_page_of("leaving_draft_too_early", "act", EMPTY, "leave-draft")
_page_of("leaving_draft", "act", DRAFT, "leave-draft")
_page_of("cancelling", "act", PAUSED, "cancel")
_page_of("pasting", "paste", DRAFT, "object")
_page_of("asking_in_a_draft", "ask", DRAFT)
_page_of("asking_for_nothing", "ask", PAUSED)
_page_of("policy_of_a_draft", "policy", DRAFT)
_page_of("policy", "policy", FULL)
for _section in Section:
    _page_of(f"{_section.value}_empty", "section", EMPTY, _section.value)
    _page_of(f"{_section.value}_draft", "section", DRAFT, _section.value)
    _page_of(f"{_section.value}_full", "section", FULL, _section.value)
for _way in ("blank", "case", "copy", "import"):
    SIGHTS[f"new_{_way}"] = lambda walker, way=_way: walker.page.goto(f"/contracts/new/?from={way}")


_page_of("notices", "notices")
_page_of("worksheet", "worksheet")
for _name in ("mail_preferences", "glossary", "keyboard", "style"):
    _page_of(_name, _name)


@sight
def mail_address_refused(walker: Walker) -> None:
    walker.go("mail_preferences")
    walker.page.fill("[name=email]", "nobody")
    walker.page.click("#address button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def worksheet_filled(walker: Walker) -> None:
    walker.go("worksheet")
    walker.page.click("[data-add=source]")
    walker.page.fill("[name=source-1-source_id]", "P-1")
    walker.page.fill("[name=identity-purpose]", "AK" + "IA" + "ABCDEFGHIJKLMNOP")
    expect(walker.page.locator("[data-told]")).to_be_visible()
    walker.page.fill("[name=identity-purpose]", "")
    walker.page.click(".sticky [value=preview]")
    expect(walker.page.locator("#preview")).to_be_visible()


@sight
def worksheet_refused(walker: Walker) -> None:
    walker.go("worksheet")
    walker.page.fill("[name=identity-purpose]", "AK" + "IA" + "ABCDEFGHIJKLMNOP")
    walker.page.click(".sticky [value=preview]")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def clearing_the_worksheet(walker: Walker) -> None:
    walker.go("worksheet")
    walker.page.click("[data-clear]")
    expect(walker.page.locator("#clear")).to_be_visible()


@sight
def contracts_not_found(walker: Walker) -> None:
    walker.page.goto("/?q=nothing-of-this-name")


@sight
def login_refused(walker: Walker) -> None:
    walker.page.context.clear_cookies(name="workbench_session")
    walker.page.goto("/login/")
    walker.page.click("main button[type=submit]")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def new_refused(walker: Walker) -> None:
    walker.page.goto("/contracts/new/?from=blank")
    walker.page.click("button[value=preview]")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def new_confirming(walker: Walker) -> None:
    walker.page.goto("/contracts/new/?from=case")
    walker.page.fill("[name=task_id]", "from-a-case")
    walker.page.click("button[value=preview]")
    expect(walker.page.locator("#preview")).to_be_visible()


@sight
def row_being_edited(walker: Walker) -> None:
    walker.go("section", DRAFT, "operations")
    walker.page.click("#part-tool a[href$='/edit/']")
    expect(walker.page.locator("tr.editing form")).to_be_visible()


@sight
def row_refused(walker: Walker) -> None:
    row_being_edited(walker)
    walking.field(walker.page.locator("tr.editing"), "settle_seconds").fill("soon")
    walker.page.click("tr.editing button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def row_being_removed(walker: Walker) -> None:
    walker.go("section", DRAFT, "objects")
    walker.page.click("#rows-object .menu summary")
    walker.page.click("#rows-object a[href$='/remove/']")
    expect(walker.page.locator("tr.editing form")).to_be_visible()


@sight
def adding_refused(walker: Walker) -> None:
    walker.go("section", DRAFT, "checkpoints")
    walker.page.click("#part-checkpoint .heading a[href$='/add/']")
    walker.page.click("#add-checkpoint button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def adding_refused_on_a_page_of_its_own(walker: Walker) -> None:
    walker.go("row_add", DRAFT, "source")
    walker.page.click("main form button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def identity_refused(walker: Walker) -> None:
    walker.go("section", DRAFT, "identity")
    walking.field(walker.page.locator("#part-identity"), "title").fill("")
    walker.page.click("#part-identity button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@sight
def draft_offered(walker: Walker) -> None:
    walker.go("section", DRAFT, "identity")
    block = walker.page.locator("#part-identity")
    walking.field(block, "purpose").fill("Typed and not saved")
    expect(block.locator("[data-told]")).to_be_visible()
    walker.page.reload()
    block.locator(".draft [value=compare]").click()


@sight
def leaving_with_drafts(walker: Walker) -> None:
    draft_offered(walker)
    walker.page.evaluate("document.querySelector('[data-logout]').requestSubmit()")
    expect(walker.page.locator("#logout")).to_be_visible()


@sight
def bad_lines(walker: Walker) -> None:
    walker.go("paste", DRAFT, "object")
    walker.page.fill("[name=table]", "object_id\tsource\nO-7\tP-1\nO 8\tP-1\nO-1\tnowhere")
    walker.page.click("button[value=preview]")
    expect(walker.page.locator(".bad-lines")).to_be_visible()


@sight
def conflict(walker: Walker) -> None:
    walker.go("section", DRAFT, "objects")
    walker.page.click("#rows-object a[href$='/edit/']")
    form = walker.page.locator("tr.editing form")
    walking.field(form, "note").fill(f"typed in {walker.language}")
    # As if somebody else had stored the row meanwhile.
    version = form.locator("[name$='-version']")
    version.evaluate("(input) => { input.value = '0'; }")
    form.locator("button.deed").click()
    expect(walker.page.locator(".error-summary table")).to_be_visible()


@sight
def nothing_here(walker: Walker) -> None:
    walker.page.goto("/contracts/no-such-contract/")


@sight
def password(walker: Walker) -> None:
    walker.page.goto("/password/")


for _name, _where in (
    ("second_factor", "/second-factor/?next=/"),
    ("adding_a_passkey", "/second-factor/passkeys/add/"),
    ("setting_up_an_app", "/second-factor/app/add/"),
    ("confirming", "/confirm/?next=/"),
):
    SIGHTS[_name] = lambda walker, where=_where: walker.page.goto(where)

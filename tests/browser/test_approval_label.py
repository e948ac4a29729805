"""The museum label from its draft to the moment it is sent, each person at a browser of their own."""

import re
from datetime import timedelta

import pytest
from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from playwright.sync_api import expect

from contracts.models import Approval, ApprovalVote, Artefact, Operation
from contracts.rules.notices import Told
from contracts.rules.states import ApprovalState, OperationState
from contracts.rules.vocabulary import ActorKind, Section
from contracts.views.history import ACTS
from tests import people, scenes
from tests.browser.walking import Walker, address, field

TASK, DRAFT = "museum-label", "label-case-7"
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh-hans"])
WHY, NOT_YET = "The label follows the dating note.", "The dating note says 1175, not 1180."
POST_AGAIN = """
async (fields) => (await fetch(location.href, {method: "POST", body: new URLSearchParams(fields)})).status
"""


@pytest.fixture(autouse=True)
def nothing_counted(team):
    cache.clear()


def the_item():
    """Return the item that was asked for last."""
    return Approval.objects.joined().filter(contract__task_id=TASK).order_by("asked_at").last()


def grow_old(walker, *, minutes):
    """Let the moment at which a person proved who they are lie further back."""
    (cookie,) = [c for c in walker.page.context.cookies() if c["name"] == settings.SESSION_COOKIE_NAME]
    session = SessionStore(cookie["value"])
    for record in session[AUTHENTICATION_METHODS_SESSION_KEY]:
        record["at"] -= timedelta(minutes=minutes).total_seconds()
    session[AUTHENTICATION_METHODS_SESSION_KEY] = [*session[AUTHENTICATION_METHODS_SESSION_KEY]]
    session.save()


def begin_with_the_case(walker):
    """Create the contract from the example, fill in what it lacks, and leave draft."""
    walker.create("case", task_id=TASK, case=TASK)
    walker.go("section", TASK, Section.LIMITS.value)
    caps = field(walker.page.locator("#part-limit"), "cap")
    caps.nth(5).fill("5")
    caps.last.fill("3")
    walker.save_block("limit")
    walker.mark(TASK, Section.LIMITS)
    walker.go("section", TASK, Section.OWNER.value)
    walker.save("gate", named_person=walker.word("Contracts"))
    walker.mark(TASK, Section.OWNER)
    walker.go("act", TASK, "leave-draft")
    with walker.leaving():
        walker.page.click("main button.deed")
    expect(walker.page.locator(".heading .state.paused").first).to_be_visible()


def correct_the_date(walker, version, was, now):
    """Let a colleague add another version of the draft."""
    text = Artefact.objects.get(contract__task_id=TASK, artefact_id=DRAFT, current=True).inline_text
    assert was in text
    walker.go("section", TASK, Section.SOURCES.value)
    values = {"artefact_id": DRAFT, "version_label": version, "inline_text": text.replace(was, now)}
    walker.add("artefact", **values, source="dating-note", author="Rita")


def open_round_and_ask(walker, item):
    """Open the next round from the page of an ended item, and ask for a decision on it."""
    walker.go("approval", TASK, item.item_id)
    with walker.leaving():
        walker.page.click(".verdict a[href$='/round/']")
    with walker.leaving():
        walker.page.click("button.deed")
    return ask(walker)


def ask(walker):
    page = walker.page
    expect(page.locator("main h1")).to_have_text(walker.word("Ask for a decision"))
    expect(page.locator("#call")).to_contain_text("cms://collection-site/case-7/label")
    page.fill("[name=reason]", WHY)
    with walker.leaving():
        page.click("fieldset button.deed")
    expect(page.locator("#notices .note")).to_contain_text(walker.word("The item waits for a decision now."))
    expect(page.locator("#item .heading .state.pending")).to_be_visible()
    return the_item()


def open_from_the_queue(walker, item):
    """Open an item from the queue; who has proved long ago who they are does so once more first."""
    with walker.leaving():
        walker.page.click(f"#open-{item.item_id}")
    expect(walker.page.locator("main h1")).to_have_text(walker.word("Confirm who you are"))
    walker.page.fill("[name=password]", people.PASSWORD)
    with walker.leaving():
        walker.page.click("main button.deed")
    expect(walker.page).to_have_url(re.compile(re.escape(address("approval", TASK, item.item_id)) + "$"))


def read_everything(walker, item):
    """Find on the page what will happen: label, what changed, the call, and who asks why."""
    page, draft = walker.page, item.draft
    assert page.evaluate("document.activeElement.localName") == "body"
    title, _, rest = draft.inline_text.partition("\n")
    expect(page.locator("article.label h3")).to_have_text(title)
    expect(page.locator("article.label")).to_contain_text(rest.rpartition("\n")[2])
    expect(page.locator("del")).to_contain_text("1120")
    expect(page.locator("ins")).to_contain_text("1160")
    call = page.locator("section[aria-labelledby=call]")
    for words in (item.tool, item.target, draft.author, item.fingerprint[:8]):
        expect(call).to_contain_text(words)
    call.locator("details.more summary").first.click()
    expect(call.locator("pre")).to_contain_text(draft.sha256)
    expect(page.locator("section[aria-labelledby=why]")).to_contain_text(WHY)
    expect(page.locator("#decide button.deed")).to_contain_text(draft.version_label)


def notice_that_it_changed(walker, kept):
    """The open page notices by itself; the buttons are gone, and an old tab that still has them is refused."""
    item = walker.page.locator("#item")
    expect(item.locator(".heading .state.stale")).to_be_visible()
    outcome = item.locator(".verdict")
    for words in ("v7", "v8"):
        expect(outcome.locator(".facts")).to_contain_text(words)
    expect(outcome.locator("del")).to_contain_text("1160")
    expect(outcome.locator("ins")).to_contain_text("1180")
    expect(walker.page.locator("main form button")).to_have_count(0)
    assert walker.page.evaluate(POST_AGAIN, kept) == 409
    assert not ApprovalVote.objects.exists()


def approve(walker):
    with walker.leaving():
        walker.page.click("#decide button.deed")
    expect(walker.page.locator("#item .heading .state.approved")).to_be_visible()
    expect(walker.page.locator("#decide")).to_have_count(0)


def send_back(walker, reason):
    walker.page.click(".send-back summary")
    walker.page.fill("#id_reason", reason)
    with walker.leaving():
        walker.page.click(".send-back button.danger")
    expect(walker.page.locator("#item .heading .state.rejected")).to_be_visible()


def go_back_and_reload(walker, item):
    """Going back and loading again shows what stands and repeats nothing."""
    walker.page.go_back()
    walker.go("approval", TASK, item.item_id)
    walker.page.reload()
    expect(walker.page.locator("#item .heading .state.approved")).to_be_visible()
    votes = ApprovalVote.objects.filter(approval=item)
    assert [(vote.decider, vote.decision) for vote in votes] == [("carla", ApprovalState.APPROVED.value)]


def be_told(walker, kind, words):
    """Read in the notices what became of one's question."""
    walker.go("notices")
    notice = walker.page.locator(".told li", has_text=walker.word(kind.label)).first
    expect(notice).to_contain_text(words)


def form_of(page):
    """Return the decision form as an old tab would still send it."""
    fields = page.evaluate("Object.fromEntries(new FormData(document.getElementById('decide')))")
    return fields | {"decision": "approved", "reason": ""}


def find_in_the_events(walker):
    """Each step stands in the events with who did it, what kind of actor that is, and what was done."""
    page = walker.page
    walker.go("events", TASK)
    for actor, kind, act in (
        ("Olga", ActorKind.PERSON, "request"),
        ("Rita", ActorKind.PERSON, "add"),
        ("Carla", ActorKind.PERSON, "decide"),
        ("label-writer", ActorKind.WORKER, "use"),
    ):
        page.goto(f"{address('events', TASK)}?actor={actor}&kind={act}")
        event = page.locator("#found li.card").first
        expect(event.locator("h2")).to_contain_text(walker.word(ACTS[act]))
        expect(event.locator(".end")).to_contain_text(actor)
        expect(event.locator(".end")).to_contain_text(walker.word(kind.label))


@pytest.fixture
def three(open_browser, team, language):
    """Reviewer, colleague and curator; the curator has never been here before."""
    names = (people.owner(team), people.reviewer(team), None)
    return [Walker(open_browser(person, language=language), language) for person in names]


@LANGUAGES
def test_a_label_waits_is_corrected_approved_and_sent_once(three, team, language, open_browser, troubles):
    reviewer, colleague, curator = three
    begin_with_the_case(reviewer)
    curator.log_in(people.curator(team))
    curator.page.goto(address("approvals"))
    expect(curator.page.locator(".empty")).to_be_visible()
    reviewer.go("ask", TASK)
    first = ask(reviewer)
    # The queue notices by itself, in the title too.
    expect(curator.page.locator(f"#open-{first.item_id}")).to_be_visible()
    expect(curator.page).to_have_title(re.compile(r"^\(1\) "))
    grow_old(curator, minutes=6)
    open_from_the_queue(curator, first)
    read_everything(curator, first)
    kept = form_of(curator.page)
    correct_the_date(colleague, "v8", "1160", "1180")
    notice_that_it_changed(curator, kept)
    second = open_round_and_ask(reviewer, first)
    curator.go("approval", TASK, second.item_id)
    send_back(curator, NOT_YET)
    reviewer.page.reload()
    expect(reviewer.page.locator(".verdict .said")).to_have_text(NOT_YET)
    be_told(reviewer, Told.SENT_BACK, NOT_YET)
    correct_the_date(colleague, "v9", "1180", "1175")
    third = open_round_and_ask(reviewer, second)
    assert third.operation_key not in (first.operation_key, second.operation_key)
    curator.go("approval", TASK, third.item_id)
    approve(curator)
    go_back_and_reload(curator, third)
    be_told(reviewer, Told.APPROVED, "Carla")
    assert [scenes.use(third).code for _ in "ab"] == ["done", "operation_not_pending"]
    assert Operation.objects.get(key=third.operation_key).state == OperationState.SENDING
    curator.page.reload()
    expect(curator.page.locator("#item .heading .state.done")).to_be_visible()
    operator = Walker(open_browser(people.operator(team), language=language), language)
    find_in_the_events(operator)


@pytest.fixture
def plain(open_browser, team, language):
    """Reviewer and curator, neither with scripts."""
    options = {"language": language, "java_script_enabled": False}
    return [
        Walker(open_browser(who(team), **options), language, False) for who in (people.owner, people.curator)
    ]


@LANGUAGES
def test_asking_sending_back_and_approving_need_no_scripts(plain, team, language):
    reviewer, curator = plain
    contract = scenes.a_label_contract(team, TASK)
    scenes.call(contract, 2)
    reviewer.go("ask", TASK)
    reviewer.page.select_option("[name=operation]", index=2)
    reviewer.page.select_option("[name=draft]", DRAFT)
    with reviewer.leaving():
        reviewer.page.click("button[name=show]")
    first = ask(reviewer)
    curator.page.goto(address("approvals"))
    with curator.leaving():
        curator.page.click(f"#open-{first.item_id}")
    send_back(curator, NOT_YET)
    reviewer.page.reload()
    expect(reviewer.page.locator(".verdict .said")).to_have_text(NOT_YET)
    second = open_round_and_ask(reviewer, first)
    curator.go("approval", TASK, second.item_id)
    approve(curator)
    go_back_and_reload(curator, second)
    be_told(reviewer, Told.APPROVED, "Carla")

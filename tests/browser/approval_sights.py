"""The pages of the approvals in every state that looks different, as the curator and as who asks sees them."""

from playwright.sync_api import expect

from contracts.models import Approval
from tests import scenes
from tests.browser.sights import Go
from tests.browser.walking import Walker, address

DECIDING: dict[str, Go] = {}
ASKING: dict[str, Go] = {}


def deciding(go: Go) -> Go:
    DECIDING[go.__name__] = go
    return go


def asking(go: Go) -> Go:
    ASKING[go.__name__] = go
    return go


def _item(state: str) -> Approval:
    """Return the item that the scenes made for `state`."""
    items = Approval.objects.joined().filter(contract__task_id=scenes.task(state), reason=scenes.WHY)
    return items.order_by("asked_at").first()


def _go_to_item(page: str, state: str) -> Go:
    return lambda walker: walker.go(page, scenes.task(state), _item(state).item_id)


for _state in scenes.STATES:
    DECIDING[f"approval_{_state}"] = _go_to_item("approval", _state)
for _tab in ("mine", "others", "overdue", "ended"):
    DECIDING[f"queue_{_tab}"] = lambda walker, tab=_tab: walker.page.goto(f"/approvals/?show={tab}")
DECIDING["correcting"] = _go_to_item("correct", "pending")
DECIDING["withdrawing"] = _go_to_item("withdraw", "own")
DECIDING["withdrawing_what_others_asked"] = _go_to_item("withdraw", "pending")
DECIDING["notices_of_a_curator"] = lambda walker: walker.go("notices")
ASKING["approval_to_follow"] = _go_to_item("approval", "pending")
ASKING["approval_sent_back"] = _go_to_item("approval", "rejected")
ASKING["asking_for_a_used_up_step"] = lambda walker: walker.go("ask", scenes.task("used"))
ASKING["opening_a_round_in_vain"] = lambda walker: walker.go(
    "round", scenes.task("pending"), _item("pending").operation_key
)


@deciding
def sending_back(walker: Walker) -> None:
    DECIDING["approval_pending"](walker)
    walker.page.click(".send-back summary")
    expect(walker.page.locator("#id_reason")).to_be_visible()


@deciding
def sending_back_refused(walker: Walker) -> None:
    sending_back(walker)
    walker.page.click(".send-back button.danger")
    expect(walker.page.locator(".error-summary a[href='#id_reason']")).to_be_visible()
    expect(walker.page.locator("#id_reason")).to_have_attribute("aria-invalid", "true")


@deciding
def deciding_refused(walker: Walker) -> None:
    DECIDING["approval_pending"](walker)
    walker.page.locator("#decide [name=seen]").evaluate("(input) => { input.value = 'f'.repeat(64); }")
    walker.page.click("#decide button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@deciding
def deciding_too_late(walker: Walker) -> None:
    """As an old tab does that still has its buttons."""
    DECIDING["approval_pending"](walker)
    walker.page.locator("#decide").evaluate(
        "(form, [place, item]) => { form.action = place; form.elements.item.value = item; }",
        [address("approval", scenes.task("approved"), _item("approved").item_id), _item("approved").item_id],
    )
    walker.page.click("#decide button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@deciding
def correcting_refused(walker: Walker) -> None:
    DECIDING["correcting"](walker)
    walker.page.click("main form button.deed")
    expect(walker.page.locator(".error-summary a")).to_be_visible()


@asking
def asking_refused(walker: Walker) -> None:
    walker.go("ask", scenes.task("expired"))
    walker.page.select_option("[name=operation]", _item("expired").operation_key)
    walker.page.select_option("[name=draft]", "label-case-7")
    walker.page.click("button[name=show]")
    walker.page.click("fieldset button.deed")
    expect(walker.page.locator(".error-summary")).to_be_visible()


@asking
def opening_a_round(walker: Walker) -> None:
    walker.go("round", scenes.task("rejected"), _item("rejected").operation_key)
    walker.page.fill("[name=parameters]", '{"page": "case-7/label", "lang": "zh-Hans"}')
    walker.page.click("button[name=show]")
    expect(walker.page.locator("main table.rows")).to_be_visible()

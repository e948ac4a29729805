"""The pages about workers in every state that looks different, as the operator and as a viewer see them."""

from datetime import timedelta

from playwright.sync_api import expect

from contracts.gates.beats import database_now
from contracts.models import Operation, Team, WorkerToken
from tests import shifts
from tests.browser.sights import Go
from tests.browser.walking import Walker

OPERATING: dict[str, Go] = {}
ISSUING: dict[str, Go] = {}  # as an owner sees them, one after the other: the first has no token yet


def operating(go: Go) -> Go:
    OPERATING[go.__name__] = go
    return go


def issuing(go: Go) -> Go:
    ISSUING[go.__name__] = go
    return go


def operation_of(state: str) -> Operation:
    """Return the only write of a shift."""
    return Operation.objects.get(contract__task_id=shifts.task(state))


def _page_of(name: str, page: str, state: str, *args: str) -> None:
    OPERATING[name] = lambda walker: walker.go(page, shifts.task(state), *args)


for _state in shifts.STATES:
    _page_of(f"decision_{_state}", "overview", _state)
for _state in ("unknown", "undecidable", "lapsed", "asking"):
    OPERATING[f"operation_{_state}"] = lambda walker, state=_state: walker.go(
        "operation", shifts.task(state), operation_of(state).key
    )
for _act in ("pause", "take-over", "roll-back"):
    _page_of(f"operating_{_act}", "operate", "lapsed", _act)
_page_of("operating_raise_cap", "operate", "used-up", "raise-cap")
_page_of("operating_in_vain", "operate", "ready", "take-over")
_page_of("owner_of_a_shift", "section", "lapsed", "owner")
_page_of("operations_of_a_shift", "section", "unknown", "operations")


@operating
def reconciling_refused(walker: Walker) -> None:
    OPERATING["operation_unknown"](walker)
    walker.page.click("#reconcile button.deed")
    expect(walker.page.locator(".error-summary a[href='#reconcile_answer']")).to_be_visible()


@operating
def rolling_back_ahead(walker: Walker) -> None:
    OPERATING["operating_roll-back"](walker)
    walker.page.select_option("[name=checkpoint_id]", "cp-0001")
    walker.page.click("button[name=show]")
    expect(walker.page.locator("main button.danger")).to_be_visible()


@operating
def taking_over_refused(walker: Walker) -> None:
    OPERATING["operating_take-over"](walker)
    walker.page.click("main button.danger")
    expect(walker.page.locator(".error-summary a[href='#id_reason']")).to_be_visible()


@operating
def handing_over_refused(walker: Walker) -> None:
    OPERATING["operation_unknown"](walker)
    walker.page.click("#escalate > summary")
    walker.page.click("#escalate button[type=submit]")
    expect(walker.page.locator(".error-summary a[href='#escalate_reason']")).to_be_visible()


@issuing
def tokens(walker: Walker) -> None:
    walker.page.goto(f"/teams/{Team.objects.get().slug}/tokens/")


@issuing
def token_refused(walker: Walker) -> None:
    tokens(walker)
    walker.page.click("#issue button.deed")
    expect(walker.page.locator(".error-summary a")).to_have_count(2)


@issuing
def token_issued(walker: Walker) -> None:
    tokens(walker)
    walker.page.fill("[name=worker]", "label-writer")
    for box in walker.page.locator("[name=contracts]").all()[:3]:
        box.check()
    walker.page.click("#issue button.deed")
    expect(walker.page.locator(".token")).to_contain_text("rsw_")


@issuing
def token_revoked_and_expired(walker: Walker) -> None:
    token_issued(walker)
    made = database_now() - timedelta(days=3)
    WorkerToken.objects.update(made_at=made, expires_at=made + timedelta(days=1))
    token_issued(walker)
    token_issued(walker)
    tokens(walker)
    walker.page.locator("button[value=revoke]").first.click()
    for state in ("valid", "expired", "cancelled"):
        expect(walker.page.locator(f"td .state.{state}").first).to_be_visible()


@issuing
def reference(walker: Walker) -> None:
    walker.page.goto("/api/v1/")
    walker.page.evaluate("for (const one of document.querySelectorAll('details.more')) one.open = true")


@issuing
def refusals(walker: Walker) -> None:
    walker.page.goto("/api/v1/problems")

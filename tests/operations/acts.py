"""The acts without which there is no workbench, done over HTTP as people and a worker do them.

Each act may go to another address: what one process began, another must go on with.
"""

import itertools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import httpx
from django.contrib.auth.hashers import make_password
from django.test import override_settings

from contracts.client import WaitingForApproval, Workbench
from contracts.models import Approval, Contract, Event, Operation
from tests import builders, people
from tests.client.targets import Target, a_task, a_token, call_of
from tests.views.reading import Element, filled_form, read
from tests.views.visiting import address

ARGON = ["django.contrib.auth.hashers.Argon2PasswordHasher"]


class Browser:
    """A person's browser. Its cookies go to whichever address is next, as they do behind one name."""

    def __init__(self, *places: str, verify: Any = True) -> None:
        self._places = itertools.cycle(places)
        self._client = httpx.Client(verify=verify, timeout=60, trust_env=False)
        self.cookies: dict[str, str] = {}
        self.page = Element("", {})

    def get(self, path: str) -> httpx.Response:
        """Open a page and follow where it leads."""
        return self._ask("GET", path)

    def submit(self, form: Element, path: str, **changes: str) -> httpx.Response:
        """Post a form of the page at hand with `changes`."""
        token = next(
            field["value"] for field in form.every("input") if field["name"] == "csrfmiddlewaretoken"
        )
        posted = {**filled_form(form), "csrfmiddlewaretoken": token, **changes}
        return self._ask("POST", form["action"] or path, posted)

    def form(self, **held: str) -> Element:
        """Return the form of the page at hand that has these fields with these values."""
        (found,) = [
            form
            for form in self.page.every("form")
            if all((name, value) in _given(form) for name, value in held.items())
        ]
        return found

    def log_in(self, name: str) -> None:
        """Log in with the password of the tests."""
        self.get("/login/")
        form = next(one for one in self.page.every("form") if "login" in {n for n, _ in _given(one)})
        answer = self.submit(form, "/login/", login=name, password=people.PASSWORD)
        assert answer.status_code == 200, answer.text
        assert "workbench_session" in self.cookies

    def close(self) -> None:
        self._client.close()

    def _ask(self, method: str, path: str, posted: dict[str, str] | None = None) -> httpx.Response:
        for _ in range(5):
            place = next(self._places)
            headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
            headers |= {"Origin": place, "Referer": f"{place}{path}"}
            self._client.cookies.clear()
            answer = self._client.request(method, place + path, data=posted, headers=headers)
            self.cookies |= dict(answer.cookies)
            if not answer.is_redirect:
                break
            method, posted, path = "GET", None, answer.headers["Location"].removeprefix(place)
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            self.page = read(SimpleNamespace(content=answer.content))
        return answer


def _given(form: Element) -> set[tuple[str, str]]:
    return {(field["name"], field["value"]) for field in form.every("input")}


def a_written_task() -> Contract:
    """Return a paused contract of one object whose write a curator has to approve, with people who can log in."""
    contract = a_task(1, tool={"needs_approval": True})
    with override_settings(PASSWORD_HASHERS=ARGON):
        hashed = make_password(people.PASSWORD)
    for person in (people.owner(contract.team), people.curator(contract.team)):
        person.password = hashed
        person.save(update_fields=["password"])
    return contract


def do_everything(places: Sequence[str], contract: Contract, *, verify: Any = True) -> dict[str, bytes]:
    """Log in, save a section, let a worker commit, approve, let it write and finish, and carry the contract away.

    Every request of a person goes to the next of `places`, every run of the worker too. Gives the two exports.
    """
    draft = builders.a_draft(contract.team)
    reviewer, curator = Browser(*places, verify=verify), Browser(*places, verify=verify)
    target, token = Target(), a_token(contract)
    try:
        reviewer.log_in("olga")
        save_a_section(reviewer, draft)
        work(places[0], token, contract, target, verify=verify)
        curator.log_in("carla")
        approve(curator, contract)
        work(places[-1], token, contract, target, verify=verify)
        found = {name: reviewer.get(address(f"export_{name}", contract.task_id)) for name in ("json", "txt")}
        assert {answer.status_code for answer in found.values()} == {200}
    finally:
        reviewer.close()
        curator.close()
    assert len(target.pages) == 1
    contract.refresh_from_db()
    assert contract.state == "completed"
    assert Event.objects.first_break(contract) is None
    return {name: answer.content for name, answer in found.items()}


def save_a_section(browser: Browser, draft: Contract) -> None:
    """Change the title of a draft in its form."""
    path = address("section", draft.task_id, "identity")
    assert browser.get(path).status_code == 200
    answer = browser.submit(browser.form(part="identity"), path, **_titled(browser))
    assert answer.status_code == 200, answer.text
    draft.refresh_from_db()
    assert draft.title == "Labels of autumn"


def _titled(browser: Browser) -> dict[str, str]:
    fields = filled_form(browser.form(part="identity"))
    prefix = next(name for name in fields if name.endswith("-version")).removesuffix("version")
    return {f"{prefix}title": "Labels of autumn"}


def work(place: str, token: str, contract: Contract, target: Target, *, verify: Any = True) -> None:
    """Be the worker: draft, ask for consent, and once it is given, write and finish."""
    with Workbench(place, token, transport=httpx.HTTPTransport(verify=verify)) as workbench:
        try:
            with workbench.resume(contract.task_id, tools=[target.tool()]) as run:
                for job in run.objects():
                    run.step(f"draft:{job.object_id}", lambda: "Fired clay.", job=job)
                    receipt = run.operation("cms.publish", **call_of())
                    run.accept(job, evidence=receipt.reference)
        except WaitingForApproval:
            assert Approval.objects.filter(contract=contract, state="pending").count() == 1
        else:
            assert Operation.objects.get(contract=contract).state == "confirmed"


def approve(browser: Browser, contract: Contract) -> None:
    """Be the curator: open what waits, read it, approve it."""
    item = Approval.objects.get(contract=contract, state="pending")
    path = address("approval", contract.task_id, item.item_id)
    assert browser.get(path).status_code == 200
    form = next(one for one in browser.page.every("form") if ("item", item.item_id) in _given(one))
    answer = browser.submit(form, path, decision="approved")
    assert answer.status_code == 200, answer.text
    item.refresh_from_db()
    assert (item.state, item.decided_by) == ("approved", "carla")

"""How a person goes through the pages, with or without JavaScript and in whichever language."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, override
from playwright.sync_api import Locator, Page, expect

from contracts.rules.vocabulary import Section
from contracts.rules.windows import Window
from tests import people


def address(name: str, *args: Any) -> str:
    """Return the address of a page of the contracts."""
    return reverse(f"contracts:{name}", args=args)


def field(scope: Page | Locator, name: str) -> Locator:
    """Return what a person types the fact `name` into; its form may stand among others."""
    return scope.locator(f"[name$='-{name}']:not([type=hidden])")


def focused(page: Page) -> str:
    """Return where the focus is: the name of the element, with its id."""
    return page.evaluate("document.activeElement.localName + '#' + document.activeElement.id")


@dataclass
class Walker:
    """One person at one browser."""

    page: Page
    language: str = "en"
    scripts: bool = True

    def word(self, sentence: str, **values: Any) -> str:
        """Return a sentence of the pages in the person's language."""
        with override(self.language):
            return gettext(sentence) % values if values else gettext(sentence)

    def log_in(self, person: Any) -> None:
        self.page.goto("/")
        self.page.fill("[name=login]", person.get_username())
        self.page.fill("[name=password]", people.PASSWORD)
        self.page.click("main button[type=submit]")
        expect(self.page.locator("main h1")).to_have_text(self.word("Contracts"))

    def go(self, name: str, *args: Any) -> None:
        self.page.goto(address(name, *args))

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Do something that leads to another page, and wait for that page."""
        with self.page.expect_navigation():
            yield

    def press(self, button: Locator, *, then: Locator) -> None:
        """Press a button that stores something; wait until `then` shows that it happened."""
        if self.scripts:
            button.click()
        else:
            with self.leaving():
                button.click()
        expect(then).to_be_visible()

    def save(self, part: str, **values: str) -> None:
        """Fill in and save the form of a part, be it single or a grid."""
        block = self.page.locator(f"#part-{part}")
        for name, value in values.items():
            self.enter(field(block, name), value)
        self.save_block(part)

    def save_block(self, part: str) -> None:
        block = self.page.locator(f"#part-{part}")
        saved = block.locator(".state.confirmed") if self.scripts else block.locator("button.deed")
        self.press(block.locator("button.deed"), then=saved)
        expect(self.page.locator(".error-summary")).to_have_count(0)

    def add(self, part: str, **values: str) -> None:
        """Add a row to the table of a part."""
        block = self.page.locator(f"#part-{part}")
        block.locator(".heading a[href$='/add/']").click()
        form = self.page.locator(f"#add-{part} form" if self.scripts else "main form")
        for name, value in values.items():
            self.enter(field(form, name), value)
        first = next(iter(values.values()))
        row = block.locator("tbody tr", has_text=first)
        self.press(form.locator("button.deed"), then=row.last)

    def edit(self, row: Locator, **values: str) -> None:
        """Edit a row of a table in its place."""
        row.locator("a[href$='/edit/']").click()
        form = self.page.locator("tr.editing form")
        for name, value in values.items():
            self.enter(field(form, name), value)
        self.press(form.locator("button.deed"), then=row.locator("a[href$='/edit/']"))

    def enter(self, place: Locator, value: str) -> None:
        if place.evaluate("element => element.localName") == "select":
            place.select_option(value)
        else:
            place.fill(value)

    def mark(self, task_id: str, section: Section) -> None:
        self.go("section", task_id, section.value)
        button = self.page.locator("#mark button")
        self.press(button, then=self.page.locator("#mark button[value=no]"))

    def paste(self, task_id: str, part: str, text: str, *, lines: int) -> None:
        """Paste a table, look at what it would store, and store it."""
        self.go("paste", task_id, part)
        self.page.fill("[name=table]", text)
        with self.leaving():
            self.page.click("button[value=preview]")
        expect(self.page.locator("button[value=store]")).to_contain_text(str(lines))
        with self.leaving():
            self.page.click("button[value=store]")
        expect(self.page.locator(f"#part-{part} .heading .quiet")).to_have_text(str(lines))

    def create(self, way: str, **values: str) -> None:
        """Create a contract and end on its overview; `file` is chosen, everything else typed."""
        self.page.goto(f"{address('new')}?from={way}")
        for name, value in values.items():
            place = self.page.locator(f"#begin [name={name}]")
            if name == "file":
                place.set_input_files(value)
            elif name == "case":
                self.page.check(f"#begin [name=case][value={value}]")
            else:
                self.enter(place, value)
        with self.leaving():
            self.page.click("button[value=preview]")
        with self.leaving():
            self.page.click("button[value=create]")
        expect(self.page).to_have_url(re.compile(re.escape(address("overview", values["task_id"])) + "$"))

    def download(self, link: str, folder: Path) -> Path:
        """Follow a link that is a file, and return where it was stored."""
        with self.page.expect_download() as started:
            self.page.click(link)
        path = folder / started.value.suggested_filename
        started.value.save_as(path)
        return path


SOURCES = [f"P-{number:04}" for number in range(1, 201)]


def sources_table() -> str:
    """Return two hundred sources as a spreadsheet would copy them."""
    lines = [
        f"{name}\t1\t{number:064x}\tarchive://box-17/{name}.tif" for number, name in enumerate(SOURCES, 1)
    ]
    return "\n".join(["source_id\tversion_label\tsha256\tlocation", *lines])


def objects_table() -> str:
    """Return one object for each of the sources."""
    return "\n".join(["object_id\tsource\tstep", *(f"{name}\t{name}\tdescribe" for name in SOURCES)])


def fill_identity(walker: Walker, task_id: str) -> None:
    walker.go("section", task_id, Section.IDENTITY.value)
    walker.save(
        "identity",
        purpose="Describe 200 photographs, so that they can be found.",
        accountable_owner="Head of the archive",
        workflow_name="descriptions",
        workflow_version="4",
        state_schema_version="2",
        readable_schema_versions="1",
        agent_version="agent 1.2",
        deadline="2031-05-31T18:00",
    )
    block = walker.page.locator("#part-plane")
    for row in range(5):
        field(block, "authority").nth(row).fill(f"postgres://plane-{row}")
        field(block, "readers").nth(row).fill("the archive team")
        field(block, "retention_days").nth(row).fill("365")
    walker.save_block("plane")


def fill_attempt_and_checkpoint(walker: Walker, task_id: str) -> None:
    walker.go("section", task_id, Section.OWNER.value)
    walker.add(
        "attempt",
        attempt_id="A-1",
        worker="describer",
        started_at="2026-11-01T08:00",
        ended_at="2026-11-01T09:00",
        end_reason="lease_lapsed",
        evidence="logs://describer/1",
    )
    walker.go("section", task_id, Section.CHECKPOINTS.value)
    walker.add(
        "checkpoint",
        checkpoint_id="cp-1",
        attempt="1",
        durability="sync",
        next_step="describe",
        schema_version="2",
        inline_state='{"photo": 80}',
        committed_at="2026-11-01T08:30",
        evidence="logs://describer/1#80",
    )


def fill_operations(walker: Walker, task_id: str) -> None:
    walker.go("section", task_id, Section.OPERATIONS.value)
    walker.add(
        "tool", tool="catalogue.write", effect="non_idempotent_write", query_path="catalogue://records"
    )
    walker.add(
        "operation",
        tool="catalogue.write",
        object="P-0001",
        step="publish",
        parameters='{"record": "P-0001", "text": "Harbour with two boats, about 1910."}',
        target="catalogue://records/P-0001",
        expected="One record.",
    )


def fill_rules(walker: Walker, task_id: str) -> None:
    """Fill in the approval policy, the limits and the owner gate."""
    walker.go("section", task_id, Section.APPROVALS.value)
    walker.save("policy", quorum="2", default_expiry_hours="12")
    walker.go("section", task_id, Section.LIMITS.value)
    caps = field(walker.page.locator("#part-limit"), "cap")
    caps.nth(2).fill("400")
    walker.save_block("limit")
    walker.go("section", task_id, Section.OWNER.value)
    walker.save("gate", named_person="Head of the archive", lease_seconds="180")


def fill_windows(walker: Walker, task_id: str) -> None:
    walker.go("section", task_id, Section.WINDOWS.value)
    rows = walker.page.locator("#rows-window > tr")
    for number in range(len(Window)):
        walker.edit(rows.nth(number), setting=f"Twelve photographs, test catalogue, run {number}")
    walker.add(
        "window",
        window="power-cut",
        title="Power cut",
        setting="One rack",
        provoked="Pull it",
        expected="No loss",
    )


def as_other_task(first: bytes, second: bytes) -> bytes:
    """Return `first` as it must be for the task of `second`: another id, and the keys that come from it."""
    before, after = json.loads(first), json.loads(second)
    first = first.replace(
        f'"task_id": "{before["task_id"]}"'.encode(), f'"task_id": "{after["task_id"]}"'.encode()
    )
    for old, new in zip(before["operations"], after["operations"], strict=True):
        first = first.replace(old["key"].encode(), new["key"].encode())
    return first

"""A real Chromium before a real server; whatever a page complains about fails the test."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.core.signals import request_finished, request_started
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.chromium import LAUNCH

LOCALES = {"en": "en-GB", "zh-hans": "zh-CN"}
PATIENCE_MS = 60_000  # of a busy machine; a test that succeeds does not wait
# Answers that are part of the work; any other line about an answer is a complaint.
FAILED_ANSWER = re.compile(r"Failed to load resource: the server responded with a status of (\d+)")
TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


# A page that is left while it asks who else is here: the question is cut off. No other part of a page is of this kind.
CUT_OFF = re.compile(r"htmx:(afterRequest|sendError|sendAbort), \[object HTMLElement\]")


@dataclass
class Troubles:
    """What the pages of one test complained about, and the error statuses it is about."""

    expected: set[int] = field(default_factory=lambda: {409, 422})
    heard: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.add_init_script(TELL_VIOLATIONS)
        context.on("console", self._hear_line)
        context.on("weberror", lambda error: self.heard.append(f"error: {error.error}"))

    def _hear_line(self, line: ConsoleMessage) -> None:
        if line.type not in ("error", "warning"):
            return
        answer = FAILED_ANSWER.search(line.text)
        status = int(answer[1]) if answer else 0
        # htmx tells of an answer with an error status once more.
        told_by_htmx = any(f"Response Status Error Code {code}" in line.text for code in self.expected)
        if status not in self.expected and not told_by_htmx and not CUT_OFF.match(line.text):
            self.heard.append(f"{line.type}: {line.text} ({line.location.get('url', '')})")


@pytest.fixture(scope="package")
def chromium(browser_path: str) -> Iterator[Browser]:
    # Playwright drives the browser by an event loop in this thread; Django takes every test for a coroutine then.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=[*LAUNCH])
            expect.set_options(timeout=PATIENCE_MS)
            yield browser
            browser.close()
    finally:
        os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")


@pytest.fixture
def troubles() -> Iterator[Troubles]:
    troubles = Troubles()
    yield troubles
    assert troubles.heard == []


@contextlib.contextmanager
def _answered_to_the_end() -> Iterator[None]:
    """Wait at the end until the server has answered what the pages asked last: it still needs the database."""
    under_way: list[None] = []

    def begin(**_: Any) -> None:
        under_way.append(None)

    def end(**_: Any) -> None:
        under_way[-1:] = []

    request_started.connect(begin)
    request_finished.connect(end)
    try:
        yield
        latest = time.monotonic() + PATIENCE_MS / 1_000
        while under_way and time.monotonic() < latest:
            time.sleep(0.02)
    finally:
        request_started.disconnect(begin)
        request_finished.disconnect(end)


@pytest.fixture
def open_browser(chromium: Browser, live_server: Any, troubles: Troubles) -> Iterator[Callable[..., Page]]:
    """Open a browser of its own, with nothing remembered, for a person who has logged in (or for nobody)."""
    from tests.views.visiting import visitor  # not before Django has its settings

    opened: list[BrowserContext] = []

    def open_one(person: Any = None, *, language: str = "en", **options: Any) -> Page:
        context = chromium.new_context(base_url=live_server.url, locale=LOCALES[language], **options)
        context.set_default_timeout(PATIENCE_MS)
        opened.append(context)
        if not options.get("bypass_csp"):
            troubles.watch(context)
        if person is not None:
            session = visitor(person).cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}]
            )
        return context.new_page()

    with _answered_to_the_end():
        yield open_one
        for context in opened:
            context.close()


@pytest.fixture
def team(transactional_db: None) -> Any:
    from tests import builders

    return builders.a_team()

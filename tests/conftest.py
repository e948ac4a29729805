"""One throw-away PostgreSQL for the whole run, quick settings for tests, and the browser."""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.chromium import find_browser
from workbench.catalogues import compile_catalogues

# Where a single test may take half a minute, because it starts a browser, servers or workers of its own.
_LONG = tuple(
    f"tests/{place}"
    for place in (
        "storms/",
        "drills/",
        "browser/test_drills",
        "browser/test_accessibility",
        "browser/test_newcomer",
        "browser/test_workers_pages",
        "browser/test_approval",
        "test_workbench/test_metrics",
        "test_workbench/test_stopping",
        "test_workbench/test_up",
        "test_workbench/test_watching",
        "management/test_example",
        "bridges/",
        "operations/",
        "benchmarks/",
        "exports/test_snapshot",
        "races/test_approval",
        "client/test_run",
        "views/test_queries",
    )
)
# Where rules and gates are tried whole; what merely passes through them elsewhere is not counted, and not slowed down.
_COUNTED = tuple(f"tests/{place}/" for place in ("rules", "gates", "models"))
# What is counted there is told at the end of every run.
_TOLD = ("tests/storms/", "tests/races/")
_RUN = pytest.StashKey[contextlib.ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run the longest figures with their whole numbers")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("help", False) or config.getoption("version", 0):
        return
    if not hasattr(config, "workerinput"):
        # The controller only; workers inherit the environment set here.
        config.stash[_RUN] = contextlib.ExitStack()
        _prepare_environment(config.stash[_RUN])
        compile_catalogues()
    _quicken_settings()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _RUN in config.stash:
        config.stash[_RUN].close()


def _prepare_environment(run: contextlib.ExitStack) -> None:
    from workbench.postgres import throw_away

    folder = Path(tempfile.mkdtemp(prefix="workbench-tests-"))
    run.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.joinpath("static").mkdir()
    os.environ["WORKBENCH_DATA"] = str(folder)
    os.environ["WORKBENCH_SECRET_KEY"] = secrets.token_urlsafe(64)
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        # Tests start many Pythons; each would compile Django anew.
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    # Without a pool, so that a connection forgotten by a thread cannot starve the next test.
    os.environ.setdefault("WORKBENCH_POOL", "0")
    os.environ["DJANGO_SETTINGS_MODULE"] = "workbench.settings"
    if not os.environ.get("DATABASE_URL"):
        from tests.emptying import let_tests_empty

        os.environ["DATABASE_URL"] = run.enter_context(throw_away())
        run.callback(os.environ.pop, "DATABASE_URL")
        let_tests_empty(os.environ["DATABASE_URL"])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long tests, in whichever order they came, so that no worker is left with one at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count which lines are walked, where that is asked for, only in the tests that are there to walk them."""
    plugin = item.config.pluginmanager.getplugin("_cov")
    counting = plugin and plugin.cov_controller
    if not counting or item.nodeid.startswith(_COUNTED):
        return (yield)
    counting.pause()
    try:
        return (yield)
    finally:
        counting.resume()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell what storms and races counted, whether or not everything passed."""
    lines = [
        line
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        if report.nodeid.startswith(_TOLD) and report.when == "call"
        for title, text in report.sections
        if title == "Captured stdout call"
        for line in text.splitlines()
    ]
    if lines:
        terminalreporter.section("counted in storms and races")
        terminalreporter.write("\n".join([*sorted(lines), ""]))


def _quicken_settings() -> None:
    from django.conf import settings

    # Argon2 is slow by intention; plain static files need no collecting.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # A line that is held would outlive the page of a test; what is pushed is tried on the workbench as served.
    settings.STREAMS = 0
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether the longest figures are asked for with their whole numbers."""
    return bool(request.config.getoption("whole"))


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The path of a Chromium or Chrome; a run without one fails, it never skips."""
    return find_browser()


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has set nothing, with a data folder of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WORKBENCH_", "DJANGO_", "PYTEST_", "COV_")) and name != "DATABASE_URL"
    }
    return kept | {"WORKBENCH_DATA": str(tmp_path / "folder")}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Let transactional tests empty the event table; single events stay as final as everywhere else."""
    from tests.emptying import empty_quickly

    empty_quickly()
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE contracts_event DISABLE TRIGGER event_table_is_final")


@pytest.fixture(autouse=True)
def plain_language() -> None:
    """Begin every test in the default language, whatever the one before it asked a page for."""
    from django.conf import settings
    from django.utils import translation

    translation.activate(settings.LANGUAGE_CODE)

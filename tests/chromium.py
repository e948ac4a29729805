"""Finds a browser for the browser tests, or gets one; it never gives up silently."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LAUNCH = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class NoBrowser(Exception):
    """There is no Chromium and none could be had."""


def find_browser() -> str:
    """Return the path of a Chromium or Chrome that starts.

    In this order: WORKBENCH_BROWSER, an installed one, Playwright's, Playwright's download, Debian's package.
    """
    if chosen := os.environ.get("WORKBENCH_BROWSER"):
        if not _starts(chosen):
            raise NoBrowser("WORKBENCH_BROWSER names no browser that starts; correct it or unset it.")
        return chosen
    # One test process gets the browser, the others wait and find it.
    with open(Path(tempfile.gettempdir()) / f"workbench-browser-{os.getuid()}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for attempt in (_installed, _from_playwright, _by_download, _by_package):
            if found := attempt():
                return found
    raise NoBrowser(
        "The browser tests need Chromium: install it, or set WORKBENCH_BROWSER to the path of a Chromium or Chrome."
    )


def _installed() -> str | None:
    return next((path for name in INSTALLED if (path := shutil.which(name)) and _starts(path)), None)


def _from_playwright() -> str | None:
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    path = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
    return path if path and _starts(path) else None


def _by_download() -> str | None:
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    return _from_playwright() if _succeeds(command, seconds=600) else None


def _by_package() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    # Without the Noto fonts Chinese pages would be drawn as empty boxes.
    install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-noto-cjk"]
    done = _succeeds(["apt-get", "update"], seconds=300) and _succeeds(install, seconds=900)
    return _installed() if done else None


def _succeeds(command: list[str], *, seconds: float) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, stdout=sys.stderr, env=environment, timeout=seconds).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _starts(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False

"""Timeline pages in Debian's chromium, which Playwright drives."""

import shutil
from contextlib import contextmanager

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="make setup installs it")
CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")

OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 180_000
"""Milliseconds after which what a test waits for is not going to happen."""


@contextmanager
def launched(profile):
    """A browser whose profile is a folder."""
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile), executable_path=CHROMIUM, args=OPTIONS,
            headless=True, viewport={"width": 1280, "height": 900}, timeout=PATIENCE,
        )  # fmt: skip
        context.set_default_timeout(PATIENCE)
        sync_api.expect.set_options(timeout=PATIENCE)
        yield context
        context.close()


@contextmanager
def opened(context, path, address=""):
    """The page of a file, which must make no error and no request."""
    page = context.new_page()
    errors, requests = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri() + address)
    page.wait_for_selector("html[data-ready]")
    yield page
    page.close()
    assert errors == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests)


def shown(page):
    return page.evaluate("[page.timeline.from, page.timeline.to]")


def until(page, condition, argument=None):
    """Waits for a condition, a JavaScript function of the argument."""
    page.wait_for_function(condition, arg=argument)


def selects(page, name):
    """Waits until the panel shows an instruction of that name."""
    sync_api.expect(page.locator("#details h2").first).to_contain_text(name)

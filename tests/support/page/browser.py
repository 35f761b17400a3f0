"""Headless Chromium for tests of the web page, driven by Playwright; and axe, which finds what shuts people out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from missing import skip_test
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

AXE = Path(__file__).parents[3] / ".venv" / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def find_browser() -> str:
    """Returns the path of the browser; skips the test if there is none (``missing.py``)."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    skip_test("no Chromium to open the page with: apt-get install chromium")


@contextmanager
def open_browser() -> Iterator[Browser]:
    path = find_browser()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def watch_errors(page: Page) -> list[str]:
    """Returns a list that fills with errors of scripts, and with what the content policy has forbidden.

    Answers of the service that are problems are no errors of the page; browsers log them too.
    """
    errors: list[str] = []

    def keep(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            errors.append(message.text)

    page.on("console", keep)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def find_barriers(page: Page, within: str = "html", rules: Sequence[str] = ()) -> list[str]:
    """Returns what axe finds against WCAG 2.2 AA within an element as it is now: the rule, and the first elements.

    ``rules`` names those of its rules that are tried; by default all are.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    tried = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    found: dict[str, Any] = page.evaluate("([within, tried]) => axe.run(within, {runOnly: tried})", [within, tried])
    return [
        f"{violation['id']}: {[node['html'][:160] for node in violation['nodes'][:3]]}"
        for violation in found["violations"]
    ]

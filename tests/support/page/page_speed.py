"""How fast the web page is in Chromium, over a service that runs: ``make page-speed URL=… TOKEN=FILE SOURCE=NAME``.

It prints, of REPEATS samples each, the milliseconds to the first paint of a page that was never opened before and those
from Enter in the filter to the first rows on the screen, and the frames a second while up to 100,000 rows are scrolled.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from browser import open_browser
from playwright.sync_api import Browser, BrowserContext, Page

FILTERS = ("status >= 500", "status = 404", "exists user", "bytes_out > 1000000")
"""Filters of web-proxy events, each with matches. One that does not fit the source is left out."""
SCROLL_SECONDS = 5
# Waits until the first row says something else than before, and the browser has painted it.
AWAIT_ROWS = """() => new Promise((resolve) => {
  const read = () => document.querySelector(".rows [aria-rowindex='2']")?.textContent ?? "";
  const before = read();
  let began = 0;
  addEventListener("keydown", () => { began = performance.now(); }, { capture: true, once: true });
  const look = () => {
    if (document.querySelector("#filter").shadowRoot.querySelector(".cm-lintRange-error")) return resolve(-1);
    if (!began || read() === before || !read()) return requestAnimationFrame(look);
    requestAnimationFrame(() => resolve(performance.now() - began));
  };
  look();
})"""
# Scrolls a screenful a frame, and returns the frames a second and the longest frame in milliseconds.
SCROLL = """(seconds) => new Promise((resolve) => {
  const pane = [...document.querySelectorAll("*")].filter((e) => e.scrollHeight > 100000).at(-1);
  const times = [];
  const step = (now) => {
    times.push(now);
    pane.scrollTop = (pane.scrollTop + 400) % (pane.scrollHeight - pane.clientHeight);
    if (now - times[0] < seconds * 1000) return requestAnimationFrame(step);
    const frames = times.slice(1).map((time, n) => time - times[n]);
    resolve([frames.length / ((times.at(-1) - times[0]) / 1000), Math.max(...frames)]);
  };
  requestAnimationFrame(step);
})"""


def sign_in(browser: Browser, url: str, token: str) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    answer = context.request.post(f"{url}/api/v1/session", data={"token": token})
    if not answer.ok:
        sys.exit(f"{url} answered {answer.status}: {answer.text()[:200]}")
    return context


def time_first_paint(browser: Browser, url: str, token: str, address: str) -> tuple[float, float]:
    """Returns the milliseconds to the first paint and to the first rows of a page without anything in its cache."""
    context = sign_in(browser, url, token)
    page = context.new_page()
    page.goto(f"{url}/{address}")
    page.locator(".rows [aria-rowindex='2']").wait_for()
    rows = page.evaluate("performance.now()")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    return paint, rows


def time_first_rows(page: Page, text: str) -> float:
    """Returns the milliseconds from Enter to the first rows of a filter; -1 if it does not fit the source."""
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    page.wait_for_timeout(500)
    page.keyboard.press("Escape")
    waiting = page.evaluate_handle(f"() => ({{ done: ({AWAIT_ROWS})() }})")
    page.keyboard.press("Enter")
    millis: float = waiting.evaluate("(waiting) => waiting.done")
    page.wait_for_load_state("networkidle")
    return millis


def show(name: str, samples: Sequence[float], unit: str = "ms") -> None:
    middle, least, most = (function(samples) for function in (statistics.median, min, max))
    print(f"{name:40} median {middle:6.0f} {unit}, {least:.0f} to {most:.0f}, {len(samples)} samples", flush=True)


def main(url: str, token_file: str, source: str, repeats: int) -> None:
    token, address = Path(token_file).read_text().strip(), f"#/explore?source={source}"
    with open_browser() as browser:
        loads = [time_first_paint(browser, url, token, address) for _ in range(repeats)]
        show("first paint, cold", [paint for paint, _ in loads])
        show("first rows, cold", [rows for _, rows in loads])
        page = sign_in(browser, url, token).new_page()
        page.goto(f"{url}/{address}")
        page.wait_for_load_state("networkidle")
        every: list[float] = []
        for text in FILTERS:
            samples = [time_first_rows(page, choice) for _ in range(repeats) for choice in (text, "")]
            good: list[float] = [millis for millis in samples[::2] if millis >= 0]
            every += good
            if good:
                show(f"Enter to first rows: {text}", good)
        show("Enter to first rows, all", every)
        page.get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name="Read up to 100,000 rows").click()
        page.locator(".status-line", has_text=re.compile("^(all|the newest) ")).first.wait_for(timeout=120_000)
        found: Any = page.evaluate(SCROLL, SCROLL_SECONDS)
        rows = int(page.get_by_role("grid").get_attribute("aria-rowcount") or 0) - 1
        print(f"{f'scrolling {rows:,} rows':40} {found[0]:.1f} frames/s, the longest frame {found[1]:.0f} ms")


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))

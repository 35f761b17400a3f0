"""Pictures of every view of the web page, in both themes and on a phone: ``make screenshots``.

It starts a stack of its own with generated logs, and writes PNG files into the folder that it is given.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from browser import open_browser
from loaded import load
from own_stack import stack_folder
from page_service import SOURCE, TOKEN, PageService, open_page, run_page_service
from playwright.sync_api import Browser, Page

from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import start_stack

EVENTS = {"proxy.events": 60_000, "dns.events": 20_000, "auth.events": 10_000}
PROXY = "#/explore?source=proxy.events"
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def open_completion(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("domain = p")
    page.locator("#filter .cm-tooltip-autocomplete").wait_for()


def write_error(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("status == 500 and user = root")
    page.keyboard.press("Escape")
    page.locator("#filter .cm-lintRange-error").wait_for()


def open_detail(page: Page) -> None:
    page.locator(".rows .time").nth(3).click()


def show_around(page: Page) -> None:
    open_detail(page)
    page.get_by_role("button", name="Around").click()
    page.locator(".neighbours li").first.wait_for()


def open_field(page: Page) -> None:
    if (field := page.locator(".field-name", has_text="domain")).is_visible():
        field.click()
        page.locator(".top-value").first.wait_for()
    page.locator(".rows .value > span").nth(2).click()


VIEWS: dict[str, tuple[str, Callable[[Page], object]]] = {
    "explore": (f"{PROXY}&where=status+%3E%3D+400&stack=status", lambda page: None),
    "menu": (PROXY, open_field),
    "event": (PROXY, open_detail),
    "around": (PROXY, show_around),
    "completion": (PROXY, open_completion),
    "error": (PROXY, write_error),
    "stats": (f"{PROXY}&tab=stats&stats=count(),+sum(bytes_out)+by+domain+|+sort+-count+|+limit+20", lambda page: None),
    "timeline": (f"{PROXY}&tab=stats&stats=count(),+distinct(user)+by+bucket(6h)", lambda page: None),
    "plan": (f"{PROXY}&tab=plan&where=status+=+503+and+domain+=+portal.harborline.example", lambda page: None),
    "several": ("#/explore?source=*&stack=_source", lambda page: None),
    "sources": (PROXY, lambda page: page.click("#sources")),
    "time": (PROXY, lambda page: page.click("#time")),
    "sightings": ("#/sightings?value=portal.harborline.example", lambda page: None),
    "ingest": ("#/ingest", lambda page: None),
    "help": (PROXY, lambda page: page.keyboard.press("?")),
}


def take_pictures(browser: Browser, service: PageService, folder: Path) -> None:
    """Writes a picture of each view in each theme, and of each on a phone."""
    for name, theme, size in (("light", "light", DESKTOP), ("dark", "dark", DESKTOP), ("phone", "light", PHONE)):
        for view, (address, act) in VIEWS.items():
            with open_page(browser, service, address, viewport=size, color_scheme=theme) as page:
                take_picture(page, act, folder / f"{view}-{name}.png")
        context = browser.new_context(viewport=size, color_scheme=theme)
        page = context.new_page()
        page.goto(service.url)
        take_picture(page, lambda page: page.locator("#token").wait_for(), folder / f"sign-in-{name}.png")
        page.fill("#token", f"{TOKEN}-operator")
        take_picture(page, lambda page: page.keyboard.press("Enter"), folder / f"operator-{name}.png")
        context.close()


def take_picture(page: Page, act: Callable[[Page], object], path: Path) -> None:
    page.wait_for_load_state("networkidle")
    try:
        act(page)
        page.wait_for_load_state("networkidle")
    finally:
        page.wait_for_timeout(300)
        page.screenshot(path=path)
    print(path, flush=True)


def load_logs(settings: Settings, folder: Path) -> None:
    for source, events in EVENTS.items():
        with (folder / f"{source}.json").open("wb") as file:
            generate_events(file, events, source=source)
        load(settings, folder / f"{source}.json", feed=source)
    (folder / "bad.json").write_text('{"ts": "yesterday", "domain": "example"}\nno JSON at all\n')
    load(settings, folder / "bad.json", feed="proxy.events")


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, stack_folder() as settings, open_browser() as browser:
        start_stack(settings)
        load_logs(settings, Path(name))
        with run_page_service(settings, Path(name)) as service:
            print(f"pictures of {service.url}, over {', '.join(EVENTS)} and {SOURCE.name}")
            take_pictures(browser, service, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Pictures of every view of the web page, in both themes and on a phone: ``make screenshots``.

It starts a stack of its own with generated logs, and writes PNG files into the folder that it is given: those whose
names are given, such as ``event-dark``, or all. ``page`` is the picture of the documentation.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from browser import open_browser
from loaded import load
from own_stack import stack_folder
from page_service import SOURCE, TOKEN, open_page, run_page_service
from playwright.sync_api import Page

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


def wrap(page: Page) -> None:
    page.get_by_role("button", name="Wrap").click()


@dataclass(frozen=True)
class View:
    """What a picture shows: an address of the page, what is done there, and whose token is signed in with."""

    address: str
    act: Callable[[Page], object] = lambda page: None
    token: str = TOKEN


EXPLORE = View(f"{PROXY}&where=status+%3E%3D+400&stack=status")
VIEWS = {
    "explore": EXPLORE,
    "menu": View(PROXY, open_field),
    "event": View(PROXY, open_detail),
    "around": View(PROXY, show_around),
    "wrapped": View("#/explore?source=*", wrap),
    "completion": View(PROXY, open_completion),
    "error": View(PROXY, write_error),
    "stats": View(f"{PROXY}&tab=stats&stats=count(),+sum(bytes_out)+by+domain+|+sort+-count+|+limit+20"),
    "timeline": View(f"{PROXY}&tab=stats&stats=count(),+distinct(user)+by+bucket(6h)+as+quarter"),
    "plan": View(f"{PROXY}&tab=plan&where=status+=+503+and+domain+=+portal.harborline.example"),
    "several": View("#/explore?source=*&stack=_source"),
    "stacked": View("#/explore?source=proxy.events,dns.events&stack=src_ip", open_field),
    "sources": View(PROXY, lambda page: page.click("#sources")),
    "time": View(PROXY, lambda page: page.click("#time")),
    "sightings": View("#/sightings?value=portal.harborline.example"),
    "ingest": View("#/ingest"),
    "help": View(PROXY, lambda page: page.keyboard.press("?")),
    "sign-in": View("#/", lambda page: page.locator("#token").wait_for(), token="none"),
    "operator": View("#/ingest", token=f"{TOKEN}-operator"),
}
WAYS: dict[str, dict[str, object]] = {
    "light": {"viewport": DESKTOP, "color_scheme": "light"},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
}
PICTURES = {f"{view}-{way}": (VIEWS[view], WAYS[way]) for way in WAYS for view in VIEWS}
PICTURES["page"] = EXPLORE, WAYS["light"]


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


def main(target: Path, *names: str) -> None:
    if unknown := set(names) - set(PICTURES):
        sys.exit(f"no picture is named {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, stack_folder() as settings, open_browser() as browser:
        start_stack(settings)
        load_logs(settings, Path(name))
        with run_page_service(settings, Path(name)) as service:
            print(f"pictures of {service.url}, over {', '.join(EVENTS)} and {SOURCE.name}")
            for name in names or PICTURES:
                view, way = PICTURES[name]
                with open_page(browser, service, view.address, view.token, **way) as page:
                    take_picture(page, view.act, target / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

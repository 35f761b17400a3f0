"""What opens over the page, and the page on a phone, shut nobody out: axe looks at each of them, in a real browser.

In `make test`: it is short, on the stack of the run, with one page for all tests. Without Chromium it is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from browser import find_barriers
from explore import ROWS, write_filter
from page_service import TOKEN, PageService, make_source, open_page, run_page_service
from playwright.sync_api import Browser, Page, expect

from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack
SOURCE = make_source("access")
DARK = {"color_scheme": "dark"}
PHONE = {"color_scheme": "light", "viewport": {"width": 390, "height": 844}, "has_touch": True}
VIEWS = (f"#/explore?source={SOURCE.name}&tab=plan&where=status+%3D+503", "#/sightings?value=root", "#/ingest")


@pytest.fixture(scope="module")
def service(
    browser: Browser, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PageService]:
    with run_page_service(store_settings, tmp_path_factory.mktemp("access"), SOURCE, 1000) as service:
        yield service


@pytest.fixture(scope="module", params=[DARK, PHONE], ids=["dark", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, service: PageService) -> Iterator[Page]:
    with open_page(browser, service, **request.param) as page:
        expect(page.locator(ROWS).first).to_be_visible()
        write_filter(page, "status = 404")
        page.keyboard.press("Enter")
        yield page


def complete(page: Page) -> None:
    write_filter(page, "status = 404 and ")
    page.keyboard.press("Control+Space")


# How each is opened, what is then seen, and where axe looks: a box by a path, or the host of its shadow root.
OVERLAYS: dict[str, tuple[Callable[[Page], object], str, str]] = {
    "sources": (lambda page: page.locator("#sources").click(), ".source-box", ".popover"),
    "time": (lambda page: page.locator("#time").click(), ".time-box", ".popover"),
    "saved": (lambda page: page.get_by_role("button", name="Saved").click(), ".saved-box", ".popover"),
    "history": (lambda page: page.get_by_role("button", name="History").click(), ".menu", ".popover"),
    "more": (lambda page: page.get_by_role("button", name="More").click(), ".menu", ".popover"),
    "session": (lambda page: page.locator(".user").click(), ".menu", ".popover"),
    "column": (lambda page: page.get_by_role("columnheader").get_by_role("button").first.click(), ".menu", ".popover"),
    "value": (lambda page: page.locator(f"{ROWS} .value > span").first.click(), ".menu", ".popover"),
    "completion": (complete, "#filter .cm-tooltip-autocomplete", ".filter-box"),
    "help": (lambda page: page.keyboard.press("?"), "dialog.help", "dialog.help"),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_what_opens_over_the_page(page: Page, name: str) -> None:
    act, opened, box = OVERLAYS[name]
    page.evaluate("document.activeElement.blur()")
    act(page)
    expect(page.locator(opened)).to_be_visible()
    assert find_barriers(page, box) == []
    page.keyboard.press("Escape")
    expect(page.locator(opened)).to_be_hidden()


def test_views_and_their_states(page: Page) -> None:
    chart = f"#/explore?source={SOURCE.name}&tab=stats&stats=count()+by+bucket(1h)"
    is_phone = page.viewport_size == PHONE["viewport"]
    # In a window of a desk, test_page.py looks at the others.
    for view in (chart, *VIEWS) if is_phone else (chart,):
        page.evaluate("address => { location.hash = address }", view)
        expect(page.locator("table:visible, .stats-chart canvas:visible").first).to_be_visible()
        assert find_barriers(page) == [], view
    # In a new page: rows of the search before would still stand there, and an event of theirs is closed with them.
    start = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(f"{start}#/explore?source={SOURCE.name}&stack=status")
    page.locator(f"{ROWS} .time").first.click()
    expect(page.locator(".detail")).to_be_visible()
    page.get_by_role("button", name="Wrap").click()
    assert find_barriers(page) == []
    page.keyboard.press("Escape")
    if is_phone:
        page.get_by_role("button", name="Fields").click()
        page.locator(".field-name").nth(2).click()
        expect(page.locator(".top-value").first).to_be_visible()
        assert find_barriers(page, ".fields-panel") == []


@pytest.mark.parametrize("options", [DARK, PHONE], ids=["dark", "phone"])
def test_signing_in_and_what_operators_see(browser: Browser, service: PageService, options: dict[str, object]) -> None:
    context = browser.new_context(**options)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(service.url)
    page.get_by_label("Token").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not known")
    assert find_barriers(page) == []
    page.get_by_label("Token").fill(f"{TOKEN}-operator")
    page.keyboard.press("Enter")
    expect(page.locator(".tile").first).to_be_visible()
    assert find_barriers(page) == []
    context.close()

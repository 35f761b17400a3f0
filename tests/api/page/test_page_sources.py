"""Explore over several sources in a real browser: choosing them, and values, counts and downloads of all of them.

In `make test`: it is short, on the stack of the run, with one page for all tests. Without Chromium it is skipped.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from explore import ROWS, find_filter, write_filter
from page_service import FIELDS, START, PageService, make_event, make_source, open_page, run_page_service
from playwright.sync_api import Browser, Page, Route, expect

from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack
EVENTS, OTHERS = 3000, 600
SHOP = make_source("shop")
GATE_FIELDS = (*FIELDS[:2], {"name": "status", "type": "string", "indexed": True}, {"name": "bytes", "type": "int"})
GATE = make_source("gate", GATE_FIELDS, title="Accesses of a gate")
BOTH = f"{GATE.name},{SHOP.name}"
STATUSES = ("404", "404", "gone", "200", "200", "200")
"""The statuses of the gate's events, over and over. They are texts, and one is no number."""


@pytest.fixture(scope="module")
def service(
    browser: Browser, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PageService]:
    """The shop's events, and those of a gate whose field ``bytes`` was indexed when it had events already."""
    folder = tmp_path_factory.mktemp("sources")
    with run_page_service(store_settings, folder, SHOP, EVENTS) as service:
        service.store.catalog.register(GATE)
        events = [{"ts": START + 40 * n, "client": "192.0.2.1", "status": STATUSES[n % 6]} for n in range(OTHERS)]
        (folder / "gate.json").write_text("".join(json.dumps({**event, "bytes": 1}) + "\n" for event in events))
        service.load(folder / "gate.json", GATE)
        service.store.catalog.register(make_source("gate", (*GATE_FIELDS[:3], {**GATE_FIELDS[3], "indexed": True})))
        yield service


@pytest.fixture(scope="module")
def only_page(browser: Browser, service: PageService) -> Iterator[Page]:
    with open_page(browser, service) as page:
        yield page


@pytest.fixture
def page(only_page: Page, service: PageService) -> Page:
    """The page anew, with all events of both sources."""
    show(only_page, service, f"source={BOTH}")
    expect(only_page.locator(".total")).to_have_text(f"{EVENTS + OTHERS:,} events")
    return only_page


def show(page: Page, service: PageService, search: str) -> None:
    page.goto("about:blank")
    page.goto(f"{service.url}/#/explore?{search}")


def go(page: Page, search: str) -> None:
    """Goes to another search without loading the page anew."""
    page.evaluate("address => { location.hash = address }", f"#/explore?{search}")


def count_statuses() -> Counter[str]:
    """Returns the number of events of each status in both sources."""
    counts = Counter(str(make_event(number)["status"]) for number in range(EVENTS))
    return counts + Counter(STATUSES[number % 6] for number in range(OTHERS))


def test_one_several_or_all_sources_are_chosen(page: Page) -> None:
    button, box = page.locator("#sources"), page.locator(".source-box")
    expect(button).to_have_text(f"Sources {GATE.name}, {SHOP.name}")
    button.click()
    expect(box.get_by_label("Find a source")).to_be_focused()
    page.keyboard.type("of a gate")
    expect(box.locator("li:visible")).to_have_text([re.compile(GATE.name)])
    box.locator("li:visible").get_by_role("button", name="only").click()
    expect(button).to_have_text(f"Sources {GATE.name}")
    expect(page.locator(".total")).to_have_text(f"{OTHERS} events")
    button.click()
    expect(box.get_by_label(GATE.name)).to_be_checked()
    box.get_by_label(SHOP.name).check()
    box.get_by_role("button", name="Apply").click()
    expect(page.locator(".total")).to_have_text(f"{EVENTS + OTHERS:,} events")
    button.click()
    box.get_by_role("button", name="All sources").click()
    expect(button).to_have_text("Sources All sources")
    assert "source=*" in page.url


def test_values_of_all_sources_are_completed(page: Page) -> None:
    offered = page.locator("#filter .cm-tooltip-autocomplete li")
    counts = count_statuses()
    for prefix, values in (("4", ["404"]), ("go", ["gone"]), ("", ["200", "404", "gone", "503"])):
        write_filter(page, f"status = {prefix}")
        page.keyboard.press("Control+Space")
        expect(offered).to_have_text([f"{value}{counts[value]:,}" for value in values])
    page.keyboard.press("Escape")
    write_filter(page, "status = gone")
    page.keyboard.press("Enter")
    expect(page.locator(".total")).to_have_text("100 events")  # of the source in which that can be a value


def test_top_values_are_those_of_all_sources(page: Page) -> None:
    page.locator(".field-name", has_text="status").click()
    counts = count_statuses()
    expect(page.locator(".top-value > span")).to_have_text([value for value, _ in counts.most_common()])
    shares = [100 * count / (EVENTS + OTHERS) for _, count in counts.most_common()]
    texts = [f"{share:.0f} %" if share >= 10 else f"{share:.1f} %" for share in shares]
    expect(page.locator(".top-value > b")).to_have_text(texts)
    # A field that one of the sources lacks has the values of the other.
    page.locator(".field-name", has_text="user").click()
    expect(page.locator(".top-value", has_text="jane doe")).to_be_visible()


def test_several_sources_are_stacked_by_a_field_and_by_source(page: Page) -> None:
    stack, legend = page.get_by_label("Stack by"), page.locator(".legend li")
    stack.select_option("status")
    expect(legend).to_have_text([f"{value}{count:,}" for value, count in count_statuses().most_common()])
    expect(page.locator(".total")).to_have_text(f"{EVENTS + OTHERS:,} events")
    stack.select_option("path")  # more values than there are colours, and a source that has none
    expect(legend).to_have_count(7)
    expect(legend.last).to_have_text(f"other{EVENTS + OTHERS - 6:,}")
    stack.select_option("source")
    expect(legend).to_have_text([f"{SHOP.name}{EVENTS:,}", f"{GATE.name}{OTHERS}"])
    stack.select_option("status")
    page.locator(".legend button", has_text="404").click()
    page.get_by_role("menuitem", name="Only this value").click()
    expect(page.locator(".total")).to_have_text(f"{count_statuses()['404']} events")


def test_fields_tell_what_their_indexes_cover(page: Page, service: PageService) -> None:
    fields = page.locator(".field-line")
    later = "indexed from 2026-03-01 06:39:20 UTC on"  # from behind the last event that there was
    expect(fields.filter(has_text="client").locator(".indexed")).to_have_text("●")
    expect(fields.filter(has_text="bytes").locator(".indexed")).to_have_text("◐")
    title = f"int · {GATE.name}: {later}; {SHOP.name}: not indexed"
    expect(fields.filter(has_text="bytes").locator(".field-name")).to_have_attribute("title", title)
    show(page, service, f"source={SHOP.name}")
    expect(fields.filter(has_text="status").locator(".field-name")).to_have_attribute("title", "int · indexed")
    expect(fields.filter(has_text="bytes").locator(".indexed")).to_have_count(0)
    show(page, service, f"source={GATE.name}")
    expect(fields.filter(has_text="bytes").locator(".field-name")).to_have_attribute("title", f"int · {later}")


def test_a_search_that_is_left_while_its_fields_are_read_is_not_shown(page: Page, service: PageService) -> None:
    show(page, service, f"source={SHOP.name}")
    expect(page.locator(".total")).to_have_text(f"{EVENTS:,} events")
    held: list[Route] = []
    page.route(f"**/api/v1/sources/{GATE.name}", lambda route: held.append(route))
    with page.expect_request(f"**/api/v1/sources/{GATE.name}"):
        go(page, f"source={GATE.name}")
    go(page, f"source={SHOP.name}&stack=user")
    stack = page.get_by_label("Stack by")
    expect(stack).to_have_value("user")
    with page.expect_response(f"**/api/v1/sources/{GATE.name}"):
        held[0].continue_()
    page.wait_for_timeout(200)  # in which the page would show the fields
    page.unroute_all()
    expect(stack).to_have_value("user")
    expect(page.locator(".total")).to_have_text(f"{EVENTS:,} events")
    # A search is asked for even if another one changes less, but comes before its fields are there.
    go(page, f"source={GATE.name}")
    go(page, f"source={GATE.name}&stack=status")
    expect(page.locator(".total")).to_have_text(f"{OTHERS} events")
    expect(stack).to_have_value("status")


def test_a_download_that_is_partial_is_not_saved(page: Page) -> None:
    downloads: list[Any] = []
    page.on("download", lambda download: downloads.append(download))

    def hurry(route: Route) -> None:
        route.continue_(post_data=json.dumps({**route.request.post_data_json, "deadline": 1e-6}))

    page.route("**/api/v1/query?format=*", hurry)
    for title in ("JSON lines", "CSV", "Arrow", "Parquet"):
        page.get_by_role("button", name="More").click()
        with page.expect_response("**/api/v1/query?format=*") as answer:
            page.get_by_role("menuitem", name=f"Download all events as {title}").click()
        assert answer.value.status == 200
        expect(page.locator(".notice.bad")).to_have_text("the answer is partial (deadline); it is not saved")
        page.locator(".notices").evaluate("notices => notices.replaceChildren()")
    page.unroute_all()
    assert downloads == []
    expect(page.locator(ROWS).first).to_be_visible()
    expect(find_filter(page)).to_have_text("Filter: status >= 500 and user = root")

"""Sightings and Ingest in a real browser: their numbers are those of the events that were loaded.

In `make test`: it is short, on the stack of the run. Without Chromium it is skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_service import FIELDS, START, STEP, TOKEN, PageService, make_event, make_source, open_page, run_page_service
from playwright.sync_api import Browser, Page, expect

from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.times import format_micros

pytestmark = pytest.mark.stack
EVENTS = 3000
SOURCE = make_source("views")
WIDER = make_source("views", (*FIELDS, {"name": "colour", "type": "string"}))


@pytest.fixture(scope="module")
def service(
    browser: Browser, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PageService]:
    with run_page_service(store_settings, tmp_path_factory.mktemp("views"), SOURCE, EVENTS) as service:
        yield service


@pytest.fixture(scope="module")
def operator(browser: Browser, service: PageService) -> Iterator[Page]:
    with open_page(browser, service, "#/", token=f"{TOKEN}-operator") as page:
        yield page


def show_hour(number: int) -> str:
    """Returns the hour of an event as the page shows it."""
    return format_micros((START + number * STEP) // 3600 * 3600 * 1_000_000)[:16].replace("T", " ")


def test_sightings_tell_the_first_and_the_last_time(browser: Browser, service: PageService) -> None:
    numbers = [n for n in range(1000, EVENTS) if make_event(n)["client"] == "192.0.2.7"]
    with open_page(browser, service, "#/sightings") as page:
        expect(page.locator("#value")).to_be_focused()
        page.keyboard.type("192.0.2.7")
        page.keyboard.press("Enter")
        row = page.locator("tbody tr", has_text=SOURCE.name)
        count = sum(make_event(n)["client"] == "192.0.2.7" for n in range(EVENTS))
        ends = ["2026-03-01 00:00", "2026-03-01 07:00"]  # whole hours
        expect(row.locator("td")).to_have_text([SOURCE.name, "client", "ip", f"{count}", *ends, ""])
        expect(row.locator("svg rect").first).to_be_visible()
        page.locator("#time").click()
        page.get_by_label("From").fill("2026-03-01 02:13:20")  # event 1,000
        page.keyboard.press("Enter")
        expect(row.locator("td").nth(4)).to_have_text(show_hour(numbers[0]))
        expect(row.locator("td").nth(5)).to_have_text("2026-03-01 07:00")
        page.get_by_role("button", name="Recent").click()
        expect(page.get_by_role("menuitem")).to_have_text(["192.0.2.7"])


def test_analysts_see_the_volume_of_sources_by_day(browser: Browser, service: PageService) -> None:
    with open_page(browser, service, "#/ingest") as page:
        row = page.get_by_role("region", name="Sources").locator("tr", has_text=SOURCE.name)
        expect(row.locator("td")).to_have_text(
            [SOURCE.name, "Accesses of a shop", f"{EVENTS:,}", "2026-03-01", "2026-03-01", ""]
        )
        expect(row.locator("svg rect")).to_have_count(1)
        expect(page.get_by_role("heading", name="Quarantine")).to_have_count(0)
        row.get_by_role("link").click()
        expect(page.locator(".total")).to_have_text(f"{EVENTS:,} events")


def test_operators_see_the_lag_and_the_rates(operator: Page, service: PageService) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}-operator"}
    told = service.app.test_client().get("/api/v1/ingest", headers=headers).json
    tiles = operator.locator(".tile")
    lag = tiles.filter(has=operator.get_by_text("Lag", exact=True)).locator("strong")
    expect(lag).to_have_text("none" if not told["lag"]["items"] else re.compile(r"^[\d.]+ k?B$"))
    for title, rate in zip(("last minute", "last 10 minutes", "last hour"), told["rates"], strict=True):
        tile = tiles.filter(has=operator.get_by_text(title, exact=True))
        expect(tile.locator("strong")).to_have_text(re.compile(r"^[\d,]+ events/s$"))
        expect(tile.locator("small")).to_have_text(re.compile(r"^[\d.]+ k?M?B/s, [\d,]+ items?$"))
        assert rate["items"] >= 0
    hour = tiles.filter(has=operator.get_by_text("last hour", exact=True))
    expect(hour.locator("strong")).not_to_have_text("0 events/s")  # the events of this test
    expect(hour.locator("small")).not_to_have_text(re.compile(" 0 items"))


def test_lines_that_a_retry_makes_events_leave_the_quarantine(
    operator: Page, browser: Browser, service: PageService, tmp_path: Path
) -> None:
    """Lines with a field that the source gets only later: one is retried alone, the others together."""
    lines = [{"ts": START + n, "status": 299, "colour": "red"} for n in range(3)]
    file = tmp_path / "wide.json"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    service.load(file)
    assert service.count(where="status = 299") == 0
    operator.get_by_label("File", exact=True).fill(str(file))
    operator.keyboard.press("Enter")
    rows = operator.get_by_role("region", name="Lines in quarantine").locator("tbody tr")
    expect(rows).to_have_count(3)
    service.store.catalog.register(WIDER)
    rows.first.get_by_text("Retry", exact=True).click()
    expect(operator.get_by_text("1 line tried: 1 event now, 0 kept")).to_be_visible()
    expect(rows).to_have_count(2)
    operator.get_by_role("button", name="Retry all of these").click()
    expect(operator.get_by_text("2 lines tried: 2 events now, 0 kept")).to_be_visible()
    expect(operator.get_by_text("No such line is in quarantine.")).to_be_visible()
    assert service.count(where="status = 299") == 3
    with open_page(browser, service, f"#/explore?source={SOURCE.name}&where=status+%3D+299&columns=colour") as page:
        expect(page.locator(".total")).to_have_text("3 events")
        expect(page.locator(".rows .value > span")).to_have_text(["red"] * 3)

"""The web page in a real browser, over a real service: what an analyst does from signing in to the export.

In `make test`: it is short, on the stack of the run. Without Chromium it is skipped.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browser import find_barriers, watch_errors
from explore import ROWS, find_filter, find_value, read_column, write_filter
from page_service import EVENTS, SOURCE, TOKEN, PageService, open_page, run_page_service
from playwright.sync_api import Browser, Page, expect
from rest_fakes import read_lines
from scan_sessions import assert_scans_end

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.encoding.keys import event_table

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def service(
    browser: Browser, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PageService]:
    with run_page_service(store_settings, tmp_path_factory.mktemp("page")) as service:
        yield service


@pytest.fixture
def page(browser: Browser, service: PageService) -> Iterator[Page]:
    with open_page(browser, service) as page:
        expect(page.locator(ROWS).first).to_be_visible()
        yield page


def test_signing_in_and_out(browser: Browser, service: PageService) -> None:
    context = browser.new_context()
    page = context.new_page()
    errors = watch_errors(page)
    page.goto(f"{service.url}/#/explore?source={SOURCE.name}&where=status+%3D+503")
    page.get_by_label("Token").fill("not a token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This token is not known, or has expired.")
    assert find_barriers(page) == []
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator(".total")).to_have_text("300 events")  # the address is what was asked for before
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    kept = page.evaluate("document.cookie + JSON.stringify([{...localStorage}, {...sessionStorage}]) + location.href")
    assert TOKEN not in kept and cookie["value"] not in kept and "status = 503" in kept
    page.get_by_role("button", name="analysts-token").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert context.request.get(f"{service.url}/api/v1/sources").status == 401
    assert page.evaluate("localStorage.getItem('watchfloor.filters')") is None
    assert errors == []
    context.close()


def test_an_error_in_the_filter_is_shown_in_its_place_and_mended(page: Page, service: PageService) -> None:
    write_filter(page, "status == 503 and client = 192.0.2.1")
    expect(page.locator(".filter-error")).to_contain_text("equality is written =")
    expect(page.locator("#filter .cm-lintRange-error")).to_have_text("=")
    write_filter(page, "statu = 503")
    expect(page.locator(".filter-error")).to_contain_text("did you mean status")
    write_filter(page, "status = 503 and client = 192.0.2.1")
    expect(page.locator(".filter-error")).to_have_text("")
    page.keyboard.press("Enter")
    found = service.ask(where="status = 503 and client = 192.0.2.1")
    expect(page.locator(".total")).to_have_text(f"{len(found)} events")
    expect(page.locator(".status-line").first).to_contain_text(f"all {len(found)} rows")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(len(found) + 1))
    times = [row["ts"][:23].replace("T", " ") for row in found]
    assert read_column(page, 0) == times[: len(read_column(page, 0))]


def test_fields_operators_and_values_are_completed(page: Page) -> None:
    page.keyboard.press("/")
    for typed, offered, taken in (
        ("sta", "status", "status "),
        ("!", "!=", "status != "),
        ("40", "404", "status != 404 "),
        ("an", "and", "status != 404 and "),
        ("us", "user", "status != 404 and user "),
        ("=", "=", "status != 404 and user = "),
        ("O", "O'Neill", 'status != 404 and user = "O\'Neill \\"x\\"\\*" '),
    ):
        page.keyboard.type(typed)
        if typed != "=":
            expect(page.locator("#filter .cm-tooltip-autocomplete li[aria-selected]")).to_contain_text(offered)
            page.wait_for_timeout(100)  # CodeMirror takes no key for a list that has just opened
            page.keyboard.press("Tab")
        else:
            page.keyboard.type(" ")
        expect(find_filter(page)).to_have_text(taken.rstrip())
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.locator(".filter-error")).to_have_text("")
    expect(page.locator(ROWS).first).to_contain_text("O'Neill")


def test_a_drag_over_the_histogram_zooms_and_back(page: Page, service: PageService) -> None:
    expect(page.locator(".total")).to_have_text(f"{EVENTS:,} events")
    box = page.locator(".u-over").bounding_box()
    assert box is not None
    y = box["y"] + 40
    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile("since="))
    since, until = (re.search(f"{end}=([^&]*)", page.url)[1].replace("%3A", ":") for end in ("since", "until"))  # type: ignore[index]
    expected = service.count(since=since, until=until)
    assert 0.2 * EVENTS < expected < 0.3 * EVENTS
    expect(page.locator(".total")).to_have_text(f"{expected:,} events")
    assert all(since[:10] <= time[:10] <= until[:10] for time in read_column(page, 0))
    page.locator("h1").evaluate("() => document.activeElement.blur()")
    page.keyboard.press("z")
    expect(page.locator(".total")).to_have_text(f"{EVENTS:,} events")


def test_the_histogram_is_stacked_by_a_field(page: Page) -> None:
    page.get_by_label("Stack by").select_option("status")
    expect(page.locator(".legend li")).to_have_text(["20027,000", "4042,700", "503300"])
    page.locator(".legend button", has_text="503").click()
    page.get_by_role("menuitem", name="Only this value").click()
    expect(page.locator(".total")).to_have_text("300 events")


def test_a_value_leads_to_a_filter_by_mouse_and_by_keys(page: Page) -> None:
    find_value(page, "404").click()
    page.get_by_role("menuitem", name="Only this value").click()
    expect(page.locator(".total")).to_have_text("2,700 events")
    expect(find_filter(page)).to_have_text("status = 404")
    page.locator(f'{ROWS} > [data-column="1"]').first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("menuitem", name="Only this value")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(find_filter(page)).to_have_text(re.compile(r"^status = 404 and client != 192\.0\.2\.\d+$"))
    expect(page.locator(".total")).not_to_have_text("2,700 events")


def test_hostile_values_are_text_and_can_be_filtered_by(page: Page) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    expect(find_value(page, hostile)).to_be_visible()
    assert page.locator(".rows img").count() == 0
    find_value(page, hostile).click()
    page.get_by_role("menuitem", name="Only this value").click()
    expect(page.locator(".total")).to_have_text("5,000 events")
    find_value(page, hostile).locator("xpath=../..").locator(".time").click()
    expect(page.locator(".detail dd").nth(3)).to_have_text(hostile)
    page.get_by_role("button", name="JSON").click()
    expect(page.locator(".detail pre")).to_contain_text(f'"user": "{hostile}"')
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_be_hidden()


def test_sightings_lead_back_to_events(page: Page, service: PageService) -> None:
    find_value(page, "192.0.2.7").click()
    page.get_by_role("menuitem", name="Sightings").click()
    row = page.locator("tbody tr", has_text=SOURCE.name)
    expected = service.count(field="client", value="192.0.2.7")
    expect(row.locator("td").nth(3)).to_have_text(f"{expected:,}")
    row.get_by_role("link").click()
    expect(page.locator(".total")).to_have_text(f"{expected:,} events")
    expect(find_filter(page)).to_have_text("client = 192.0.2.7")


def test_cancelling_stops_the_servers(page: Page, service: PageService) -> None:
    page.get_by_role("button", name="Live").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".status-line").first).to_contain_text("cancelled")
    network = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": 200_000, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Read up to 100,000 rows").click()
    expect(page.locator(".status-line").first).to_have_text(
        re.compile(r" rows back to 2026-03-.* · [\d,]+ rows/s · .*…")
    )
    expect(page.locator(ROWS).first).to_be_visible()  # rows are there before the query has ended
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".status-line").first).to_contain_text("cancelled")
    assert_scans_end(service.store.connection, event_table(SOURCE))
    expect(page.get_by_role("button", name="Run")).to_be_visible()


def test_all_rows_can_be_read_and_scrolled(page: Page) -> None:
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Read up to 100,000 rows").click()
    expect(page.locator(".status-line").first).to_contain_text(f"all {EVENTS:,} rows")
    page.locator(f'{ROWS} > [data-column="0"]').first.focus()
    page.keyboard.press("Control+End")
    expect(page.locator(f'{ROWS}[aria-rowindex="{EVENTS + 1}"]')).to_be_visible()
    expect(page.locator(f'{ROWS}[aria-rowindex="{EVENTS + 1}"] .time')).to_have_text("2026-03-01 00:00:00.000")
    assert page.locator(ROWS).count() < 80


def test_downloads_are_what_the_service_answers(page: Page, service: PageService, tmp_path: Path) -> None:
    write_filter(page, "status = 503 and exists user")
    page.keyboard.press("Enter")
    expect(page.locator(".total")).to_have_text("200 events")
    for title in ("JSON lines", "CSV", "Arrow", "Parquet"):
        page.get_by_role("button", name="More").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"Download all events as {title}").click()
        download.value.save_as(tmp_path / title)
    *rows, _ = read_lines((tmp_path / "JSON lines").read_bytes())
    assert rows == (expected := service.ask(where="status = 503 and exists user"))
    arrow = pa.ipc.open_stream(tmp_path / "Arrow").read_all()
    for table in (arrow, pq.read_table(tmp_path / "Parquet")):
        assert table["path"].to_pylist() == [row["path"] for row in expected]
    assert (tmp_path / "CSV").read_text().count("/item/") == 200
    page.goto(f"{service.url}/#/explore?source={SOURCE.name}&tab=stats&stats=count()+by+status")
    page.get_by_role("button", name="More").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download these stats as CSV").click()
    download.value.save_as(tmp_path / "stats")
    assert f"\n503,{EVENTS // 100}\n" in (tmp_path / "stats").read_text()


def test_what_happened_around_an_event(page: Page) -> None:
    find_value(page, "404").locator("xpath=../..").locator(".time").click()
    page.get_by_role("button", name="Around").click()
    around = page.locator(".neighbours li")
    expect(around).to_have_count(20)  # of newer ones there are nine
    expect(around.nth(9)).to_have_attribute("aria-current", "true")
    older = around.nth(10).inner_text()
    around.nth(10).get_by_role("button").click()
    expect(page.locator(".detail h2")).to_contain_text(older[:23])


def test_an_operator_sees_ingest_and_mends_the_quarantine(
    browser: Browser, service: PageService, tmp_path: Path
) -> None:
    lines = ['{"ts": "no time", "user": "<b>"}', "no JSON", '{"ts": 1772323200, "status": 200}']
    (tmp_path / "bad.json").write_text("\n".join(lines) + "\n")
    service.load(tmp_path / "bad.json")
    with open_page(browser, service, "#/", token=f"{TOKEN}-operator") as page:
        expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(["Ingest"])
        expect(page.locator(".tile", has_text="done")).to_contain_text("quarantined")
        expect(page.get_by_role("region", name="Last items").locator("tr", has_text="bad.json")).to_contain_text("done")
        page.get_by_label("File", exact=True).fill(str(tmp_path / "bad.json"))
        page.keyboard.press("Enter")
        row = page.get_by_role("region", name="Lines in quarantine").locator("tr", has_text="bad.json")
        expect(row).to_have_count(2)
        assert find_barriers(page) == []
        row.first.get_by_role("button", name="Show").click()
        expect(page.locator(".raw-line pre")).to_have_text(lines[0])
        assert find_barriers(page) == []
        page.get_by_role("button", name="Close").click()
        row.first.get_by_role("button", name="Retry").click()
        expect(page.get_by_text("1 line tried: 0 events now, 1 kept")).to_be_visible()


def test_an_address_brings_a_search_back(page: Page, browser: Browser, service: PageService) -> None:
    write_filter(page, "status = 503")
    page.keyboard.press("Enter")
    page.get_by_label("Column bytes").check()
    page.get_by_role("tab", name="Stats").click()
    page.get_by_role("textbox", name="Stats").fill("count() by user | sort -count")
    page.keyboard.press("Enter")
    expect(page.locator(".stats-table tbody tr")).to_have_count(2)
    address = page.url.partition("/#")[2]
    with open_page(browser, service, f"#{address}") as other:
        expect(other.locator(".stats-table tbody tr")).to_have_count(2)
        other.get_by_role("tab", name="Events").click()
        expect(other.locator(".total")).to_have_text("300 events")
        expect(other.get_by_role("columnheader", name="bytes")).to_be_visible()
        expect(find_filter(other)).to_have_text("status = 503")
        other.reload()
        expect(other.locator(".total")).to_have_text("300 events")
    page.go_back()
    page.go_back()
    expect(page.get_by_role("tab", name="Events")).to_have_attribute("aria-selected", "true")


def test_a_search_is_saved_and_found_again(page: Page, service: PageService) -> None:
    write_filter(page, "status = 503")
    page.keyboard.press("Enter")
    page.get_by_label("Stack by").select_option("user")
    page.get_by_role("button", name="Saved").click()
    page.get_by_label("Save this search as").fill("what is down")
    page.keyboard.press("Enter")
    expect(page.locator(".saved-box .open")).to_have_text(re.compile("what is down"))
    page.keyboard.press("Escape")
    page.goto(f"{service.url}/#/explore?source=*")
    expect(page.locator(".total")).not_to_have_text("300 events")
    page.get_by_role("button", name="Saved").click()
    page.locator(".saved-box .open").click()
    expect(page.locator(".total")).to_have_text("300 events")
    expect(page.get_by_label("Stack by")).to_have_value("user")
    expect(find_filter(page)).to_have_text("status = 503")
    page.get_by_role("button", name="Saved").click()
    page.get_by_role("button", name="Remove what is down").click()
    expect(page.locator(".saved-box")).to_contain_text("You have saved none yet.")


def test_nothing_jumps_while_rows_counts_and_completions_arrive(page: Page) -> None:
    expect(page.locator(".total")).to_have_text(re.compile("events$"))
    write_filter(page, "status = 404")
    page.keyboard.press("Enter")
    expect(page.locator(".total")).to_have_text("2,700 events")
    find_filter(page).click()
    page.keyboard.type(" and status ")
    expect(page.locator("#filter .cm-tooltip-autocomplete")).to_be_visible()  # a long list of operators
    jumps = page.evaluate(
        """() => new Promise(done => new PerformanceObserver(list => done(list.getEntries().map(one => one.value)))
            .observe({type: 'layout-shift', buffered: true}) ?? setTimeout(() => done([]), 1000))"""
    )
    assert sum(jumps) < 0.1


def test_new_events_appear_as_they_arrive(page: Page, service: PageService, tmp_path: Path) -> None:
    write_filter(page, "status = 999")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No events match in this range.")).to_be_visible()
    page.get_by_role("button", name="Live").click()
    line = f'{{"ts": {time.time()}, "status": 999, "client": "192.0.2.1", "user": "live", "bytes": 1}}\n'
    (tmp_path / "live.json").write_text(line)
    service.load(tmp_path / "live.json")
    expect(find_value(page, "live")).to_be_visible()
    page.keyboard.press("Escape")


def test_the_plan_is_in_words(page: Page) -> None:
    write_filter(page, "status = 503")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator(".plan-view .lead").first).to_contain_text("newest part of the range first")
    expect(page.locator(".plan-view")).to_contain_text("300 rows in")


# The themes differ in their colours alone.
@pytest.mark.parametrize(("theme", "rules"), [("light", ()), ("dark", ("color-contrast",))], ids=["light", "dark"])
def test_nothing_shuts_people_out(browser: Browser, service: PageService, theme: str, rules: tuple[str, ...]) -> None:
    with open_page(browser, service, color_scheme=theme) as page:
        expect(page.locator(ROWS).first).to_be_visible()
        page.get_by_label("Stack by").select_option("status")
        page.locator(f"{ROWS} .time").first.click()
        page.locator(".field-name").nth(2).click()
        expect(page.locator(".top-value").first).to_be_visible()
        assert find_barriers(page, rules=rules) == []
        find_value(page, "200").click()
        assert find_barriers(page, rules=rules) == []
        page.keyboard.press("Escape")
        page.locator("#time").click()
        assert find_barriers(page, rules=rules) == []
        for address in (
            f"#/explore?source={SOURCE.name}&tab=stats&stats=top+5+status",
            f"#/explore?source={SOURCE.name}&tab=plan&where=status+%3D+503",
            "#/sightings?value=192.0.2.7",
            "#/ingest",
        ):
            page.goto(f"{service.url}/{address}")
            expect(page.locator("table:visible, .plan-view article:visible").first).to_be_visible()
            assert find_barriers(page, rules=rules) == [], address


@pytest.mark.parametrize("width", [1000, 390])
def test_the_page_fits_narrow_windows(browser: Browser, service: PageService, width: int) -> None:
    with open_page(browser, service, viewport={"width": width, "height": 800}) as page:
        expect(page.locator(ROWS).first).to_be_visible()
        for address in ("#/sightings?value=192.0.2.7", "#/ingest", f"#/explore?source={SOURCE.name}"):
            page.goto(f"{service.url}/{address}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(f"{ROWS} .time").first.click()
        expect(page.locator(".detail dd").first).to_be_in_viewport()

"""Explore in a real browser: what the bars, menus, boxes and keys around the events do.

In `make test`: it is short, on the stack of the run, with one page for all tests. Without Chromium it is skipped.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from explore import ROWS, find_filter, find_value, read_column, write_filter
from page_service import START, PageService, make_event, make_source, open_page, run_page_service
from playwright.sync_api import Browser, Locator, Page, expect

from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.times import format_micros

pytestmark = pytest.mark.stack
SOURCE = make_source("explore")
EVENTS = 3000
LONG = "/long/" + "abcdefghij" * 25
"""The path of the newest event, in characters far more than a column has."""


@pytest.fixture(scope="module")
def service(
    browser: Browser, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PageService]:
    folder = tmp_path_factory.mktemp("explore")
    with run_page_service(store_settings, folder, SOURCE, EVENTS) as service:
        (folder / "long.json").write_text(json.dumps({"ts": START + 8 * EVENTS, "status": 200, "path": LONG}) + "\n")
        service.load(folder / "long.json")
        yield service


@pytest.fixture(scope="module")
def only_page(browser: Browser, service: PageService) -> Iterator[Page]:
    with open_page(browser, service, timezone_id="America/New_York") as page:
        yield page


@pytest.fixture
def page(only_page: Page, service: PageService) -> Page:
    """The page anew, with all events of the source."""
    only_page.goto("about:blank")
    only_page.goto(f"{service.url}/#/explore?source={SOURCE.name}")
    expect(only_page.locator(".total")).to_have_text(f"{EVENTS + 1:,} events")
    return only_page


def show(page: Page, **members: str) -> None:
    """Goes to another search."""
    address = "&".join(f"{name}={quote(value)}" for name, value in {"source": SOURCE.name, **members}.items())
    page.evaluate("address => { location.hash = address }", f"#/explore?{address}")
    expect(page.locator("[role=tab][aria-selected=true]")).to_have_text(members.get("tab", "events").capitalize())


def choose(page: Page, menu: Locator, *entries: str) -> None:
    """Opens a menu and takes an entry, for each of these."""
    for entry in entries:
        menu.click()
        page.get_by_role("menuitem", name=entry, exact=True).or_(
            page.get_by_role("menuitemcheckbox", name=entry, exact=True)
        ).click()


def read_range(page: Page) -> tuple[float, float]:
    """Returns the ends of the address' range in hours since the first event."""
    given = parse_qs(page.url.partition("?")[2])
    ends = [page.evaluate("text => Date.parse(text) / 1000", given[name][0]) for name in ("since", "until")]
    return (ends[0] - START) / 3600, (ends[1] - START) / 3600


def expect_heights(page: Page, height: int) -> None:
    """Waits until there are rows in the page and all have this height in pixels."""
    page.wait_for_function(
        """([rows, height]) => {
            const found = [...document.querySelectorAll(rows)].map((row) => row.offsetHeight);
            return found.length > 0 && found.every((one) => one === height);
        }""",
        arg=[ROWS, height],
    )


def test_filters_that_were_run_are_offered_again(page: Page) -> None:
    for text, total in (("status = 503", "30 events"), ("status = 404", "270 events")):
        write_filter(page, text)
        page.keyboard.press("Enter")
        expect(page.locator(".total")).to_have_text(total)
    page.get_by_role("button", name="History").click()
    expect(page.get_by_role("menuitem")).to_have_text(["status = 404", "status = 503"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".total")).to_have_text("30 events")
    expect(find_filter(page)).to_have_text("status = 503")


def test_columns_are_chosen_and_reordered(page: Page) -> None:
    show(page, columns="status,bytes,user")
    heads = page.get_by_role("columnheader")

    def change(column: str, entry: str, expected: list[str]) -> None:
        choose(page, heads.get_by_role("button", name=column, exact=True), entry)
        expect(heads).to_have_text(["time", *expected])
        assert parse_qs(page.url.partition("?")[2]).get("columns") in ([",".join(expected)], None)

    change("bytes", "Move left", ["bytes", "status", "user"])
    assert read_column(page, 1)[1] == str(EVENTS - 1) and read_column(page, 2)[1] == "200"
    change("status", "Move right", ["bytes", "user", "status"])
    change("user", "Remove the column", ["bytes", "status"])
    page.get_by_label("Column path").check()
    expect(heads).to_have_text(["time", "bytes", "status", "path"])
    change("path", "Only this column", ["path"])
    change("path", "The columns of the beginning", ["client", "status", "user", "event"])


def test_wide_values_are_shown_whole(page: Page) -> None:
    show(page, columns="path,bytes")
    cell = page.locator(f'{ROWS}[aria-rowindex="2"] > [data-column="1"]')
    is_cut = "cell => cell.scrollWidth > cell.clientWidth || cell.scrollHeight > cell.clientHeight"
    expect(cell).to_have_text(LONG)
    assert cell.evaluate(is_cut)
    head = page.get_by_role("columnheader").get_by_role("button", name="path")
    choose(page, head, "As wide as its values")
    assert not cell.evaluate(is_cut)
    head.click()
    expect(page.get_by_role("menuitemcheckbox", name="As wide")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("Escape")
    choose(page, head, "As wide as its values")
    assert cell.evaluate(is_cut)
    # In several lines they are read without a wider column, and the last row is still found.
    wrap = page.get_by_role("button", name="Wrap")
    wrap.click()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    lines = cell.evaluate("cell => cell.querySelector('span').getClientRects().length")
    assert lines >= 4
    expect_heights(page, 81)
    cell.focus()
    page.keyboard.press("Control+End")
    expect(page.locator(f'{ROWS}[aria-rowindex="1001"]')).to_be_in_viewport()
    wrap.click()
    expect_heights(page, 27)


def test_times_are_in_utc_or_local_and_colours_light_or_dark(page: Page) -> None:
    assert read_column(page, 0)[0] == "2026-03-01 06:40:00.000"
    zone = page.get_by_role("button", name="UTC")
    zone.click()
    expect(page.locator(f'{ROWS}[aria-rowindex="2"] .time')).to_have_text("2026-03-01 01:40:00.000")
    page.get_by_role("button", name="Local time").click()
    expect(page.locator(f'{ROWS}[aria-rowindex="2"] .time')).to_have_text("2026-03-01 06:40:00.000")
    colours = []
    for shown, following in (("Auto", "light"), ("Light", "dark"), ("Dark", "auto")):
        page.get_by_role("button", name=shown, exact=True).click()
        expect(page.locator("html")).to_have_attribute("data-theme", following)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] == colours[2] != colours[1]


def test_the_menu_of_a_value_copies_it_and_shows_the_top_values(page: Page) -> None:
    copied = "navigator.clipboard.readText()"
    hostile = 'O\'Neill "x"*'
    for entry, text in (("Copy value", hostile), ("Copy as condition", 'user = "O\'Neill \\"x\\"\\*"')):
        choose(page, find_value(page, hostile), entry)
        expect(page.locator(".notice").last).to_be_visible()
        assert page.evaluate(copied) == text
    choose(page, find_value(page, hostile), "Top values of user")
    tops = page.locator(".top-value")
    users = [make_event(number).get("user") for number in range(EVENTS)]
    counts = {user: users.count(user) for user in users if user}
    expect(tops).to_have_count(len(counts))
    having = sum(counts.values())
    for user, count in counts.items():
        share = f"{100 * count / having:.0f} %"
        expect(tops.filter(has_text=user).locator("b")).to_have_text(share)
    page.get_by_role("button", name="user").first.click()
    choose(page, page.get_by_role("button", name="More"), "Copy a link to this search")
    expect(page.locator(".notice").last).to_have_text("Link copied")
    assert page.evaluate(copied) == page.url


def test_fields_tell_in_what_share_of_events_they_are(page: Page) -> None:
    events = [{"path": LONG, "status": 200}, *map(make_event, range(EVENTS - 1, EVENTS - 1000, -1))]
    for field in ("client", "status", "user", "bytes"):
        share = 100 * sum(field in event for event in events) / len(events)
        line = page.locator(".field-line", has=page.get_by_label(f"Column {field}"))
        expect(line.locator(".coverage")).to_have_text(f"{share:.0f} %")


def test_the_box_of_times_takes_quick_relative_and_absolute_ones(page: Page) -> None:
    box, button = page.locator(".time-box"), page.locator("#time")

    def fill(since: str, until: str) -> None:
        box.get_by_label("From").fill(since)
        box.get_by_label("To (not included)").fill(until)
        page.keyboard.press("Enter")

    button.click()
    for since, until, fault in (
        ("nonsense", "", "“nonsense” is no time"),
        ("", "2026-13-01", "“2026-13-01” is no time"),
        ("2026-03-02", "2026-03-01", "the range ends before it begins"),
    ):
        fill(since, until)
        expect(box.get_by_role("alert")).to_have_text(fault)
    fill("2026-03-01 01:00", "2026-03-01T04:00+02:00")
    expect(box).to_be_hidden()
    expect(button).to_have_text("Time 2026-03-01 01:00 – 2026-03-01 02:00")
    expect(page.locator(".total")).to_have_text("450 events")
    button.click()
    fill("-20000d", "now")
    expect(page.locator(".total")).to_have_text(f"{EVENTS + 1:,} events")
    expect(button).to_have_text("Time -20000d – now")
    button.click()
    box.get_by_role("button", name="Last hour").click()
    expect(button).to_have_text("Time Last hour")
    expect(page.locator(".empty").first).to_have_text("No events match in this range.")
    assert "since=-1h" in page.url and "until" not in page.url


def test_the_plan_has_the_batches_of_the_run_and_their_times(page: Page) -> None:
    show(page, where="status = 404", tab="plan")
    expect(page.locator(".plan-view")).to_contain_text("270 rows in")
    batches = page.get_by_role("table", name="Batches").locator("tbody tr")
    rows = [row.locator("td").all_inner_texts() for row in batches.all()]
    assert sum(int(cells[1].replace(",", "")) for cells in rows) == 270
    for where, _, took in rows:
        assert re.fullmatch(r"[\d-]+ [\d:.]+ – [\d-]+ [\d:.]+", where) and re.fullmatch(r"[\d.]+ m?s", took)


def test_stats_over_time_are_drawn_whatever_their_column_is_called(page: Page) -> None:
    chart, legend = page.locator(".stats-chart canvas"), page.locator(".stats-view .legend li")
    for stats, lines in (
        ("count(), max(bytes) by bucket(1h)", ["max_bytes", "count"]),
        ("count() by status, bucket(1h)", ["200", "404", "503"]),
        ("count() by bucket(1h) as hour", ["count"]),
        ("count() by BUCKET( 1h ) as `the hour`, status | sort -count", ["200", "404", "503"]),
        ("timeline 1h", ["count"]),
    ):
        show(page, tab="stats", stats=stats)
        expect(chart).to_be_visible()
        expect(legend).to_have_text(lines)
    for stats in ("count() by user", "min(ts), count() by status"):
        show(page, tab="stats", stats=stats)
        expect(page.locator(".stats-table tbody tr").first).to_be_visible()
        expect(chart).to_be_hidden()


def test_stats_are_downloaded_in_every_format(page: Page, tmp_path: Path) -> None:
    show(page, tab="stats", stats="count() by status | sort -count")
    expected = [{"status": 200, "count": 2701}, {"status": 404, "count": 270}, {"status": 503, "count": 30}]
    files = {}
    for title in ("JSON lines", "CSV", "Arrow", "Parquet"):
        page.get_by_role("button", name="More").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"Download these stats as {title}").click()
        download.value.save_as(tmp_path / title)
        files[title] = (tmp_path / title).read_bytes()
    assert json.loads(files["JSON lines"].splitlines()[0])["rows"] == expected
    assert files["CSV"].decode().splitlines()[1:-1] == ["200,2701", "404,270", "503,30"]
    assert pa.ipc.open_stream(files["Arrow"]).read_all().to_pylist() == expected
    assert pq.read_table(io.BytesIO(files["Parquet"])).to_pylist() == expected


def test_keys_move_the_range(page: Page, service: PageService) -> None:
    show(page, since="2026-03-01T02:00:00Z", until="2026-03-01T04:00:00Z")
    page.locator("h1").first.evaluate("() => document.activeElement.blur()")
    for key, expected in (
        ("]", (3, 5)),
        ("[", (2, 4)),
        ("+", (2.5, 3.5)),
        ("-", (2, 4)),
        ("z", (2.5, 3.5)),
        ("z", (2, 4)),
    ):
        before = page.url
        page.keyboard.press(key)
        page.wait_for_url(lambda url, before=before: url != before)  # type: ignore[misc]
        assert read_range(page) == expected, key
        ends = [format_micros(round((START + 3600 * end) * 1e6)) for end in expected]
        total = service.count(since=ends[0], until=ends[1])
        expect(page.locator(".total")).to_have_text(f"{total:,} events")


def test_the_active_cell_keeps_the_focus_when_the_rows_are_drawn_anew(page: Page) -> None:
    page.locator(f'{ROWS}[aria-rowindex="2"] > [data-column="0"]').focus()
    for columns in ("path,status", "status"):
        show(page, columns=columns)
        expect(page.get_by_role("columnheader", name="path")).to_have_count(int("path" in columns))
        expect(page.locator(f'{ROWS}[aria-rowindex="2"] > [data-column="0"]')).to_be_focused()
        page.keyboard.press("ArrowRight")
        expect(page.locator(f'{ROWS}[aria-rowindex="2"] > [data-column="1"]')).to_be_focused()
        page.keyboard.press("ArrowLeft")


def test_keys_move_in_the_table_and_show_the_help(page: Page) -> None:
    # The newest events come first, and keys move among those that have come.
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", re.compile(r"\d{3}"))
    page.locator(f'{ROWS}[aria-rowindex="2"] > [data-column="0"]').focus()
    for key, row, column in (
        ("PageDown", 22, 0),
        ("PageDown", 42, 0),
        ("PageUp", 22, 0),
        ("End", 22, 4),
        ("Home", 22, 0),
        ("Control+Home", 2, 0),
    ):
        page.keyboard.press(key)
        cell = page.locator(f'{ROWS}[aria-rowindex="{row}"] > [data-column="{column}"]')
        expect(cell).to_be_focused()
        expect(cell).to_be_in_viewport()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.locator(".detail h2")).to_contain_text("2026-03-01 06:39:52.000")
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_contain_text("zoom in, zoom out")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Help")).to_have_count(0)

"""What tests of the page do in Explore: write filters, and find rows and values."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page

ROWS = ".rows .row"


def find_filter(page: Page) -> Locator:
    return page.locator("#filter .cm-content")


def write_filter(page: Page, text: str) -> None:
    """Types a filter in place of the one that is there, and closes what is offered."""
    page.keyboard.press("Escape")
    find_filter(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
    page.keyboard.press("Escape")


def read_column(page: Page, number: int) -> list[str]:
    """Returns the texts of a column in the rows that are in the page."""
    return page.locator(f'{ROWS} > [data-column="{number}"]').all_inner_texts()


def find_value(page: Page, text: str) -> Locator:
    return page.locator(f"{ROWS} .value > span", has_text=re.compile(f"^{re.escape(text)}$")).first

"""A browser for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import open_browser
from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser

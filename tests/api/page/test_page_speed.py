"""The command that measures the speed of the page prints all of its figures.

In `make soak`: it scrolls and repeats for half a minute, on the stack of the run.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from make_command import run_make
from page_service import TOKEN, make_source, run_page_service

from watchfloor.schema.settings.settings import Settings

pytestmark = [pytest.mark.stack, pytest.mark.soak]
EVENTS = 5002
"""So many that they are scrolled, and the newest event fits none of the filters that are timed."""


def test_the_speed_of_the_page_is_measured(store_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    source = make_source("speed")
    with run_page_service(store_settings, tmp_path, source, EVENTS) as service:
        given = (f"URL={service.url}", f"TOKEN={tmp_path / 'token'}", f"SOURCE={source.name}", "REPEATS=2")
        printed = run_make("page-speed", *given)
    for figure in (
        "first paint, cold",
        "first rows, cold",
        "Enter to first rows: status >= 500",
        "Enter to first rows, all",
    ):
        assert re.search(rf"^{figure} +median +\d+ ms, \d+ to \d+, \d+ samples$", printed, re.MULTILINE), printed
    assert re.search(rf"^scrolling {EVENTS:,} rows +[\d.]+ frames/s, the longest frame \d+ ms$", printed, re.MULTILINE)

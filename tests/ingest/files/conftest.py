"""Files that a test has just written are scanned at once, not in the kernel's next clock tick: no test changes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from watchfloor.ingest.files import file_scan


@pytest.fixture(scope="module", autouse=True)
def scans_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_scan, "_CLOCK_TICK_NS", 0)
        yield

"""Fixtures of the tests of long files: short ones count as long."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ingest_support import log_file

from watchfloor.ingest.records import long_files
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


@pytest.fixture(autouse=True)
def short_files_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_files, "LONG_BYTES", 1 << 10)


_numbers = itertools.count(1)


@pytest.fixture
def write_log() -> Callable[..., Path]:
    """Returns ``log_file``, whose files have a length here that no other test's file has."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    padding = b" " * (16 * next(_numbers) + worker)

    def write(path: Path, lines: int, salt: str) -> Path:
        text = log_file(path, lines, salt).read_bytes()
        path.write_bytes(text.replace(b"\n", padding + b"\n", 1))
        return path

    return write

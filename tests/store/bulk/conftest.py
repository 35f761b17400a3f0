"""Fixtures of the tests in this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened

"""Fixtures of the tests in this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from watchfloor.schema.settings.settings import Settings
from watchfloor.store import store as store_module
from watchfloor.store.store import Store


@pytest.fixture
def store(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(store_module, "GRACE_SECONDS", 2.0)
    with Store.open(store_settings) as opened:
        yield opened

"""A list of a million addresses is put within seconds, and finds the events that plain Python finds, in every scheme.

In `make soak`: putting and asking take most of a minute.
"""

from __future__ import annotations

import time

import pytest
from ingest_support import RUN
from list_traffic import check_long_list, draw_events, draw_list, load_events

from watchfloor.query.service import QueryService
from watchfloor.schema.filter.value_list import MAX_LIST_VALUES
from watchfloor.schema.lists.list_file import ListFormat, read_list
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.put_list import put_list
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak, pytest.mark.timeout(900)]


def test_a_million_addresses(layout: str, store_settings: Settings, query_store: Store) -> None:
    events = draw_events(40_000)
    source = load_events(store_settings, events, layout)
    listed = draw_list(events, MAX_LIST_VALUES, 500)
    began = time.monotonic()
    with Store.open(store_settings) as store:
        stored = put_list(store, f"million{RUN}", read_list("\n".join(listed).encode(), ListFormat()))
    assert stored.count == MAX_LIST_VALUES and time.monotonic() - began < 30
    check_long_list(store_settings, QueryService(query_store), source, events, listed)

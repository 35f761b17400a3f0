"""A list of tens of thousands of addresses finds the events that plain Python finds, in every scheme.

In `make test`: a moderate list; `test_million_values.py` has the longest.
"""

from __future__ import annotations

import pytest
from list_traffic import check_long_list, draw_events, draw_list, load_events

from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


@pytest.mark.parametrize("hits", [1, 2_000])
def test_a_long_list(layout: str, hits: int, store_settings: Settings, query_store: Store) -> None:
    events = draw_events(6_000)
    source = load_events(store_settings, events, layout)
    check_long_list(store_settings, QueryService(query_store), source, events, draw_list(events, 30_000 + hits, hits))

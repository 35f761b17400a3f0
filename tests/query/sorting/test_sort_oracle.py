"""Sorted queries equal plain Python: drawn filters, orders and pages over real logs and events of all types.

Both layouts and all schemes are drawn.

In `make test`: some ten queries of each kind of source, a page or several each.
"""

from __future__ import annotations

from typing import Any

import pytest
from loaded import LAYOUTS
from oracle_questions import REAL, StoredSource
from sort_questions import check_sorts_of

from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

QUERIES = {"cell": 8, "block": 20}
"""Queries that a test draws."""


@pytest.mark.parametrize("kind", (*REAL, "mixed"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_drawn_orders(
    layout: str,
    kind: str,
    stored: dict[str, dict[str, StoredSource]],
    pools: dict[str, dict[str, list[Any]]],
    query_store: Store,
) -> None:
    check_sorts_of(stored[layout][kind], pools[kind], QUERIES[layout], query_store)

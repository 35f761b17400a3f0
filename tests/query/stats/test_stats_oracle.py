"""Aggregations equal plain Python: drawn pipes over real logs and events of all types, in both layouts.

Every plan is drawn (counts where they answer, index, scan), with drawn filters and time ranges.

In `make test`: some ten pipes of each kind of source; `test_stats_at_length.py` asks many more.
"""

from __future__ import annotations

from typing import Any

import pytest
from loaded import LAYOUTS
from oracle_questions import REAL, StoredSource
from stats_questions import check_stats_of

from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

PIPES = {"cell": 12, "block": 40}
"""Pipes that a test draws."""


@pytest.mark.parametrize("kind", (*REAL, "mixed"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_drawn_pipes(
    layout: str,
    kind: str,
    stored: dict[str, dict[str, StoredSource]],
    pools: dict[str, dict[str, list[Any]]],
    query_store: Store,
) -> None:
    check_stats_of(stored[layout][kind], pools[kind], PIPES[layout], query_store)

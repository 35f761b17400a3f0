"""Aggregations equal plain Python, with more drawn pipes than ``test_stats_oracle.py`` has time for.

In `make soak`: with those of `make test` more than 500 pipes.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from loaded import LAYOUTS
from oracle_questions import REAL, StoredSource
from stats_questions import check_stats_of

from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak, pytest.mark.timeout(900)]

MOST_PIPES = int(os.environ.get("WATCHFLOOR_STATS_PIPES", "120"))
PIPES = {"cell": MOST_PIPES // 6, "block": MOST_PIPES}
"""Pipes that a test draws: over 500 together, of four kinds of log in each layout, and without two kinds in cells."""


@pytest.mark.parametrize("kind", (*REAL, "mixed"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_drawn_pipes_at_length(
    layout: str,
    kind: str,
    stored: dict[str, dict[str, StoredSource]],
    pools: dict[str, dict[str, list[Any]]],
    query_store: Store,
) -> None:
    check_stats_of(stored[layout][kind], pools[kind], PIPES[layout], query_store)

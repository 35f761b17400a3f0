"""Every scheme gives the events that plain Python finds, for a thousand distinct filters and more.

The questions are those of `test_oracle.py`.

In `make soak`: thousands of queries take minutes.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import strategies as st
from loaded import LAYOUTS
from oracle_questions import EXPRESSIONS, REAL, TYPES, StoredSource, check_many, check_that_enough_was_asked

from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900), pytest.mark.soak]

DISTINCT_FILTERS = int(os.environ.get("WATCHFLOOR_ORACLE_FILTERS", "1000"))
"""Distinct filters that a run asks at least, over both layouts; half a thousand is the least number."""
# A query of cells takes the servers several times as long.
ROUNDS = {"cell": DISTINCT_FILTERS // 500, "block": 3 * DISTINCT_FILTERS // 500}
REAL_EXAMPLES = {"cell": 2 * DISTINCT_FILTERS // 500, "block": 5 * DISTINCT_FILTERS // 500}


@pytest.mark.parametrize("name", (*TYPES, EXPRESSIONS))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_operator_on_every_type(
    layout: str,
    name: str,
    stored: dict[str, dict[str, StoredSource]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    check_many(layout, "mixed", name, ROUNDS[layout], stored, strategies, query_store)


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_filters_of_any_shape_on_real_logs(
    layout: str,
    kind: str,
    stored: dict[str, dict[str, StoredSource]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    check_many(layout, kind, kind, REAL_EXAMPLES[layout], stored, strategies, query_store)


def test_enough_was_asked() -> None:
    """Comes last, because it counts what the tests before it have asked."""
    check_that_enough_was_asked(DISTINCT_FILTERS)

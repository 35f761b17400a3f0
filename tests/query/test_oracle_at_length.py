"""Every scheme gives the events that plain Python finds, for more than a thousand distinct filters.

The questions are those of `test_oracle.py`.

In `make soak`: thousands of queries take minutes.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from loaded import LAYOUTS
from oracle_questions import EXPRESSIONS, REAL, TYPES, StoredSource, check_many, check_that_enough_was_asked

from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900), pytest.mark.soak]

DISTINCT_FILTERS = 1_000
"""Distinct filters that a run asks at least, over both layouts."""
# A query of cells takes the servers several times as long.
ROUNDS = {"cell": 2, "block": 6}
REAL_EXAMPLES = {"cell": 4, "block": 10}


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

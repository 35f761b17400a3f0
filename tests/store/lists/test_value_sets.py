"""Sets of values are packed for the servers and come back the same.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.store.encoding.value_sets import make_value_set, unpack_value_set

BYTES = st.binary(max_size=20)
RANGES = st.lists(st.tuples(BYTES, BYTES).map(lambda two: (min(two), max(two))), max_size=8)


@given(st.lists(BYTES, max_size=30), RANGES)
def test_a_set_comes_back(values: list[bytes], ranges: list[tuple[bytes, bytes]]) -> None:
    made = make_value_set(pa.array(values, pa.binary()), ranges)
    assert made.values.to_pylist() == sorted(set(values))
    pairs = list(zip(made.lows.to_pylist(), made.highs.to_pylist(), strict=True))
    assert pairs == sorted(pairs) and all(high < low for (_, high), (low, _) in pairwise(pairs))
    for low, high in ranges:
        assert any(first <= low and high <= last for first, last in pairs)
    back = unpack_value_set(made.packed)
    assert (back.values, back.lows, back.highs) == (made.values, made.lows, made.highs)
    every = [*values, *(end for pair in ranges for end in pair)]
    assert made.bounds == ((min(every), max(every)) if every else None)
